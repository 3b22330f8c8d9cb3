// What was written is what is read; and what can be written.
#include "fa_profile/recording_file.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <random>
#include <vector>

#include "fa_profile/error.h"
#include "recording_file_fixture.h"
#include "sanitized.h"
#include "tables.h"

namespace fa_profile::store::recording_file_test {
namespace {

class RecordingFileTest : public RecordingFiles {};

TEST_F(RecordingFileTest, EveryFieldSurvivesARoundTrip) {
  for (unsigned seed = 0; seed < (kSanitized ? 10 : 30); ++seed) {
    const RandomRecording sample = WriteSample(Path(), seed);
    const RecordingReader reader(Path());
    Recording expected = sample.recording;
    expected.session.complete = true;
    EXPECT_EQ(ToText(reader.Load({.cubins = true})), ToText(expected)) << "seed " << seed;
    std::vector<std::int64_t> ids;
    for (const CounterImage& image : sample.images) {
      ids.push_back(image.id);
      const CounterImage read = reader.LoadImage(image.id);
      EXPECT_EQ(read.config_id, image.config_id);
      EXPECT_EQ(read.bytes, image.bytes);
    }
    EXPECT_EQ(reader.ImageIds(), ids);
  }
}

// As in a program that has forbidden calls to its process.
TEST_F(RecordingFileTest, WhereCallsAreForbiddenAFinishedRecordingIsWholeButForItsName) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::array<long, 9> forbidden = {SYS_fsync,    SYS_fdatasync, SYS_unlink,    SYS_unlinkat, SYS_rename,
                                           SYS_renameat, SYS_renameat2, SYS_ftruncate, SYS_fallocate};
    std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const long call : forbidden) {
      filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
      filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
    const bool restricted =
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    try {
      (void)WriteSample(Path(), 1);
    } catch (const Error& error) {
      _exit(restricted && error.api() == "rename" ? 0 : 1);
    }
    _exit(2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 0);
  std::filesystem::rename(Path() + ".part", Path());
  EXPECT_TRUE(RecordingReader(Path()).Load().session.complete) << "its checksums are there";
}

// So a new kind of record that the round trips above do not look at fails here.
TEST(RandomRecordingTest, EveryKindOfRecordIsDrawnAndCompared) {
  const Recording recording = MakeRandomRecording(/*seed=*/1, /*size=*/3).recording;
  ForEachList(recording, [&]<typename Record>(const std::vector<Record>& list) {
    EXPECT_FALSE(list.empty()) << TableOf<Record>::kTable.name;
    Recording without = recording;
    ListOf<Record>(without).clear();
    EXPECT_NE(ToText(without), ToText(recording)) << TableOf<Record>::kTable.name;
  });
}

TEST_F(RecordingFileTest, AWholeRecordingIsCopiedWithItsImages) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    (void)WriteSample(Path(), seed);
    const RecordingReader reader(Path());
    const Recording recording = reader.Load({.cubins = true});
    RecordingWriter writer(Path("copy.fap"), true);
    WriteRecording(recording, &reader, writer);
    writer.Finish();
    const RecordingReader copy(Path("copy.fap"));
    EXPECT_EQ(ToText(copy.Load({.cubins = true})), ToText(recording)) << "seed " << seed;
    ASSERT_EQ(copy.ImageIds(), reader.ImageIds());
    for (const std::int64_t id : copy.ImageIds()) EXPECT_EQ(copy.LoadImage(id).bytes, reader.LoadImage(id).bytes);
  }
}

TEST_F(RecordingFileTest, LoadsOnlyTheMetricsAskedFor) {
  const RandomRecording sample = WriteSample(Path());
  const std::string wanted = sample.recording.ranges.front().metrics.begin()->first;
  const Recording read = RecordingReader(Path()).Load({.metrics = std::set<std::string>{wanted, "no_such_metric"}});
  ASSERT_EQ(read.ranges.size(), sample.recording.ranges.size());
  for (std::size_t i = 0; i < read.ranges.size(); ++i) {
    std::map<std::string, double> expected = sample.recording.ranges[i].metrics;
    std::erase_if(expected, [&](const auto& entry) { return entry.first != wanted; });
    EXPECT_EQ(read.ranges[i].metrics, expected);
  }
}

TEST_F(RecordingFileTest, LoadsCodeAndCubinsOnlyOnRequest) {
  const RandomRecording sample = WriteSample(Path());
  Recording expected = sample.recording;
  expected.session.complete = true;
  expected.cubins.clear();
  EXPECT_EQ(ToText(RecordingReader(Path()).Load()), ToText(expected));
  expected.functions.clear();
  expected.samplings.clear();
  expected.countings.clear();
  EXPECT_EQ(ToText(RecordingReader(Path()).Load({.code = false})), ToText(expected));
}

TEST_F(RecordingFileTest, ReadsAFileOfVersion1WithoutCode) {
  const std::string path = FA_PROFILE_TEST_DATA "/version1.fap";
  const RecordingReader reader(path);
  const Recording read = reader.Load({.cubins = true});
  EXPECT_EQ(read.schema_version, 1);
  EXPECT_TRUE(read.session.complete);
  EXPECT_EQ(read.device.name, "NVIDIA H200");
  EXPECT_EQ(read.ranges.at(0).metrics.at("smsp__inst_executed.sum"), 123457.0);
  EXPECT_EQ(reader.LoadImage(1).bytes.size(), 20'000u);
  EXPECT_TRUE(read.cubins.empty() && read.functions.empty() && read.samplings.empty() && read.countings.empty());

  // A version 1 with tables of version 2 is none, nor is the other way round.
  WriteSample(Path());
  Execute(Path(), "PRAGMA user_version=1");
  ExpectSays(ReadError(Path()), "not a recording's", "restore it");
  std::string bytes = ReadFile(path);
  bytes[63] = 2;
  WriteFile(Path(), bytes);
  ReadError(Path());
}

TEST_F(RecordingFileTest, TheFuzzersSeedsAreOfThisVersion) {
  const Recording read = RecordingReader(FA_PROFILE_TEST_DATA "/../fuzz/corpus/recording/good/one.fap").Load({});
  EXPECT_EQ(read.schema_version, kRecordingSchemaVersion) << "CONTRIBUTING.md, Tests, says how to renew them";
}

TEST_F(RecordingFileTest, ReadsAFileOfVersion2WithoutAProgramsWork) {
  const Recording read =
      RecordingReader(FA_PROFILE_TEST_DATA "/../fuzz/corpus/recording/good/version-2/one.fap").Load({.cubins = true});
  EXPECT_EQ(read.schema_version, 2);
  EXPECT_EQ(read.functions.size(), 2u);
  EXPECT_FALSE(read.samplings.empty() || read.countings.empty() || read.cubins.empty());
  EXPECT_TRUE(read.watch_windows.empty() && read.kernel_work.empty() && read.memory_work.empty() &&
              read.nvtx_work.empty());
}

TEST_F(RecordingFileTest, ReadsAFileOfVersion3WithoutTheKernelsOfItsRanges) {
  const Recording read =
      RecordingReader(FA_PROFILE_TEST_DATA "/../fuzz/corpus/recording/good/version-3/one.fap").Load({.cubins = true});
  EXPECT_EQ(read.schema_version, 3);
  EXPECT_FALSE(read.nvtx_work.empty());
  EXPECT_TRUE(read.nvtx_kernel_work.empty());
}

TEST_F(RecordingFileTest, WorkOfAWindowOrACaseThatWasNotWrittenIsRefused) {
  RecordingWriter writer(Path());
  writer.Write(WatchWindow{.id = 1});
  writer.Write(Case{.id = 1});
  EXPECT_THROW(writer.Write(KernelWork{.window_id = 2, .case_id = 1}), Error);
  EXPECT_THROW(writer.Write(KernelWork{.window_id = 1, .case_id = 2}), Error);
  EXPECT_THROW(writer.Write(MemoryWork{.window_id = 2}), Error);
  EXPECT_THROW(writer.Write(NvtxWork{.window_id = 2}), Error);
  EXPECT_THROW(writer.Write(NvtxKernelWork{.window_id = 1, .case_id = 2}), Error);
  EXPECT_THROW(writer.Write(KernelWork{.window_id = 1, .case_id = 1, .launches = -1}), Error);
  EXPECT_THROW(writer.Write(WatchWindow{.id = 1}), Error);
  writer.Write(KernelWork{.window_id = 1, .case_id = 1, .launches = 1});
  writer.Finish();
  EXPECT_EQ(RecordingReader(Path()).Load().kernel_work.size(), 1u);
}

TEST_F(RecordingFileTest, SamplesAndCountsAreSortedByFunctionAndOffset) {
  RecordingWriter writer(Path());
  writer.Write(Case{.id = 1});
  writer.Write(DeviceFunction{.id = 1});
  writer.Write(DeviceFunction{.id = 2});
  const std::uint32_t last = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  writer.Write(PcSampling{.id = 1,
                          .case_id = 1,
                          .total_samples = most,
                          .samples = {{2, 16, {{"wait", 5}}},
                                      {1, last, {{"wait", most}}},
                                      {1, 32, {}},
                                      {1, 0, {{"selected", 1}, {"wait", 0}}},
                                      {1, last - 16, {{"wait", 1}}}}});
  writer.Write(SassCounting{
      .id = 1, .case_id = 1, .counts = {{2, 32, {{"b", 7}}}, {2, 0, {}}, {2, 16, {{"b", 7}, {"a", most}}}}});
  writer.Finish();
  const Recording read = RecordingReader(Path()).Load();
  Recording expected;
  expected.samplings = {{.id = 1,
                         .case_id = 1,
                         .total_samples = most,
                         .samples = {{1, 0, {{"selected", 1}, {"wait", 0}}},
                                     {1, last - 16, {{"wait", 1}}},
                                     {1, last, {{"wait", most}}},
                                     {2, 16, {{"wait", 5}}}}}};
  expected.countings = {{.id = 1, .case_id = 1, .counts = {{2, 16, {{"a", most}, {"b", 7}}}, {2, 32, {{"b", 7}}}}}};
  Recording only;
  only.samplings = read.samplings;
  only.countings = read.countings;
  EXPECT_EQ(ToText(only), ToText(expected));
}

// Names and stacks are shared in the file, and copied for every instruction in memory.
TEST_F(RecordingFileTest, DataThatUnpacksToTooMuchIsRefusedByWriterAndReader) {
  std::vector<Instruction> instructions(100);
  for (std::uint32_t i = 0; i < instructions.size(); ++i) {
    instructions[i] = {.offset = i * 16, .opcode = "NOP", .frames = {{std::string(1 << 20, 'f'), "a.cu", 1}}};
  }
  {
    RecordingWriter writer(Path("large.fap"));
    for (std::int64_t id = 1; id <= 10; ++id) writer.Write(DeviceFunction{.id = id, .instructions = instructions});
    ExpectSays(ErrorOf([&] { writer.Write(DeviceFunction{.id = 11, .instructions = instructions}); }), "too large");
    writer.Finish();
    EXPECT_LT(fs::file_size(Path("large.fap")), 2'000'000u);
  }
  std::vector<InlineFrame> frames;
  for (int line = 0; line < 1100; ++line) frames.push_back({"f", "a.cu", line});
  {
    RecordingWriter writer(Path());
    writer.Write(DeviceFunction{.id = 1, .instructions = {{.opcode = "NOP", .frames = frames}}});
    writer.Finish();
  }
  EXPECT_EQ(RecordingReader(Path()).Load().functions.at(0).instructions.at(0).frames.size(), frames.size());
  Execute(Path(), "UPDATE source_function SET name = hex(zeroblob(500000))");
  ExpectSays(ReadError(Path()), "unpack to more", "restore it");
}

TEST_F(RecordingFileTest, AnImageOfManyPagesSurvivesARoundTrip) {
  CounterImage image{.id = 1, .config_id = 1, .bytes = std::vector<std::uint8_t>(3'000'001)};
  std::mt19937 random(5);
  for (std::uint8_t& byte : image.bytes) byte = static_cast<std::uint8_t>(random());
  RecordingWriter writer(Path());
  writer.Write(CounterConfig{.id = 1});
  writer.Write(image);
  writer.Finish();
  EXPECT_GT(fs::file_size(Path()), 3'000'000u);
  EXPECT_EQ(RecordingReader(Path()).LoadImage(1).bytes, image.bytes);
}

TEST_F(RecordingFileTest, TheLastSessionAndDeviceAreUsed) {
  RecordingWriter writer(Path());
  writer.Write(Session{.tool_version = "1", .complete = true});
  writer.Write(Device{.name = "one"});
  writer.Commit();
  EXPECT_FALSE(fs::exists(Path()));
  writer.Write(Session{.tool_version = "2"});
  writer.Write(Device{.name = "two"});
  writer.Finish();
  const Recording read = RecordingReader(Path()).Load();
  EXPECT_EQ(read.session.tool_version, "2");
  EXPECT_EQ(read.device.name, "two");
  EXPECT_TRUE(read.session.complete);
}

TEST_F(RecordingFileTest, BytesThatAreNotUtf8BecomeTheReplacementCharacter) {
  RecordingWriter writer(Path());
  writer.Write(Session{.command_line = std::string("a\xFF\xC3\xA9\0z\xED\xA0\x80", 9)});
  writer.Finish();
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(RecordingReader(Path()).Load().session.command_line,
            "a" + mark + "\xC3\xA9" + mark + "z" + mark + mark + mark);
}

TEST_F(RecordingFileTest, TheSqliteViewsCanBeQueried) {
  {
    RecordingWriter writer(Path());
    writer.Write(Case{.id = 1, .kernel = "mma", .origin = "ladder", .shape = AttentionShape{.causal = true}});
    writer.Write(Timing{.case_id = 1, .method = "events", .durations_ns = {4, 1, 2, 30}});
    writer.Write(Range{.id = 1, .case_id = 1, .part = "qk", .metrics = {{"m.sum", 7.0}}});
    writer.Write(
        DeviceFunction{.id = 1, .name = "f", .instructions = {{0, "", "LDG", "R1", {}}, {16, "", "FADD", "", {}}}});
    writer.Write(PcSampling{.id = 1, .case_id = 1, .samples = {{1, 0, {{"wait", 5}}}, {1, 16, {{"wait", 6}}}}});
    writer.Write(SassCounting{.id = 1, .case_id = 1, .counts = {{1, 0, {{"n", 8}}}, {1, 16, {{"n", 8}}}}});
    writer.Finish();
  }
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(Path().c_str(), &handle), SQLITE_OK);
  std::string rows;
  const auto append = [](void* text, int count, char** values, char**) {
    for (int i = 0; i < count; ++i) *static_cast<std::string*>(text) += std::string(values[i]) + "|";
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(handle, "SELECT kernel, shape, part, metric, value FROM metric_value", append, &rows, nullptr),
            SQLITE_OK);
  EXPECT_EQ(
      sqlite3_exec(handle, "SELECT samples, min_ns, median_ns, max_ns FROM timing_summary", append, &rows, nullptr),
      SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, "SELECT kernel, function, offset, opcode, reason, samples FROM instruction_sample",
                         append, &rows, nullptr),
            SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, "SELECT kernel, function, offset, opcode, metric, count FROM instruction_count",
                         append, &rows, nullptr),
            SQLITE_OK);
  sqlite3_close(handle);
  EXPECT_EQ(rows,
            "mma|1,8,512,64 causal|qk|m.sum|7.0|4|1.0|3.0|30.0|"
            "mma|f|0|LDG|wait|5|mma|f|16|FADD|wait|6|mma|f|0|LDG|n|8|mma|f|16|FADD|n|8|");
}

TEST_F(RecordingFileTest, AShapeOfParametersIsOneText) {
  const Shape shape({{"m", 4096}, {"n", -1}});
  {
    RecordingWriter writer(Path());
    writer.Write(Case{.id = 1, .kernel = "gemm", .origin = "/lib/g.so", .shape = shape, .work = {2.5, {}}});
    writer.Write(Verification{.case_id = 1, .draws = 1, .where = "c[3]: 1, expected 2"});
    writer.Finish();
  }
  const Recording recording = RecordingReader(Path()).Load();
  EXPECT_EQ(recording.cases.at(0).shape, shape);
  EXPECT_EQ(recording.cases.at(0).work, (Work{2.5, {}}));
  EXPECT_EQ(recording.verifications.at(0).where, "c[3]: 1, expected 2");
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(Path().c_str(), &handle), SQLITE_OK);
  std::string rows;
  const auto append = [](void* text, int, char** values, char**) {
    *static_cast<std::string*>(text) += values[0];
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(handle, "SELECT shape FROM case_shape", append, &rows, nullptr), SQLITE_OK);
  sqlite3_close(handle);
  EXPECT_EQ(rows, "m=4096,n=-1");
}

// Pieces that a recording cannot hold.

TEST_F(RecordingFileTest, AnInvalidPieceIsRefusedAndWritingContinues) {
  RecordingWriter writer(Path());
  writer.Write(Case{.id = 1});
  const auto refused = [&](const auto& piece, const std::string& what) {
    ExpectSays(ErrorOf([&] { writer.Write(piece); }), what, "");
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  refused(Case{.id = 0}, "ids are above 0");
  refused(Case{.id = 1}, "written already");
  refused(Case{.id = 2, .shape = AttentionShape{.batch = 0}}, "at least 1");
  refused(Case{.id = 2, .shape = AttentionShape{.batch = 1 << 30, .num_heads = 1 << 30, .seqlen = 1 << 30}}, "2^31");
  refused(Case{.id = 2, .shape = Shape(std::vector<ShapeParameter>())}, "1 to 32");
  refused(Case{.id = 2, .shape = Shape({{"m", 1}, {"m", 2}})}, "two parameters");
  refused(Case{.id = 2, .shape = Shape({{"m,n", 1}})}, "cannot name a parameter");
  refused(Case{.id = 2, .work = {nan, {}}}, "flops");
  refused(Case{.id = 2, .work = {{}, -1.0}}, "bytes");
  refused(Verification{.case_id = 9, .draws = 1}, "not written before");
  refused(Verification{.case_id = 1, .draws = 1, .draws_passed = 2}, "draws");
  refused(Verification{.case_id = 1, .max_abs_error = nan}, "max_abs_error");
  refused(Timing{.case_id = 1, .durations_ns = {1.0, infinity}}, "duration_ns");
  refused(Timing{.case_id = 1, .durations_ns = {-1.0}}, "negative");
  refused(Timing{.case_id = 1, .sm_clock_hz = infinity}, "sm_clock_hz");
  refused(Timing{.case_id = 9, .durations_ns = {1.0}}, "not written before");
  refused(Launch{.id = 1, .case_id = 9}, "not written before");
  refused(Launch{.id = 1, .grid = {-1, 1, 1}}, "grid");
  refused(Range{.id = 1, .case_id = 1, .metrics = {{"m", nan}}}, "m is");
  refused(Range{.id = 1, .case_id = 1, .metrics = {{std::string(513, 'm'), 1.0}}}, "512");
  refused(Range{.id = 1, .case_id = 1, .image_id = 4}, "not written before");
  refused(CounterImage{.id = 1, .config_id = 4}, "not written before");
  refused(CounterConfig{.id = 1, .metrics = {""}}, "empty");
  refused(ClockSample{.power_watts = nan}, "power_watts");
  const std::uint64_t too_large = std::uint64_t{1} << 63;
  writer.Write(Cubin{.id = 1, .crc = ~std::uint64_t{0}});
  writer.Write(DeviceFunction{.id = 1, .cubin_crc = 5});  // its cubin need not have been kept
  refused(Cubin{.id = 1}, "written already");
  refused(DeviceFunction{.id = 1, .instructions = {{}}}, "written already");
  refused(DeviceFunction{.id = 2, .instructions = {{.offset = 16}, {.offset = 16}}}, "order of their offsets");
  refused(DeviceFunction{.id = 2, .instructions = {{.frames = {{"f", "f.cu", -1}}}}}, "line is -1");
  refused(PcSampling{.id = 1, .case_id = 9}, "not written before");
  refused(PcSampling{.id = 1, .case_id = 1, .samples = {{2, 0, {}}}}, "function 2, which was not written");
  refused(PcSampling{.id = 1, .case_id = 1, .samples = {{1, 0, {{"wait", too_large}}}}}, "wait is 9223372036854775808");
  refused(PcSampling{.id = 1, .case_id = 1, .samples = {{1, 0, {{"", 1}}}}}, "a name");
  refused(PcSampling{.id = 1, .case_id = 1, .samples = {{1, 0, {{"\xFF", 1}}}}}, "UTF-8");
  refused(PcSampling{.id = 1, .case_id = 1, .samples = {{1, 16, {}}, {1, 0, {}}, {1, 16, {}}}}, "twice");
  refused(PcSampling{.id = 1, .case_id = 1, .total_samples = too_large}, "total_samples");
  refused(PcSampling{.id = 1, .case_id = 1, .dropped_samples = too_large}, "dropped_samples");
  refused(PcSampling{.id = 1, .case_id = 1, .call_ns = -1.0}, "call_ns");
  refused(PcSampling{.id = 1, .case_id = 1, .call_ns = nan}, "call_ns");
  refused(SassCounting{.id = 1, .case_id = 9}, "not written before");
  refused(SassCounting{.id = 1, .case_id = 1, .counts = {{2, 0, {}}}}, "function 2, which was not written");
  refused(SassCounting{.id = 1, .case_id = 1, .counts = {{1, 0, {{"m", too_large}}}}}, "m is");
  refused(DataLoss{.reason = std::string((1 << 20) + 1, 'x')}, "limit");
  writer.Write(Range{.id = 1, .case_id = 1, .metrics = {{"m", 1.0}}});
  writer.Finish();
  const Recording read = RecordingReader(Path()).Load();
  EXPECT_EQ(read.cases.size(), 1u);
  EXPECT_EQ(read.ranges.size(), 1u);
  EXPECT_TRUE(read.timings.empty());
  EXPECT_TRUE(read.verifications.empty());
  EXPECT_EQ(read.functions.size(), 1u);
  EXPECT_TRUE(read.samplings.empty());
  EXPECT_TRUE(read.countings.empty());
}

}  // namespace
}  // namespace fa_profile::store::recording_file_test

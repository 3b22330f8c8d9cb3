#include "fa_profile/recording_file.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <random>
#include <thread>

#include "fa_profile/error.h"
#include "random_recording.h"
#include "seal_pages.h"

namespace fa_profile {
namespace {

namespace fs = std::filesystem;

// A directory of its own for every case, gone afterwards.
class RecordingFileTest : public ::testing::Test {
 protected:
  RecordingFileTest() {
    std::string pattern = ::testing::TempDir() + "recording_file_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~RecordingFileTest() override { fs::remove_all(directory_); }

  std::string Path(const std::string& name = "run.fap") const { return directory_ / name; }

  // Files in the directory, sorted.
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  // A small finished recording with a piece of every kind.
  RandomRecording WriteSample(const std::string& path, unsigned seed = 1) const {
    RandomRecording sample = MakeRandomRecording(seed, 3);
    RecordingWriter writer(path, true);
    WriteAll(sample, writer);
    writer.Finish();
    return sample;
  }

  fs::path directory_;
};

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::span<const std::uint8_t> AsBytes(const std::string& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

// Where the first page of a recording keeps its checksum: the end of the page.
constexpr std::size_t kFirstChecksum = 4096 - 8;

std::string WithoutFirstChecksum(std::string bytes) { return bytes.replace(kFirstChecksum, 8, 8, '\0'); }

// Right checksums whatever the pages hold.
std::string Sealed(std::string bytes) {
  SealPages({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
  return bytes;
}

// Changes a file with plain SQLite, as a stranger would, and makes the checksums right again: a forger could.
void Execute(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message << "\n" << sql;
  sqlite3_close(handle);
  WriteBytes(path, Sealed(ReadBytes(path)));
}

// The message and hint of the one Error that `action` throws; fails when it throws none.
std::string ErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return {};
}

std::string ReadError(const std::string& path) {
  return ErrorOf([&] { RecordingReader(path).Load(); });
}

// Whether the text of an Error has both: what is wrong, and the cure.
void ExpectSays(const std::string& text, const std::string& what, const std::string& cure = "hint: ") {
  EXPECT_NE(text.find(what), std::string::npos) << text;
  EXPECT_NE(text.find(cure), std::string::npos) << text;
}

TEST_F(RecordingFileTest, GivesBackEveryFieldThatWasWritten) {
  for (unsigned seed = 0; seed < 30; ++seed) {
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

TEST_F(RecordingFileTest, LoadsCodeAndCubinsOnlyWhenAskedFor) {
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
  std::string bytes = ReadBytes(path);
  bytes[63] = 2;
  WriteBytes(Path(), bytes);
  ReadError(Path());
}

TEST_F(RecordingFileTest, GivesSamplesAndCountsByFunctionAndOffset) {
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
TEST_F(RecordingFileTest, WhatWouldUnpackToTooMuchIsRefusedByWriterAndReader) {
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

TEST_F(RecordingFileTest, GivesBackAnImageOfManyPages) {
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

TEST_F(RecordingFileTest, TheLastSessionAndDeviceCount) {
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

TEST_F(RecordingFileTest, FinishLeavesTheOneFileAndNothingBesideIt) {
  RecordingWriter writer(Path());
  EXPECT_EQ(writer.part_path(), Path() + ".part");
  writer.Commit();
  EXPECT_TRUE(fs::exists(writer.part_path()));
  writer.Finish();
  EXPECT_EQ(Files(), std::vector<std::string>{"run.fap"});
  ExpectSays(ErrorOf([&] { writer.Commit(); }), "finished", "");
  ExpectSays(ErrorOf([&] { writer.Write(Session{}); }), "finished", "");
}

TEST_F(RecordingFileTest, AWriterThatCommittedNothingLeavesNothing) {
  {
    RecordingWriter writer(Path());
    writer.Write(Case{.id = 1});
  }
  EXPECT_TRUE(Files().empty());
}

TEST_F(RecordingFileTest, AnAbandonedWriterKeepsWhatWasCommitted) {
  {
    RecordingWriter writer(Path());
    writer.Write(Case{.id = 1});
    writer.Commit();
    writer.Write(Case{.id = 2});
  }
  EXPECT_EQ(Files(), std::vector<std::string>{"run.fap.part"});
  const Recording read = RecordingReader(Path() + ".part").Load();
  EXPECT_EQ(read.cases.size(), 1u);
  EXPECT_FALSE(read.session.complete);
}

TEST_F(RecordingFileTest, ReadsWithTheSqliteViews) {
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

// Pieces that are none.

TEST_F(RecordingFileTest, RefusesAPieceThatIsNoPartOfARecordingAndGoesOn) {
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
  refused(Verification{.case_id = 9, .draws = 1}, "not written before");
  refused(Verification{.case_id = 1, .draws = 1, .draws_passed = 2}, "draws");
  refused(Verification{.case_id = 1, .max_abs_error = nan}, "max_abs_error");
  refused(Timing{.case_id = 1, .durations_ns = {1.0, infinity}}, "duration_ns");
  refused(Timing{.case_id = 1, .durations_ns = {-1.0}}, "negative");
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

// Paths that cannot be written.

TEST_F(RecordingFileTest, AnExistingFileIsAnErrorUnlessItMayBeOverwritten) {
  WriteBytes(Path(), "precious");
  ExpectSays(ErrorOf([&] { RecordingWriter writer(Path()); }), "exists already");
  EXPECT_EQ(ReadBytes(Path()), "precious");
  {
    RecordingWriter writer(Path(), true);
    writer.Commit();
    EXPECT_EQ(ReadBytes(Path()), "precious");
    writer.Finish();
  }
  EXPECT_TRUE(RecordingReader(Path()).Load().session.complete);
}

TEST_F(RecordingFileTest, AFileThatAppearsDuringTheRunIsNotOverwritten) {
  RecordingWriter writer(Path());
  writer.Commit();
  WriteBytes(Path(), "precious");
  ExpectSays(ErrorOf([&] { writer.Finish(); }), "appeared");
  EXPECT_EQ(ReadBytes(Path()), "precious");
}

TEST_F(RecordingFileTest, PathsThatCannotBeWrittenAreErrorsAtOnce) {
  ExpectSays(ErrorOf([&] { RecordingWriter writer(""); }), "empty");
  ExpectSays(ErrorOf([&] { RecordingWriter writer(Path("none/run.fap")); }), "no directory", "mkdir -p");
  ExpectSays(ErrorOf([&] { RecordingWriter writer(directory_, true); }), "is a directory");
  ExpectSays(ErrorOf([&] { RecordingWriter writer(Path(std::string(300, 'n')), true); }), "cannot write");
  fs::create_directory(Path("taken.fap.part"));
  ExpectSays(ErrorOf([&] { RecordingWriter writer(Path("taken.fap")); }), "not a plain file");
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  ExpectSays(ErrorOf([&] { RecordingWriter writer(Path("fifo"), true); }), "not a plain file");
  if (::geteuid() != 0) {
    fs::create_directory(Path("locked"));
    fs::permissions(Path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
    ExpectSays(ErrorOf([&] { RecordingWriter writer(Path("locked/run.fap")); }), "cannot write");
  }
}

TEST_F(RecordingFileTest, NamesThatSqliteWouldInterpretAreFiles) {
  const fs::path before = fs::current_path();
  fs::current_path(directory_);
  for (const std::string name : {":memory:", "file:x.fap?mode=memory", "-x.fap"}) {
    RecordingWriter writer(name);
    writer.Finish();
    EXPECT_TRUE(fs::exists(name)) << name;
    EXPECT_TRUE(RecordingReader(name).Load().session.complete);
  }
  fs::current_path(before);
}

TEST_F(RecordingFileTest, ASecondWriterOfTheSamePathIsRefusedAndDisturbsNothing) {
  RecordingWriter first(Path());
  for (int round = 0; round < 2; ++round) {  // before and after the first piece is on disk
    ExpectSays(ErrorOf([&] { RecordingWriter second(Path()); }), "being written", "another output path");
    first.Write(Case{.id = round + 1});
    first.Commit();
    ExpectSays(ReadError(Path() + ".part"), "being written", "wait");
  }
  first.Finish();
  EXPECT_EQ(RecordingReader(Path()).Load().cases.size(), 2u);
}

TEST_F(RecordingFileTest, WhatAKilledRunLeftIsKeptAside) {
  for (int run = 1; run <= 2; ++run) {
    RecordingWriter writer(Path());
    writer.Write(Case{.id = run});
    writer.Commit();
    EXPECT_EQ(writer.kept_aside().has_value(), run > 1);
  }
  RecordingWriter writer(Path());
  EXPECT_EQ(writer.kept_aside(), Path() + ".part.2");
  writer.Finish();
  EXPECT_EQ(Files(), (std::vector<std::string>{"run.fap", "run.fap.part.1", "run.fap.part.2"}));
  EXPECT_EQ(RecordingReader(Path() + ".part.1").Load().cases.front().id, 1);
  EXPECT_EQ(RecordingReader(Path() + ".part.2").Load().cases.front().id, 2);
}

TEST_F(RecordingFileTest, AForeignFileUnderThePartNameIsKeptAside) {
  WriteBytes(Path() + ".part", std::string(5000, 'x'));
  RecordingWriter writer(Path());
  writer.Finish();
  EXPECT_EQ(ReadBytes(Path() + ".part.1"), std::string(5000, 'x'));
}

TEST_F(RecordingFileTest, AFullDiskIsOneErrorAndKeepsWhatWasCommitted) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{.rlim_cur = 300'000, .rlim_max = RLIM_INFINITY};
  const rlimit unlimited{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  int committed = 0;
  std::string text;
  {
    RecordingWriter writer(Path());
    text = ErrorOf([&] {
      for (int id = 1; id < 1000; ++id) {
        writer.Write(Case{.id = id, .kernel = std::string(2000, 'k')});
        writer.Commit();
        committed = id;
      }
    });
    ExpectSays(ErrorOf([&] { writer.Commit(); }), "earlier write");
    ExpectSays(ErrorOf([&] { writer.Finish(); }), "earlier write");
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  ExpectSays(text, "cannot write", "free space");
  EXPECT_GT(committed, 10);
  EXPECT_FALSE(fs::exists(Path()));
  EXPECT_EQ(RecordingReader(Path() + ".part").Load().cases.size(), static_cast<std::size_t>(committed));
}

// Killed at any moment.

// The child: commits numbered ranges for ever and tells each through the pipe.
[[noreturn]] void WriteUntilKilled(const std::string& path, int pipe) {
  RecordingWriter writer(path);
  writer.Write(Case{.id = 1});
  writer.Write(CounterConfig{.id = 1});
  for (std::int64_t id = 1;; ++id) {
    writer.Write(CounterImage{.id = id, .config_id = 1, .bytes = std::vector<std::uint8_t>(5000, std::uint8_t(id))});
    Range range{.id = id, .case_id = 1, .image_id = id};
    for (int metric = 0; metric < 100; ++metric) range.metrics["metric" + std::to_string(metric)] = double(id * metric);
    writer.Write(range);
    writer.Commit();
    if (::write(pipe, &id, sizeof id) != sizeof id) ::_exit(1);
  }
}

TEST_F(RecordingFileTest, AKilledProcessLeavesEveryCommittedPiece) {
  std::mt19937 random(7);
  int with_hot_journal = 0;
  int with_pieces = 0;
  for (int round = 0; round < 150; ++round) {
    const std::string path = Path("run" + std::to_string(round) + ".fap");
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) WriteUntilKilled(path, pipe[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(pipe[1]);
    std::int64_t committed = 0;
    for (std::int64_t id = 0; ::read(pipe[0], &id, sizeof id) == sizeof id;) committed = id;
    ::close(pipe[0]);

    EXPECT_FALSE(fs::exists(path));
    if (committed == 0) continue;  // nothing was promised
    ++with_pieces;
    // The first byte of a journal's magic: there is something to roll back.
    if (ReadBytes(path + ".part-journal").starts_with('\xd9')) ++with_hot_journal;
    const RecordingReader reader(path + ".part");
    const Recording read = reader.Load();
    EXPECT_FALSE(read.session.complete);
    // The commit that was under way when the process died may have succeeded, too.
    ASSERT_GE(read.ranges.size(), static_cast<std::size_t>(committed));
    ASSERT_LE(read.ranges.size(), static_cast<std::size_t>(committed) + 1);
    for (const Range& range : read.ranges) {
      ASSERT_EQ(range.metrics.size(), 100u);
      ASSERT_EQ(range.metrics.at("metric99"), double(range.id * 99));
      ASSERT_EQ(reader.LoadImage(range.image_id).bytes, std::vector<std::uint8_t>(5000, std::uint8_t(range.id)));
    }
    RecordingWriter next(path);  // and the next run gets its way
    next.Finish();
  }
  EXPECT_GT(with_pieces, 10);
  EXPECT_GT(with_hot_journal, 0);
  RecordProperty("killed_with_pieces", with_pieces);
  RecordProperty("killed_with_hot_journal", with_hot_journal);
}

TEST_F(RecordingFileTest, AJournalThatNamesAnotherFileIsNotRolledBack) {
  WriteSample(Path());
  // The tail that SQLite takes for "delete this file when you are done" (file format, section 3).
  WriteBytes(Path() + "-journal", std::string("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8) + std::string(600, '\1') +
                                      std::string("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8));
  ExpectSays(ReadError(Path()), "journal that is not ours");
}

// Files that are no recordings.

TEST_F(RecordingFileTest, WhatIsNoRecordingIsOneErrorThatSaysWhatItIs) {
  ExpectSays(ReadError(Path("none.fap")), "No such file");
  ExpectSays(ReadError(directory_), "is a directory");
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  ExpectSays(ReadError(Path("fifo")), "not a plain file");
  WriteBytes(Path("empty.fap"), "");
  ExpectSays(ReadError(Path("empty.fap")), "is empty");
  for (const std::string text : {"xy", "{\"a\": 1}\n"}) {
    WriteBytes(Path("text.fap"), text);
    ExpectSays(ReadError(Path("text.fap")), "is not a recording");
    WriteBytes(Path("text.fap"), text + std::string(20'000, 'x'));
    ExpectSays(ReadError(Path("text.fap")), "is not a recording");
  }
  Execute(Path("other.db"), "CREATE TABLE t(x); PRAGMA user_version=1");
  ExpectSays(ReadError(Path("other.db")), "another program's SQLite file");
  EXPECT_EQ(ReadBytes(Path("text.fap")).size(), 20'009u);
}

TEST_F(RecordingFileTest, ANewerSchemaSaysToUpdate) {
  WriteSample(Path());
  Execute(Path(), "PRAGMA user_version=7");
  ExpectSays(ReadError(Path()), "schema version 7", "update fa-profile");
  Execute(Path(), "PRAGMA user_version=0");
  ExpectSays(ReadError(Path()), "schema version is 0");
}

TEST_F(RecordingFileTest, AWriteAheadLogIsAnErrorAndMakesNoFiles) {
  WriteSample(Path());
  Execute(Path(), "PRAGMA journal_mode=WAL");
  ExpectSays(ReadError(Path()), "write-ahead log", "journal_mode=DELETE");
  EXPECT_EQ(Files(), std::vector<std::string>{"run.fap"});
}

TEST_F(RecordingFileTest, RowsThatNoRunCouldHaveWrittenAreDamage) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"UPDATE session SET draws = 'x'", "draws holds"},
      {"UPDATE session SET draws = 99999999999", "draws is"},
      {"UPDATE session SET draws = -1", "draws is"},
      {"UPDATE session SET complete = 2", "complete is"},
      {"UPDATE session SET tool_version = CAST(x'ff' AS TEXT)", "UTF-8"},
      {"UPDATE session SET tool_version = CAST(x'610062' AS TEXT)", "UTF-8"},
      {"UPDATE device SET sm_count = x'00'", "sm_count holds"},
      {"UPDATE clock_sample SET power_watts = 9e999", "power_watts is not finite"},
      {"UPDATE kernel_case SET seqlen = 0, batch = 1, num_heads = 1, head_dim = 1, causal = 0", "at least 1"},
      {"UPDATE kernel_case SET seqlen = NULL, batch = 1, num_heads = 1, head_dim = 1, causal = 0", "seqlen holds"},
      {"UPDATE verification SET case_id = 99", "case 99"},
      {"UPDATE timing_sample SET duration_ns = -1.0", "duration_ns"},
      {"UPDATE timing_sample SET position = position + 100", "do not belong"},
      {"UPDATE timing_sample SET timing_id = timing_id + 99", "do not belong"},
      {"UPDATE launch SET stream = 4294967296", "stream is"},
      {"UPDATE launch SET case_id = 99", "case 99"},
      {"UPDATE range SET case_id = 99", "case 99"},
      {"UPDATE range SET image_id = 99", "image"},
      {"UPDATE value SET value = 9e999", "not finite"},
      {"UPDATE value SET range_id = range_id + 99", "belongs to no range"},
      {"UPDATE counter_config_metric SET metric_id = 9999", "metric without a name"},
      {"UPDATE metric SET name = '' WHERE id = 1", "empty"},
      {"UPDATE data_loss SET count = -1", "count"},
      {"UPDATE device_function SET id = id + 100000", "belongs to function"},
      {"UPDATE device_function SET cubin_crc = 'x'", "cubin_crc holds"},
      {"UPDATE instruction SET offset = offset + 4294967296", "offset is"},
      {"UPDATE instruction SET opcode_id = 9999", "opcode 9999"},
      {"UPDATE instruction SET stack_id = 9999", "stack 9999"},
      {"UPDATE inline_stack SET parent_id = id", "is of stack"},
      {"UPDATE inline_stack SET source_function_id = 9999", "source function 9999"},
      {"UPDATE inline_stack SET source_file_id = 9999", "source file 9999"},
      {"UPDATE inline_stack SET line = -1", "line is -1"},
      {"UPDATE pc_sampling SET case_id = 99", "case 99"},
      {"UPDATE pc_sampling SET total_samples = -1", "total_samples is"},
      {"UPDATE pc_sampling SET call_ns = 'x'", "call_ns holds"},
      {"DELETE FROM pc_sampling", "belong to PC sampling"},
      {"DELETE FROM stall_reason", "stall reason"},
      {"UPDATE stall_reason SET name = 'same'", "twice"},
      {"UPDATE stall_reason SET name = '' WHERE id = 1", "a name"},
      {"UPDATE pc_sample SET function_id = function_id + 9999", "of function"},
      {"UPDATE pc_sample SET samples = x'37'", "samples holds"},
      {"UPDATE pc_sample SET samples = ''", "is not one"},
      {"UPDATE pc_sample SET samples = '[]'", "is not one"},
      {"UPDATE pc_sample SET samples = '[1,-2]'", "is not one"},
      {"UPDATE pc_sample SET samples = '[1,]'", "is not one"},
      {"UPDATE pc_sample SET samples = '[1,2'", "is not one"},
      {"UPDATE pc_sample SET samples = '[1]]'", "is not one"},
      {"UPDATE pc_sample SET samples = '[1 ]'", "is not one"},
      {"UPDATE pc_sample SET samples = '[9223372036854775808]'", "is not one"},
      {"UPDATE pc_sample SET offset = -1 - offset", "offset is"},
      {"INSERT INTO pc_sample SELECT DISTINCT sampling_id, function_id, reason_id, 4294967295, '[1,1]' FROM pc_sample",
       "offset is"},
      {"DELETE FROM sass_counting", "belong to SASS counting"},
      {"UPDATE sass_counting SET case_id = 99", "case 99"},
      {"UPDATE sass_count SET metric_id = metric_id + 9999", "metric 1"},
      {"UPDATE sass_count SET count = -1", "a count in it is -1"},
      {"UPDATE sass_count SET instructions = 0", "for 0 instructions"},
      {"UPDATE sass_count SET instructions = 100000", "for 100000 instructions"},
      {"UPDATE device_function SET operands_bytes = operands_bytes + 1", "cannot be unpacked"},
      {"UPDATE device_function SET operands_bytes = -1", "claims -1 bytes"},
      {"UPDATE device_function SET operands_zstd = x''", "cannot be unpacked"},
      {"DELETE FROM instruction WHERE offset = 0", "more operands than instructions"},
      {"INSERT INTO instruction VALUES(11, 4294967295, 1, 1)", "more instructions than operands"},
      {"UPDATE sass_count SET instructions = 500", "twice"},
      {"CREATE TABLE more(x)", "more that is not"},
      {"CREATE TRIGGER t AFTER INSERT ON range BEGIN SELECT 1; END", "trigger t"},
      {"DROP VIEW metric_value", "lacks"},
      {"ALTER TABLE range ADD COLUMN y", "range that is not"},
      {"DROP TABLE range; CREATE VIEW range AS SELECT 1 AS id", "view range"},
  };
  for (const auto& [sql, what] : changes) {
    WriteSample(Path());
    Execute(Path(), "PRAGMA foreign_keys=OFF; " + sql);
    const std::string text = ReadError(Path());
    ExpectSays(text, what, "restore it");
    EXPECT_NE(text.find("is damaged"), std::string::npos) << sql << ": " << text;
  }
}

TEST_F(RecordingFileTest, ADamagedImageIsAnErrorOfItsOwn) {
  const RandomRecording sample = WriteSample(Path());
  const std::int64_t id = sample.images.front().id;
  for (const std::string change :
       {"zstd = x'00'", "zstd = x''", "size_bytes = size_bytes + 1", "size_bytes = -1", "size_bytes = 4000000000",
        "zstd = CAST(zstd || x'00' AS BLOB)", "zstd = CAST(substr(zstd, 1, 12) AS BLOB)"}) {
    WriteSample(Path());
    Execute(Path(), "UPDATE counter_image SET " + change);
    const RecordingReader reader(Path());
    ExpectSays(ErrorOf([&] { reader.LoadImage(id); }), "image");
    EXPECT_EQ(reader.Load().ranges.size(), sample.recording.ranges.size());
  }
  ExpectSays(ErrorOf([&] { RecordingReader(Path()).LoadImage(12345); }), "no counter data image 12345");
}

TEST_F(RecordingFileTest, ADamagedCubinIsAnErrorOfItsOwn) {
  for (const std::string change : {"zstd = x'00'", "size_bytes = size_bytes + 1", "size_bytes = -1",
                                   "size_bytes = 4000000000", "crc = 'x'", "id = -id"}) {
    WriteSample(Path());
    Execute(Path(), "UPDATE cubin SET " + change);
    const RecordingReader reader(Path());
    ExpectSays(ErrorOf([&] { reader.Load({.cubins = true}); }), "c");
    EXPECT_EQ(reader.Load().functions.size(), 4u);
  }
}

TEST_F(RecordingFileTest, ATruncatedFileIsAnErrorAtEveryLength) {
  WriteSample(Path());
  const std::string bytes = ReadBytes(Path());
  for (std::size_t size = 512; size < bytes.size(); size += 512) {
    WriteBytes(Path("cut.fap"), bytes.substr(0, size));
    ExpectSays(ReadError(Path("cut.fap")), "is truncated", "copy it again");
  }
  for (const std::size_t size : {1u, 15u, 16u, 20u, 50u, 99u, 100u, 101u}) {
    WriteBytes(Path("cut.fap"), bytes.substr(0, size));
    ReadError(Path("cut.fap"));
  }
}

TEST_F(RecordingFileTest, ATailIsAnErrorThatTakesNoTimeHoweverLongItIs) {
  WriteSample(Path());
  const std::uintmax_t size = fs::file_size(Path());
  for (const std::uintmax_t more : {std::uintmax_t{1}, std::uintmax_t{4096}, std::uintmax_t{8} << 30}) {
    fs::resize_file(Path(), size + more);
    const auto start = std::chrono::steady_clock::now();
    ExpectSays(ReadError(Path()), std::to_string(more) + " more than it should", "copy it again");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500)) << more;
  }
  fs::resize_file(Path(), size);
  EXPECT_TRUE(RecordingReader(Path()).Load().session.complete);
}

TEST_F(RecordingFileTest, ATailWithoutAFirstChecksumIsAnErrorToo) {
  WriteSample(Path());
  WriteBytes(Path(), WithoutFirstChecksum(ReadBytes(Path())));
  fs::resize_file(Path(), fs::file_size(Path()) + 4096);
  ExpectSays(ReadError(Path()), "4096 more than it should");
}

TEST_F(RecordingFileTest, ACompleteRecordingThatLostItsFirstChecksumIsDamage) {
  const RandomRecording sample = WriteSample(Path());
  const std::string bytes = WithoutFirstChecksum(ReadBytes(Path()));
  for (const std::string name : {"run.fap", "run.part.fap", "run.fap.1", "part", "run.fap.part.x"}) {
    WriteBytes(Path(name), bytes);
    const std::string text = ReadError(Path(name));
    ExpectSays(text, "is damaged", "ends in .part");
  }
  ExpectSays(ErrorOf([&] { RecordingReader::FromBytes(AsBytes(bytes)); }), "is damaged");
  // What a run leaves that is killed after its last commit and before its checksums.
  for (const std::string name : {"run.fap.part", "run.fap.part.12"}) {
    WriteBytes(Path(name), bytes);
    EXPECT_EQ(RecordingReader(Path(name)).Load().ranges.size(), sample.recording.ranges.size()) << name;
  }
}

TEST_F(RecordingFileTest, AnUnfinishedRecordingOpensUnderAnyName) {
  {
    RecordingWriter writer(Path());
    writer.Write(Case{.id = 1});
    writer.Commit();
  }
  fs::rename(Path() + ".part", Path("renamed.fap"));
  EXPECT_FALSE(RecordingReader(Path("renamed.fap")).Load().session.complete);
}

TEST_F(RecordingFileTest, TheSeedsOfTheFuzzerOpenAsFilesOrAreRefused) {
  const fs::path corpus = fs::path(FA_PROFILE_TEST_DATA).parent_path() / "fuzz/corpus/recording";
  int good = 0;
  for (const auto& entry : fs::recursive_directory_iterator(corpus / "good")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_NO_THROW(RecordingReader(entry.path()).Load()) << entry.path();
    ++good;
  }
  EXPECT_GE(good, 5);
  for (const auto& entry : fs::directory_iterator(corpus / "refused")) ReadError(entry.path());
}

TEST_F(RecordingFileTest, EveryFlippedBitIsAnError) {
  WriteSample(Path());
  const std::string bytes = ReadBytes(Path());
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    WriteBytes(Path("flipped.fap"), damaged);
    ExpectSays(ReadError(Path("flipped.fap")), "flipped.fap");
  }
}

// The regression corpus of the fuzzer is run by itself; here is a file whose checksums are made right after the damage.
TEST_F(RecordingFileTest, ADamagedFileIsAnErrorOrARecordingNeverACrash) {
  WriteSample(Path());
  const std::string bytes = ReadBytes(Path());
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    }
    try {
      RecordingReader::FromBytes(AsBytes(Sealed(damaged))).Load();
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty()) << error.what();
    }
  }
}

}  // namespace
}  // namespace fa_profile

// Files that are not recordings, and damaged recordings.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>

#include "fa_profile/recording_file.h"
#include "recording_file_fixture.h"
#include "sanitized.h"

namespace fa_profile::store::damaged_recording_test {
namespace {

class DamagedRecordingTest : public RecordingFiles {};

TEST_F(DamagedRecordingTest, AFileThatIsNotARecordingIsOneErrorThatSaysWhatItIs) {
  ExpectSays(ReadError(Path("none.fap")), "No such file");
  ExpectSays(ReadError(folder_), "is a directory");
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  ExpectSays(ReadError(Path("fifo")), "not a regular file");
  WriteFile(Path("empty.fap"), "");
  ExpectSays(ReadError(Path("empty.fap")), "is empty");
  for (const std::string text : {"xy", "{\"a\": 1}\n"}) {
    WriteFile(Path("text.fap"), text);
    ExpectSays(ReadError(Path("text.fap")), "is not a recording");
    WriteFile(Path("text.fap"), text + std::string(20'000, 'x'));
    ExpectSays(ReadError(Path("text.fap")), "is not a recording");
  }
  Execute(Path("other.db"), "CREATE TABLE t(x); PRAGMA user_version=1");
  ExpectSays(ReadError(Path("other.db")), "another program's SQLite file");
  EXPECT_EQ(ReadFile(Path("text.fap")).size(), 20'009u);
}

TEST_F(DamagedRecordingTest, ANamedPipeBesideARecordingIsRefusedWithoutWaitingForIt) {
  for (const std::string suffix : {"-journal", "-wal", "-shm"}) {
    WriteSample(Path());
    ASSERT_EQ(::mkfifo(Path("run.fap" + suffix).c_str(), 0600), 0);
    ExpectSays(ReadError(Path()), "run.fap" + suffix + " is not a regular file", "move it away");
    fs::remove(Path("run.fap" + suffix));
    ASSERT_EQ(::mkfifo(Path("new.fap.part" + suffix).c_str(), 0600), 0);
    ExpectSays(ErrorOf([&] { RecordingWriter writer(Path("new.fap")); }), "part" + suffix + " is not a regular file");
    fs::remove(Path("new.fap.part" + suffix));
  }
}

TEST_F(DamagedRecordingTest, AnEmptyFileOf8GigabytesIsRefused) {
  WriteFile(Path("sparse.fap"), "");
  fs::resize_file(Path("sparse.fap"), std::uintmax_t{8} << 30);
  ExpectSays(ReadError(Path("sparse.fap")), "is not a recording");
  WriteSample(Path());
  WriteFile(Path("run.fap-journal"), "");
  fs::resize_file(Path("run.fap-journal"), std::uintmax_t{8} << 30);
  EXPECT_TRUE(RecordingReader(Path()).Load().session.complete);
}

TEST_F(DamagedRecordingTest, ANewerSchemaIsAnErrorThatAsksForAnUpdate) {
  WriteSample(Path());
  const std::string newer = std::to_string(kRecordingSchemaVersion + 1);
  Execute(Path(), "PRAGMA user_version=" + newer);
  ExpectSays(ReadError(Path()), "schema version " + newer, "update fa-profile");
  Execute(Path(), "PRAGMA user_version=0");
  ExpectSays(ReadError(Path()), "schema version is 0");
}

TEST_F(DamagedRecordingTest, AWriteAheadLogIsAnErrorAndCreatesNoFiles) {
  WriteSample(Path());
  Execute(Path(), "PRAGMA journal_mode=WAL");
  ExpectSays(ReadError(Path()), "write-ahead log", "Leave it as it is");
  EXPECT_EQ(Files(), std::vector<std::string>{"run.fap"});
}

TEST_F(DamagedRecordingTest, RowsThatNoRunCanWriteAreReportedAsDamage) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"UPDATE session SET draws = 'x'", "draws holds"},
      {"UPDATE launch SET start_ns = 9, end_ns = 8", "end_ns is 8, but it started at 9"},
      {"UPDATE nvtx_range SET start_ns = 9, end_ns = 8", "end_ns is 8, but it started at 9"},
      {"UPDATE session SET draws = 99999999999", "draws is"},
      {"UPDATE session SET draws = -1", "draws is"},
      {"UPDATE session SET complete = 2", "complete is"},
      {"UPDATE session SET tool_version = CAST(x'ff' AS TEXT)", "UTF-8"},
      {"UPDATE session SET tool_version = CAST(x'610062' AS TEXT)", "UTF-8"},
      {"UPDATE device SET sm_count = x'00'", "sm_count holds"},
      {"UPDATE clock_sample SET power_watts = 9e999", "power_watts is not finite"},
      {"UPDATE kernel_case SET seqlen = 0, batch = 1, num_heads = 1, head_dim = 1, causal = 0, parameters = NULL",
       "at least 1"},
      {"UPDATE kernel_case SET seqlen = NULL, batch = 1, num_heads = 1, head_dim = 1, causal = 0, parameters = NULL",
       "seqlen holds"},
      {"UPDATE kernel_case SET batch = 1, num_heads = 1, seqlen = 1, head_dim = 1, causal = 0, parameters = 'm=1'",
       "two shapes"},
      {"UPDATE kernel_case SET batch = NULL, num_heads = NULL, seqlen = NULL, head_dim = NULL, causal = NULL, "
       "parameters = 'm=1,m=1'",
       "names 'm' twice"},
      {"UPDATE kernel_case SET batch = NULL, num_heads = NULL, seqlen = NULL, head_dim = NULL, causal = NULL, "
       "parameters = '1,8,512,64'",
       "in two columns"},
      {"UPDATE kernel_case SET flops = -1.0", "flops"},
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
      {"UPDATE counter_config_metric SET metric_id = 9999", "has metric 9999"},
      {"UPDATE metric SET name = '' WHERE id = 1", "empty"},
      {"UPDATE data_loss SET count = -1", "count"},
      {"UPDATE source_hash SET sha256 = 'gpc__cycles'", "64 hexadecimal digits"},
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
      {"UPDATE pc_sample SET samples = ''", "is malformed"},
      {"UPDATE pc_sample SET samples = '[]'", "is malformed"},
      {"UPDATE pc_sample SET samples = '[1,-2]'", "is malformed"},
      {"UPDATE pc_sample SET samples = '[1,]'", "is malformed"},
      {"UPDATE pc_sample SET samples = '[1,2'", "is malformed"},
      {"UPDATE pc_sample SET samples = '[1]]'", "is malformed"},
      {"UPDATE pc_sample SET samples = '[1 ]'", "is malformed"},
      {"UPDATE pc_sample SET samples = '[9223372036854775808]'", "is malformed"},
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

TEST_F(DamagedRecordingTest, ADamagedImageIsReportedAsSuch) {
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

TEST_F(DamagedRecordingTest, ADamagedCubinIsReportedAsSuch) {
  for (const std::string change : {"zstd = x'00'", "size_bytes = size_bytes + 1", "size_bytes = -1",
                                   "size_bytes = 4000000000", "crc = 'x'", "id = -id"}) {
    WriteSample(Path());
    Execute(Path(), "UPDATE cubin SET " + change);
    const RecordingReader reader(Path());
    ExpectSays(ErrorOf([&] { reader.Load({.cubins = true}); }), "c");
    EXPECT_EQ(reader.Load().functions.size(), 4u);
  }
}

TEST_F(DamagedRecordingTest, ATruncatedFileIsAnErrorAtEveryLength) {
  WriteSample(Path());
  const std::string bytes = ReadFile(Path());
  for (std::size_t size = 512; size < bytes.size(); size += 512) {
    WriteFile(Path("cut.fap"), bytes.substr(0, size));
    ExpectSays(ReadError(Path("cut.fap")), "is truncated", "copy it again");
  }
  for (const std::size_t size : {1u, 15u, 16u, 20u, 50u, 99u, 100u, 101u}) {
    WriteFile(Path("cut.fap"), bytes.substr(0, size));
    ReadError(Path("cut.fap"));
  }
}

TEST_F(DamagedRecordingTest, APageOfZerosIsDamageAlthoughItsChecksumFits) {
  WriteSample(Path());
  const std::string bytes = ReadFile(Path());
  constexpr std::size_t kPage = 4096;
  for (std::size_t page = 1; page * kPage < bytes.size(); ++page) {
    WriteFile(Path("zeros.fap"), std::string(bytes).replace(page * kPage, kPage, kPage, '\0'));
    const std::string error = ReadError(Path("zeros.fap"));
    ExpectSays(error, "page " + std::to_string(page + 1) + " of", "restore it");
    ExpectSays(error, "holds only zeros");
  }
}

TEST_F(DamagedRecordingTest, PagesOfZerosThatSqliteHasGivenUpAreFine) {
  WriteSample(Path());
  Execute(Path(),
          "PRAGMA secure_delete=ON; CREATE TABLE more(x); INSERT INTO more VALUES(zeroblob(40000)); DROP TABLE more");
  EXPECT_NE(ReadFile(Path()).find(std::string(4096, '\0')), std::string::npos) << "no page of zeros to test";
  EXPECT_TRUE(RecordingReader(Path()).Load().session.complete);
}

/// Bytes that this process has read from files so far.
std::uint64_t BytesRead() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  io >> name >> bytes;
  return bytes;
}

TEST_F(DamagedRecordingTest, BytesAfterTheEndAreAnErrorFoundWithoutReadingThem) {
  WriteSample(Path());
  const std::uintmax_t size = fs::file_size(Path());
  for (const std::uintmax_t more : {std::uintmax_t{1}, std::uintmax_t{4096}, std::uintmax_t{8} << 30}) {
    fs::resize_file(Path(), size + more);
    const std::uint64_t before = BytesRead();
    ExpectSays(ReadError(Path()), std::to_string(more) + " more than it should", "copy it again");
    EXPECT_LT(BytesRead() - before, 10 * size + 65536) << more;
  }
  fs::resize_file(Path(), size);
  EXPECT_TRUE(RecordingReader(Path()).Load().session.complete);
}

TEST_F(DamagedRecordingTest, BytesAfterTheEndAreAnErrorWithoutAFirstChecksumToo) {
  WriteSample(Path());
  WriteFile(Path(), WithoutFirstChecksum(ReadFile(Path())));
  fs::resize_file(Path(), fs::file_size(Path()) + 4096);
  ExpectSays(ReadError(Path()), "4096 more than it should");
}

TEST_F(DamagedRecordingTest, ACompleteRecordingWithoutItsFirstChecksumIsDamaged) {
  const RandomRecording sample = WriteSample(Path());
  const std::string bytes = WithoutFirstChecksum(ReadFile(Path()));
  for (const std::string name : {"run.fap", "run.part.fap", "run.fap.1", "part", "run.fap.part.x"}) {
    WriteFile(Path(name), bytes);
    const std::string text = ReadError(Path(name));
    ExpectSays(text, "is damaged", "ends in .part");
  }
  ExpectSays(ErrorOf([&] { RecordingReader::FromBytes(AsBytes(bytes)); }), "is damaged");
  // Left by a run killed after its last commit and before its checksums.
  for (const std::string name : {"run.fap.part", "run.fap.part.12"}) {
    WriteFile(Path(name), bytes);
    EXPECT_EQ(RecordingReader(Path(name)).Load().ranges.size(), sample.recording.ranges.size()) << name;
  }
}

TEST_F(DamagedRecordingTest, AnUnfinishedRecordingCanBeOpenedUnderAnyName) {
  {
    RecordingWriter writer(Path());
    writer.Write(Case{.id = 1});
    writer.Commit();
  }
  fs::rename(Path() + ".part", Path("renamed.fap"));
  EXPECT_FALSE(RecordingReader(Path("renamed.fap")).Load().session.complete);
}

TEST_F(DamagedRecordingTest, TheFuzzersGoodSeedsOpenAndItsBadSeedsAreRefused) {
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

TEST_F(DamagedRecordingTest, EveryFlippedBitIsAnError) {
  WriteSample(Path());
  const std::string bytes = ReadFile(Path());
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    WriteFile(Path("flipped.fap"), damaged);
    ExpectSays(ReadError(Path("flipped.fap")), "flipped.fap");
  }
}

// Other damage in a build with AddressSanitizer, where a round takes five times as long. bench/mutated_recordings.py
// and the fuzzer try more.
constexpr unsigned kDamageSeed = kSanitized ? 12 : 11;
constexpr int kDamageRounds = kSanitized ? 300 : 1000;

// The regression corpus of the fuzzer is run by itself; here is a file whose checksums are made right after the damage.
TEST_F(DamagedRecordingTest, RandomDamageNeverCrashesTheReader) {
  WriteSample(Path());
  const std::string bytes = ReadFile(Path());
  std::mt19937 random(kDamageSeed);
  for (int round = 0; round < kDamageRounds; ++round) {
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
}  // namespace fa_profile::store::damaged_recording_test

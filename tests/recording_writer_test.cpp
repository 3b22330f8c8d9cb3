// Files that a run makes and leaves: when it ends, is killed, or cannot write.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "fa_profile/recording_file.h"
#include "recording_file_fixture.h"
#include "sanitized.h"

namespace fa_profile::store::recording_writer_test {
namespace {

class RecordingWriterTest : public RecordingFiles {};

TEST_F(RecordingWriterTest, FinishLeavesOneFile) {
  RecordingWriter writer(Path());
  EXPECT_EQ(writer.part_path(), Path() + ".part");
  writer.Commit();
  EXPECT_TRUE(fs::exists(writer.part_path()));
  writer.Finish();
  EXPECT_EQ(Files(), std::vector<std::string>{"run.fap"});
  ExpectSays(ErrorOf([&] { writer.Commit(); }), "finished", "");
  ExpectSays(ErrorOf([&] { writer.Write(Session{}); }), "finished", "");
}

// Numbers of the descriptors that are open on files whose path begins so.
std::vector<int> DescriptorsOf(const std::string& start) {
  std::vector<int> found;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    const std::string target = fs::read_symlink(entry, ignored).string();
    if (target.starts_with(start)) found.push_back(std::stoi(entry.path().filename().string()));
  }
  return found;
}

// A program that is watched closes descriptors and opens a file. Exit code 0: the file is as it was.
void CloseTheRecording(const std::string& path, const std::string& suffix) {
  const std::string mine = path + ".mine";
  std::ofstream(mine) << "as I wrote it";
  const int file = ::open(mine.c_str(), O_RDWR | O_CLOEXEC);
  std::vector<int> taken;
  {
    RecordingWriter writer(path);
    writer.Write(Case{.id = 1});
    writer.Commit();
    writer.Write(Case{.id = 2});
    taken = DescriptorsOf(fs::absolute(writer.part_path()).string() + suffix);
    EXPECT_FALSE(taken.empty());
    for (const int number : taken) EXPECT_EQ(::dup2(file, number), number);
    ExpectSays(ErrorOf([&] { writer.Write(Case{.id = 3}); }), "the process closed the file");
    ExpectSays(ErrorOf([&] { writer.Commit(); }), "the process closed the file");
  }
  for (const int number : taken) EXPECT_EQ(::close(number), 0) << "it was the program's";
  std::ifstream written(mine);
  const std::string text((std::istreambuf_iterator<char>(written)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text, "as I wrote it");
  std::exit(::testing::Test::HasFailure() ? 1 : 0);
}

// In separate processes: SQLite remembers files that are never closed.
TEST_F(RecordingWriterTest, AFileThatGotTheNumberOfTheRecordingIsNotWrittenTo) {
  for (const char* suffix : {"", "-journal"}) {
    EXPECT_EXIT(CloseTheRecording(Path(), suffix), ::testing::ExitedWithCode(0), "") << suffix;
    fs::remove(Path() + ".part");
    fs::remove(Path() + ".part-journal");
  }
}

TEST_F(RecordingWriterTest, AWriterWithoutACommitLeavesNoFile) {
  {
    RecordingWriter writer(Path());
    writer.Write(Case{.id = 1});
  }
  EXPECT_TRUE(Files().empty());
}

TEST_F(RecordingWriterTest, AnAbandonedWriterKeepsWhatWasCommitted) {
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

// Paths that cannot be written.

TEST_F(RecordingWriterTest, AnExistingFileIsAnErrorUnlessItMayBeOverwritten) {
  WriteFile(Path(), "precious");
  ExpectSays(ErrorOf([&] { RecordingWriter writer(Path()); }), "already exists");
  EXPECT_EQ(ReadFile(Path()), "precious");
  {
    RecordingWriter writer(Path(), true);
    writer.Commit();
    EXPECT_EQ(ReadFile(Path()), "precious");
    writer.Finish();
  }
  EXPECT_TRUE(RecordingReader(Path()).Load().session.complete);
}

TEST_F(RecordingWriterTest, AFileThatAppearsDuringTheRunIsNotOverwritten) {
  RecordingWriter writer(Path());
  writer.Commit();
  WriteFile(Path(), "precious");
  ExpectSays(ErrorOf([&] { writer.Finish(); }), "during this run");
  EXPECT_EQ(ReadFile(Path()), "precious");
}

TEST_F(RecordingWriterTest, PathsThatCannotBeWrittenAreErrorsAtOnce) {
  ExpectSays(ErrorOf([&] { RecordingWriter writer(""); }), "empty");
  ExpectSays(ErrorOf([&] { RecordingWriter writer(Path("none/run.fap")); }), "not found", "mkdir -p");
  ExpectSays(ErrorOf([&] { RecordingWriter writer(folder_, true); }), "is a directory");
  ExpectSays(ErrorOf([&] { RecordingWriter writer(Path(std::string(300, 'n')), true); }), "cannot be written",
             "shorter name");
  fs::create_directory(Path("taken.fap.part"));
  ExpectSays(ErrorOf([&] { RecordingWriter writer(Path("taken.fap")); }), "not a plain file");
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  ExpectSays(ErrorOf([&] { RecordingWriter writer(Path("fifo"), true); }), "not a plain file");
  if (::geteuid() != 0) {
    fs::create_directory(Path("locked"));
    fs::permissions(Path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
    ExpectSays(ErrorOf([&] { RecordingWriter writer(Path("locked/run.fap")); }), "cannot be written");
  }
}

TEST_F(RecordingWriterTest, NamesThatSqliteWouldInterpretAreFiles) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  for (const std::string name : {":memory:", "file:x.fap?mode=memory", "-x.fap"}) {
    RecordingWriter writer(name);
    writer.Finish();
    EXPECT_TRUE(fs::exists(name)) << name;
    EXPECT_TRUE(RecordingReader(name).Load().session.complete);
  }
  fs::current_path(before);
}

TEST_F(RecordingWriterTest, ASecondWriterOfTheSamePathIsRefused) {
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

TEST_F(RecordingWriterTest, ThePartialFileOfAKilledRunIsKeptUnderAnotherName) {
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

TEST_F(RecordingWriterTest, AnUnrelatedFileUnderThePartNameIsKeptUnderAnotherName) {
  WriteFile(Path() + ".part", std::string(5000, 'x'));
  RecordingWriter writer(Path());
  writer.Finish();
  EXPECT_EQ(ReadFile(Path() + ".part.1"), std::string(5000, 'x'));
}

TEST_F(RecordingWriterTest, AFullDiskIsOneErrorAndKeepsWhatWasCommitted) {
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
  ExpectSays(text, "cannot be written", "free space");
  EXPECT_GT(committed, 10);
  EXPECT_FALSE(fs::exists(Path()));
  EXPECT_EQ(RecordingReader(Path() + ".part").Load().cases.size(), static_cast<std::size_t>(committed));
}

// Killed at any moment.

// The child: commits numbered ranges forever and reports each through the pipe.
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

TEST_F(RecordingWriterTest, AKilledProcessLeavesEveryCommittedPiece) {
  std::mt19937 random(7);
  int with_hot_journal = 0;
  int with_pieces = 0;
  constexpr int kRounds = kSanitized ? 30 : 150;
  constexpr unsigned kLongestUs = 10'000;  // until a process is killed, after its start or after its first commit
  for (int round = 0; round < kRounds || (with_hot_journal == 0 && round < 20 * kRounds); ++round) {
    const std::string path = Path("run" + std::to_string(round) + ".fap");
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) WriteUntilKilled(path, pipe[1]);
    ::close(pipe[1]);
    std::int64_t committed = 0;
    if (round % 4 != 0) {
      ASSERT_EQ(::read(pipe[0], &committed, sizeof committed), sizeof committed);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % kLongestUs));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (std::int64_t id = 0; ::read(pipe[0], &id, sizeof id) == sizeof id;) committed = id;
    ::close(pipe[0]);

    EXPECT_FALSE(fs::exists(path));
    if (committed == 0) continue;  // nothing was promised
    ++with_pieces;
    // The first byte of a journal's magic: there is something to roll back.
    if (ReadFile(path + ".part-journal").starts_with('\xd9')) ++with_hot_journal;
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
  EXPECT_GE(with_pieces, kRounds / 4 * 3);
  EXPECT_GT(with_hot_journal, 0);
  RecordProperty("killed_with_pieces", with_pieces);
  RecordProperty("killed_with_hot_journal", with_hot_journal);
}

TEST_F(RecordingWriterTest, AJournalThatNamesAnotherFileIsNotRolledBack) {
  WriteSample(Path());
  // The tail that SQLite takes for "delete this file when you are done" (file format, section 3).
  WriteFile(Path() + "-journal", std::string("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8) + std::string(600, '\1') +
                                     std::string("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8));
  ExpectSays(ReadError(Path()), "journal was not written by fa-profile");
}

}  // namespace
}  // namespace fa_profile::store::recording_writer_test

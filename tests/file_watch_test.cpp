#include "fa_profile/file_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "fa_profile/descriptor.h"
#include "fa_profile/stop_signals.h"
#include "test_files.h"

namespace fa_profile::file_watch_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char* kOld = "old content";
constexpr milliseconds kNever{24 * 3600 * 1000};

/// A file that is watched. Where a test expects an event, only its absence takes long; where it expects none, it stops
/// the wait and asks nothing of the clock but that `quiet` has passed.
class FileWatchTest : public FolderTest {
 protected:
  void SetUp() override { WriteFile(file_, kOld); }
  /// Wait()'s first result, with `stop` readable from the start: nothing complete has changed.
  FileEvent Stopped(FileWatch& watch) {
    EXPECT_TRUE(WriteAll(stop_.write_end.get(), "x"));
    const FileEvent event = watch.Wait(stop_.read_end.get());
    stop_ = MakePipe();
    return event;
  }
  FileEvent Next(FileWatch& watch) { return watch.Wait(stop_.read_end.get()); }
  /// Exactly one change: afterwards nothing is left.
  void ExpectOneChange(FileWatch& watch) {
    EXPECT_EQ(Next(watch), FileEvent::kChanged);
    EXPECT_FALSE(watch.Differs());
    EXPECT_EQ(Stopped(watch), FileEvent::kStopped);
  }
  void Replace(const std::string& with) const {
    WriteFile(folder_ / "temporary", with);
    fs::rename(folder_ / "temporary", file_);
  }
  fs::path file_ = folder_ / "kernel.so";
  Pipe stop_ = MakePipe();
};

TEST_F(FileWatchTest, NothingIsReportedWhileNothingChanges) {
  FileWatch watch(file_);
  WriteFile(folder_ / "other.so", "another file");
  EXPECT_FALSE(watch.Differs());
  EXPECT_EQ(Stopped(watch), FileEvent::kStopped);
}

TEST_F(FileWatchTest, AFileThatIsRenamedOverItIsOneChange) {
  FileWatch watch(file_);
  Replace("new");
  EXPECT_TRUE(watch.Differs());
  ExpectOneChange(watch);
}

TEST_F(FileWatchTest, AFileOfTheSameSizeAndTimeIsAChange) {
  const auto time = fs::last_write_time(file_);
  FileWatch watch(file_);
  WriteFile(folder_ / "temporary", "OLD CONTENT");
  fs::last_write_time(folder_ / "temporary", time);
  fs::rename(folder_ / "temporary", file_);
  ExpectOneChange(watch);
}

TEST_F(FileWatchTest, AChangeDuringAnotherTaskIsReportedAtTheNextWait) {
  FileWatch watch(file_, {.look = kNever});
  for (const char* const content : {"first", "second"}) {
    Replace(content);
    ExpectOneChange(watch);
  }
}

// Like a linker that is slow between two writes: however long it takes, until it closes the file.
TEST_F(FileWatchTest, AFileWrittenInPiecesIsCompleteWhenItsWriterClosesIt) {
  FileWatch watch(file_, {.quiet = milliseconds(1), .open = kNever, .look = kNever});
  Descriptor writer(open(file_.c_str(), O_WRONLY | O_TRUNC));
  std::thread slow([&writer] {
    for (int piece = 0; piece < 20; ++piece) {
      EXPECT_TRUE(WriteAll(writer.get(), "piece "));
      std::this_thread::sleep_for(milliseconds(2));
    }
    writer.Close();
  });
  EXPECT_EQ(Next(watch), FileEvent::kChanged);
  EXPECT_EQ(fs::file_size(file_), 120U);
  slow.join();
  EXPECT_EQ(Stopped(watch), FileEvent::kStopped);
}

TEST_F(FileWatchTest, AFileWhoseWriterStaysIsReportedAfterAWhile) {
  FileWatch watch(file_, {.open = milliseconds(5), .look = kNever});
  const Descriptor writer(open(file_.c_str(), O_WRONLY | O_APPEND));
  ASSERT_TRUE(WriteAll(writer.get(), "more"));
  ExpectOneChange(watch);
}

TEST_F(FileWatchTest, AHundredQuickWritesAreOneChange) {
  FileWatch watch(file_);
  for (int i = 0; i < 100; ++i) WriteFile(file_, std::string(static_cast<std::size_t>(i), 'x'));
  ExpectOneChange(watch);
}

TEST_F(FileWatchTest, AFileThatIsRemovedIsReportedOnceAndThenAwaited) {
  FileWatch watch(file_, {.gone = milliseconds(1), .look = kNever});
  fs::remove(file_);
  EXPECT_EQ(Next(watch), FileEvent::kGone);
  EXPECT_EQ(Stopped(watch), FileEvent::kStopped);
  WriteFile(file_, "new");
  ExpectOneChange(watch);
}

TEST_F(FileWatchTest, AFileThatALinkerRemovesAndWritesAnewIsOneChange) {
  FileWatch watch(file_, {.gone = kNever, .look = kNever});
  fs::remove(file_);
  EXPECT_EQ(Stopped(watch), FileEvent::kStopped);
  WriteFile(file_, "new");
  ExpectOneChange(watch);
}

TEST_F(FileWatchTest, AFolderThatIsRemovedAndMadeAgainIsFollowed) {
  const fs::path build = folder_ / "build" / "debug";
  fs::create_directories(build);
  WriteFile(build / "kernel.so", kOld);
  FileWatch watch(build / "kernel.so", {.gone = milliseconds(1), .look = kNever});
  fs::remove_all(folder_ / "build");
  EXPECT_EQ(Next(watch), FileEvent::kGone);
  fs::create_directories(build);
  EXPECT_EQ(Stopped(watch), FileEvent::kStopped);
  WriteFile(build / "kernel.so", "new");
  ExpectOneChange(watch);
}

TEST_F(FileWatchTest, ALinkThatLeadsElsewhereIsAChange) {
  WriteFile(folder_ / "a", "of a");
  WriteFile(folder_ / "b", "of b");
  fs::create_symlink("a", folder_ / "link.so");
  FileWatch watch(folder_ / "link.so", {.look = kNever});
  fs::create_symlink("b", folder_ / "temporary");
  fs::rename(folder_ / "temporary", folder_ / "link.so");
  ExpectOneChange(watch);
  WriteFile(folder_ / "a", "no longer watched");
  EXPECT_FALSE(watch.Differs());
  WriteFile(folder_ / "b", "written through its own name");
  ExpectOneChange(watch);
  fs::remove(folder_ / "link.so");
  fs::create_symlink(folder_ / "a", folder_ / "link.so");
  ExpectOneChange(watch);
}

TEST_F(FileWatchTest, AFolderThatIsALinkIsFollowed) {
  for (const char* const build : {"one", "two"}) {
    fs::create_directory(folder_ / build);
    WriteFile(folder_ / build / "kernel.so", build);
  }
  fs::create_directory_symlink("one", folder_ / "current");
  FileWatch watch(folder_ / "current" / ".." / "current" / "kernel.so", {.look = kNever});
  WriteFile(folder_ / "one" / "kernel.so", "changed");
  ExpectOneChange(watch);
  fs::create_directory_symlink("two", folder_ / "temporary");
  fs::rename(folder_ / "temporary", folder_ / "current");
  ExpectOneChange(watch);
  WriteFile(folder_ / "two" / "kernel.so", "changed");
  ExpectOneChange(watch);
}

TEST_F(FileWatchTest, WithoutInotifyItLooksNowAndThen) {
  FileWatch watch(file_, {.gone = milliseconds(1), .look = milliseconds(1), .inotify = false});
  Replace("new");
  ExpectOneChange(watch);
  fs::remove(file_);
  EXPECT_EQ(Next(watch), FileEvent::kGone);
}

TEST_F(FileWatchTest, WhatIsNotARegularFileIsNoFile) {
  FileWatch watch(file_, {.gone = milliseconds(1), .look = kNever});
  fs::remove(file_);
  fs::create_directory(file_);
  EXPECT_EQ(Next(watch), FileEvent::kGone);
  fs::remove(file_);
  fs::create_symlink("kernel.so", file_);  // to itself
  EXPECT_EQ(Stopped(watch), FileEvent::kStopped);
}

TEST_F(FileWatchTest, ItSleepsUntilASignalStopsIt) {
  const StopSignals signals;
  FileWatch watch(file_);
  std::thread presses([] { kill(getpid(), SIGINT); });
  EXPECT_EQ(watch.Wait(signals.descriptor()), FileEvent::kStopped);
  EXPECT_TRUE(signals.came());
  presses.join();
}

TEST(StopSignalsTest, ASignalThatWasIgnoredIsIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    const StopSignals signals;
    EXPECT_EQ(raise(SIGHUP), 0);
    EXPECT_FALSE(signals.came());
    EXPECT_EQ(raise(SIGTERM), 0);
    EXPECT_TRUE(signals.came());
  }
  EXPECT_EQ(std::signal(SIGHUP, before), SIG_IGN);
}

}  // namespace
}  // namespace fa_profile::file_watch_test

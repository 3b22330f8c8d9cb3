#include "fa_profile/watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"
#include "test_files.h"
#include "web_client.h"

namespace fa_profile::watch::watch_test {
namespace {

namespace fs = std::filesystem;

/// A user's view: the reports and the lines on stderr, as they come.
class Transcript : public std::stringbuf {
 public:
  /// Waits until `text` was printed after what was waited for before; all that was printed.
  std::string WaitFor(const std::string& text) {
    std::unique_lock lock(mutex_);
    const bool came =
        changed_.wait_for(lock, kLongEnough, [&] { return whole_.find(text, read_) != std::string::npos; });
    EXPECT_TRUE(came) << text << " is not in\n" << whole_.substr(read_);
    read_ = whole_.size();
    return whole_;
  }

 private:
  int sync() override {
    const std::scoped_lock lock(mutex_);
    whole_ += str();
    str("");
    changed_.notify_all();
    return 0;
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string whole_;
  std::size_t read_ = 0;
};

/// One kernel of the bundled recording at one shape, as a kernel library "mine".
Recording AsMine(Recording all, const std::string& kernel) {
  const Shape shape = Shape::Parse("1,8,512,64", false);
  std::erase_if(all.cases, [&](const Case& one) { return one.kernel != kernel || one.shape != shape; });
  all.cases.at(0).kernel = "mine";
  all.cases[0].origin = "./mine.so";
  const std::int64_t id = all.cases[0].id;
  const auto keep = [id](auto& list) { std::erase_if(list, [id](const auto& one) { return one.case_id != id; }); };
  keep(all.verifications);
  keep(all.timings);
  keep(all.launches);
  keep(all.nvtx_ranges);
  keep(all.ranges);
  keep(all.samplings);
  keep(all.countings);
  for (Range& range : all.ranges) range.image_id = 0;
  std::set<std::int64_t> functions;
  for (const SassCounting& counting : all.countings) {
    for (const SassCount& count : counting.counts) functions.insert(count.function_id);
  }
  for (const PcSampling& sampling : all.samplings) {
    for (const PcSample& sample : sampling.samples) functions.insert(sample.function_id);
  }
  std::erase_if(all.functions, [&](const DeviceFunction& one) { return !functions.contains(one.id); });
  std::erase_if(all.cubins, [&](const Cubin& cubin) {
    return std::ranges::none_of(all.functions, [&](const DeviceFunction& one) { return one.cubin_crc == cubin.crc; });
  });
  all.losses.clear();
  return all;
}

/// A library is a file with the name of what it measures: a recording, or the error of its measurement.
class WatchTest : public FolderTest {
 protected:
  static const Recording& Bundled() {
    static const Recording kBundled = store::RecordingReader(FA_PROFILE_BUNDLED_RECORDING).Load({{}, true, true});
    return kBundled;
  }
  void SetUp() override {
    before_ = std::cerr.rdbuf(&transcript_);
    const Recording slow = AsMine(Bundled(), "wmma");
    recordings_ = {{"slow", slow}, {"slow again", slow}, {"fast", AsMine(Bundled(), "mma")}};
    for (double& duration : recordings_["slow again"].timings.at(0).durations_ns) duration *= 1.04;
    Recording wrong = recordings_["fast"];
    Verification& verification = wrong.verifications.at(0);
    verification.draws = verification.draws_passed = 10;
    verification.draws_passed = 3;
    verification.max_error_ratio = 51.25;
    verification.max_abs_error = 0.314;
    verification.where = "o[0,3,17,5]: 0.5, expected 0.186";
    wrong.timings.clear();
    wrong.ranges.clear();
    wrong.launches.clear();
    wrong.samplings.clear();
    wrong.countings.clear();
    recordings_["wrong"] = wrong;
  }
  void TearDown() override {
    if (watching_.valid()) Stop();
    std::cerr.rdbuf(before_);
  }

  /// Puts a library into the file, as a build would; its content decides what a measurement gives.
  void Build(const std::string& library) const {
    WriteFile(folder_ / "new", library);
    fs::rename(folder_ / "new", file_);
  }
  std::string Measured(const std::string& recording, const std::function<bool()>& changed) {
    ++measured_;
    const std::string library = ReadFile(file_);
    if (library == "hangs") {
      while (!changed()) usleep(1000);
      return "was ended";
    }
    const auto found = recordings_.find(library);
    if (found == recordings_.end()) {
      WriteFile(recording + ".part", "what a process leaves that was killed");
      return library;
    }
    store::RecordingWriter writer(recording);
    store::WriteRecording(found->second, nullptr, writer);
    writer.Finish();
    return "";
  }
  void Start(const std::string& kept = "") {
    watching_ = std::async(std::launch::async, [this, kept] {
      const StopSignals stop;
      std::ostream out(&transcript_);
      Watch(
          {.file = file_,
           .folder = kept,
           .look = [] { return exporters::ReportOptions{.width = 80}; },
           .patience = {.gone = std::chrono::milliseconds(1)}},
          [this](const std::string& recording, const auto& changed) { return Measured(recording, changed); }, stop,
          out);
    });
  }
  void Stop() {
    EXPECT_EQ(kill(getpid(), SIGINT), 0);
    watching_.get();
  }

  const std::string file_ = (folder_ / "mine.so").string();
  std::map<std::string, Recording> recordings_;
  Transcript transcript_;
  std::streambuf* before_ = nullptr;
  std::future<void> watching_;
  std::atomic<int> measured_ = 0;
};

TEST_F(WatchTest, ASessionTellsWhatMovedAndEqualsTheGoldenFile) {
  Build("slow");
  Start();
  transcript_.WaitFor("finding");
  Build("slow again");
  transcript_.WaitFor("differs is noise");
  Build("fast");
  transcript_.WaitFor("finding  ");
  Build("wrong");
  transcript_.WaitFor("NOT CORRECT");
  Build("kernel library mine.so cannot be loaded: undefined symbol: Swizzle");
  transcript_.WaitFor("not measured: ");
  Build("fast");  // against the last one that was correct
  transcript_.WaitFor("differs is noise");
  fs::remove(file_);
  transcript_.WaitFor("is not there any more");
  Build("slow");
  std::string all = transcript_.WaitFor("finding  ");
  Stop();
  all = std::regex_replace(all, std::regex(folder_.string() + "/"), "");
  ExpectGolden("tests/data/golden/watch.txt", all);
  EXPECT_TRUE(fs::is_empty(folder_) || std::distance(fs::directory_iterator(folder_), {}) == 1) << "the library alone";
}

TEST_F(WatchTest, AChangeEndsAMeasurementThatHangs) {
  Build("hangs");
  Start();
  transcript_.WaitFor("watching");
  while (measured_ == 0) usleep(1000);
  Build("slow");
  const std::string all = transcript_.WaitFor("finding");
  EXPECT_FALSE(Contains(all, "was ended"));
}

TEST_F(WatchTest, RecordingsAreKeptUnderNewNumbers) {
  const fs::path kept = folder_ / "kept";
  fs::create_directory(kept);
  for (const char* const name : {"watch-0007.fap", "watch-0009.fap.part", "watch-x.fap", "watch-0099.txt"}) {
    WriteFile(kept / name, name);
  }
  Build("slow");
  Start(kept);
  transcript_.WaitFor("finding");
  Build("it has no kernel");
  transcript_.WaitFor("it has no kernel");
  Build("wrong");
  transcript_.WaitFor("NOT CORRECT");
  EXPECT_EQ(ReadFile(kept / "watch-0007.fap"), "watch-0007.fap");
  EXPECT_EQ(ReadFile(kept / "watch-0009.fap.part"), "watch-0009.fap.part");
  EXPECT_EQ(store::RecordingReader(kept / "watch-0010.fap").Load().cases.at(0).kernel, "mine");
  EXPECT_EQ(store::RecordingReader(kept / "watch-0011.fap").Load().verifications.at(0).draws_passed, 3);
  EXPECT_EQ(std::distance(fs::directory_iterator(kept), {}), 6) << "what could not be measured leaves nothing";
}

TEST_F(WatchTest, AFolderForRecordingsIsMade) {
  Build("slow");
  Start(folder_ / "kept");
  transcript_.WaitFor("finding");
  EXPECT_TRUE(fs::exists(folder_ / "kept" / "watch-0001.fap"));
}

TEST_F(WatchTest, WhatCannotWorkIsAnErrorAtTheStart) {
  const StopSignals stop;
  std::ostringstream out;
  const auto refusal = [&](const std::string& file, const std::string& folder) -> std::string {
    try {
      Watch(
          {.file = file, .folder = folder}, [](const auto&, const auto&) { return ""; }, stop, out);
    } catch (const Error& error) {
      EXPECT_NE(error.hint(), "");
      return error.message();
    }
    return "";
  };
  EXPECT_TRUE(Contains(refusal(file_, ""), "mine.so cannot be read: No such file"));
  EXPECT_TRUE(Contains(refusal(folder_, ""), "is a directory"));
  Build("slow");
  EXPECT_TRUE(Contains(refusal(file_, folder_ / "no" / "folder"), "not found"));
  EXPECT_TRUE(Contains(refusal(file_, file_), "mine.so cannot be made: File exists"));
}

}  // namespace
}  // namespace fa_profile::watch::watch_test

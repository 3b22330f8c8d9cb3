// What ProgramCounters does on our own thread: chooses what the next round measures, ends rounds, writes.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "fa_profile/nvtx_callbacks.h"
#include "fa_profile/program_trace.h"
#include "program_counters.h"

namespace fa_profile::inject {
namespace {

// Classes measured in one round: each takes about 4 MB of the program's memory for the set "full".
constexpr std::size_t kMostRangesOfARound = 24;
// EndSampling() looks so often for threads that launch, once a tick.
constexpr int kCallsUntilEnd = 10;
// Of a kernel whose instructions are counted, which makes it some 50 times as long.
constexpr double kLongestCountedNs = 5e6;
// Ticks without a range after which a round waits for what does not come any more.
constexpr int kMostTicksWithoutRange = 10;
// To leave CUPTI: until no stream captures, and then until the GPU is idle.
constexpr std::chrono::seconds kLongestCapture{2};
constexpr std::chrono::milliseconds kBetweenLooks{10};
constexpr double kIdleBeforeLeavingSeconds = 4.0;

}  // namespace

bool ProgramCounters::Measures() {
  const LaunchLock lock = Lock();
  return depth_ > 0 || MeasuresLocked();
}

collect::AskedLaunches ProgramCounters::TakeCounts() {
  const LaunchLock lock = Lock();
  return counts_.Take();
}

bool ProgramCounters::EndSampling() {
  if (sampler_.hangs()) return false;
  if (sampler_.closed()) {
    sampler_.Stop();
    return true;
  }
  {
    const LaunchLock lock = Lock();
    if (!MayEndSampling()) return false;
  }
  StartWatching();
  const LaunchLock lock = Lock();
  ends_sampling_ = ++calls_of_end_ > kCallsUntilEnd;
  return false;
}

bool ProgramCounters::IsCapturing() {
  const LaunchLock lock = Lock();
  return !capturing_.empty();
}

void ProgramCounters::Choose() {
  const std::vector<ProgramRecording::Candidate> candidates = recording_.Candidates();
  const LaunchLock lock = Lock();
  for (const ProgramRecording::Candidate& candidate : candidates) {
    if (candidate.share_ratio < plan_.least_share_ratio || wanted_.size() == kMostRangesOfARound ||
        classes_measured_ >= plan_.max_classes) {
      break;
    }
    // What does not come now may not come again.
    if (candidate.recent < 2 || !WantsCounters(candidate.name)) continue;
    wanted_index_.emplace(candidate.name, wanted_.size());
    seen_.insert(candidate.name);
    wanted_.push_back(candidate.name);
    if (candidate.mean_ns > 0.0 && candidate.mean_ns <= kLongestCountedNs) countable_.insert(candidate.name);
    ++classes_measured_;
  }
}

void ProgramCounters::Write(bool at_end) {
  while (true) {
    Measured measured;
    {
      const LaunchLock lock = Lock();
      // Of a class that was replayed the first record may still come; its case is made from the record.
      const auto next = std::find_if(measured_.begin(), measured_.end(), [&](const Measured& one) {
        return at_end || !one.launch || recording_.Knows(one.keys[0]);
      });
      if (next == measured_.end()) return;
      measured = std::move(*next);
      measured_.erase(next);
    }
    std::vector<collect::MeasuredRange> ranges;
    for (std::size_t i = 0; i < measured.keys.size(); ++i) {
      ranges.push_back({recording_.CaseOf(measured.keys[i], measured.launch ? &*measured.launch : nullptr), "",
                        i < measured.names.size() ? measured.names[i] : std::string()});
    }
    session_->Write(std::move(measured.data), ranges, /*keep_image=*/true);
    const int passes = session_->plan().passes;
    const LaunchLock lock = Lock();
    for (std::size_t i = 0; i < measured.passes.size(); ++i) {
      if (measured.passes[i] >= passes) continue;
      losses_.push_back({"pass_missing", measured.keys[i].substr(0, measured.keys[i].find(' ')),
                         "it was launched in " + std::to_string(measured.passes[i]) + " of " + std::to_string(passes) +
                             " passes; metrics of the others are missing",
                         passes - measured.passes[i]});
    }
  }
}

// While callbacks are switched, nothing may be done in one: to switch, CUPTI waits for those that are under way. Nor
// may we hold a lock that one of them wants.
void ProgramCounters::WatchRanges() {
  if (ranges_watched_ || !collect::ProcessNvtxRanges().in_use()) return;
  bool watched = false;
  {
    const LaunchLock lock = Lock();
    if (depth_ > 0) return;
    watched = std::exchange(watching_, false);
  }
  collect::WatchRanges();
  ranges_watched_ = true;
  const LaunchLock lock = Lock();
  watching_ = watched;
}

void ProgramCounters::StartWatching() {
  {
    const LaunchLock lock = Lock();
    if (watching_) return;
  }
  collect::WatchLaunches(true);
  const LaunchLock lock = Lock();
  watching_ = true;
}

void ProgramCounters::Tick() {
  bool choose = false;
  bool watch = false;
  {
    const LaunchLock lock = Lock();
    if (!opened_) return;
    choose = MayMeasure() && plan_.replay == ProgramReplay::kSpread && wanted_.empty() && to_count_.empty();
  }
  if (choose) Choose();
  Write(/*at_end=*/false);
  {
    const LaunchLock lock = Lock();
    watch =
        counting_ || (calls_of_end_ > 0 && MayEndSampling()) || MeasuresLocked() || (selection_.asks() && MayMeasure());
    ticks_without_range_ = ranges_opened_ == ranges_at_last_tick_ ? ticks_without_range_ + 1 : 0;
    ranges_at_last_tick_ = ranges_opened_;
    if ((!wanted_.empty() || !to_count_.empty()) && ticks_without_range_ >= kMostTicksWithoutRange) {
      ticks_without_range_ = 0;
      if (!to_count_.empty()) {
        counts_expired_ = true;  // the next launch ends it, on its thread
      } else if (spread_) {
        expired_ = true;  // the next launch ends it, on its thread
      } else {
        for (const std::string& key : wanted_) seen_.erase(key);
        classes_measured_ -= static_cast<int>(wanted_.size());
        wanted_.clear();
        wanted_index_.clear();
      }
    }
    // Never while a launch is measured: its OnLaunched() must come.
    if (watch == watching_ || depth_ > 0) return;
    if (!watch) watching_ = false;
  }
  watch ? StartWatching() : collect::WatchLaunches(false);
}

void ProgramCounters::Stop() {
  const LaunchLock lock = Lock();
  stopped_ = true;
  counting_ = false;
}

void ProgramCounters::WatchRoom() {
  const LaunchLock lock = Lock();
  if (!MayMeasure()) return;
  try {
    RequireRoom();
  } catch (const std::exception& error) {
    lacks_room_ = true;
    losses_.push_back({"counters_ended", "", error.what(), 1});
  }
}

// Under launch_mutex_, while the GPU is idle and no launch is measured.
void ProgramCounters::EndRound() {
  if (!spread_ || given_up_ || spread_->passes_taken() == 0) return;
  try {
    (void)spread_->EndPass();
    EndSpread();
  } catch (const std::exception& error) {
    losses_.push_back({"counters_ended", "", error.what(), 1});
  }
}

bool ProgramCounters::LeaveCupti() {
  StartWatching();  // launches and captures wait in their callbacks while we hold the lock
  LaunchLock lock = Lock();
  const auto deadline = std::chrono::steady_clock::now() + kLongestCapture;
  // Whatever is switched off while a stream captures makes the capture invalid, and so does a wait for the GPU.
  while (!capturing_.empty()) {
    lock.unlock();
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kBetweenLooks);
    lock = Lock();
  }
  bool idle = true;
  for (const void* const context : std::set<const void*>{context_.load(), sampler_.context()}) {
    idle = idle && (context == nullptr || collect::DeviceIdle(context).Wait(kIdleBeforeLeavingSeconds));
  }
  // To end these CUPTI waits for the GPU, without a bound. Without them, only the records of what still runs are lost.
  if (!idle && (profiler_ || !sampler_.closed())) return false;
  stopped_ = true;
  if (context_ != nullptr) collect::SetContextOfThisThread(context_);
  EndRound();
  given_up_ = true;
  spread_.reset();
  profiler_.reset();
  instructions_.reset();
  use_.reset();
  collect::StopTrace();
  collect::FlushTraceAtExit();         // a buffer that CUPTI kept would come to the next profiler
  sampler_.Close(sampler_.context());  // last: nothing may be recorded, and it may never end
  sampler_.Stop();
  lock.unlock();
  if (session_) Write(/*at_end=*/true);
  return true;
}

std::vector<DataLoss> ProgramCounters::Finish() {
  {
    const LaunchLock lock = Lock();
    if (spread_ && depth_ == 0 && idle_->Wait(kIdleBeforeSeconds)) EndRound();
    given_up_ = true;
    watching_ = false;
    for (const std::string& key : wanted_) seen_.erase(key);  // of a round without a complete pass
  }
  if (session_) Write(/*at_end=*/true);
  std::int64_t unmeasured = 0;
  for (const ProgramRecording::Candidate& candidate : recording_.Candidates()) {
    if (candidate.share_ratio >= plan_.least_share_ratio && WantsCounters(candidate.name)) ++unmeasured;
  }
  const LaunchLock lock = Lock();
  unmeasured = std::min<std::int64_t>(unmeasured, plan_.max_classes - classes_measured_);
  if (unmeasured > 0 && !plan_.metrics.empty() && plan_.replay == ProgramReplay::kSpread) {
    losses_.push_back(
        {"counters_not_measured",
         plan_.least_share_ratio > 0.0 ? "launch classes with 1 % of the kernel time or more" : "launch classes",
         "the program ended, or they did not repeat; --replay kernel measures the first launch of each", unmeasured});
  }
  if (const std::int64_t graphs = device_graphs_; graphs > 0) {
    losses_.push_back({"launch_not_watched", "CUDA graphs that were instantiated for device launch",
                       "launches that the GPU itself makes are not counted, and the counts of these graphs' kernels, "
                       "and of those that launch them, may be wrong",
                       graphs});
  }
  if (captured_ > 0) {
    losses_.push_back({"launch_not_watched", "launches during stream captures",
                       "they cannot be told from captured ones; up to this many are not counted", captured_});
  }
  if (selection_.asks() && !plan_.metrics.empty() && selection_.found() <= plan_.launch_skip) {
    losses_.push_back({"counters_not_measured", "launches that --kernel, --nvtx and --launch-skip choose",
                       selection_.found() == 0 ? "no launch was found by --kernel and --nvtx"
                                               : "--launch-skip leaves out all launches that were found",
                       1});
  }
  if (not_idle_ > 0) {
    losses_.push_back({"launch_not_measured", "launches while the GPU was busy with other work",
                       "to measure one, the GPU must become idle within 0.2 s (1.6 s after several tries)", not_idle_});
  }
  return std::exchange(losses_, {});
}

}  // namespace fa_profile::inject

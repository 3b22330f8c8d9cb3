#include "program_counters.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "fa_profile/address_space.h"
#include "fa_profile/counter_lock.h"
#include "fa_profile/cupti_api.h"
#include "fa_profile/demangle.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/notice.h"
#include "fa_profile/nvtx_callbacks.h"
#include "fa_profile/program_trace.h"
#include "fa_profile/quiet_writes.h"
#include "fa_profile/units.h"

namespace fa_profile::inject {
namespace {

// Waits in a row that found the GPU busy, after which nothing is measured any more.
constexpr int kMostWaitsInARow = 6;
// Launches without one to measure after which a pass ends.
constexpr std::int64_t kPatienceLaunches = 1000;
// kIdleBeforeSeconds doubles after each wait that was too short, up to this. The end of a launch is waited for so long.
constexpr double kLongestIdleSeconds = 1.6;
constexpr double kIdleAfterSeconds = 2.0;

// Between OnLaunch() and OnLaunched() of a launch that is measured, or while we launch ourselves.
thread_local bool this_thread_measures = false;
// It has been in OnLaunch(), which knows by now whether several threads launch.
thread_local bool this_thread_launched = false;

std::string KeyOf(const collect::LaunchCall& call) {
  return call.symbol != nullptr ? LaunchKey(call.symbol, call.grid, call.block) : GraphKey(call.graph);
}

bool IsGraph(const std::string& key) { return key.starts_with(kGraphCase); }

}  // namespace

ProgramCounters::ProgramCounters(const InjectPlan& plan, ProgramRecording& recording, ProgramSampler& sampler)
    : plan_(plan),
      recording_(recording),
      sampler_(sampler),
      pattern_(plan.kernel_pattern),
      selection_(plan),
      counting_(plan.record_all_s < kRecordAlways) {}

bool ProgramCounters::WantsCounters(const std::string& key) const {
  if (seen_.contains(key) || collect::IsCollective(key)) return false;
  if (!plan_.nvtx_pattern.empty() && plan_.replay == ProgramReplay::kSpread && !selected_.contains(key)) return false;
  if (IsGraph(key)) return plan_.kernel_pattern.empty();
  return pattern_.Finds(Demangle(key.substr(0, key.find(' ')).c_str()));
}

// The first process that records takes the name as it is.
void ProgramCounters::OpenRecording() {
  const char* const folder = std::getenv(kInjectFolder);
  const std::filesystem::path told = folder != nullptr ? folder : "";
  const int claim = open((told / kInjectFirst).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (claim >= 0) close(claim);
  if (claim < 0 && !plan_.children) {
    GiveUp("");
    return;
  }
  context_ = collect::ContextOfThisThread();
  sampler_.OnRecordedContext(context_);
  device_ = collect::OpenCurrentDevice();
  const std::string path = ExpandOutput(plan_.output, claim >= 0);
  const std::string kept_aside = recording_.Create(path, device_);
  std::ofstream(told / kInjectRecordings, std::ios::app) << path + (kept_aside.empty() ? "" : '\t' + kept_aside) + '\n';
}

void ProgramCounters::EndMeasuring() noexcept {
  use_.reset();
  sampler_.Open();
}

void ProgramCounters::GiveUp(const char* why) noexcept {
  given_up_ = true;
  spread_.reset();
  profiler_.reset();  // the counters are free again
  to_count_.clear();
  if (*why == '\0') {
    sampler_.Stop();  // this process is not recorded
    return;
  }
  EndMeasuring();
  try {
    const std::string text = why;
    Notice("no counters are measured any more: " + text.substr(0, text.find('\n')));  // without the hint
    losses_.push_back({"counters_ended", "", why, 1});
  } catch (const std::bad_alloc&) {
    return;
  }
}

void ProgramCounters::RequireRoom() {
  const std::optional<std::int64_t> left = AddressSpaceLeft();
  if (!left || *left >= kRoomToMeasureBytes) return;
  throw Error(
      fmt::format("the program limits its memory (RLIMIT_AS or RLIMIT_DATA): {} are left, and measuring takes up to {}",
                  FormatValue(static_cast<double>(*left), "bytes"),
                  FormatValue(static_cast<double>(kRoomToMeasureBytes), "bytes")));
}

// The plan, once. Before any launch is measured.
bool ProgramCounters::Prepare() {
  if (!idle_) idle_.emplace();
  if (!IsIdle()) return false;
  if (profiler_) return true;
  RequireRoom();
  StopTrace();
  try {
    sampler_.Close(context_);  // the hardware's counters serve one
    if (!session_) {
      collect::RequireCounters(context_);
      gpu_ = collect::OpenGpuApi(device_, /*flush_cache=*/false, plan_.cache_dir);
      run_.emplace(collect::CollectRun{device_, *gpu_, recording_});
      session_.emplace(*run_, plan_.metrics);
    }
    if (!use_) use_.emplace();
    profiler_ = gpu_->OpenRangeProfiler();
  } catch (...) {
    if (!sampler_.hangs()) TraceAgain();
    throw;
  }
  TraceAgain();
  return true;
}

// Of a graph launch whose records were not handed over by then, all kernels end when recording begins again: each 0.1 s
// long, or more (H200, driver 580.159.04).
void ProgramCounters::StopTrace() {
  collect::StopTrace();
  collect::FlushTrace();
}

void ProgramCounters::TraceAgain() noexcept {
  try {
    collect::StartTrace(&recording_);
  } catch (const std::exception&) {
    recording_.OnLostWork(1);
  }
}

ProgramCounters::Measure ProgramCounters::BeginSpread(const std::string& key, bool selected) {
  const auto known = !selected || waits_for_others_.contains(key) ? wanted_index_.end() : wanted_index_.find(key);
  if (known == wanted_index_.end() && !spread_) return Measure::kNothing;
  if (known != wanted_index_.end() && !ends_alone_.contains(key)) {
    // CUPTI waits for the launch without a bound when the range ends. So one launch must show first that it does not
    // wait for another.
    if (!idle_) idle_.emplace();
    if (!IsIdle()) return Measure::kNothing;
    probed_ = key;
    return Measure::kProbe;
  }
  if (!spread_) {
    if (!Prepare()) return Measure::kNothing;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < wanted_.size(); ++i) names.push_back("class " + std::to_string(i));
    spread_.emplace(session_->plan(), *profiler_, std::move(names), kPatienceLaunches);
  }
  const bool wanted = spread_->Wants(known == wanted_index_.end() ? std::nullopt : std::optional(known->second));
  if (!wanted && !spread_->stalled() && !expired_) return Measure::kNothing;
  if (!IsIdle()) return Measure::kNothing;
  if (expired_ || spread_->stalled()) {
    if (spread_->EndPass() || expired_) {
      EndSpread();
      if (to_count_.empty()) EndMeasuring();
      return Measure::kNothing;
    }
  }
  if (!wanted) return Measure::kNothing;
  StopTrace();  // with the activity API on, CUPTI runs another kernel inside the range
  try {
    spread_->Open(known->second);
  } catch (...) {
    TraceAgain();
    throw;
  }
  ++ranges_opened_;
  selection_.OnMeasured();
  return Measure::kRange;
}

bool ProgramCounters::IsIdle() {
  // A program that launches far ahead has up to 1024 launches to wait for.
  const bool idle = idle_->Wait(std::min(kIdleBeforeSeconds * (1 << not_idle_in_a_row_), kLongestIdleSeconds));
  not_idle_in_a_row_ = idle ? 0 : not_idle_in_a_row_ + 1;
  if (!idle) ++not_idle_;
  if (not_idle_in_a_row_ >= kMostWaitsInARow)
    GiveUp("the GPU does not become idle, so no launch can be measured alone");
  return idle;
}

void ProgramCounters::EndSpread() {
  Measured measured{profiler_->Decode(), wanted_, spread_->wanted(), {}};
  for (std::size_t i = 0; i < wanted_.size(); ++i) measured.passes.push_back(spread_->passes_of(i));
  // A class that never came has no range.
  for (std::size_t i = wanted_.size(); i-- > 0;) {
    if (measured.passes[i] > 0) continue;
    seen_.erase(wanted_[i]);  // it may come again
    --classes_measured_;
    measured.keys.erase(measured.keys.begin() + static_cast<std::ptrdiff_t>(i));
    measured.names.erase(measured.names.begin() + static_cast<std::ptrdiff_t>(i));
    measured.passes.erase(measured.passes.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const std::string& key : measured.keys) {
    if (plan_.phases && !cannot_count_ && !selection_.over() && countable_.contains(key)) to_count_.insert(key);
  }
  spread_.reset();
  profiler_.reset();  // another profiler may have the counters
  wanted_.clear();
  wanted_index_.clear();
  expired_ = false;
  if (!measured.keys.empty()) measured_.push_back(std::move(measured));
}

void ProgramCounters::BeginReplay(const collect::LaunchCall& call, const std::string& key) {
  if (call.symbol == nullptr || classes_measured_ >= plan_.max_classes || !WantsCounters(key)) return;
  if (!Prepare()) return;
  seen_.insert(key);
  session_->StartKernelRanges(*profiler_, 1);
  replayed_ = key;
  replayed_launch_ = {};
  replayed_launch_.kernel_name = call.symbol;
  replayed_launch_.grid = call.grid;
  replayed_launch_.block = call.block;
  ++classes_measured_;
  ++replayed_launches_;
  selection_.OnMeasured();
}

ProgramCounters::LaunchLock ProgramCounters::Lock() {
  LaunchLock lock(launch_mutex_);
  only_counts_ = false;
  return lock;
}

bool ProgramCounters::OnlyCounts(const collect::LaunchCall& call) noexcept {
  if (!only_counts_ || !this_thread_launched || !recording_.works()) return false;
  if (collect::ContextOfThisThread() != context_) return false;
  Count(call, 1);
  return true;
}

void ProgramCounters::OnLaunch(const collect::LaunchCall& call) noexcept {
  if (OnlyCounts(call)) return;
  const LaunchLock lock = Lock();
  if (depth_ > 0) {
    ++depth_;
    return;
  }
  if (!watching_ || stopped_) return;
  if (!capturing_.empty()) {  // most of these are nodes of the graph that is captured
    if (counting_) ++captured_;
    return;
  }
  if (launching_thread_ == std::thread::id()) launching_thread_ = std::this_thread::get_id();
  several_threads_ = several_threads_ || launching_thread_ != std::this_thread::get_id();
  this_thread_launched = true;
  const bool counts = counting_ && recording_.works() && collect::ContextOfThisThread() == context_;
  if (counts) Count(call, 1);
  if (ends_sampling_ && MayEndSampling() && collect::ContextOfThisThread() == context_) EndSamplingLocked();
  const bool selected = !given_up_ && Selects(call);
  if (given_up_ || (opened_ && !MeasuresLocked())) {
    only_counts_ = counts && !ends_sampling_ && (given_up_ || !selection_.asks());
    return;
  }
  const QuietWrites quiet;
  launch_began_ns_ = collect::ActivityClockNs();
  SetDepth(1);  // launches of our own are not the program's
  try {
    if (!opened_) {
      opened_ = true;
      OpenRecording();
      if (given_up_) {
        SetDepth(0);
        return;
      }
    }
    if (MeasuresLocked() && recording_.works() && collect::ContextOfThisThread() == context_) {
      const std::string key = KeyOf(call);
      Measure measure = Measure::kNothing;
      if (!to_count_.empty()) {
        measure = BeginCount(key, selected);
      } else if (plan_.replay == ProgramReplay::kSpread && !wanted_.empty()) {
        measure = BeginSpread(key, selected);
      }
      if (plan_.replay == ProgramReplay::kKernel && selected) BeginReplay(call, key);
      const bool recorded = measure == Measure::kNothing || measure == Measure::kProbe;
      if (counts && (!recorded || !replayed_.empty())) Count(call, -1);  // it is not recorded
      if (measure != Measure::kNothing || !replayed_.empty()) {
        launch_mutex_.lock();
        return;
      }
    }
  } catch (const std::exception& error) {
    GiveUp(error.what());
  }
  SetDepth(0);
  AddMeasuringTime();  // of a wait
}

void ProgramCounters::Count(const collect::LaunchCall& call, int launches) noexcept {
  try {
    counts_.Count(call, launches);
  } catch (const std::bad_alloc&) {
    return;  // what was recorded counts
  }
}

bool ProgramCounters::MayMeasure() const {
  return !given_up_ && !stopped_ && !lacks_room_ && !plan_.metrics.empty() && !selection_.over();
}

// Counts the launch, and remembers its class when that may be chosen for it.
bool ProgramCounters::Selects(const collect::LaunchCall& call) {
  if (!selection_.asks()) return true;
  if (!MayMeasure() || !recording_.works() || collect::ContextOfThisThread() != context_) return false;
  try {
    const auto path = [](std::uint32_t range) { return collect::ProcessNvtxRanges().PathOf(range); };
    if (!selection_.Takes(call.symbol, collect::CurrentNvtxRange(), path)) return false;
    if (!plan_.nvtx_pattern.empty() && selected_.size() < collect::ProgramTotals::kMostClasses) {
      selected_.insert(KeyOf(call));
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool ProgramCounters::MeasuresLocked() const {
  if (!MayMeasure()) return false;
  if (plan_.replay == ProgramReplay::kKernel) return classes_measured_ < plan_.max_classes;
  return !wanted_.empty() || !to_count_.empty();
}

// As Close() asks: no thread launches, no stream captures, the GPU is idle.
void ProgramCounters::EndSamplingLocked() {
  SetDepth(1);  // launches of our own are not the program's
  try {
    if (!idle_) idle_.emplace();
    if (idle_->Wait(std::min(kIdleBeforeSeconds * (1 << sampling_ends_tried_++), kLongestIdleSeconds))) {
      StopTrace();
      sampler_.Close(context_);
      sampler_.Stop();
      TraceAgain();
    }
  } catch (const std::exception& error) {
    if (!sampler_.hangs()) TraceAgain();
    GiveUp(error.what());
  }
  ends_sampling_ = false;
  SetDepth(0);
}

void ProgramCounters::AddMeasuringTime() {
  constexpr std::int64_t kShortestNs = 100'000;  // a look at a launch, which is then not measured, takes less
  const std::int64_t elapsed_ns = collect::ActivityClockNs() - launch_began_ns_;
  if (session_ && elapsed_ns >= kShortestNs) measuring_ns_ += elapsed_ns;
}

void ProgramCounters::SetDepth(int depth) {
  depth_ = depth;
  this_thread_measures = depth > 0;
}

// Other threads must not wait here: a launch that does not end would be in CUPTI's way while this one is measured.
void ProgramCounters::OnLaunched() noexcept {
  if (!this_thread_measures) return;
  const QuietWrites quiet;
  const LaunchLock lock = Lock();
  if (depth_ == 0 || --depth_ > 0) return;
  launch_mutex_.unlock();  // OnLaunch's; ours is held until the end
  SetDepth(1);
  try {
    if (!replayed_.empty()) {
      (void)profiler_->Stop();
      measured_.push_back({profiler_->Decode(), {std::exchange(replayed_, "")}, {}, {}, replayed_launch_});
    } else if (!probed_.empty()) {
      const std::string key = std::exchange(probed_, "");
      if (idle_->Wait(kIdleAfterSeconds)) {
        ends_alone_.insert(key);
      } else {
        waits_for_others_.insert(key);
        losses_.push_back({"launch_not_measured", key.substr(0, key.find(' ')),
                           "it did not end while nothing else was launched, so it cannot be measured alone", 1});
      }
    } else if (!counted_.empty()) {
      TakeInstructionCounts();
    } else {
      bool ended = spread_->Close();
      if (!ended && selection_.over()) {  // no launch would end the round
        (void)spread_->EndPass();
        ended = true;
      }
      TraceAgain();
      if (ended) {
        EndSpread();
        if (to_count_.empty()) EndMeasuring();
      }
    }
  } catch (const std::exception& error) {
    replayed_.clear();
    TraceAgain();  // before phases are sampled again: CUPTI does not begin to record while it samples
    GiveUp(error.what());
  }
  SetDepth(0);
  AddMeasuringTime();
}

// Waits for a launch that is being measured: from here on nothing is.
void ProgramCounters::OnCaptureBegins(const void* stream) noexcept {
  const LaunchLock lock = Lock();
  try {
    capturing_.insert(stream);
  } catch (const std::bad_alloc&) {
    given_up_ = true;
  }
}

void ProgramCounters::OnCaptureEnded(const void* stream) noexcept {
  const LaunchLock lock = Lock();
  capturing_.erase(stream);
}

// Not while a stream captures, in whatever context: sampling would invalidate the capture when it begins.
void ProgramCounters::OnContextBegins(const void* context) noexcept {
  const std::unique_lock lock(launch_mutex_, std::try_to_lock);
  if (lock && capturing_.empty()) sampler_.OnContextBegins(context);
}

void ProgramCounters::OnProfiler(bool on) noexcept {
  const std::int64_t now_ns = collect::ActivityClockNs();
  on ? recording_.BeginWork(now_ns) : recording_.EndWork(now_ns);
}

void ProgramCounters::OnContextEnds(const void* context) noexcept {
  sampler_.OnContextEnds(context);
  // The driver may hold locks that a launch under way needs: no wait for contexts that are not ours.
  if (context != context_) return;
  const LaunchLock lock = Lock();
  if (depth_ > 0) return;
  const bool open = profiler_ != nullptr;
  spread_.reset();
  profiler_.reset();
  for (const std::string& key : wanted_) seen_.erase(key);
  wanted_.clear();
  wanted_index_.clear();
  to_count_.clear();
  use_.reset();
  context_ = nullptr;
  if (open) GiveUp("the program destroyed its CUDA context");
}

// With several threads, three of eight attempts did not end (H200, driver 580.159.04).
bool ProgramCounters::MayEndSampling() const { return !several_threads_ && sampling_ends_tried_ < kMostWaitsInARow; }

}  // namespace fa_profile::inject

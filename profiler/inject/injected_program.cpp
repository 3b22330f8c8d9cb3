#include "injected_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "fa_profile/address_space.h"
#include "fa_profile/counter_lock.h"
#include "fa_profile/cupti_api.h"
#include "fa_profile/descriptor.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/nvtx_callbacks.h"
#include "fa_profile/program_trace.h"
#include "fa_profile/units.h"

namespace fa_profile::inject {
namespace {

constexpr std::chrono::milliseconds kLongestWaitForNames{500};

collect::CounterPlan CountersOf(const InjectPlan& plan) {
  collect::CounterPlan counters;
  if (plan.replay != ProgramReplay::kNone) counters.metrics = plan.metrics;
  counters.first_metrics = plan.first_metrics;
  counters.replay = plan.replay == ProgramReplay::kKernel ? collect::Replay::kKernel : collect::Replay::kUser;
  counters.least_share_ratio = plan.least_share_ratio;
  counters.max_classes = plan.max_classes;
  counters.counts_launches = plan.record_all_s < kRecordAlways;
  counters.counts_instructions = plan.phases;
  return counters;
}

}  // namespace

InjectedProgram::InjectedProgram(const InjectPlan& plan, ProgramRecording& recording, ProgramSampler& sampler)
    : plan_(plan),
      recording_(recording),
      sampler_(sampler),
      filter_(plan),
      gate_(*this, filter_, recording, CountersOf(plan)) {}

void InjectedProgram::WatchRanges() {
  if (ranges_ == Ranges::kWatched || !collect::ProcessNvtxRanges().in_use()) return;
  gate_.WhileNothingIsWatched([] { collect::WatchRanges(); });
  ranges_ = Ranges::kWatched;
}

void InjectedProgram::WatchNames() {
  {
    const std::lock_guard lock(names_mutex_);
    if (names_ != Names::kAsked) return;
  }
  gate_.WhileNothingIsWatched([] { collect::WatchNames(); });
  collect::FlushTrace();
  SettleNames();
}

void InjectedProgram::SettleNames() noexcept {
  const std::lock_guard lock(names_mutex_);
  names_ = Names::kSettled;
  names_changed_.notify_all();
}

// Once a process: names of launches before it are only right if their records come with this flush.
void InjectedProgram::OnModuleUnloads() noexcept {
  std::unique_lock lock(names_mutex_);
  if (names_ == Names::kSettled) return;
  names_ = Names::kAsked;
  (void)names_changed_.wait_for(lock, kLongestWaitForNames, [this] { return names_ == Names::kSettled; });
  names_ = Names::kSettled;  // our thread may be waiting for this one
}

void InjectedProgram::OnProfiler(bool on) noexcept {
  const std::int64_t now_ns = collect::ActivityClockNs();
  on ? recording_.BeginWork(now_ns) : recording_.EndWork(now_ns);
}

// Not while a stream captures, in any context: starting to sample would invalidate the capture.
void InjectedProgram::OnContextBegins(const void* context) noexcept {
  gate_.IfNothingCaptures([&] {
    sampler_.OnContextBegins(context);
    if (sampler_.context() == context && !samples_.exchange(true)) EndMeasuringAtExit();
  });
}

void InjectedProgram::OnContextEnds(const void* context) noexcept {
  sampler_.OnContextEnds(context);
  // The driver may hold locks that a launch under way needs, so do not wait for contexts that are not ours.
  if (context != context_) return;
  gate_.OnContextEnds();
  collect::ForgetGraphs();
}

// The first process that records takes the name unchanged.
bool InjectedProgram::OpenRecording() {
  const char* const folder = std::getenv(kInjectFolder);
  const std::filesystem::path told = folder != nullptr ? folder : "";
  const int claim = open((told / kInjectFirst).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (claim >= 0) close(claim);
  if (claim < 0 && !plan_.children) return false;
  context_ = collect::ContextOfThisThread();
  sampler_.OnRecordedContext(context_);
  device_ = collect::OpenCurrentDevice();
  const std::string path = ExpandOutput(plan_.output, claim >= 0);
  const std::string kept_aside = recording_.Create(path, device_);
  std::ofstream(told / kInjectRecordings, std::ios::app) << path + (kept_aside.empty() ? "" : '\t' + kept_aside) + '\n';
  return true;
}

bool InjectedProgram::Records() noexcept { return recording_.works() && collect::ContextOfThisThread() == context_; }

std::int64_t InjectedProgram::NowNs() noexcept { return collect::ActivityClockNs(); }

bool InjectedProgram::WaitIdle(double seconds) {
  if (!idle_) idle_.emplace();
  return idle_->Wait(seconds);
}

// If a graph launch's records were not handed over before recording stops, all its kernels end when recording begins
// again: each appears to last 0.1 s or more (H200, driver 580.159.04).
void InjectedProgram::StopTrace() noexcept {
  collect::StopTrace();
  collect::FlushTrace();
}

// CUPTI blocks any caller while the end of sampling hangs.
void InjectedProgram::StartTrace() noexcept {
  if (sampler_.hangs()) return;
  try {
    collect::StartTrace(&recording_);
  } catch (const std::exception&) {
    recording_.OnLostWork(1);
  }
}

collect::ProgramApi::Sampling InjectedProgram::sampling() {
  if (sampler_.hangs()) return Sampling::kHangs;
  return sampler_.closed() ? Sampling::kOff : Sampling::kOn;
}

bool InjectedProgram::HasRoom() noexcept {
  return HasDescriptorsLeft(kDescriptorsToMeasure) &&
         AddressSpaceLeft().value_or(kRoomToMeasureBytes) >= kRoomToMeasureBytes;
}

void InjectedProgram::RequireRoom() {
  if (!HasDescriptorsLeft(kDescriptorsToMeasure)) {
    throw Error(fmt::format("the program may open fewer than {} more files (RLIMIT_NOFILE), and measuring opens some",
                            kDescriptorsToMeasure));
  }
  const std::optional<std::int64_t> left = AddressSpaceLeft();
  if (!left || *left >= kRoomToMeasureBytes) return;
  throw Error(
      fmt::format("the program limits its memory (RLIMIT_AS or RLIMIT_DATA): {} are left, and measuring takes up to {}",
                  FormatValue(static_cast<double>(*left), "bytes"),
                  FormatValue(static_cast<double>(kRoomToMeasureBytes), "bytes")));
}

collect::CollectRun& InjectedProgram::TakeCounters() {
  if (!run_) {
    collect::RequireCounters(context_);
    gpu_ = collect::OpenGpuApi(device_, /*flush_cache=*/false, plan_.cache_dir);
    run_.emplace(collect::CollectRun{device_, *gpu_, recording_});
  }
  return *run_;
}

// At each launch that another thread makes in the middle of exit(), an open range profiler or PC sampler would use what
// the destructors of CUPTI's libraries left. Registered after these are loaded, this runs before them.
void InjectedProgram::EndMeasuringAtExit() noexcept {
  static InjectedProgram* program = nullptr;
  static pid_t process = 0;
  program = this;
  process = getpid();
  (void)std::atexit([] {
    if (getpid() != process || !program->HasContext()) return;
    const void* const context = collect::ContextOfThisThread();
    program->gate_.EndMeasuring();
    collect::SetContextOfThisThread(context);
  });
}

void InjectedProgram::BeginMeasuring() {
  if (!std::exchange(measures_, true)) EndMeasuringAtExit();
  if (!use_) use_.emplace();
}

void InjectedProgram::EndMeasuring() noexcept {
  use_.reset();
  sampler_.Open();
}

void InjectedProgram::OnContextLost() noexcept {
  use_.reset();
  context_ = nullptr;
}

void InjectedProgram::AddCounts(const std::string& key, std::vector<collect::CountedPc> pcs, std::uint64_t dropped) {
  sampler_.AddCounts(key, {std::move(pcs), dropped});
}

bool InjectedProgram::WaitAllIdle(double seconds) {
  bool idle = true;
  for (const void* const context : std::set<const void*>{context_.load(), sampler_.context()}) {
    idle = idle && (context == nullptr || collect::DeviceIdle(context).Wait(seconds));
  }
  return idle;
}

void InjectedProgram::EnterContext() noexcept {
  if (context_ != nullptr) collect::SetContextOfThisThread(context_);
}

void InjectedProgram::LeaveCupti() {
  use_.reset();
  collect::StopTrace();
  collect::FlushTraceAtExit();         // a buffer that CUPTI kept would go to the next profiler
  sampler_.Close(sampler_.context());  // last: it requires that nothing is recorded, and may never return
  sampler_.Stop();
}

}  // namespace fa_profile::inject

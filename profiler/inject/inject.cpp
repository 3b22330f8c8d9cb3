// libfa_profile_inject.so: loaded by the CUDA driver into the profiled program and its children
// (CUDA_INJECTION64_PATH). The program must never notice: whatever fails here ends the measurement, not the program.
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "fa_profile/address_space.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/notice.h"
#include "fa_profile/nvtx_callbacks.h"
#include "fa_profile/other_profiler.h"
#include "fa_profile/program_trace.h"
#include "fa_profile/quiet_thread.h"
#include "fa_profile/quiet_writes.h"
#include "fa_profile/units.h"
#include "injected_program.h"
#include "launch_sampling.h"
#include "program_recording.h"

namespace fa_profile::inject {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kTick{0.1};
constexpr Seconds kBetweenSamples{1.0};  // between looks at the PC samples
// Windows grow, so that a killed program loses little and a long run stays small.
constexpr Seconds kFirstWindow{1.0};
constexpr Seconds kLongestWindow{60.0};
// Longest delay at the end of the program.
constexpr Seconds kLongestEnd{5.0};
// Another profiler's call waits at most this long for us to leave CUPTI.
constexpr Seconds kLongestLeave{10.0};
// Time watched before launch classes are chosen for their counters.
constexpr Seconds kBeforeCounters{0.5};

// Address space. The reserve is released when the program limits itself; below the minimum, recording stops.
constexpr std::size_t kReserveBytes = std::size_t{256} << 20U;
constexpr std::int64_t kRoomToRecordBytes = std::int64_t{64} << 20U;

constexpr std::size_t kMostPlanBytes = std::size_t{16} << 20U;

// In a child of fork() nothing works: neither CUDA nor our thread exists there.
std::atomic<bool> is_fork = false;

class Injection {
 public:
  explicit Injection(InjectPlan plan)
      : plan_(std::move(plan)),
        recording_(plan_, collect::ProcessNvtxRanges()),
        sampler_(plan_.kernel_pattern),
        program_(plan_, recording_, sampler_),
        sampling_(recording_, gate_) {}

  void Start() {
    if (collect::ObserveProgram(&program_, plan_.phases, !plan_.from_start, InjectedProgram::KeepsGraphs(plan_))) {
      collect::WatchLaunches(true);
    } else {
      Notice("another profiler is attached to this program, so nothing is measured; run it without that profiler");
      return;
    }
    try {
      Begin();
    } catch (...) {
      collect::StopTrace();
      (void)collect::StopObserving();
      throw;
    }
    holds_cupti_ = true;
  }

  // Runs on a thread of the program that is about to use CUPTI for another library, and says whether it may. Our thread
  // does the leaving; this one carries on after a while, whatever CUPTI does.
  bool LeaveCuptiTo(const void* caller) noexcept {
    if (is_fork || !holds_cupti_) return true;
    try {
      std::unique_lock lock(mutex_);
      if (successor_.empty()) {
        successor_ = collect::LibraryAt(caller);
        asked_ = true;
        changed_.notify_all();
      }
      if (refuses_) return false;
      (void)changed_.wait_for(lock, kLongestLeave, [this] { return !asked_ || ended_; });
      if (!holds_cupti_) return true;
      if (!std::exchange(refuses_, true)) {
        Notice(successor_ + " uses CUPTI itself, as torch.profiler does, but fa-profile could not leave it in time: " +
               "it sees no GPU work");
      }
    } catch (const std::exception&) {
      return false;
    }
    return false;
  }

  void Finish() noexcept {
    if (is_fork || !thread_.joinable()) return;
    const QuietWrites quiet;
    program_.SettleNames();
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      changed_.notify_all();
    }
    {
      // The holder may wait for a launch that does not return, or that this very thread is in: then the .part has to
      // do.
      std::unique_lock lock(mutex_);
      if (!changed_.wait_for(lock, kLongestEnd, [this] { return ended_; })) {
        thread_.detach();
        return;
      }
    }
    thread_.join();
    try {
      if (!recording_.created()) return;
      if (holds_cupti_ && !sampler_.hangs()) {
        collect::FlushTraceAtExit();
        if (program_.HasContext()) collect::StopTrace();
      }
      std::vector<DataLoss> losses = gate_.Finish();
      if (!why_stopped_.empty()) losses.push_back({"launch_not_watched", "launches from then on", why_stopped_, 1});
      if (!plan_.from_start) FollowProfilerCalls();
      if (Watches()) WriteWindow();
      if (plan_.phases) WriteSamples(losses);
      if (!traced_) losses.push_back({"launch_not_measured", "all", "the program ended before --delay was over", 1});
      if (!plan_.from_start && spans_followed_ == 0) {
        losses.push_back({"launch_not_measured", "all",
                          "the program did not call cudaProfilerStart, which --profile-from-start off waits for", 1});
      }
      if (collect::CopiesAreLeftOut()) {
        losses.push_back({"copies_not_recorded", "copies",
                          "while CUPTI records copies, CUDA graphs of XLA (JAX) end with a launch failure", 1});
      }
      for (const std::string& path : collect::OtherCuptis()) {
        losses.push_back(
            {"two_cupti", path,
             "the program loaded this copy of CUPTI in addition to fa-profile's: if something in it profiles, the "
             "two disturb each other; use one CUDA version for both",
             1});
      }
      recording_.Finish(losses, gate_.measured_launches(), gate_.replayed_launches());
    } catch (const std::exception& error) {
      Fail(error);
    }
  }

 private:
  void Begin() {
    // CUPTI does not start recording launches while it samples instructions, which begins with the context.
    if (plan_.phases) StartTrace();
    if (plan_.delay_s <= 0.0) Trace();
    reserve_.Take(kReserveBytes);
    thread_ = StartQuietThread([this] {
      Run();
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    });
  }

  static void Fail(const std::exception& error) noexcept { NoticeOf("measuring ended", error); }

  void Run() noexcept {
    try {
      RunUntilTheEnd();
    } catch (const std::exception& error) {
      gate_.Stop();
      if (holds_cupti_ && !sampler_.hangs()) collect::StopTrace();
      stopped_ = true;
      Fail(error);
      SetWhyStopped(error);
    }
  }

  void SetWhyStopped(const std::exception& error) noexcept {
    try {
      why_stopped_ = std::string("recording ended early: ") + error.what();
    } catch (const std::bad_alloc&) {
      why_stopped_ = "out of memory";  // short enough not to allocate
    }
  }

  // Stops recording before allocations fail, and measuring before files cannot be opened.
  void WatchRoom() {
    if (InjectedProgram::HasRoom()) return;
    reserve_.Release();
    gate_.WatchRoom();
    const std::optional<std::int64_t> left = AddressSpaceLeft();
    if (!left || *left >= kRoomToRecordBytes) return;
    throw Error(fmt::format("the program limits its memory (RLIMIT_AS or RLIMIT_DATA): {} are left",
                            FormatValue(static_cast<double>(*left), "bytes")));
  }

  // A recording without phases is still useful.
  void WriteSamples(std::vector<DataLoss>& losses) {
    try {
      sampler_.Write(recording_, losses);
    } catch (const std::exception& error) {
      losses.push_back({"phases_not_sampled", "kernels", error.what(), 1});
    }
  }

  void StartTrace() {
    if (!tracing_) collect::StartTrace(&recording_);
    tracing_ = true;
  }

  void Trace() {
    StartTrace();
    if (plan_.from_start) {
      sampler_.Begin();
      recording_.BeginWork(plan_.delay_s > 0.0 ? collect::ActivityClockNs() : 0);
    }
    traced_ = true;
  }

  // Launches made now belong to the recording.
  bool Watches() const { return traced_ && !stopped_ && (plan_.from_start || profiled_); }

  // A span may begin and end between two looks: then both are handled.
  void FollowProfilerCalls() {
    if (!recording_.created() || stopped_) return;
    const ProgramRecording::Spans spans = recording_.SpansAfter(spans_followed_);
    if (!profiled_ && spans.count > spans_followed_) {
      recording_.MoveWindow(spans.next_from_ns);
      sampler_.Begin();
      profiled_ = true;
    }
    spans_followed_ = spans.count;
    if (!profiled_ || spans.last_until_ns == ProgramRecording::kNever) return;
    collect::FlushTrace();
    WriteWindow(spans.last_until_ns);
    sampler_.Pause();
    profiled_ = false;
  }

  void WriteWindow(std::int64_t until_ns = ProgramRecording::kNever) {
    const std::int64_t now_ns = until_ns == ProgramRecording::kNever ? collect::ActivityClockNs() : until_ns;
    const std::int64_t measuring_ns = gate_.TakeMeasuringNs();
    measured_ += std::chrono::nanoseconds(measuring_ns);
    if (sampling_.active()) {
      ProgramRecording::Sample sample = sampling_.Take();
      if (!recording_.WriteWindow(now_ns, measuring_ns, &sample)) sampling_.Lengthen();
    } else {
      (void)recording_.WriteWindow(now_ns, measuring_ns);
    }
  }

  // Launches made until now belong to a separate window.
  void SampleLaunches(bool on) {
    if (on == sampling_.active()) return;
    // CUPTI does not start recording launches while it samples instructions.
    if (on && !gate_.EndSampling()) return;
    if (!on && !sampling_.Open()) return;
    collect::FlushTrace();
    WriteWindow();
    on ? sampling_.Begin() : sampling_.End();
  }

  /// False: the program is ending.
  bool Sleep(Seconds time) {
    std::unique_lock lock(mutex_);
    (void)changed_.wait_for(lock, time, [this] { return ends_ || asked_; });
    return !ends_;
  }

  bool IsAsked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  // False: CUPTI cannot be left now, and recording goes on.
  bool LeaveCupti(Seconds watched) {
    const auto records = [this] { return recording_.created() && Watches(); };
    if (records()) {  // kept, whatever CUPTI does next
      collect::FlushTrace();
      WriteWindow();
    }
    const bool left = gate_.LeaveCupti();
    const std::int64_t end_ns = left ? collect::ActivityClockNs() : 0;
    // From here on we make no CUPTI call.
    if (left && collect::StopObserving()) holds_cupti_ = false;
    {
      const std::lock_guard lock(mutex_);
      asked_ = false;
      changed_.notify_all();
    }
    if (!left) return false;
    if (records()) WriteWindow(end_ns);
    if (!std::exchange(stopped_, true)) {
      why_stopped_ = fmt::format("{} uses CUPTI itself, as torch.profiler does: nothing is recorded from {:.1f} s on",
                                 successor_, watched.count());
      Notice(why_stopped_);
    }
    return true;
  }

  void RunUntilTheEnd() {
    const Clock::time_point start = Clock::now();
    std::optional<Clock::time_point> created;
    std::optional<Clock::time_point> whole_from;
    Clock::time_point window_end{};
    Seconds window = kFirstWindow;
    Clock::time_point sampled = start;
    while (Sleep(sampling_.active() ? sampling_.Pause() : kTick)) {
      const Clock::time_point now = Clock::now();
      if (!stopped_) WatchRoom();
      if (!traced_ && now - start >= Seconds(plan_.delay_s)) {
        Trace();
        recording_.BeginWindow(collect::ActivityClockNs());
      }
      if (plan_.duration_s > 0.0 && !stopped_ && now - start >= Seconds(plan_.delay_s + plan_.duration_s)) {
        gate_.Stop();
        collect::StopTrace();
        sampler_.Stop();
        stopped_ = true;
        collect::FlushTrace();
        if (created && (plan_.from_start || profiled_)) WriteWindow();
      }
      if (IsAsked() && LeaveCupti(now - start)) return;
      // From here on CUPTI may block any caller.
      if (sampler_.hangs()) {
        stopped_ = true;
        why_stopped_ = "recording ended early: the sampling of phases did not end";
        return;
      }
      if (now - sampled >= kBetweenSamples) {
        sampler_.Take();
        sampled = now;
      }
      program_.WatchRanges();
      program_.WatchNames();
      collect::FlushTrace();
      if (!created && recording_.created()) {
        created = now;
        window_end = now + std::chrono::duration_cast<Clock::duration>(window);
      }
      if (!plan_.from_start && traced_) FollowProfilerCalls();
      if (created && (Watches() || stopped_) && now - *created >= kBeforeCounters) gate_.Tick();
      if (!created || !Watches()) continue;
      if (now >= window_end) {
        WriteWindow();
        window = std::min(window * 1.5, kLongestWindow);
        window_end = now + std::chrono::duration_cast<Clock::duration>(window);
      }
      if (!whole_from) whole_from = now;
      const bool whole = Seconds(now - *whole_from) - measured_ < Seconds(plan_.record_all_s);
      SampleLaunches(!whole && !gate_.Measures());
      if (!sampling_.active()) continue;
      (void)sampling_.Open();
      (void)Sleep(sampling_.stretch());
      sampling_.Close();
    }
  }

  const InjectPlan plan_;
  AddressSpaceReserve reserve_;
  ProgramRecording recording_;
  ProgramSampler sampler_;
  InjectedProgram program_;
  collect::LaunchGate& gate_ = program_.gate();
  LaunchSampling sampling_;
  Seconds measured_{};  // time spent on counters so far
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> holds_cupti_ = false;
  std::string successor_;  // the first library that was about to use CUPTI
  bool asked_ = false;     // it is waiting for us to leave CUPTI
  bool refuses_ = false;   // it waited too long
  bool ends_ = false;
  bool ended_ = false;     // Run() has ended
  bool tracing_ = false;   // the activity API is on
  bool profiled_ = false;  // between cudaProfilerStart and cudaProfilerStop, as far as we have followed
  std::int64_t spans_followed_ = 0;
  bool traced_ = false;   // something is recorded, or was
  bool stopped_ = false;  // recording is over; written by our thread, then by Finish()
  std::string why_stopped_;
  std::thread thread_;
};

// Never destroyed: launches may come until the process is gone.
std::atomic<Injection*> the_injection = nullptr;

// Path of the plan. Empty if this process is not watched. One that outlives fa-profile finds the folder gone.
std::string PlanPath() {
  const char* const folder = std::getenv(kInjectFolder);
  return folder == nullptr ? "" : std::string(folder) + "/" + kInjectPlanFile;
}

bool IsWatched() noexcept {
  try {
    const std::string path = PlanPath();
    return !path.empty() && access(path.c_str(), R_OK) == 0;
  } catch (const std::exception&) {
    return false;
  }
}

void StartInjection() {
  const std::string path = PlanPath();
  if (path.empty()) return;
  collect::PrepareNvtxForFork();
  std::string plan;
  try {
    plan = ReadFile(path, kMostPlanBytes);
  } catch (const std::exception&) {
    return;
  }
  InjectPlan asked = ReadInjectPlan(plan);
  // Another process is recorded, and the hardware's counters serve only one.
  const std::string folder = std::getenv(kInjectFolder);
  if (!asked.children && access((folder + "/" + kInjectFirst).c_str(), F_OK) == 0) asked.phases = false;
  auto* const injection = new Injection(std::move(asked));
  the_injection = injection;
  (void)pthread_atfork(nullptr, nullptr, [] { is_fork = true; });
  (void)std::atexit([] { the_injection.load()->Finish(); });
  injection->Start();
}

// In a constructor: the loader holds its lock, so no other thread loads a library.
__attribute__((constructor)) void GuardCuptiOfThisProgram() {
  if (!IsWatched()) return;
  collect::GuardCupti([](const void* caller) noexcept {
    Injection* const injection = the_injection;
    return injection == nullptr || injection->LeaveCuptiTo(caller);
  });
}

}  // namespace
}  // namespace fa_profile::inject

// The driver calls this once, at its initialisation. Returns 1 for success, as the driver expects.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  try {
    fa_profile::inject::StartInjection();
  } catch (const std::exception& error) {
    fa_profile::NoticeOf("nothing is measured", error);
  }
  return 1;
}

// NVTX calls this at the program's first NVTX call, once for each library that uses it. Returns 1 for success.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(fa_profile::collect::NvtxTables tables) {
  return fa_profile::inject::IsWatched() && fa_profile::collect::TakeNvtx(tables) ? 1 : 0;
}

// The same for the first call of an NVTX extension, with an nvtxExtModuleInfo_t.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(void* module) {
  return fa_profile::inject::IsWatched() && fa_profile::collect::TakeNvtxExtension(module) ? 1 : 0;
}

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fa_profile/counter_session.h"
#include "fa_profile/device_idle.h"
#include "fa_profile/gpu_api.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/launch_hook.h"
#include "fa_profile/launch_sample.h"
#include "fa_profile/launch_selection.h"
#include "fa_profile/profiler_use.h"
#include "fa_profile/spread_session.h"
#include "launch_counts.h"
#include "program_recording.h"
#include "program_sampler.h"

namespace fa_profile::inject {

/// Measures counters around launches of the program, on the threads that launch; a thread of ours says what, and
/// writes.
///
/// While a launch is measured no other thread launches, so that the range holds nothing else. Nothing is measured while
/// a stream of the process captures: CUPTI's work would invalidate the capture. No wait is unbounded.
class ProgramCounters final : public collect::ProgramObserver {
 public:
  /// `sampler` is closed while counters are measured.
  ProgramCounters(const InjectPlan& plan, ProgramRecording& recording, ProgramSampler& sampler);

  void OnLaunch(const collect::LaunchCall& call) noexcept override;
  void OnLaunched() noexcept override;
  void OnCaptureBegins(const void* stream) noexcept override;
  void OnCaptureEnded(const void* stream) noexcept override;
  void OnDeviceGraph() noexcept override { ++device_graphs_; }
  void OnProfiler(bool on) noexcept override;
  void OnContextBegins(const void* context) noexcept override;
  void OnModuleLoaded(std::span<const std::uint8_t> cubin) noexcept override { sampler_.OnModuleLoaded(cubin); }
  void OnContextEnds(const void* context) noexcept override;

  // On our own thread (counter_rounds.cpp).
  /// Chooses launch classes to measure, writes what was measured, and turns the watch of launches off when idle.
  void Tick();
  /// collect::WatchRanges(), unless a launch is being measured: then at the next call.
  void WatchRanges();
  /// Nothing is measured any more.
  void Stop();
  /// The same of counters alone, unless kRoomToMeasureBytes of address space are left.
  void WatchRoom();
  /// What a round may take with CUPTI's libraries. Where less is left, allocations would fail inside CUPTI, and stacks
  /// could not grow: the program would end by a segmentation fault.
  static constexpr std::int64_t kRoomToMeasureBytes = std::int64_t{1} << 30U;
  /// Counters of a launch class are being measured, or may be at its next launch.
  bool Measures();
  /// Launches since the last call, but for those that were measured, and those that a stream captured. None when every
  /// launch is recorded to the end.
  collect::AskedLaunches TakeCounts();
  bool IsCapturing();
  /// Ends the sampling of phases for good, at a launch that finds the GPU idle. False: not yet, or never, as in a
  /// program that launches from several threads: there CUPTI may not end it.
  bool EndSampling();
  /// For another profiler in the program: takes what a pass that is under way has, writes, and ends all that CUPTI does
  /// for us but the calls of ProgramObserver. False: a stream captures or the GPU is busy, and all goes on. Takes some
  /// seconds at most, in which launches and captures wait. Throws Error: sampling did not end, or no file can be
  /// written.
  bool LeaveCupti();
  /// At the end of the program: takes what a pass that is under way has, and writes. The losses of the whole run.
  std::vector<DataLoss> Finish();
  /// Launches that were measured: the activity API does not see them, or without times.
  std::int64_t measured_launches() const { return replayed_launches_ + ranges_opened_; }
  std::int64_t replayed_launches() const { return replayed_launches_; }
  /// The time in which counters were measured since the last call.
  std::int64_t TakeMeasuringNs() { return measuring_ns_.exchange(0); }

 private:
  // A launch to be measured waits so long for the device to become idle.
  static constexpr double kIdleBeforeSeconds = 0.2;

  // What was measured in one image, to be written by our own thread.
  struct Measured {
    collect::CounterData data;
    std::vector<std::string> keys;   // in the order of the ranges
    std::vector<std::string> names;  // of the ranges; empty: CUPTI named them
    std::vector<int> passes;         // taken of each; empty: all
    std::optional<Launch> launch{};  // that CUPTI replayed
  };

  using LaunchLock = std::unique_lock<std::recursive_mutex>;
  LaunchLock Lock();
  // Counts the launch without the lock, for which a program's threads would wait, where nothing else is to be done.
  bool OnlyCounts(const collect::LaunchCall& call) noexcept;
  void OpenRecording();
  bool Prepare();
  static void RequireRoom();   // throws Error
  void TraceAgain() noexcept;  // after collect::StopTrace()
  bool IsIdle();
  void Count(const collect::LaunchCall& call, int launches) noexcept;
  void StopTrace();  // until TraceAgain(); while the GPU is idle
  bool MayEndSampling() const;
  void EndSamplingLocked();
  void StartWatching();
  bool MeasuresLocked() const;
  bool MayMeasure() const;
  bool Selects(const collect::LaunchCall& call);
  // What is done with a launch.
  enum class Measure { kNothing, kProbe, kRange, kCount };
  Measure BeginSpread(const std::string& key, bool selected);
  Measure BeginCount(const std::string& key, bool selected);
  void TakeInstructionCounts();
  void EndCounting();
  void LoseInstructionCounts(const char* why);
  void BeginReplay(const collect::LaunchCall& call, const std::string& key);
  void EndSpread();
  void EndRound();
  // Launches are as fast as before again, and phases are sampled.
  void EndMeasuring() noexcept;
  void GiveUp(const char* why) noexcept;
  void SetDepth(int depth);
  void AddMeasuringTime();
  bool WantsCounters(const std::string& key) const;
  void Choose();
  void Write(bool at_end);

  const InjectPlan& plan_;
  ProgramRecording& recording_;
  ProgramSampler& sampler_;
  KernelPattern pattern_;
  LaunchSelection selection_;
  std::set<std::string> selected_;  // keys that were launched inside the wanted NVTX ranges

  // Held from OnLaunch() to OnLaunched() of a measured launch. Recursive, because measuring may itself launch on the
  // same thread.
  std::recursive_mutex launch_mutex_;
  // OnLaunch() found that a launch is only counted. Who takes the lock may change that, so Lock() forgets it.
  std::atomic<bool> only_counts_ = false;
  int depth_ = 0;         // launches entered on the thread that measures; 0: nothing is being measured
  bool watching_ = true;  // launches are watched
  bool opened_ = false;
  bool given_up_ = false;
  bool stopped_ = false;  // by Stop()
  bool lacks_room_ = false;
  std::set<const void*> capturing_;
  std::atomic<std::int64_t> device_graphs_ = 0;
  bool counting_;
  bool ends_sampling_ = false;  // EndSampling() waits for a launch
  int sampling_ends_tried_ = 0;
  int calls_of_end_ = 0;
  std::thread::id launching_thread_;  // the first that was seen
  bool several_threads_ = false;      // launch
  LaunchCounts counts_;
  std::int64_t captured_ = 0;  // launches that were not counted, because a stream captured
  std::atomic<const void*> context_ = nullptr;
  Device device_;
  std::unique_ptr<collect::GpuApi> gpu_;
  std::optional<collect::CollectRun> run_;
  std::optional<collect::CounterSession> session_;
  std::optional<collect::DeviceIdle> idle_;
  std::optional<collect::ProfilerUse> use_;  // from Prepare() to EndMeasuring()
  std::unique_ptr<collect::RangeProfiler> profiler_;
  std::optional<collect::SpreadSession> spread_;
  std::vector<std::string> wanted_;  // keys of the round that is asked for or under way
  std::map<std::string, std::size_t> wanted_index_;
  std::set<std::string> seen_;        // keys that were measured, or must not be
  std::set<std::string> ends_alone_;  // keys whose launch ended while nothing else was launched
  std::string probed_;                // the key of the launch that shows it now
  std::set<std::string> waits_for_others_;
  std::string replayed_;  // the key that is replayed now
  Launch replayed_launch_;
  std::int64_t replayed_launches_ = 0;
  std::int64_t ranges_opened_ = 0;
  bool expired_ = false;                  // the round waits for classes that do not come any more
  std::int64_t ranges_at_last_tick_ = 0;  // our own thread's
  int ticks_without_range_ = 0;
  bool ranges_watched_ = false;
  int classes_measured_ = 0;
  std::int64_t launch_began_ns_ = 0;
  std::int64_t not_idle_ = 0;
  int not_idle_in_a_row_ = 0;
  std::deque<Measured> measured_;
  // Instructions are counted after a round, of kernels that it measured, while the sampler is still closed.
  std::unique_ptr<collect::SassCounter> instructions_;
  std::set<std::string> countable_;  // keys of kernels short enough to be run many times slower
  std::set<std::string> to_count_;
  std::string counted_;          // the key that is counted now
  bool counts_expired_ = false;  // what is left does not come any more
  bool cannot_count_ = false;    // CUPTI failed
  std::vector<DataLoss> losses_;

  std::atomic<std::int64_t> measuring_ns_ = 0;
};

}  // namespace fa_profile::inject

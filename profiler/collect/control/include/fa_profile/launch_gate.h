#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fa_profile/counter_round.h"
#include "fa_profile/gate_lock.h"
#include "fa_profile/instruction_round.h"
#include "fa_profile/launch_counts.h"
#include "fa_profile/measured_program.h"
#include "fa_profile/sampling_end.h"
#include "fa_profile/small_stacks.h"

namespace fa_profile::collect {

/// Each launch of a program, of a kernel or of a graph, comes here before it reaches the driver: it passes; or it
/// runs alone, so that a range around it holds nothing else; or it is a graph's, and the graph's nodes are launched in
/// its place, so that each may run alone. Nothing runs alone while a stream of the process captures: CUPTI's work would
/// invalidate the capture. No wait is unbounded.
///
/// A launch, on its thread:
///
///     Enter() ─┬─ not watched, a stream captures, nothing to measure ──────────> kPasses: no lock is kept
///              ├─ its thread has little stack left ────────────────────────────> kPasses
///              ├─ InstructionRound::Begin(), else CounterRound::Begin(): kNone ─> kPasses
///              ├─ the same: kProbed, kMeasured ──> kAlone: the lock is kept ──> the driver's call ──> Leave()
///              └─ a graph, for whose nodes a round waits ──> Unroll() ──> kReplaced: no lock is kept
///
/// What may be measured in the process:
///
///     kAll ─┬─ WatchRoom(): too little memory ──> kNothingNew ─┬─> kNothing ── Stop(), LeaveCupti() ──> kStopped
///           └─ CUPTI fails, the GPU is never idle, ────────────┘
///              the context ends, Finish()
///
/// kNothingNew: what an open round has is still written. kNothing: launches are counted. kStopped: launches are not
/// looked at. A state may be left out, and none comes back.
///
/// Locks. The gate's lock guards the gate and both rounds; each call takes it for itself. A thread whose launch runs
/// alone holds it from Enter() to Leave(): other threads' launches and captures, their calls that give the GPU other
/// work (WorkCalls), and our own thread wait. What the holder itself calls for CUPTI passes. Under this lock
/// ProgramApi, LaunchFilter and LaunchClasses are called, which may take the lock of the recording's writer and then
/// that of its totals. WatchLaunches() is called without it, because CUPTI waits there for callbacks, and
/// CounterRound::Write(), because it takes long. LaunchCounts has separate locks, which hold no other.
class LaunchGate {
 public:
  LaunchGate(ProgramApi& api, LaunchFilter& filter, LaunchClasses& classes, CounterPlan plan);

  // On the program's threads.
  enum class Way { kPasses, kAlone, kReplaced };
  /// Before the driver's launch call. kAlone: Leave() must follow on this thread. kReplaced: the graph's nodes were
  /// launched, and the driver must not launch it.
  Way Enter(const LaunchCall& call) noexcept;
  /// After the call, whether or not it succeeded, and whatever Enter() returned.
  void Leave() noexcept;
  /// Around a call that loads code, or gives the GPU work that SMs do or that may wait for the host. Waits for a launch
  /// that runs alone: CUPTI waits for the whole GPU then, and the host's thread might wait for us.
  void OnWorkBegins() noexcept { program_.calls.Begin(lock_); }
  void OnWorkEnded() noexcept { program_.calls.End(); }
  /// Around the time in which a stream captures. Waits for a launch that runs alone.
  void OnCaptureBegins(const void* stream) noexcept;
  void OnCaptureEnded(const void* stream) noexcept;
  void OnDeviceGraph() noexcept { counts_.OnDeviceGraph(); }
  /// Before the recorded context is destroyed.
  void OnContextEnds() noexcept;
  /// Calls `work` under the lock, unless a stream captures or the lock is taken: it does not wait.
  void IfNothingCaptures(const std::function<void()>& work) noexcept;

  // On our own thread.
  /// Ten times a second: chooses launch classes to measure, writes results, and stops watching launches when nothing
  /// needs it. Throws Error: no file can be written.
  void Tick();
  /// Calls `work`, which switches CUPTI's callbacks, without the lock: CUPTI waits there for callbacks under way.
  /// Launches pass meanwhile.
  void WhileNothingIsWatched(const std::function<void()>& work);
  /// Ends all measuring.
  void Stop();
  /// Without room to measure, nothing more is measured, and what an open round has is kept.
  void WatchRoom();
  /// Counters may be measured at a launch class's next launch.
  bool Measures();
  bool IsCapturing();
  /// Launches since the last call, except measured ones and those that a stream captured. None unless
  /// CounterPlan::counts_launches.
  AskedLaunches TakeCounts();
  /// Ends PC sampling for good, at a launch that finds the GPU idle. False: not yet, or never, as in a program that
  /// launches from several threads.
  bool EndSampling();
  /// For another profiler in the program: keeps what a pass under way has collected, writes it, and ends everything
  /// that CUPTI does for us except its callbacks. False: a stream captures or the GPU is busy, and all goes on. Takes a
  /// few seconds at most, in which launches and captures wait. Throws Error: sampling did not end, or no file can be
  /// written.
  bool LeaveCupti();
  /// At the end of the program, while other threads may still launch: keeps what a pass under way has collected,
  /// measures nothing more, and ends the range profiler and, if other threads launched, PC sampling, unless the GPU
  /// stays busy. The recorded context becomes current.
  void EndMeasuring() noexcept;

  /// At the end of the program, on any of its threads, even in a signal handler inside a launch that runs alone: keeps
  /// what a pass under way has collected, and writes it. Returns the losses of the whole run. Throws Error: no file can
  /// be written.
  std::vector<DataLoss> Finish();
  /// Measured launches: the activity API does not see them, or only without times.
  std::int64_t measured_launches() const;
  std::int64_t replayed_launches() const { return counters_.replayed_launches(); }
  /// The time in which launches were measured since the last call.
  std::int64_t TakeMeasuringNs() { return alone_.total_ns.exchange(0); }

 private:
  using Lock = std::unique_lock<GateLock>;
  enum class Watch { kOff, kOn };
  enum class Recording { kAwaitsLaunch, kOpen };
  enum class Measuring { kAll, kNothingNew, kNothing, kStopped };  // each allows less than the one before
  // The launch that runs alone.
  struct Alone {
    enum class By { kNobody, kCounterRound, kInstructionRound } by = By::kNobody;
    std::int64_t began_ns = 0;
    int nested = 0;                          // launches entered in it by its own thread
    std::atomic<std::int64_t> total_ns = 0;  // of all such launches since TakeMeasuringNs()
  };
  // The graph whose nodes are launched in its place.
  struct Unrolled {
    std::vector<bool> selected;  // by node, where the filter asks
    std::int64_t unseen = 0;     // kernels of all such graphs, neither measured nor recorded
  };
  // What a launch on a known thread needs. Read without the lock.
  enum class Shortcut { kNone, kCount };

  Lock Hold();
  bool TakesShortcut(const LaunchCall& call) noexcept;
  LaunchUse TryAlone(const LaunchCall& call, bool selected) noexcept;
  bool HasStack(bool selected);
  LaunchUse Begin(const LaunchCall& call, const std::string& key, bool selected);
  void EndAlone() noexcept;
  LaunchUse BeginGraph(LaunchCall call, bool selected);
  LaunchUse Unroll(const LaunchCall& call, GraphNodes& graph);
  bool MayTake(std::size_t index, const GraphNodes::Node& node);
  void LaunchNode(GraphNodes& graph, std::size_t index, bool recorded);
  LaunchUse BeginNode(std::size_t index, const GraphNodes::Node& node) noexcept;
  std::vector<LaunchCandidate> Candidates();
  void Count(const LaunchCall& call, int launches) noexcept;
  bool CountsLaunches() const { return program_.plan.counts_launches && measuring_ != Measuring::kStopped; }
  bool MayMeasure() const;
  bool MeasuresLocked() const;
  bool Selects(const LaunchCall& call);
  void EndSamplingAtLaunch() noexcept;
  void EndSamplingWhileIdle();
  void Allow(Measuring no_more_than);
  void GiveUp(const char* why) noexcept;
  void AddMeasuringTime(std::int64_t began_ns);
  void StartWatching();
  void Write(bool at_end);

  MeasuredProgram program_;
  InstructionRound instructions_;
  CounterRound counters_;
  LaunchCounts counts_;
  SamplingEnd sampling_end_;
  GateLock lock_;
  std::atomic<Shortcut> shortcut_ = Shortcut::kNone;
  Watch watch_ = Watch::kOn;
  Recording recording_ = Recording::kAwaitsLaunch;
  Measuring measuring_ = Measuring::kAll;
  Alone alone_;
  Unrolled unrolled_;
  std::set<const void*> capturing_;
  SmallStacks small_stacks_;
};

}  // namespace fa_profile::collect

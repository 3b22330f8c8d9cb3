#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fa_profile/collect_run.h"
#include "fa_profile/graph_nodes.h"
#include "fa_profile/launch_call.h"

/// What the launch gate and its rounds need from the program that they live in. profiler/inject implements it over
/// CUPTI and CUDA; tests fake it.
namespace fa_profile::collect {

/// How the counters of a program are measured.
struct CounterPlan {
  std::vector<std::string> metrics;  ///< CUPTI names; empty: no counters
  /// kUser: each repetition of a launch class takes the next pass, and nothing runs twice. kKernel: CUPTI replays the
  /// first launch of each class.
  Replay replay = Replay::kUser;
  double least_share_ratio = 0.01;  ///< share of kernel time a class needs to be measured with kUser
  int max_classes = 0;              ///< launch classes whose counters are measured
  bool counts_launches = false;     ///< all launches are counted, because only a sample of them is recorded
  bool counts_instructions = false;
  /// CUPTI names, measured before `metrics` and, of classes below `least_share_ratio`, alone; with kUser. May be empty.
  std::vector<std::string> first_metrics{};
};

/// CUPTI, CUDA and the process. On the thread that launches, unless a function says otherwise; one thread at a time.
class ProgramApi {
 public:
  virtual ~ProgramApi() = default;

  /// Creates the recording for the calling thread's context. False: this process is not recorded. Throws Error.
  virtual bool OpenRecording() = 0;
  /// Launches that the calling thread makes now are part of the recording. Any thread, several at once.
  virtual bool Records() noexcept = 0;
  /// The activity API's clock. Any thread.
  virtual std::int64_t NowNs() noexcept = 0;

  /// Waits for the recorded context. False: it was not idle within `seconds`. Any thread. Throws Error.
  virtual bool WaitIdle(double seconds) = 0;

  /// The activity API records nothing from StopTrace() to StartTrace(). With the GPU idle.
  virtual void StopTrace() noexcept = 0;
  virtual void StartTrace() noexcept = 0;

  /// PC sampling of the program. kHangs: CUPTI did not end it and may keep any caller waiting.
  enum class Sampling { kOff, kOn, kHangs };
  virtual Sampling sampling() = 0;
  /// Makes room for counters. With the GPU idle, while nothing launches, no stream captures and no activity is
  /// recorded. Throws Error: sampling did not end.
  virtual void PauseSampling() = 0;
  /// Samples no longer count. Any thread.
  virtual void EndSampling() noexcept = 0;

  /// Throws Error: the program limits its memory, and measuring would need more than is left. Any thread.
  virtual void RequireRoom() = 0;
  /// Takes the GPU's counters; returns where their results are written. While sampling is paused. Throws Error: another
  /// process has the counters, no permission.
  virtual CollectRun& TakeCounters() = 0;
  /// From here on to EndMeasuring() each launch of the program takes longer. Throws Error.
  virtual void BeginMeasuring() = 0;
  /// Launches are fast again, and PC sampling resumes.
  virtual void EndMeasuring() noexcept = 0;
  /// The recorded context is being destroyed and must not be used any more.
  virtual void OnContextLost() noexcept = 0;

  /// The nodes of the graph that the calling thread is about to launch; nullptr: it can only be launched as a whole.
  virtual std::shared_ptr<GraphNodes> NodesOf(const LaunchCall& graph) noexcept = 0;
  /// Whether NodesOf() has them. Any thread, without a lock.
  virtual bool HasNodesOf(std::uint32_t graph) noexcept = 0;

  /// The counts of a launch class (LaunchKey()), to be written with its PC samples. `dropped`: records that CUPTI lost.
  virtual void AddCounts(const std::string& key, std::vector<CountedPc> pcs, std::uint64_t dropped) = 0;

  // On our own thread, without a lock that a callback of CUPTI takes.
  /// Whether launches come to the gate.
  virtual void WatchLaunches(bool on) noexcept = 0;

  // On our own thread, while launches and captures wait.
  /// Waits for all contexts that CUPTI works in. False: they were not idle within `seconds` each.
  virtual bool WaitAllIdle(double seconds) = 0;
  /// Makes the recorded context current.
  virtual void EnterContext() noexcept = 0;
  /// Ends everything that CUPTI does for us except its callbacks. Throws Error: sampling did not end.
  virtual void LeaveCupti() = 0;
};

/// Which launches the user wants measured. Under the gate's lock.
class LaunchFilter {
 public:
  virtual ~LaunchFilter() = default;
  /// Each launch must be checked. If not, every launch of a wanted class may be measured.
  virtual bool asks() const = 0;
  /// The launch that the calling thread is about to make may be measured. Counts it.
  virtual bool Takes(const LaunchCall& call) = 0;
  /// A launch was measured.
  virtual void OnMeasured() = 0;
  /// The requested number of launches was measured.
  virtual bool over() const = 0;
  /// Counters of this class, or of this graph, are wanted.
  virtual bool Wants(const std::string& key) = 0;
  /// At the end: what was requested and never came.
  virtual std::vector<DataLoss> Losses() const = 0;
};

/// A launch class or a graph with its share of the kernel time so far.
struct LaunchCandidate {
  std::string name;  ///< as returned by LaunchKey() or GraphKey()
  double share_ratio = 0.0;
  std::int64_t launches = 0;
  std::int64_t recent = 0;  ///< launches since the last call
  double mean_ns = 0.0;     ///< duration of one launch of a class; 0: a graph
};

/// The launch classes of the recording. Any thread.
class LaunchClasses {
 public:
  virtual ~LaunchClasses() = default;
  /// Sorted by share, largest first. `unrolls`: this graph can be launched node by node, so that its kernels are
  /// candidates and the graph is not.
  virtual std::vector<LaunchCandidate> Candidates(const std::function<bool(std::uint32_t graph)>& unrolls) = 0;
  /// Whether a launch of the class was recorded.
  virtual bool Knows(const std::string& key) const = 0;
  /// The case of a launch class or a graph, written when it is new. Throws Error. `launch`: for a class that may have
  /// no recorded launch at all, as when CUPTI replays them; its kernel_name is mangled.
  virtual std::int64_t CaseOf(const std::string& key, const Launch* launch) = 0;
};

}  // namespace fa_profile::collect

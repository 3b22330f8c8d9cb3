#pragma once

#include <cstdint>
#include <span>

#include "fa_profile/launch_call.h"

namespace fa_profile::collect {

/// Watches a program's calls to the driver. All callbacks come on the program's threads, several at once.
class ProgramObserver {
 public:
  virtual ~ProgramObserver() = default;
  /// Around the driver's launch call. Only while WatchLaunches(true). True: the nodes of the graph were launched
  /// (kept_graphs.h), so the driver launches an empty graph in its place; if it refused a node, the program's call gets
  /// that result.
  virtual bool OnLaunch(const LaunchCall& call) noexcept = 0;
  virtual void OnLaunched() noexcept = 0;
  /// Around a call that loads or unloads code, or queues a copy or fill that SMs may do, a host function or a wait for
  /// a value in memory.
  virtual void OnWorkBegins() noexcept = 0;
  virtual void OnWorkEnded() noexcept = 0;
  /// Around the time in which a stream captures: before the driver begins, and after it ended or failed to begin.
  /// OnCaptureEnded() also comes when a stream is destroyed, whether it captured or not.
  virtual void OnCaptureBegins(const void* stream) noexcept = 0;
  virtual void OnCaptureEnded(const void* stream) noexcept = 0;
  /// A CUDA graph was instantiated that the GPU itself may launch: such launches show up in no call and no record.
  virtual void OnDeviceGraph() noexcept = 0;
  /// The program called cuProfilerStart or cudaProfilerStart (on), or the corresponding Stop.
  virtual void OnProfiler(bool on) noexcept = 0;
  /// After the driver created a context (a CUcontext), before anything runs in it.
  virtual void OnContextBegins(const void* context) noexcept = 0;
  /// After a module was loaded: its machine code, valid during the call.
  virtual void OnModuleLoaded(std::span<const std::uint8_t> cubin) noexcept = 0;
  /// Before the driver unloads a module or a library.
  virtual void OnModuleUnloads() noexcept = 0;
  /// Before the driver destroys a context (a CUcontext).
  virtual void OnContextEnds(const void* context) noexcept = 0;
};

/// Calls `observer`, which must live as long as the process. `code`: also OnContextBegins() and OnModuleLoaded().
/// `profiler`: also OnProfiler(). `graphs`: copies of graphs are kept, for NodesOfGraph(). False when another profiler
/// is attached to this process.
bool ObserveProgram(ProgramObserver* observer, bool code, bool profiler, bool graphs);

/// For good: another profiler may subscribe. Calls under way may still arrive, and none may hold a lock that they need.
/// False: CUPTI refuses.
bool StopObserving() noexcept;

/// Once the program has used NVTX: from here on launches, and nodes added to graphs, are reported to
/// ProcessNvtxRanges(). ObserveProgram() does it if NVTX was used before. Not while a launch is measured.
void WatchRanges() noexcept;

/// From here on the names of launched kernels are kept in ProcessLaunchNames(). Not while a launch is measured.
void WatchNames() noexcept;

/// Turns OnLaunch() and OnLaunched() on or off. Off at first, because they make every launch a little slower. A launch
/// under way may still get its OnLaunched(). Any thread.
void WatchLaunches(bool on) noexcept;

/// The calling thread's context (a CUcontext), nullptr: none.
const void* ContextOfThisThread() noexcept;
void SetContextOfThisThread(const void* context) noexcept;

}  // namespace fa_profile::collect

#pragma once

#include <cstdint>
#include <span>

#include "fa_profile/launch_call.h"

namespace fa_profile::collect {

/// Watches what a program asks of the driver. All calls come on the program's threads, several at once.
class ProgramObserver {
 public:
  virtual ~ProgramObserver() = default;
  /// Around the driver's launch call. Only while WatchLaunches(true). True: the nodes of the graph were launched
  /// (kept_graphs.h), so the driver launches an empty graph in its place; when it refused a node, the program's call
  /// gets that result.
  virtual bool OnLaunch(const LaunchCall& call) noexcept = 0;
  virtual void OnLaunched() noexcept = 0;
  /// Around the time in which a stream captures: before the driver begins, and after it ended or failed to begin.
  /// OnCaptureEnded() also comes for a stream that is destroyed, whether it captured or not.
  virtual void OnCaptureBegins(const void* stream) noexcept = 0;
  virtual void OnCaptureEnded(const void* stream) noexcept = 0;
  /// A CUDA graph was instantiated that the GPU itself may launch: no call and no record tells of such launches.
  virtual void OnDeviceGraph() noexcept = 0;
  /// The program called cuProfilerStart or cudaProfilerStart (on), or their Stop.
  virtual void OnProfiler(bool on) noexcept = 0;
  /// After the driver created a context (a CUcontext), before anything runs in it.
  virtual void OnContextBegins(const void* context) noexcept = 0;
  /// After a module was loaded: its machine code, valid during the call.
  virtual void OnModuleLoaded(std::span<const std::uint8_t> cubin) noexcept = 0;
  /// Before the driver destroys a context (a CUcontext).
  virtual void OnContextEnds(const void* context) noexcept = 0;
};

/// Calls `observer`, which must live as long as the process. `code`: OnContextBegins() and OnModuleLoaded(), too.
/// `profiler`: OnProfiler(), too. `graphs`: copies of graphs are kept, for NodesOfGraph(). False when another profiler
/// is attached to this process.
bool ObserveProgram(ProgramObserver* observer, bool code, bool profiler, bool graphs);

/// For good: another profiler may subscribe. Calls that are under way may still come. None may hold a lock that they
/// want. False: CUPTI refuses.
bool StopObserving() noexcept;

/// Once the program has used NVTX: from here on launches, and nodes of graphs that are made, are reported to
/// ProcessNvtxRanges(). ObserveProgram() does it when NVTX was used before. Not while a launch is measured.
void WatchRanges() noexcept;

/// Turns OnLaunch() and OnLaunched() on or off; at first they are off, because each costs every launch some time. A
/// launch that is under way may still get its OnLaunched(). Any thread.
void WatchLaunches(bool on) noexcept;

/// The calling thread's context (a CUcontext), nullptr: none.
const void* ContextOfThisThread() noexcept;
void SetContextOfThisThread(const void* context) noexcept;

}  // namespace fa_profile::collect

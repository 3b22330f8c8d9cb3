#pragma once

#include "fa_profile/gpu_work.h"

/// The activity API over a whole program, from the library injected into it.
namespace fa_profile::collect {

/// Passes every kernel, copy and set to `observer`, which must live as long as the process, until StopTrace(). Once per
/// process. Throws Error. Threads of the program wait for the observer only when they fill a buffer.
void StartTrace(WorkObserver* observer);
/// Whether StartTrace() leaves out copies: in a process that has loaded JAX or XLA. The first call decides.
bool CopiesAreLeftOut();
/// Stops recording; what was recorded still arrives.
void StopTrace() noexcept;

/// Hands over complete records. Any thread, also while kernels run.
void FlushTrace() noexcept;
/// At the end of the program: hands over everything. Records of kernels still running are lost.
void FlushTraceAtExit() noexcept;

/// The current time on the clock of GpuWork::start_ns; 0: CUPTI has none.
std::int64_t ActivityClockNs() noexcept;

}  // namespace fa_profile::collect

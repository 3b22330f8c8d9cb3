#pragma once

#include "fa_profile/gpu_work.h"

/// The activity API over a whole program, from the library that is injected into it.
namespace fa_profile::collect {

/// Hands every kernel, copy and set to `observer`, which must live as long as the process, until StopTrace(). Once a
/// process. Throws Error. No thread of the program waits for the observer, but for those that fill a buffer.
void StartTrace(WorkObserver* observer);
/// Nothing is recorded any more; what was recorded still comes.
void StopTrace() noexcept;

/// Hands over the records that are complete. Any thread, also while kernels run.
void FlushTrace() noexcept;
/// At the end of the program: hands over everything. Records of kernels that still run are lost.
void FlushTraceAtExit() noexcept;

/// Now, on the clock of GpuWork::start_ns; 0: CUPTI has none.
std::int64_t ActivityClockNs() noexcept;

}  // namespace fa_profile::collect

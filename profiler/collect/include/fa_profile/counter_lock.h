#pragma once

namespace fa_profile::collect {

/// Until it ends or calls GiveCountersBack(), only this process measures counters of programs, or samples instructions,
/// on the GPU of the context (a CUcontext): a lock among the processes of a machine (of one network namespace). Throws
/// Error: another one has it, or sockets are forbidden. CUPTI itself does not refuse a second sampler: its process lost
/// all activity records and ended with a segmentation fault (H200, driver 580.159.04).
void RequireCounters(const void* context);

/// This process no longer measures on any GPU: another one may.
void GiveCountersBack();

}  // namespace fa_profile::collect

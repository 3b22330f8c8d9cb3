#pragma once

#include <cstdint>
#include <memory>

#include "fa_profile/gpu_api.h"

namespace fa_profile::collect {

/// PC sampling of everything that a context runs, from the library injected into a program. While one exists, no range
/// profiler may. CUPTI names only code loaded while a sampler exists, this one or an earlier one: open the first when
/// the context is created.
///
/// It is on or off, never stopped in between: cuptiPCSamplingStop, like cuptiPCSamplingDisable, does not return while
/// another thread launches (H200, driver 580.159.04).
class ContextSampler {
 public:
  static constexpr std::uint32_t kPeriodCycles = 1U << 20U;

  /// `context`: a CUcontext. Not while a stream captures: the capture would become invalid. Throws Error: another
  /// profiler has the counters, another process measures this GPU with fa-profile, no permission.
  explicit ContextSampler(const void* context);
  /// The destructor ends sampling. Only while the context is idle, no thread launches, no stream captures, and no
  /// activity is recorded: otherwise it may never return. Any thread.

  /// Samples since the last call. Any thread, one at a time, also while kernels run and streams capture. CUPTI holds
  /// the samples of a few busy seconds. Throws Error.
  PcSamples Take();

  /// The context is being destroyed: the destructor leaves it alone. No other call may follow.
  void Abandon() noexcept;

 private:
  std::unique_ptr<PcSampler> sampler_;
};

}  // namespace fa_profile::collect

#include "fa_profile/call_timer.h"

#include "cuda_api.h"
#include "nvml_abi.h"
#include "sm_clock.h"
#include "timing.h"

namespace fa_profile::collect {

CallTiming TimeCalls(Workload& workload, int warmup, int samples) {
  const CudaStream stream;
  SmClock clock;
  for (int i = 0; i < warmup; ++i) workload.Launch(stream.get());
  stream.Synchronize();
  return TimeLaunches([&](StreamHandle on) { workload.Launch(on); }, samples, CacheFlusher(false, 0), /*between=*/{},
                      &clock);
}

std::vector<std::string> ThrottleReasons(const ClockSample& sample) {
  // The software power cap counts: perhaps only one arm's code reaches it.
  std::vector<std::string> reasons;
  for (const nvml::Throttle& throttle : nvml::kThrottles) {
    if ((sample.throttle_reasons.value_or(0) & throttle.bit) != 0) reasons.emplace_back(throttle.words);
  }
  return reasons;
}

}  // namespace fa_profile::collect

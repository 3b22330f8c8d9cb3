#include "fa_profile/call_timer.h"

#include <array>
#include <utility>

#include "cuda_api.h"
#include "nvml_abi.h"
#include "sm_clock.h"
#include "timing.h"

namespace fa_profile {

CallTiming TimeCalls(Workload& workload, int warmup, int samples) {
  const CudaStream stream;
  SmClock clock;
  for (int i = 0; i < warmup; ++i) workload.Launch(stream.get());
  stream.Synchronize();
  return TimeLaunches([&](StreamHandle on) { workload.Launch(on); }, samples, CacheFlusher(false, 0), /*between=*/{},
                      &clock);
}

std::vector<std::string> ThrottleReasons(const ClockSample& sample) {
  // The software power cap counts: the code of only one arm may reach it.
  static constexpr std::array<std::pair<unsigned long long, const char*>, 6> kReasons = {
      {{nvml::kSwPowerCap, "power cap"},
       {nvml::kHwSlowdown, "hardware slowdown"},
       {nvml::kSyncBoost, "sync boost"},
       {nvml::kSwThermal, "software thermal slowdown"},
       {nvml::kHwThermal, "hardware thermal slowdown"},
       {nvml::kHwPowerBrake, "hardware power brake"}}};
  std::vector<std::string> reasons;
  for (const auto& [bit, name] : kReasons) {
    if ((sample.throttle_reasons.value_or(0) & bit) != 0) reasons.emplace_back(name);
  }
  return reasons;
}

}  // namespace fa_profile

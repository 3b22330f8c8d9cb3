#include "fa_profile/call_timer.h"

#include <array>
#include <cstdint>
#include <utility>

#include "cuda_api.h"
#include "sm_clock.h"
#include "timing.h"

namespace fa_profile {

struct CallTimer::Impl {
  CudaStream stream;
  SmClock clock;
  CacheFlusher no_flush{false, 0};
};

CallTimer::CallTimer() : impl_(std::make_unique<Impl>()) {}

CallTimer::~CallTimer() = default;

CallTiming CallTimer::Time(Workload& workload, int warmup, int samples) {
  const cudaStream_t stream = impl_->stream.get();
  for (int i = 0; i < warmup; ++i) workload.Launch(stream);
  impl_->stream.Synchronize();
  TimedLaunches timed = TimeLaunches([&](cudaStream_t on) { workload.Launch(on); }, samples, impl_->no_flush,
                                     /*cancelled=*/{}, &impl_->clock);
  return {std::move(timed.method), std::move(timed.durations_ns), timed.sm_clock_hz};
}

std::vector<std::string> ThrottleReasons(const ClockSample& sample) {
  // nvmlClocksEventReason*, nvml.h. "Power cap" (software) is one: the code of one arm may reach it, and not the
  // other's.
  static constexpr std::array<std::pair<std::uint64_t, const char*>, 6> kReasons = {
      {{0x04, "power cap"},
       {0x08, "hardware slowdown"},
       {0x10, "sync boost"},
       {0x20, "software thermal slowdown"},
       {0x40, "hardware thermal slowdown"},
       {0x80, "hardware power brake"}}};
  std::vector<std::string> reasons;
  for (const auto& [bit, name] : kReasons) {
    if ((sample.throttle_reasons.value_or(0) & bit) != 0) reasons.emplace_back(name);
  }
  return reasons;
}

}  // namespace fa_profile

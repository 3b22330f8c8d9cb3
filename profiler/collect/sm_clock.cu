#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda_api.h"
#include "sm_clock.h"

namespace fa_profile::collect {
namespace {

struct SmStamp {
  std::uint64_t cycles;  // on this SM; 0: no block ran here
  std::uint64_t nanoseconds;
};

// Each SM's counters start somewhere else: only differences on one SM mean anything.
__global__ void StampClocks(SmStamp* stamps, unsigned sm_count) {
  unsigned sm = 0;
  std::uint64_t nanoseconds = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  const auto cycles = static_cast<std::uint64_t>(clock64());
  if (sm < sm_count) stamps[sm] = {cycles, nanoseconds};
}

}  // namespace

SmClock::SmClock() {
  int device = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&sm_count_, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  CheckCuda(cudaMalloc(&stamps_, 2 * sizeof(SmStamp) * static_cast<std::size_t>(sm_count_)), "cudaMalloc");
  passed_.resize(static_cast<std::size_t>(sm_count_));
}

SmClock::~SmClock() { (void)cudaFree(stamps_); }

void SmClock::Stamp(int which, cudaStream_t stream) const {
  SmStamp* const stamps = static_cast<SmStamp*>(stamps_) + static_cast<std::ptrdiff_t>(which) * sm_count_;
  StampClocks<<<static_cast<unsigned>(sm_count_), 1, 0, stream>>>(stamps, static_cast<unsigned>(sm_count_));
  CheckCuda(cudaGetLastError(), "StampClocks");
}

void SmClock::Add(cudaStream_t stream) {
  const std::size_t count = passed_.size();
  std::vector<SmStamp> stamps(2 * count);
  CheckCuda(cudaMemcpyAsync(stamps.data(), stamps_, stamps.size() * sizeof(SmStamp), cudaMemcpyDefault, stream),
            "cudaMemcpyAsync");
  // An SM without a block keeps zeros, and is left out.
  CheckCuda(cudaMemsetAsync(stamps_, 0, stamps.size() * sizeof(SmStamp), stream), "cudaMemsetAsync");
  CheckCuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  for (std::size_t sm = 0; sm < count; ++sm) {
    const SmStamp& first = stamps[sm];
    const SmStamp& last = stamps[count + sm];
    if (first.cycles == 0 || last.cycles <= first.cycles || last.nanoseconds <= first.nanoseconds) continue;
    passed_[sm].cycles += last.cycles - first.cycles;
    passed_[sm].nanoseconds += last.nanoseconds - first.nanoseconds;
  }
}

void SmClock::Forget(cudaStream_t stream) {
  CheckCuda(cudaMemsetAsync(stamps_, 0, 2 * sizeof(SmStamp) * passed_.size(), stream), "cudaMemsetAsync");
  CheckCuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  passed_.assign(passed_.size(), {});
}

std::optional<double> SmClock::Hertz() const {
  std::vector<double> hertz;
  for (const Passed& sm : passed_) {
    if (sm.nanoseconds > 0) hertz.push_back(static_cast<double>(sm.cycles) * 1e9 / static_cast<double>(sm.nanoseconds));
  }
  if (hertz.empty()) return std::nullopt;
  const auto middle = hertz.begin() + static_cast<std::ptrdiff_t>(hertz.size() / 2);
  std::nth_element(hertz.begin(), middle, hertz.end());
  return *middle;
}

}  // namespace fa_profile::collect

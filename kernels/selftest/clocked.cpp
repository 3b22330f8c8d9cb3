#include "clocked.h"

#include <chrono>
#include <utility>

#include "cuda_result.h"

namespace fa_profile {
namespace {

Truth Share(const char* name, const char* phase, double expected, double tolerance) {
  return {TruthSource::kShare, name, {}, phase, expected, tolerance, "by the kernel's own clock reads"};
}

}  // namespace

std::vector<WarpClocks> RunClocked(int warps, const std::function<cudaError_t(std::uint64_t* sums)>& launch) {
  std::vector<WarpClocks> clocks(static_cast<std::size_t>(warps));
  const DeviceBuffer buffer = ZeroedBuffer(clocks.size() * sizeof(WarpClocks));
  // On an idle GPU the clocks rise at first, the SM's relative to that of L2 and DRAM, so that loads take different
  // numbers of cycles than later, when phases are sampled.
  static const bool warm = [&] {
    constexpr std::chrono::milliseconds kWarmUp{300};
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < kWarmUp) {
      CheckCudaResult(launch(buffer.as<std::uint64_t>()), "a kernel that reads the clock");
      CheckCudaResult(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    return true;
  }();
  (void)warm;
  for (int run = 0; run < 2; ++run)
    CheckCudaResult(launch(buffer.as<std::uint64_t>()), "a kernel that reads the clock");
  CheckCudaResult(cudaMemcpy(clocks.data(), buffer.as<void>(), buffer.bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return clocks;
}

std::vector<Truth> WarpShares(const std::vector<WarpClocks>& clocks, double tolerance) {
  std::array<double, kSlots> sums{};
  for (const WarpClocks& warp : clocks) {
    for (std::size_t i = 0; i < kSlots; ++i) sums[i] += static_cast<double>(warp[i]);
  }
  const double work = sums[kAlpha] + sums[kBeta] + sums[kGamma];
  const double waiting = sums[kAfterAlpha] + sums[kAfterBeta] + sums[kAfterGamma];
  std::vector<Truth> truths;
  for (const auto& [phase, sum] :
       {std::pair{"alpha", sums[kAlpha]}, std::pair{"beta", sums[kBeta]}, std::pair{"gamma", sums[kGamma]}}) {
    truths.push_back(Share("warp_time_share", phase, sum / (work + waiting), tolerance));
    truths.push_back(Share("work_share", phase, sum / work, tolerance));
  }
  truths.push_back(Share("warp_time_share", "sync", waiting / (work + waiting), tolerance));
  return truths;
}

std::vector<Truth> WallShares(const std::vector<WarpClocks>& clocks, int warps_per_block, double tolerance) {
  double alpha = 0.0;
  double beta = 0.0;
  double gamma = 0.0;
  for (std::size_t i = 0; i < clocks.size(); i += static_cast<std::size_t>(warps_per_block)) {
    alpha += static_cast<double>(clocks[i][kAlpha] + clocks[i][kAfterAlpha]);
    beta += static_cast<double>(clocks[i][kBeta] + clocks[i][kAfterBeta]);
    gamma += static_cast<double>(clocks[i][kGamma] + clocks[i][kAfterGamma]);
  }
  const double all = alpha + beta + gamma;
  return {Share("time_share", "alpha", alpha / all, tolerance), Share("time_share", "beta", beta / all, tolerance),
          Share("time_share", "gamma", gamma / all, tolerance)};
}

}  // namespace fa_profile

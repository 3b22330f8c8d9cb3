#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "selftest.h"

namespace fa_profile {

/// A warp's laps: three phases and the wait after each.
inline constexpr int kSlots = 6;
enum Slot { kAlpha, kAfterAlpha, kBeta, kAfterBeta, kGamma, kAfterGamma };

/// A warp's cycles by Slot.
using WarpClocks = std::array<std::uint64_t, kSlots>;

/// Iterations of alpha, beta and gamma in one round.
struct PhaseIterations {
  int alpha = 0;
  int beta = 0;
  int gamma = 0;
};

/// Runs a kernel that reads the clock twice (the first run warms up the instruction cache) and returns the laps of the
/// second run, a row per warp.
std::vector<WarpClocks> RunClocked(int warps, const std::function<cudaError_t(std::uint64_t* sums)>& launch);

/// "warp_time_share" of alpha, beta, gamma and sync and "work_share" of the first three, within `tolerance`.
std::vector<Truth> WarpShares(const std::vector<WarpClocks>& clocks, double tolerance);

/// "time_share" of alpha, beta and gamma: each with the wait that follows it, in the first warp of every
/// `warps_per_block`.
std::vector<Truth> WallShares(const std::vector<WarpClocks>& clocks, int warps_per_block, double tolerance);

}  // namespace fa_profile

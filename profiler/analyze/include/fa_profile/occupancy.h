#pragma once

#include <array>
#include <optional>

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Threads per block, at most a million: a damaged file may have any value.
int ThreadsOf(const std::array<int, 3>& block);

/// Blocks of a launch that fit on an SM at once, per resource. Nothing if the device or the launch does not say.
struct OccupancyLimits {
  std::optional<int> warps;
  std::optional<int> blocks;
  std::optional<int> registers;
  std::optional<int> shared_memory;
};

/// The rules of the CUDA occupancy calculator for compute capability 7.0 and later: a warp gets registers in units of
/// 256, and warps get register file space in units of 4 (one per scheduler); a block gets shared memory in units of 128
/// bytes, plus what the driver reserves, out of the most that an SM can have.
OccupancyLimits BlocksPerSm(const Device& device, const Launch& launch);

/// The most warps that registers allow on an SM, over those that it can hold: an upper bound of the occupancy for any
/// block size. Nothing if the device does not say, or for impossible registers.
std::optional<double> OccupancyByRegisters(const Device& device, int registers_per_thread);

/// Theoretical occupancy and what limits it: the resources with the smallest limit. Barriers and clusters are not
/// modelled. Nothing if the device's or the launch's facts are missing, or no block fits.
std::optional<Occupancy> TheoreticalOccupancy(const Device& device, const Launch& launch);

}  // namespace fa_profile::analyze

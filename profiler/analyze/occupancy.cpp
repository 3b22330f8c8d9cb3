#include "fa_profile/occupancy.h"

#include <algorithm>

namespace fa_profile::analyze {
namespace {

// Same for every GPU since compute capability 7.0 (CUDA occupancy calculator, table of physical limits).
constexpr int kRegistersPerUnit = 256;
constexpr int kWarpsPerUnit = 4;
constexpr std::int64_t kSharedMemoryUnitBytes = 128;

template <typename Integer>
Integer RoundUp(Integer value, Integer unit) {
  return (value + unit - 1) / unit * unit;
}

// As a double: a grid may have 2^31 x 2^16 x 2^16 blocks, which no integer holds.
double Volume(const std::array<int, 3>& extent) {
  double volume = 1.0;
  for (const int side : extent) volume *= std::max(side, 0);
  return volume;
}

int WarpsPerBlock(const Device& device, const Launch& launch) {
  return static_cast<int>((Volume(launch.block) + device.warp_size - 1) / device.warp_size);
}

std::optional<int> WarpsByRegisters(const Device& device, int registers_per_thread) {
  if (device.registers_per_sm <= 0 || registers_per_thread <= 0 || registers_per_thread > 255) return std::nullopt;
  const int registers_per_warp = RoundUp(registers_per_thread * device.warp_size, kRegistersPerUnit);
  return device.registers_per_sm / registers_per_warp / kWarpsPerUnit * kWarpsPerUnit;
}

std::int64_t Bounded(std::int64_t bytes) { return std::clamp<std::int64_t>(bytes, 0, std::int64_t{1} << 40); }

}  // namespace

int ThreadsOf(const std::array<int, 3>& block) { return static_cast<int>(std::min(Volume(block), 1e6)); }

OccupancyLimits BlocksPerSm(const Device& device, const Launch& launch) {
  OccupancyLimits limits;
  const double threads = Volume(launch.block);
  if (threads < 1 || threads > 1024 || device.warp_size <= 0 || device.warp_size > 1024) return limits;
  const int warps_per_block = WarpsPerBlock(device, launch);

  if (device.max_threads_per_sm > 0) limits.warps = device.max_threads_per_sm / device.warp_size / warps_per_block;
  if (device.max_blocks_per_sm > 0) limits.blocks = device.max_blocks_per_sm;
  if (const auto warps = WarpsByRegisters(device, launch.registers_per_thread)) {
    limits.registers = *warps / warps_per_block;
  }
  // Not the launch's carve-out: CUPTI's sharedMemoryExecuted lies (docs/measuring.md). The driver gives a kernel what
  // it needs.
  const std::int64_t capacity = device.shared_memory_per_sm_bytes;
  const std::int64_t requested = Bounded(launch.static_shared_memory_bytes) +
                                 Bounded(launch.dynamic_shared_memory_bytes) +
                                 Bounded(device.reserved_shared_memory_per_block_bytes);
  if (capacity > 0 && requested > 0) {
    limits.shared_memory =
        static_cast<int>(std::min<std::int64_t>(capacity / RoundUp(requested, kSharedMemoryUnitBytes), 1 << 20));
  }
  return limits;
}

std::optional<double> OccupancyByRegisters(const Device& device, int registers_per_thread) {
  if (device.warp_size <= 0 || device.warp_size > 1024 || device.max_threads_per_sm < device.warp_size) {
    return std::nullopt;
  }
  const auto warps = WarpsByRegisters(device, registers_per_thread);
  if (!warps) return std::nullopt;
  const int most_warps = device.max_threads_per_sm / device.warp_size;
  return std::min(1.0, static_cast<double>(*warps) / most_warps);
}

std::optional<Occupancy> TheoreticalOccupancy(const Device& device, const Launch& launch) {
  const OccupancyLimits limits = BlocksPerSm(device, launch);
  // Without the warp and register limits the answer would be a guess; a launch always has both.
  if (!limits.warps || !limits.registers || !limits.blocks || device.sm_count <= 0) return std::nullopt;

  Occupancy occupancy;
  int blocks = std::min({*limits.warps, *limits.registers, *limits.blocks});
  if (limits.shared_memory) blocks = std::min(blocks, *limits.shared_memory);
  if (blocks <= 0) return std::nullopt;
  occupancy.blocks_per_sm = blocks;
  if (*limits.warps == blocks) occupancy.limiters.emplace_back("warps");
  if (*limits.blocks == blocks) occupancy.limiters.emplace_back("blocks");
  if (*limits.registers == blocks) occupancy.limiters.emplace_back("registers");
  if (limits.shared_memory == blocks) occupancy.limiters.emplace_back("shared memory");

  const int warps_per_sm = device.max_threads_per_sm / device.warp_size;
  occupancy.theoretical_ratio =
      static_cast<double>(blocks) * WarpsPerBlock(device, launch) / static_cast<double>(warps_per_sm);
  occupancy.waves = Volume(launch.grid) / (static_cast<double>(blocks) * device.sm_count);
  return occupancy;
}

}  // namespace fa_profile::analyze

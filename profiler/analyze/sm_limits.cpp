#include <algorithm>
#include <iterator>

#include "fa_profile/lint.h"

namespace fa_profile::analyze {
namespace {

constexpr std::int64_t kKiB = 1024;

// CUDA C++ Programming Guide 13.0, technical specifications per compute capability. All have 65,536 registers an SM and
// warps of 32. From compute capability 8.0 on the system keeps 1 KiB of shared memory of each block to itself, so a
// block can have 1 KiB less than the SM.
struct Row {
  int sm;
  int threads;
  int blocks;
  std::int64_t shared_memory_bytes;
};
constexpr Row kRows[] = {
    {75, 1024, 16, 64 * kKiB},   {80, 2048, 32, 164 * kKiB},  {86, 1536, 16, 100 * kKiB},  {87, 1536, 16, 164 * kKiB},
    {89, 1536, 24, 100 * kKiB},  {90, 2048, 32, 228 * kKiB},  {100, 2048, 32, 228 * kKiB}, {103, 2048, 32, 228 * kKiB},
    {110, 1536, 24, 228 * kKiB}, {120, 1536, 24, 100 * kKiB}, {121, 1536, 24, 100 * kKiB},
};

}  // namespace

std::optional<Device> SmLimits(int sm) {
  const auto row = std::ranges::find(kRows, sm, &Row::sm);
  if (row == std::end(kRows)) return std::nullopt;
  Device device;
  device.compute_capability_major = sm / 10;
  device.compute_capability_minor = sm % 10;
  device.sm_count = 1;
  device.max_threads_per_sm = row->threads;
  device.max_blocks_per_sm = row->blocks;
  device.registers_per_sm = 65536;
  device.shared_memory_per_sm_bytes = row->shared_memory_bytes;
  device.reserved_shared_memory_per_block_bytes = sm >= 80 ? kKiB : 0;
  device.shared_memory_per_block_optin_bytes = row->shared_memory_bytes - device.reserved_shared_memory_per_block_bytes;
  return device;
}

}  // namespace fa_profile::analyze

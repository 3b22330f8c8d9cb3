#pragma once

// kernels/hopper/tma.cuh for the emulator. EncodeMap() of the test puts a Map into the CUtensorMap.

#include <cuda.h>

#include <cstdint>
#include <cstring>

#include "hopper/barriers.cuh"
#include "hopper_emulator/tensor.h"

namespace fa_profile::hopper {
namespace {

inline void PrefetchMap(const CUtensorMap*) {}

/// Where byte (row, column) of a box goes: the 16-byte chunk of the address is exchanged by the address's bits 7 to 9.
inline std::uint32_t BoxAddress(std::uint32_t box, int row, int column) {
  const std::uint32_t address = box + static_cast<std::uint32_t>(128 * row + 2 * column);
  return address ^ (address / 128 % 8 * 16);
}

/// Copies a box into a block, and counts its bytes at the block's barrier.
inline void CopyBox(const emulator::Tensor& map, emulator::Block& block, std::uint32_t shared, int column, int row,
                    int head, std::uint32_t barrier) {
  for (int r = 0; r < map.box_rows; ++r) {
    for (int c = 0; c < 64; ++c) {
      const std::uint16_t value = row + r < map.seqlen ? map.At(head, row + r, column + c) : std::uint16_t{0};
      const std::uint32_t offset = BoxAddress(shared, r, c) - emulator::kSharedBase;
      std::memcpy(&block.memory.at(offset), &value, sizeof value);
    }
  }
  emulator::Mbarrier& counted = emulator::BarrierAt(block, barrier);
  counted.bytes -= 128 * map.box_rows;
  emulator::EndPhase(counted);
}

inline void LoadBoxInCluster(std::uint32_t shared, const CUtensorMap* map, int column, int row, int head,
                             Mbarrier* barrier, std::uint16_t ranks) {
  if (shared % 1024 != 0) emulator::Fail("a box must begin with an atom");
  emulator::ExpectKernelBeforeEnded();
  const emulator::Tensor tensor = emulator::TensorOf(*map);
  const std::uint32_t barrier_address = SharedAddress(barrier);
  for (unsigned rank = 0; rank < 16; ++rank) {
    if ((ranks >> rank & 1U) == 0) continue;
    emulator::Block* const block = &emulator::BlockOfCluster(rank);
    emulator::StartCopy([=] { CopyBox(tensor, *block, shared, column, row, head, barrier_address); });
  }
}

inline void LoadBox(std::uint32_t shared, const CUtensorMap* map, int column, int row, int head, Mbarrier* barrier) {
  const auto self = static_cast<std::uint16_t>(1U << emulator::ThisBlock().rank);
  LoadBoxInCluster(shared, map, column, row, head, barrier, self);
}

inline void PublishToTma() {}

inline void StoreBox(const CUtensorMap* map, std::uint32_t shared, int column, int row, int head) {
  emulator::ExpectKernelBeforeEnded();
  const emulator::Tensor tensor = emulator::TensorOf(*map);
  for (int r = 0; r < tensor.box_rows && row + r < tensor.seqlen; ++r) {
    for (int c = 0; c < 64; ++c) {
      std::uint16_t value = 0;
      std::memcpy(&value, emulator::MemoryAt(BoxAddress(shared, r, c)), sizeof value);
      tensor.At(head, row + r, column + c) = value;
    }
  }
}
inline void CommitStores() {}
inline void WaitStoresRead() {}
inline void WaitStores() {}

}  // namespace
}  // namespace fa_profile::hopper

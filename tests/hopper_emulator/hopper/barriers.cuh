#pragma once

// kernels/hopper/barriers.cuh for the emulator.

#include <cstdint>

#include "hopper/variant.h"
#include "hopper/warp.cuh"

namespace fa_profile::hopper {
namespace {

using Mbarrier = std::uint64_t;

enum class WaitFor : int { kFullQ, kFullK, kFullV, kEmptyQ, kEmptyK, kEmptyV, kParts };

inline emulator::Mbarrier& Find(const Mbarrier* barrier) {
  return emulator::BarrierAt(emulator::ThisBlock(), SharedAddress(barrier));
}

inline void InitBarrier(Mbarrier* barrier, unsigned arrivals) {
  const int count = static_cast<int>(arrivals);
  const std::uint32_t address = SharedAddress(barrier);
  if (address % 8 != 0) emulator::Fail("an mbarrier must be aligned to 8 bytes");
  (void)emulator::MemoryAt(address + 7);
  emulator::ThisBlock().mbarriers[address - emulator::kSharedBase] = {count, count, 0, 0};
}
inline void PublishBarriers() {}

inline void Arrive(Mbarrier* barrier) {
  --Find(barrier).pending;
  emulator::EndPhase(Find(barrier));
}
inline void ArriveInCluster(Mbarrier* barrier, unsigned rank) {
  emulator::Mbarrier& found = emulator::BarrierAt(emulator::BlockOfCluster(rank), SharedAddress(barrier));
  --found.pending;
  emulator::EndPhase(found);
}
inline void ArriveExpecting(Mbarrier* barrier, unsigned bytes) {
  Find(barrier).bytes += bytes;
  Arrive(barrier);
}
inline void Wait(Mbarrier* barrier, unsigned parity, WaitFor what) {
  static constexpr const char* kNames[] = {
      "a full Q", "a full K", "a full V", "an empty Q", "an empty K", "an empty V", "parts of other blocks"};
  emulator::Mbarrier& found = Find(barrier);
  emulator::WaitUntil([&] { return found.phase % 2 != parity; }, kNames[static_cast<int>(what)]);
}

template <int kThreads>
void NamedArrive(int id) {
  if (id < 1 || id > 15) emulator::Fail("named barriers have numbers from 1 to 15");
  (void)emulator::ArriveAt(emulator::ThisBlock().named[id], kThreads);
}
template <int kThreads>
void NamedSync(int id) {
  if (id < 1 || id > 15) emulator::Fail("named barriers have numbers from 1 to 15");
  emulator::Meeting& meeting = emulator::ThisBlock().named[id];
  const unsigned generation = emulator::ArriveAt(meeting, kThreads);
  emulator::WaitUntil([&] { return meeting.generation != generation; }, "a named barrier");
}

inline void ClusterArrive() { emulator::ArriveAtCluster(); }
inline void ClusterWait() { emulator::WaitForCluster(); }
inline unsigned ClusterRank() { return emulator::ThisBlock().rank; }
inline std::uint32_t AddressIn(std::uint32_t shared, unsigned rank) { return shared | (rank + 1) << 24; }

inline void CountInCluster(std::uint32_t address, std::uint32_t bytes, std::uint32_t barrier) {
  if (address % 16 != 0) emulator::Fail("a store of 16 bytes must be aligned");
  if (address >> 24 != barrier >> 24) emulator::Fail("a store and its barrier must be in one block");
  emulator::Mbarrier& counted = emulator::BarrierAt(emulator::BlockOfCluster((barrier >> 24) - 1), barrier & 0xffffffU);
  counted.bytes -= static_cast<int>(bytes);
  emulator::EndPhase(counted);
}
inline void StoreInCluster(std::uint32_t address, float4 x, std::uint32_t barrier) {
  std::memcpy(emulator::MemoryAt(address), &x, sizeof x);
  CountInCluster(address, sizeof x, barrier);
}
inline void CopyInCluster(std::uint32_t address, std::uint32_t from, std::uint32_t bytes, std::uint32_t barrier) {
  unsigned char* const to = emulator::MemoryAt(address);
  const unsigned char* const here = emulator::MemoryAt(from);
  (void)emulator::MemoryAt(address + bytes - 1);
  emulator::StartCopy([=] {
    std::memcpy(to, here, bytes);
    CountInCluster(address, bytes, barrier);
  });
}

template <int kRegisters>
void ShrinkTo() {}
template <int kRegisters>
void GrowTo() {}

}  // namespace
}  // namespace fa_profile::hopper

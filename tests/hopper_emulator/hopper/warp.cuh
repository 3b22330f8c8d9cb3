#pragma once

// kernels/hopper/warp.cuh for the emulator.

#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hopper_emulator/gpu.h"

// The words of CUDA C++ that a kernel has.
#undef __global__
#undef __launch_bounds__
#undef __grid_constant__
#undef __device__
#undef __forceinline__
#define __global__
#define __launch_bounds__(...)
#define __grid_constant__
#define __device__
#define __forceinline__ inline

namespace fa_profile::hopper {
namespace {

inline int ThreadIndex() { return static_cast<int>(emulator::ThisThread().index); }
inline int BlockIndex() { return static_cast<int>(emulator::ThisBlock().index % emulator::BlocksOfRow()); }
inline int BlockRow() { return static_cast<int>(emulator::ThisBlock().index / emulator::BlocksOfRow()); }
inline int BlockCount() { return static_cast<int>(emulator::BlockCount()); }

inline unsigned char* DynamicMemory() { return emulator::ThisBlock().shared; }

inline std::uint32_t SharedAddress(const void* pointer) {
  return emulator::kSharedBase +
         static_cast<std::uint32_t>(static_cast<const unsigned char*>(pointer) - emulator::ThisBlock().shared);
}

inline void StoreShared(std::uint32_t address, std::uint32_t word) {
  std::memcpy(emulator::MemoryAt(address), &word, sizeof word);
}

inline void SyncBlock() {
  emulator::Block& block = emulator::ThisBlock();
  const unsigned generation = emulator::ArriveAt(block.all, static_cast<int>(block.threads.size()));
  emulator::WaitUntil([&] { return block.all.generation != generation; }, "the block");
}
inline void SyncWarp() { (void)emulator::ExchangeInWarp(0); }

inline void WaitForKernelBefore() { emulator::ThisBlock().waited = true; }
inline void LetNextKernelBegin() { emulator::ExpectKernelBeforeEnded(); }

inline int OfWarp(int x) { return static_cast<int>(emulator::ExchangeInWarp(static_cast<std::uint32_t>(x))[0]); }
inline float OfLaneXor(float x, int mask) {
  const auto& words = emulator::ExchangeInWarp(std::bit_cast<std::uint32_t>(x));
  return std::bit_cast<float>(words[static_cast<int>(emulator::ThisThread().index % 32) ^ mask]);
}
inline bool AnyOfWarp(bool x) {
  bool any = false;
  for (const std::uint32_t word : emulator::ExchangeInWarp(x ? 1 : 0)) any = any || word != 0;
  return any;
}

inline int Here(int x) { return x; }
inline void FinishFirst(float) {}
inline float MinusInfinity() { return -std::numeric_limits<float>::infinity(); }
inline float Exp2OnMufu(float x) { return std::exp2(x); }
inline float Reciprocal(float x) { return 1.0F / x; }

}  // namespace
}  // namespace fa_profile::hopper

#pragma once

// Operations of threads and warps that C++ cannot express.
//
// The kernels in this folder contain no device code other than warp.cuh, barriers.cuh, tma.cuh and wgmma.cuh:
// tests/hopper_emulator has the same functions for the CPU, and runs the kernels with them.

#include <cuda_runtime.h>

#include <cstdint>

namespace fa_profile::hopper {
namespace {

__device__ __forceinline__ int ThreadIndex() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int BlockIndex() { return static_cast<int>(blockIdx.x); }
__device__ __forceinline__ int BlockRow() { return static_cast<int>(blockIdx.y); }
__device__ __forceinline__ int BlockCount() { return static_cast<int>(gridDim.x); }

__device__ __forceinline__ unsigned char* DynamicMemory() {
  extern __shared__ unsigned char dynamic_memory[];
  return dynamic_memory;
}

__device__ __forceinline__ std::uint32_t SharedAddress(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void StoreShared(std::uint32_t address, std::uint32_t word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

__device__ __forceinline__ void SyncBlock() { __syncthreads(); }
__device__ __forceinline__ void SyncWarp() { __syncwarp(); }

/// Programmatic dependent launch (PTX ISA, "griddepcontrol"): waits until the previous kernel in the stream has ended
/// and its writes are visible. Does nothing in an ordinary launch.
__device__ __forceinline__ void WaitForKernelBefore() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

/// Lets the next kernel in the stream, if launched that way, begin once every block has called this or ended.
__device__ __forceinline__ void LetNextKernelBegin() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

/// The value of a warp's first lane, so that the compiler knows it is the same for all.
__device__ __forceinline__ int OfWarp(int x) { return __shfl_sync(0xffffffffU, x, 0); }

/// The value of the lane whose number differs in the bits of `mask`.
__device__ __forceinline__ float OfLaneXor(float x, int mask) { return __shfl_xor_sync(0xffffffffU, x, mask); }

/// Whether it is true for any lane of the warp.
__device__ __forceinline__ bool AnyOfWarp(bool x) { return __any_sync(0xffffffffU, x) != 0; }

/// The same value, but nothing derived from it is computed before this point: what the end of a loop needs does not
/// occupy registers throughout the loop.
__device__ __forceinline__ int Here(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

/// All arithmetic for `x` comes before everything that follows. ptxas moves a wait for products up across arithmetic,
/// which would then no longer overlap the products; it does not move it across a branch.
__device__ __forceinline__ void FinishFirst(float x) {
  if (AnyOfWarp(x != x)) asm volatile("nanosleep.u32 0;");  // NaN: from infinite or NaN inputs
}

__device__ __forceinline__ float MinusInfinity() { return __int_as_float(static_cast<int>(0xff800000U)); }

/// 2^x in one MUFU instruction.
__device__ __forceinline__ float Exp2OnMufu(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// 1 / x to the last bit or two, without the branch in IEEE division.
__device__ __forceinline__ float Reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace
}  // namespace fa_profile::hopper

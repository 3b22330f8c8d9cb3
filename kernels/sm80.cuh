#pragma once

// What the rungs from 3 on share: the sm_80 instructions that CUDA C++ has no plain spelling for, one function each,
// the causal mask in one line, and the launch call. Shared-memory addresses are the 32-bit ones of the instructions.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "rung.h"

namespace fa_profile::sm80 {

__device__ __forceinline__ std::uint32_t SharedAddress(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Copies 16 bytes from global to shared memory without a register in between; writes zeros when not `valid`.
/// `.cg` goes round L1: a tile is read once by a block, so a line kept there would only push others out.
__device__ __forceinline__ void CopyAsync16(std::uint32_t shared, const void* global, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(bytes) : "memory");
}

/// The same for 4 bytes (`.cg` takes 16 only).
__device__ __forceinline__ void CopyAsync4(std::uint32_t shared, const void* global, bool valid) {
  const int bytes = valid ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(global), "r"(bytes) : "memory");
}

/// Closes a group of copies. Groups complete in order, so an empty one is what keeps a ring's count steady.
__device__ __forceinline__ void CommitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits until at most `kPending` of this thread's newest groups are under way.
template <int kPending>
__device__ __forceinline__ void WaitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Barrier number `id` (1 to 15; 0 is __syncthreads()) among kThreads threads, whole warps.
template <int kThreads>
__device__ __forceinline__ void Barrier(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(kThreads) : "memory");
}

/// Four 8x8 fp16 matrices; lane i gives the address of row i%8 of matrix i/8.
__device__ __forceinline__ void LoadMatrix(std::uint32_t (&r)[4], std::uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared)
               : "memory");
}

/// The same, each matrix transposed on the way.
__device__ __forceinline__ void LoadMatrixTransposed(std::uint32_t (&r)[4], std::uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared)
               : "memory");
}

/// c (16,8) fp32 += a (16,16) fp16 x b (16,8) fp16. With g = lane/4 and t = lane%4 a lane holds
/// c: rows g (c[0], c[1]) and g+8 (c[2], c[3]), columns 2t and 2t+1;
/// a: rows g, g+8, g, g+8 at columns 2t, 2t+1, the last two 8 columns on;  b: rows 2t, 2t+1 and 8 on, column g.
__device__ __forceinline__ void Mma(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// 2^x in one MUFU instruction (exp2f() adds two more for denormal results, which a softmax rounds away).
__device__ __forceinline__ float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Two floats as one register of fp16, `low` in the low half.
__device__ __forceinline__ std::uint32_t PackHalf2(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

/// log2(e): exp(x) = 2^(x * kLog2E).
inline constexpr float kLog2E = 1.4426950408889634F;

/// Minus infinity: a masked score, and the running maximum before the first key.
__device__ __forceinline__ float MinusInfinity() { return __int_as_float(static_cast<int>(0xff800000U)); }

/// Keys [0, KeyEnd) count for query `row`.
__device__ __forceinline__ int KeyEnd(int row, const AttentionParams& params) {
  return params.causal ? min(row + 1, params.seqlen) : params.seqlen;
}

/// Launches `kernel` with `shared_bytes` of dynamic shared memory on a one-dimensional grid; what the launch said.
inline cudaError_t Launch(void (*kernel)(AttentionParams), std::int64_t blocks, int threads, int shared_bytes,
                          const AttentionParams& params, cudaStream_t stream) {
  const void* function = reinterpret_cast<const void*>(kernel);
  // A block gets more than 48 KiB only when asked for, per device: asked each time, the current device may change.
  const cudaError_t set = cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (set != cudaSuccess) return set;
  AttentionParams copy = params;
  void* arguments[] = {&copy};
  return cudaLaunchKernel(function, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)),
                          arguments, static_cast<std::size_t>(shared_bytes), stream);
}

}  // namespace fa_profile::sm80

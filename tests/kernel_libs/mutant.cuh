// What the variants of rungs in this folder share: the macros that say what is different, the work that they add, and
// the description of a kernel library. Without any of the macros a variant is the rung's own code. The including file
// sets MUTANT_ID first, to the kernel's name, and defines fa_profile::mutant::Launch().
#pragma once

#ifndef MUTANT_EXTRA_PHASE
#define MUTANT_EXTRA_PHASE none  // phase with a loop of MUTANT_EXTRA_WORK exponentials, each waiting for the one before
#endif
#ifndef MUTANT_DELAYED_PHASE
#define MUTANT_DELAYED_PHASE \
  none  // phase whose result goes through MUTANT_EXTRA_WORK multiply-adds, one after the other
#endif
#ifndef MUTANT_EXTRA_WORK
#define MUTANT_EXTRA_WORK 0
#endif
#ifndef MUTANT_EXTRA_BARRIERS
#define MUTANT_EXTRA_BARRIERS 0  // a tile
#endif
#ifndef MUTANT_BLOCKS_PER_SM
#define MUTANT_BLOCKS_PER_SM 0  // above 0: the registers are for so many blocks an SM
#endif
#ifndef MUTANT_CHANGE
#define MUTANT_CHANGE none  // a refactoring, see Change
#endif
#ifndef MUTANT_NUMBER
#define MUTANT_NUMBER 1
#endif

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "attention_library.h"
#include "rung.h"

// CUPTI's checksum of a cubin depends on its size alone, and samples name their cubin by it. So each has its own size:
// this many bytes more for each number, which no difference in code makes up for (bench/gate_trials.py pack checks it).
__device__ unsigned char mutant_padding[27 * 128 * MUTANT_NUMBER] = {1};

namespace fa_profile {
namespace {
namespace mutant {

#ifdef MUTANT_ONLY_64  // half the time to compile
constexpr bool kTakes128 = false;
#else
constexpr bool kTakes128 = true;
#endif

/// Part of the kernel's symbol, so that kernels in one process have different ones.
struct MUTANT_ID {};

enum class Phase { none, load_q, load_kv, qk, softmax, rescale, pv, epilogue };

/// Refactorings, which should not change the time. Not every rung has each.
enum class Change {
  none,
  clamped_mask,    ///< softmax limits a count to the tile before it compares
  counter,         ///< load_kv counts its calls
  epilogue_sync,   ///< the epilogue has one barrier more
  key_last,        ///< load_kv loads the value before the key
  lazy_rescale,    ///< rescale is skipped if it would multiply by 1 in all lanes
  shared_line,     ///< 128 bytes of shared memory more, and a counter
  split_load_q,    ///< load_q copies the second half of the rows first
  two_step_scale,  ///< the epilogue divides the accumulator in place and then writes it
  warp_sync,       ///< rescale begins with one __syncwarp() more
  wide_store,      ///< the epilogue stores 16 bytes at a time
};
constexpr Change kChange = Change::MUTANT_CHANGE;

/// 0, which the compiler does not know: the library asks for no workspace.
__device__ __forceinline__ int HiddenZero(const AttentionParams& params) {
  return static_cast<int>(params.workspace_bytes);
}

/// Adds MUTANT_EXTRA_WORK exponentials to the phase. The compiler must not know their number, so that a mutant differs
/// from the one without in one number, and not in how ptxas orders everything around the loop: that alone moves the
/// time by 9 %. ptxas leaves out what is never read, volatile or not, so a branch that is never taken reads it.
template <Phase phase>
__device__ __forceinline__ void Burn(const AttentionParams& params) {
  if constexpr (phase == Phase::MUTANT_EXTRA_PHASE) {
    const int work = MUTANT_EXTRA_WORK + HiddenZero(params);
    float value = static_cast<float>(threadIdx.x) * 1e-3F;
#pragma unroll 1
    for (int i = 0; i < work; ++i) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(value));
    if (value < 0.0F) __trap();
  }
}

/// `value` after MUTANT_EXTRA_WORK multiply-adds by 1 and 0, which the compiler does not know. For phases that are too
/// short for a loop.
template <Phase phase>
__device__ __forceinline__ float Delayed(float value, const AttentionParams& params) {
  if constexpr (phase == Phase::MUTANT_DELAYED_PHASE) {
    const auto zero = static_cast<float>(HiddenZero(params));
    const float one = 1.0F + zero;
#pragma unroll
    for (int i = 0; i < MUTANT_EXTRA_WORK; ++i) {
      asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(value) : "f"(one), "f"(zero));
    }
  }
  return value;
}

/// An integer instruction a tile.
__device__ __forceinline__ void Count(int& count) {
  if constexpr (kChange == Change::counter || kChange == Change::shared_line) {
    asm volatile("add.s32 %0, %0, 1;" : "+r"(count));
  }
}

/// Reads the count, or ptxas would leave it out.
__device__ __forceinline__ void ReadCount(int count) {
  if constexpr (kChange == Change::counter || kChange == Change::shared_line) {
    if (count < 0) __trap();
  }
}

/// Enqueues the kernel.
cudaError_t Launch(const AttentionParams& params, cudaStream_t stream);

int SupportsCall(const fa_profile_call* call, char* error, size_t error_size) {
  const int head_dim = AttentionLibrary::ParamsOf(*call).head_dim;
  if (head_dim == 64 || (kTakes128 && head_dim == 128)) return 0;
  std::snprintf(error, error_size, "head_dim must be 64%s, not %d", kTakes128 ? " or 128" : "", head_dim);
  return 1;
}

int LaunchCall(const fa_profile_call* call, char* error, size_t error_size) {
  const cudaError_t status = Launch(AttentionLibrary::ParamsOf(*call), static_cast<cudaStream_t>(call->stream));
  return AttentionLibrary::ResultOf(status, error, error_size);
}

#define MUTANT_TEXT(id) #id
#define MUTANT_NAME_OF(id) MUTANT_TEXT(id)
const fa_profile_kernel kKernel =
    AttentionLibrary::Describe(MUTANT_NAME_OF(MUTANT_ID), AttentionLibrary::kParameters, LaunchCall, SupportsCall);

}  // namespace mutant
}  // namespace
}  // namespace fa_profile

FA_PROFILE_EXPORT_KERNEL(fa_profile::mutant::kKernel)

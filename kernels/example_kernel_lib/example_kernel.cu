// A complete kernel library: an attention kernel of one's own, and the five functions of fa_profile/kernel_abi.h that
// put it on the ladder. Try it: fa-profile verify --kernel-lib libfa_example_kernel.so
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "fa_profile/kernel_abi.h"

namespace {

// One warp a query row and eight rows a block, which share each tile of 32 keys and values in shared memory. A lane
// scores one key; then the lanes share out the output columns, two neighbours a lane.
constexpr int kWarp = 32;
constexpr int kRows = 8;
constexpr int kThreads = kRows * kWarp;
constexpr int kKeys = kWarp;
constexpr unsigned kAllLanes = 0xffffffffU;
constexpr float kLog2e = 1.4426950408889634F;

__device__ __forceinline__ float WarpMax(float x) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, lane));
  return x;
}

__device__ __forceinline__ float WarpSum(float x) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) x += __shfl_xor_sync(kAllLanes, x, lane);
  return x;
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads) WarpPerRowAttention(fa_profile_attention_args args) {
  constexpr int kPairs = kHeadDim / 2;
  constexpr int kPairsPerLane = kPairs / kWarp;
  __shared__ __half2 q[kRows][kPairs];
  // One pair of padding, so that 32 lanes reading 32 rows meet 32 banks.
  __shared__ __half2 k[kKeys][kPairs + 1];
  __shared__ __half2 v[kKeys][kPairs];

  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int tiles = (args.seqlen + kRows - 1) / kRows;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.x / tiles) * args.seqlen * kPairs;
  const int first_row = static_cast<int>(blockIdx.x % tiles) * kRows;
  const int row = first_row + warp;
  const __half2* const q_head = static_cast<const __half2*>(args.q) + head;
  const __half2* const k_head = static_cast<const __half2*>(args.k) + head;
  const __half2* const v_head = static_cast<const __half2*>(args.v) + head;

  for (int pair = lane; pair < kPairs; pair += kWarp) {
    q[warp][pair] = row < args.seqlen ? q_head[row * kPairs + pair] : __half2{};
  }
  float2 o[kPairsPerLane] = {};
  float max = -INFINITY;
  float sum = 0.0F;
  const int end = args.causal != 0 ? min(first_row + kRows, args.seqlen) : args.seqlen;
  for (int first_key = 0; first_key < end; first_key += kKeys) {
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < kKeys * kPairs; i += kThreads) {
      const int key = i / kPairs;
      const bool valid = first_key + key < args.seqlen;
      k[key][i % kPairs] = valid ? k_head[first_key * kPairs + i] : __half2{};
      v[key][i % kPairs] = valid ? v_head[first_key * kPairs + i] : __half2{};
    }
    __syncthreads();

    float score = 0.0F;
#pragma unroll 8
    for (int pair = 0; pair < kPairs; ++pair) {
      const float2 a = __half22float2(q[warp][pair]);
      const float2 b = __half22float2(k[lane][pair]);
      score += a.x * b.x + a.y * b.y;
    }
    const int key = first_key + lane;
    const bool visible = key < args.seqlen && (args.causal == 0 || key <= row);
    score = visible ? score * args.softmax_scale * kLog2e : -INFINITY;
    const float new_max = fmaxf(max, WarpMax(score));
    const float correction = exp2f(max - new_max);
    const float weight = exp2f(score - new_max);
    max = new_max;
    sum = sum * correction + WarpSum(weight);
#pragma unroll
    for (int i = 0; i < kPairsPerLane; ++i) {
      o[i].x *= correction;
      o[i].y *= correction;
    }
#pragma unroll 8
    for (int j = 0; j < kKeys; ++j) {
      const float w = __shfl_sync(kAllLanes, weight, j);
#pragma unroll
      for (int i = 0; i < kPairsPerLane; ++i) {
        const float2 value = __half22float2(v[j][lane + i * kWarp]);
        o[i].x += w * value.x;
        o[i].y += w * value.y;
      }
    }
  }
  if (row >= args.seqlen) return;
#pragma unroll
  for (int i = 0; i < kPairsPerLane; ++i) {
    static_cast<__half2*>(args.o)[head + row * kPairs + lane + i * kWarp] =
        __floats2half2_rn(o[i].x / sum, o[i].y / sum);
  }
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT uint32_t fa_profile_kernel_abi_version(void) { return FA_PROFILE_KERNEL_ABI_VERSION; }

EXPORT const char* fa_profile_kernel_name(void) { return "warp_per_row"; }

EXPORT int fa_profile_kernel_supports(const fa_profile_attention_args* args, char* error, size_t error_size) {
  if (args->head_dim == 64 || args->head_dim == 128) return 0;
  std::snprintf(error, error_size, "head_dim must be 64 or 128, not %d", args->head_dim);
  return 1;
}

EXPORT size_t fa_profile_kernel_workspace_bytes(const fa_profile_attention_args*) { return 0; }

EXPORT int fa_profile_kernel_launch(const fa_profile_attention_args* args, char* error, size_t error_size) {
  const auto stream = static_cast<cudaStream_t>(args->stream);
  const auto tiles = static_cast<unsigned>((args->seqlen + kRows - 1) / kRows);
  const unsigned blocks = static_cast<unsigned>(args->batch) * static_cast<unsigned>(args->num_heads) * tiles;
  if (args->head_dim == 64) {
    WarpPerRowAttention<64><<<blocks, kThreads, 0, stream>>>(*args);
  } else {
    WarpPerRowAttention<128><<<blocks, kThreads, 0, stream>>>(*args);
  }
  const cudaError_t result = cudaGetLastError();
  if (result == cudaSuccess) return 0;
  std::snprintf(error, error_size, "%s", cudaGetErrorString(result));
  return 1;
}

// Rung 1: one block per query row, the way the formula reads. Every SM is full of warps and the kernel is slow all the
// same: lanes read K one row each (32 sectors a request), and every thread computes the exponential of every score.
#include "rung.h"

namespace fa_profile {
namespace {

constexpr int kThreads = 128;
constexpr int kBlockN = kThreads;  // keys per tile: one a thread
constexpr int kWarps = kThreads / 32;
// What fills an SM: 2048 threads, or 1536 on Ada. A thread of a full SM has 32 or 40 registers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 890
constexpr int kBlocksPerSm = 1536 / kThreads;
#else
constexpr int kBlocksPerSm = 2048 / kThreads;
#endif
constexpr float kLog2e = 1.4426950408889634F;

template <int kHeadDim>
struct Tile {
  float q[kHeadDim];
  float scores[kBlockN];  // scaled by log2(e)/sqrt(head_dim), so that exp2 applies
  float warp_max[kWarps];
  float partial_o[kThreads];
  float partial_sum[kThreads];
};

template <int kHeadDim>
__device__ __forceinline__ void load_q(Tile<kHeadDim>& tile, const __half* q) {
  if (threadIdx.x < kHeadDim) tile.q[threadIdx.x] = __half2float(q[threadIdx.x]);
  __syncthreads();
}

// This thread's key against the row's query; -inf past the last key.
template <int kHeadDim>
__device__ __forceinline__ float qk(const Tile<kHeadDim>& tile, const __half* k, int keys, float scale) {
  if (static_cast<int>(threadIdx.x) >= keys) return -INFINITY;
  const __half* const row = k + threadIdx.x * kHeadDim;
  float score = 0.0F;
#pragma unroll 4
  for (int d = 0; d < kHeadDim; ++d) score += tile.q[d] * __half2float(row[d]);
  return score * scale;
}

// Publishes the scores and returns the running maximum over them.
template <int kHeadDim>
__device__ __forceinline__ float softmax(Tile<kHeadDim>& tile, float score, float max) {
  float tile_max = score;
  for (int lane = 16; lane > 0; lane /= 2) tile_max = fmaxf(tile_max, __shfl_xor_sync(0xffffffffU, tile_max, lane));
  tile.scores[threadIdx.x] = score;
  if (threadIdx.x % 32 == 0) tile.warp_max[threadIdx.x / 32] = tile_max;
  __syncthreads();
  for (int warp = 0; warp < kWarps; ++warp) max = fmaxf(max, tile.warp_max[warp]);
  return max;
}

__device__ __forceinline__ void rescale(float& o, float& sum, float correction) {
  o *= correction;
  sum *= correction;
}

// One output dimension a thread; with head_dim 64 each half of the block takes every other key.
template <int kHeadDim>
__device__ __forceinline__ void pv(const Tile<kHeadDim>& tile, const __half* v, int keys, float max, float& o,
                                   float& sum) {
  const int d = static_cast<int>(threadIdx.x) % kHeadDim;
  for (int key = static_cast<int>(threadIdx.x) / kHeadDim; key < keys; key += kThreads / kHeadDim) {
    const float weight = exp2f(tile.scores[key] - max);
    o += weight * __half2float(v[key * kHeadDim + d]);
    sum += weight;
  }
  __syncthreads();  // before the next tile's scores
}

template <int kHeadDim>
__device__ __forceinline__ void epilogue(Tile<kHeadDim>& tile, __half* out, float o, float sum) {
  tile.partial_o[threadIdx.x] = o;
  tile.partial_sum[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x >= kHeadDim) return;
  for (int other = static_cast<int>(threadIdx.x) + kHeadDim; other < kThreads; other += kHeadDim) {
    o += tile.partial_o[other];
    sum += tile.partial_sum[other];
  }
  out[threadIdx.x] = __float2half(o / sum);
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm) MinimalKernel(AttentionParams p) {
  __shared__ Tile<kHeadDim> tile;
  const auto seqlen = static_cast<unsigned>(p.seqlen);
  const int row = static_cast<int>(blockIdx.x % seqlen);
  const std::size_t head = static_cast<std::size_t>(blockIdx.x - row) * kHeadDim;
  const std::size_t query = static_cast<std::size_t>(blockIdx.x) * kHeadDim;
  const int keys = p.causal ? row + 1 : p.seqlen;
  load_q(tile, p.q + query);
  float max = -INFINITY;
  float sum = 0.0F;
  float o = 0.0F;
  for (int first = 0; first < keys; first += kBlockN) {
    const int tile_keys = min(kBlockN, keys - first);
    const std::size_t offset = head + static_cast<std::size_t>(first) * kHeadDim;
    const float score = qk(tile, p.k + offset, tile_keys, p.softmax_scale * kLog2e);
    const float new_max = softmax(tile, score, max);
    rescale(o, sum, exp2f(max - new_max));
    max = new_max;
    pv(tile, p.v + offset, tile_keys, max, o, sum);
  }
  epilogue(tile, p.o + query, o, sum);
}

cudaError_t Launch(const AttentionParams& p, cudaStream_t stream) {
  const unsigned rows = static_cast<unsigned>(p.batch) * static_cast<unsigned>(p.num_heads) * p.seqlen;
  if (p.head_dim == 64) {
    MinimalKernel<64><<<rows, kThreads, 0, stream>>>(p);
  } else {
    MinimalKernel<128><<<rows, kThreads, 0, stream>>>(p);
  }
  return cudaGetLastError();
}

}  // namespace

const Rung& MinimalRung() {
  static constexpr Rung rung{
      .number = 1,
      .id = "minimal",
      .teaches = "occupancy near 100 % and slow: uncoalesced K (32 sectors a request), an exponential per output",
      .phases = "load_q qk softmax rescale pv epilogue",
      .parts = {{"minimal", Launch}}};
  return rung;
}

}  // namespace fa_profile

// The family Mma: the output, of one warp, of the splits of a block, or of blocks that share a row block.
#pragma once

#include "mma_tile.cuh"

namespace phase_variants {
namespace {

__device__ __forceinline__ float QuadSum(float x) {
  x += __shfl_xor_sync(kAll, x, 1);
  return x + __shfl_xor_sync(kAll, x, 2);
}

/// Divides by the sums and writes the warp's rows.
template <class T>
__device__ __forceinline__ void epilogue(__half* o_head, const Output<T>& o, const PerRow<T>& row_sum,
                                         unsigned char* shared, const Place& place) {
  constexpr int kRowHalves = T::kHeadDim + 8;
  __half* const room = reinterpret_cast<__half*>(shared) + place.warp * Of<T>::kRows * kRowHalves;
  if constexpr (T::kSharedEpilogue) __syncthreads();
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float inverse = 1.0F / (T::kSumEachTile ? row_sum[mt][half] : QuadSum(row_sum[mt][half]));
      const int row = 16 * mt + 8 * half + place.lane / 4;
      __half* const to = T::kSharedEpilogue ? room + row * kRowHalves
                                            : o_head + static_cast<std::int64_t>(place.row + row) * T::kHeadDim;
#pragma unroll
      for (int dt = 0; dt < T::kHeadDim / 8; ++dt) {
        *reinterpret_cast<__half2*>(to + 8 * dt + 2 * (place.lane % 4)) =
            __floats2half2_rn(o[mt][dt][2 * half] * inverse, o[mt][dt][2 * half + 1] * inverse);
      }
    }
  }
  if constexpr (T::kSharedEpilogue) {
    __syncwarp();
#pragma unroll
    for (int i = place.lane; i < Of<T>::kRows * Of<T>::kChunks; i += 32) {
      const int row = i / Of<T>::kChunks;
      const int column = 8 * (i % Of<T>::kChunks);
      *reinterpret_cast<uint4*>(o_head + static_cast<std::int64_t>(place.row + row) * T::kHeadDim + column) =
          *reinterpret_cast<const uint4*>(room + row * kRowHalves + column);
    }
  }
}

/// Adds up the splits of the block through shared memory.
template <class T>
__device__ __forceinline__ void epilogue(__half* o_head, const Output<T>& o, const PerRow<T>& row_max,
                                         const PerRow<T>& row_sum, float c, unsigned char* shared, const Place& place) {
  float* const partial = reinterpret_cast<float*>(shared);
  float* const maxima = partial + T::kSplits * Of<T>::kBlockM * Of<T>::kPartialPitch;
  float* const sums = maxima + T::kSplits * Of<T>::kBlockM;
  __syncthreads();
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int slot = place.split * Of<T>::kBlockM + place.warp * Of<T>::kRows + 16 * mt + 8 * half + place.lane / 4;
      const float sum = QuadSum(row_sum[mt][half]);
      maxima[slot] = row_max[mt][half] * c;
      sums[slot] = sum;
#pragma unroll
      for (int dt = 0; dt < T::kHeadDim / 8; ++dt) {
        *reinterpret_cast<float2*>(partial + slot * Of<T>::kPartialPitch + 8 * dt + 2 * (place.lane % 4)) =
            make_float2(o[mt][dt][2 * half], o[mt][dt][2 * half + 1]);
      }
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < Of<T>::kBlockM * T::kHeadDim / 2; i += Of<T>::kThreads) {
    const int row = i / (T::kHeadDim / 2);
    const int column = 2 * (i % (T::kHeadDim / 2));
    float max = -Infinity();
#pragma unroll
    for (int s = 0; s < T::kSplits; ++s) max = fmaxf(max, maxima[s * Of<T>::kBlockM + row]);
    float sum = 0.0F;
    float2 total = make_float2(0.0F, 0.0F);
#pragma unroll
    for (int s = 0; s < T::kSplits; ++s) {
      const float weight = Ex2(maxima[s * Of<T>::kBlockM + row] - max);
      const float2 part =
          *reinterpret_cast<const float2*>(partial + (s * Of<T>::kBlockM + row) * Of<T>::kPartialPitch + column);
      sum += sums[s * Of<T>::kBlockM + row] * weight;
      total.x += part.x * weight;
      total.y += part.y * weight;
    }
    *reinterpret_cast<__half2*>(o_head + static_cast<std::int64_t>(place.block_row + row) * T::kHeadDim + column) =
        __floats2half2_rn(total.x / sum, total.y / sum);
  }
}

/// Adds up the blocks that share a row block: the last one to finish does it. Workspace: a counter for each row block,
/// then (row blocks, grid splits, kBlockM) rows of kHeadDim outputs, a maximum and a sum.
template <class T>
__device__ __forceinline__ void epilogue(__half* o_head, const Output<T>& o, const PerRow<T>& row_max,
                                         const PerRow<T>& row_sum, float c, float* workspace, int row_block,
                                         int row_blocks, int part, const Place& place) {
  constexpr int kPitch = T::kHeadDim + 2;
  unsigned* const counter = reinterpret_cast<unsigned*>(workspace) + row_block;
  float* const rows =
      workspace + row_blocks + static_cast<std::int64_t>(row_block) * T::kGridSplits * Of<T>::kBlockM * kPitch;
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = place.warp * Of<T>::kRows + 16 * mt + 8 * half + place.lane / 4;
      float* const to = rows + (part * Of<T>::kBlockM + row) * kPitch;
      const float sum = QuadSum(row_sum[mt][half]);
#pragma unroll
      for (int dt = 0; dt < T::kHeadDim / 8; ++dt) {
        to[8 * dt + 2 * (place.lane % 4)] = o[mt][dt][2 * half];
        to[8 * dt + 2 * (place.lane % 4) + 1] = o[mt][dt][2 * half + 1];
      }
      to[T::kHeadDim] = row_max[mt][half] * c;
      to[T::kHeadDim + 1] = sum;
    }
  }
  __threadfence();
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(counter, 1U) == T::kGridSplits - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int i = static_cast<int>(threadIdx.x); i < Of<T>::kBlockM * T::kHeadDim; i += Of<T>::kThreads) {
    const int row = i / T::kHeadDim;
    const int column = i % T::kHeadDim;
    float max = -Infinity();
#pragma unroll
    for (int s = 0; s < T::kGridSplits; ++s) {
      max = fmaxf(max, __ldcg(rows + (s * Of<T>::kBlockM + row) * kPitch + T::kHeadDim));
    }
    float sum = 0.0F;
    float total = 0.0F;
#pragma unroll
    for (int s = 0; s < T::kGridSplits; ++s) {
      const float* const from = rows + (s * Of<T>::kBlockM + row) * kPitch;
      const float weight = Ex2(__ldcg(from + T::kHeadDim) - max);
      sum += __ldcg(from + T::kHeadDim + 1) * weight;
      total += __ldcg(from + column) * weight;
    }
    o_head[static_cast<std::int64_t>(place.block_row + row) * T::kHeadDim + column] = __float2half(total / sum);
  }
}

}  // namespace
}  // namespace phase_variants

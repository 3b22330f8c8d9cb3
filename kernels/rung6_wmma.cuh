// Rung 6: both products on the tensor cores through WMMA. The API hides which lane holds which element of a fragment,
// so whatever needs rows (softmax, rescaling) goes through shared memory: scores are stored and read back,
// probabilities are stored and loaded, and the accumulator lives there from tile to tile. That traffic, not the
// products, is the cost.
//
// A block of 4 warps owns 64 query rows of one (batch, head), a warp 16 of them in every phase; only the tiles of K and
// V need a block barrier.
//
// A header, because tests/kernel_libs builds variants of this kernel: see Place.
#pragma once

#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>

#include "rung.h"
#include "sm80.cuh"

namespace fa_profile {
namespace {

namespace wmma = nvcuda::wmma;

/// What every phase knows about the call. Tests vary the kernel as in rung 7: rung7_mma.cuh explains Place.
struct Place {
  const AttentionParams& params;
};

template <int kHeadDimArg>
struct Tile {
  using Place = fa_profile::Place;

  static constexpr int kHeadDim = kHeadDimArg;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kWarpRows = 16;  // the M of a WMMA product: a warp needs no other warp's rows
  // 64 rows: each row costs the same shared-memory traffic in any block, and K and V are loaded half as often as with
  // 32.
  static constexpr int kBlockM = kWarps * kWarpRows;
  // 64 keys; at head_dim 128 the accumulator alone takes 34 KiB and 64 keys would need 114 KiB, more than sm_89 has.
  static constexpr int kBlockN = kHeadDim == 64 ? 64 : 32;

  // WMMA requires 32-byte aligned pointers and strides that are multiples of 16 bytes. 8 elements of padding: rows of
  // 128 bytes would all start at bank 0 (8-way conflicts in every load of a fragment), rows of 144 start 4 banks apart.
  static constexpr int kStride = kHeadDim + 8;  // Q, K, V in halves, O in floats
  static constexpr int kSStride = kBlockN + 8;  // S in floats, P in halves

  // Lanes that share a row in softmax, rescale and epilogue: 4 consecutive scores each.
  static constexpr int kRowLanes = kBlockN / 4;
  static constexpr int kRowsPerPass = 32 / kRowLanes;
  static constexpr int kPasses = kWarpRows / kRowsPerPass;
  static constexpr int kBlocksPerSm = 2;  // caps the registers: 65536 / (kThreads * kBlocksPerSm)

  static constexpr int kSharedBytes = (kBlockM + 2 * kBlockN) * kStride * 2  // Q, K, V
                                      + kBlockM * kSStride * (4 + 2)         // S, P
                                      + kBlockM * kStride * 4;               // O
  static_assert(kSharedBytes <= 99 * 1024, "what a block gets on sm_89");
};

/// Starts the copy of kRows rows of `head` (seqlen, kHeadDim) from `row0` on into `tile` (kRows, kStride). Past `end`
/// zeros are written: 0 * garbage could be NaN.
template <class T, int kRows>
__device__ __forceinline__ void CopyRows(__half* tile, const __half* head, int row0, int end) {
  constexpr int kChunks = T::kHeadDim / 8;  // chunks of 16 bytes
  constexpr int kRowsPerPass = T::kThreads / kChunks;
  const int column = 8 * (static_cast<int>(threadIdx.x) % kChunks);
  const int first = static_cast<int>(threadIdx.x) / kChunks;
#pragma unroll
  for (int pass = 0; pass < kRows / kRowsPerPass; ++pass) {
    const int row = first + pass * kRowsPerPass;
    const bool valid = row0 + row < end;
    const std::int64_t from = valid ? static_cast<std::int64_t>(row0 + row) * T::kHeadDim + column : 0;
    sm80::CopyAsync16(sm80::SharedAddress(tile + row * T::kStride + column), head + from, valid);
  }
}

template <class T>
__device__ __forceinline__ void load_q(__half* q, const __half* q_head, int block_row, int seqlen, const Place&) {
  CopyRows<T, T::kBlockM>(q, q_head, block_row, seqlen);
}

template <class T>
__device__ __forceinline__ void load_kv(__half* k, __half* v, const __half* k_head, const __half* v_head, int key0,
                                        int key_end, const Place&) {
  CopyRows<T, T::kBlockN>(k, k_head, key0, key_end);
  CopyRows<T, T::kBlockN>(v, v_head, key0, key_end);
}

/// Waits for this thread's copies, then for the block: the tile has arrived. With no copies: the tile is done with.
__device__ __forceinline__ void sync(const Place&) {
  sm80::CommitCopies();
  sm80::WaitCopies<0>();
  __syncthreads();
}

/// scores (kWarpRows, kSStride) = q (kWarpRows, kStride) x k^T, k: (kBlockN, kStride). Not yet scaled.
template <class T>
__device__ __forceinline__ void qk(float* scores, const __half* q, const __half* k, const Place&) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> s[T::kBlockN / 16];
#pragma unroll
  for (int n = 0; n < T::kBlockN / 16; ++n) wmma::fill_fragment(s[n], 0.0F);
#pragma unroll
  for (int d = 0; d < T::kHeadDim; d += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::load_matrix_sync(a, q + d, T::kStride);
#pragma unroll
    for (int n = 0; n < T::kBlockN / 16; ++n) {
      // (kBlockN, kHeadDim) row-major is K^T column-major.
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
      wmma::load_matrix_sync(b, k + 16 * n * T::kStride + d, T::kStride);
      wmma::mma_sync(s[n], a, b, s[n]);
    }
  }
#pragma unroll
  for (int n = 0; n < T::kBlockN / 16; ++n) {
    wmma::store_matrix_sync(scores + 16 * n, s[n], T::kSStride, wmma::mem_row_major);
  }
  __syncwarp();
}

/// Online softmax: scores -> p (kWarpRows, kSStride) fp16, kRowLanes lanes per row. Raises row_max, adds to row_sum
/// (only this lane's keys), leaves in `correction` the factor for everything summed before. c = scale * log2(e); `row`
/// is the lane's first row of the sequence and `key` its first key.
template <class T>
__device__ __forceinline__ void softmax(__half* p, const float* scores, float (&row_max)[T::kPasses],
                                        float (&row_sum)[T::kPasses], float (&correction)[T::kPasses], float c, int row,
                                        int key, const Place& place) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int column = 4 * (lane % T::kRowLanes);
#pragma unroll
  for (int pass = 0; pass < T::kPasses; ++pass) {
    const int offset = (pass * T::kRowsPerPass + lane / T::kRowLanes) * T::kSStride + column;
    const float4 s4 = *reinterpret_cast<const float4*>(scores + offset);
    float s[4] = {s4.x, s4.y, s4.z, s4.w};
    const int left = sm80::KeyEnd(row + pass * T::kRowsPerPass, place.params) - key;
    float max = row_max[pass];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i >= left) s[i] = sm80::MinusInfinity();
      max = fmaxf(max, s[i]);
    }
#pragma unroll
    for (int lanes = 1; lanes < T::kRowLanes; lanes *= 2) max = fmaxf(max, __shfl_xor_sync(0xffffffffU, max, lanes));
    // Key 0 counts for every row, so from the first tile on the maximum is finite.
    correction[pass] = sm80::Exp2((row_max[pass] - max) * c);
    row_max[pass] = max;
#pragma unroll
    for (int i = 0; i < 4; ++i) s[i] = sm80::Exp2((s[i] - max) * c);
    row_sum[pass] = row_sum[pass] * correction[pass] + (s[0] + s[1] + s[2] + s[3]);
    *reinterpret_cast<uint2*>(p + offset) = make_uint2(sm80::PackHalf2(s[0], s[1]), sm80::PackHalf2(s[2], s[3]));
  }
  __syncwarp();
}

/// o (kWarpRows, kStride) *= correction, in shared memory: rescales sums made under the old maximum.
template <class T>
__device__ __forceinline__ void rescale(float* o, const float (&correction)[T::kPasses], const Place&) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int pass = 0; pass < T::kPasses; ++pass) {
    float* row = o + (pass * T::kRowsPerPass + lane / T::kRowLanes) * T::kStride;
#pragma unroll
    for (int column = 0; column < T::kHeadDim; column += 4 * T::kRowLanes) {
      float4* at = reinterpret_cast<float4*>(row + column + 4 * (lane % T::kRowLanes));
      const float4 old = *at;
      *at = make_float4(old.x * correction[pass], old.y * correction[pass], old.z * correction[pass],
                        old.w * correction[pass]);
    }
  }
  __syncwarp();
}

/// o (kWarpRows, kStride) += p (kWarpRows, kSStride) x v (kBlockN, kStride).
template <class T>
__device__ __forceinline__ void pv(float* o, const __half* p, const __half* v, const Place&) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[T::kHeadDim / 16];
#pragma unroll
  for (int n = 0; n < T::kHeadDim / 16; ++n) {
    wmma::load_matrix_sync(acc[n], o + 16 * n, T::kStride, wmma::mem_row_major);
  }
#pragma unroll
  for (int key = 0; key < T::kBlockN; key += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::load_matrix_sync(a, p + key, T::kSStride);
#pragma unroll
    for (int n = 0; n < T::kHeadDim / 16; ++n) {
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
      wmma::load_matrix_sync(b, v + key * T::kStride + 16 * n, T::kStride);
      wmma::mma_sync(acc[n], a, b, acc[n]);
    }
  }
#pragma unroll
  for (int n = 0; n < T::kHeadDim / 16; ++n) {
    wmma::store_matrix_sync(o + 16 * n, acc[n], T::kStride, wmma::mem_row_major);
  }
  __syncwarp();
}

/// Divides o (kWarpRows, kStride) by the sum of each row and writes it; o_head: (seqlen, kHeadDim), `row` is the
/// lane's first row.
template <class T>
__device__ __forceinline__ void epilogue(__half* o_head, const float* o, const float (&row_sum)[T::kPasses], int row,
                                         int seqlen, const Place&) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int pass = 0; pass < T::kPasses; ++pass) {
    float sum = row_sum[pass];
#pragma unroll
    for (int lanes = 1; lanes < T::kRowLanes; lanes *= 2) sum += __shfl_xor_sync(0xffffffffU, sum, lanes);
    const float inverse = 1.0F / sum;
    const int global_row = row + pass * T::kRowsPerPass;
    if (global_row >= seqlen) continue;
    const float* from = o + (pass * T::kRowsPerPass + lane / T::kRowLanes) * T::kStride;
#pragma unroll
    for (int part = 0; part < T::kHeadDim; part += 4 * T::kRowLanes) {
      const int column = part + 4 * (lane % T::kRowLanes);
      const float4 value = *reinterpret_cast<const float4*>(from + column);
      *reinterpret_cast<uint2*>(o_head + static_cast<std::int64_t>(global_row) * T::kHeadDim + column) = make_uint2(
          sm80::PackHalf2(value.x * inverse, value.y * inverse), sm80::PackHalf2(value.z * inverse, value.w * inverse));
    }
  }
}

template <class T>
__global__ void __launch_bounds__(T::kThreads, T::kBlocksPerSm) WmmaForward(const AttentionParams params) {
  extern __shared__ __align__(128) unsigned char shared[];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp_row = warp * T::kWarpRows;                                                  // in the block
  __half* q = reinterpret_cast<__half*>(shared);                                             // (kBlockM, kStride) fp16
  __half* k = q + T::kBlockM * T::kStride;                                                   // (kBlockN, kStride) fp16
  __half* v = k + T::kBlockN * T::kStride;                                                   // (kBlockN, kStride) fp16
  float* o = reinterpret_cast<float*>(v + T::kBlockN * T::kStride) + warp_row * T::kStride;  // (kWarpRows, kStride)
  float* scores = reinterpret_cast<float*>(v + T::kBlockN * T::kStride) + T::kBlockM * T::kStride;
  __half* p = reinterpret_cast<__half*>(scores + T::kBlockM * T::kSStride) + warp_row * T::kSStride;
  scores += warp_row * T::kSStride;  // p and scores: (kWarpRows, kSStride)

  const int row_blocks = (params.seqlen + T::kBlockM - 1) / T::kBlockM;
  const int head = static_cast<int>(blockIdx.x) / row_blocks;
  // Last rows first: with a causal mask they have the most keys, and a long block that starts late makes the tail.
  const int block_row = (row_blocks - 1 - static_cast<int>(blockIdx.x) % row_blocks) * T::kBlockM;
  const std::int64_t offset = static_cast<std::int64_t>(head) * params.seqlen * T::kHeadDim;
  const int row = block_row + warp_row + lane / T::kRowLanes;

  const int key_end = sm80::KeyEnd(block_row + T::kBlockM - 1, params);
  const int warp_key_end = sm80::KeyEnd(block_row + warp_row + T::kWarpRows - 1, params);
  const float c = params.softmax_scale * sm80::kLog2E;
  typename T::Place place{params};

  load_q<T>(q, params.q + offset, block_row, params.seqlen, place);
  for (int i = lane; i < T::kWarpRows * T::kStride; i += 32) o[i] = 0.0F;
  float row_max[T::kPasses];
  float row_sum[T::kPasses] = {};
#pragma unroll
  for (int pass = 0; pass < T::kPasses; ++pass) row_max[pass] = sm80::MinusInfinity();

  // One stage: rung 3 has shown what two bring, and copies are not where the time goes here.
  for (int key0 = 0; key0 < key_end; key0 += T::kBlockN) {
    load_kv<T>(k, v, params.k + offset, params.v + offset, key0, key_end, place);
    sync(place);
    if (key0 < warp_key_end) {  // the same for all lanes
      float correction[T::kPasses];
      qk<T>(scores, q + warp_row * T::kStride, k, place);
      softmax<T>(p, scores, row_max, row_sum, correction, c, row, key0 + 4 * (lane % T::kRowLanes), place);
      rescale<T>(o, correction, place);
      pv<T>(o, p, v, place);
    }
    sync(place);
  }
  epilogue<T>(params.o + offset, o, row_sum, row, params.seqlen, place);
}

template <class T>
cudaError_t LaunchTile(const AttentionParams& params, cudaStream_t stream) {
  const std::int64_t row_blocks = (params.seqlen + T::kBlockM - 1) / T::kBlockM;
  return sm80::Launch(WmmaForward<T>, row_blocks * params.batch * params.num_heads, T::kThreads, T::kSharedBytes,
                      params, stream);
}

}  // namespace
}  // namespace fa_profile

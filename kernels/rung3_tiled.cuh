// Rung 3: tiles of K and V in shared memory, two stages deep, filled by cp.async while the tile before is worked on.
// Arithmetic is scalar fp32 FMA on register micro-tiles of 4 rows x 4 keys (qk) and 4 rows x 4 columns (pv).
//
// A block of 4 warps owns 32 query rows of one (batch, head); warp w owns rows 8w to 8w + 7 in every phase, so that
// only the ring of tiles needs a block barrier. In a warp, lane = 16 * ty + tx; its rows are ty, ty + 2, ty + 4, ty
// + 6.
//
// A header, because tests/kernel_libs builds variants of this kernel: see Place.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "rung.h"
#include "sm80.cuh"

namespace fa_profile {
namespace {

enum class Loads { kAsync16, kThroughRegisters, kAsync4 };

/// What every phase knows about the call. Tests vary the kernel as in rung 7: rung7_mma.cuh explains Place.
struct Place {
  const AttentionParams& params;
};

template <int kHeadDimArg, bool kSwizzledArg, Loads kLoadsArg>
struct Tile {
  using Place = fa_profile::Place;

  static constexpr int kHeadDim = kHeadDimArg;
  static constexpr bool kSwizzled = kSwizzledArg;
  static constexpr Loads kLoads = kLoadsArg;
  // 32 rows: 128 blocks at 8 heads x 512 rows, one for almost each of 132 SMs. 64 rows would leave half of them idle.
  static constexpr int kBlockM = 32;
  // 64 keys: with 4 keys per lane a warp's 16 lanes span them all; 128 would not fit twice in 99 KiB at head_dim 128.
  static constexpr int kBlockN = 64;
  // Two stages: one is read, one is filled. Working on a tile takes several times the latency of its copy, so a third
  // would only cost space.
  static constexpr int kStages = 2;
  static constexpr int kThreads = 128;
  static constexpr int kBlocksPerSm = 2;               // caps the registers: 65536 / (kThreads * kBlocksPerSm)
  static constexpr int kMicro = 4;                     // rows per lane, and keys per lane
  static constexpr int kColumnGroups = kHeadDim / 64;  // groups of 4 columns of O per lane: 4 * tx + 64 * group

  // 4 floats of padding: the two rows of a broadcast read of Q are in different banks.
  static constexpr int kQStride = kHeadDim + 4;  // in floats
  // 16 floats of padding: a warp stores 16 probabilities of two neighbouring rows at once, 16 banks apart.
  static constexpr int kPStride = kBlockN + 16;  // in floats

  static constexpr int kKvTileBytes = kBlockN * kHeadDim * 2;
  static constexpr int kQBytes = kBlockM * kQStride * 4;
  static constexpr int kPBytes = kBlockM * kPStride * 4;
  static constexpr int kSharedBytes = 2 * kStages * kKvTileBytes + kQBytes + kPBytes;
  static_assert(kSharedBytes <= 99 * 1024, "what a block gets on sm_89");
};

/// Position of 16-byte chunk `chunk` of key `key` in a row of the K tile. Rows of 2 * kHeadDim bytes all start at bank
/// 0, so the 8 keys that a quarter warp reads with LDS.128 at one chunk would share 4 banks; permuted like this they
/// fill all 32 once. (Padded rows would also do, but each cp.async would then straddle two 128-byte lines.)
template <class T>
__device__ __forceinline__ int Chunk(int chunk, int key) {
  return T::kSwizzled ? chunk ^ (key & 7) : chunk;
}

/// Q as fp32, multiplied by `factor` once instead of multiplying every score: rows [block_row, block_row + kBlockM) of
/// q_head (seqlen, kHeadDim) into q (kBlockM, kQStride). Rows past the end become 0.
template <class T>
__device__ __forceinline__ void load_q(float* q, const __half* q_head, int block_row, int seqlen, float factor,
                                       const Place&) {
  constexpr int kGroups = T::kHeadDim / 4;  // of 4 halves
#pragma unroll
  for (int pass = 0; pass < T::kBlockM * kGroups / T::kThreads; ++pass) {
    const int index = pass * T::kThreads + static_cast<int>(threadIdx.x);
    const int row = index / kGroups;
    const int column = 4 * (index % kGroups);
    float4 values = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
    if (block_row + row < seqlen) {
      const uint2 raw = __ldg(
          reinterpret_cast<const uint2*>(q_head + static_cast<std::int64_t>(block_row + row) * T::kHeadDim + column));
      const float2 low = __half22float2(*reinterpret_cast<const __half2*>(&raw.x));
      const float2 high = __half22float2(*reinterpret_cast<const __half2*>(&raw.y));
      values = make_float4(low.x * factor, low.y * factor, high.x * factor, high.y * factor);
    }
    *reinterpret_cast<float4*>(q + row * T::kQStride + column) = values;
  }
}

/// Keys [key0, key0 + kBlockN) of k_head and v_head (seqlen, kHeadDim) into the tiles (kBlockN, kHeadDim); V, read
/// along its rows, needs no swizzle. Past `key_end` zeros are written: 0 * garbage could be NaN.
template <class T>
__device__ __forceinline__ void load_kv(__half* k, __half* v, const __half* k_head, const __half* v_head, int key0,
                                        int key_end, const Place&) {
  constexpr int kHalves = T::kLoads == Loads::kAsync4 ? 2 : 8;  // per copy: 4 or 16 bytes
  constexpr int kChunks = T::kHeadDim / kHalves;                // per row
  constexpr int kRowsPerPass = T::kThreads / kChunks;
  const int column = kHalves * (static_cast<int>(threadIdx.x) % kChunks);
  const int first = static_cast<int>(threadIdx.x) / kChunks;
#pragma unroll
  for (int pass = 0; pass < T::kBlockN / kRowsPerPass; ++pass) {
    const int row = first + pass * kRowsPerPass;
    const bool valid = key0 + row < key_end;
    const std::int64_t from = valid ? static_cast<std::int64_t>(key0 + row) * T::kHeadDim + column : 0;
    const int v_to = row * T::kHeadDim + column;
    const int k_to = row * T::kHeadDim + 8 * Chunk<T>(column / 8, row) + column % 8;
    if constexpr (T::kLoads == Loads::kThroughRegisters) {
      uint4 k8 = make_uint4(0U, 0U, 0U, 0U);
      uint4 v8 = k8;
      if (valid) {
        k8 = __ldg(reinterpret_cast<const uint4*>(k_head + from));
        v8 = __ldg(reinterpret_cast<const uint4*>(v_head + from));
      }
      *reinterpret_cast<uint4*>(k + k_to) = k8;
      *reinterpret_cast<uint4*>(v + v_to) = v8;
    } else if constexpr (T::kLoads == Loads::kAsync4) {
      sm80::CopyAsync4(sm80::SharedAddress(k + k_to), k_head + from, valid);
      sm80::CopyAsync4(sm80::SharedAddress(v + v_to), v_head + from, valid);
    } else {
      sm80::CopyAsync16(sm80::SharedAddress(k + k_to), k_head + from, valid);
      sm80::CopyAsync16(sm80::SharedAddress(v + v_to), v_head + from, valid);
    }
  }
  sm80::CommitCopies();
}

/// Waits for the tile under way and makes every thread's part of it visible to the block. The same barrier ensures that
/// all warps are done with the previous tile, whose space the next copy takes: one barrier per tile is enough.
__device__ __forceinline__ void sync(const Place&) {
  sm80::WaitCopies<0>();
  __syncthreads();
}

/// Eight halves as floats.
__device__ __forceinline__ void Widen(float (&to)[8], const uint4& from) {
  const unsigned words[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = __half22float2(*reinterpret_cast<const __half2*>(&words[i]));
    to[2 * i] = pair.x;
    to[2 * i + 1] = pair.y;
  }
}

/// scores[i][j] of row ty + 2 i and key tx + 16 j. q: this lane's first row, k: this lane's first key, in shared
/// memory. 8 LDS.128 of Q and 4 of K feed 128 FMA.
template <class T>
__device__ __forceinline__ void qk(float (&scores)[T::kMicro][T::kMicro], const float* q, const __half* k, int tx,
                                   const Place&) {
#pragma unroll
  for (int i = 0; i < T::kMicro; ++i) {
#pragma unroll
    for (int j = 0; j < T::kMicro; ++j) scores[i][j] = 0.0F;
  }
#pragma unroll 2  // of 8 or 16: enough loads in flight, and the code still fits in the instruction cache
  for (int d = 0; d < T::kHeadDim; d += 8) {
    float keys[T::kMicro][8];
#pragma unroll
    for (int j = 0; j < T::kMicro; ++j)
      Widen(keys[j], *reinterpret_cast<const uint4*>(k + 16 * j * T::kHeadDim + 8 * Chunk<T>(d / 8, tx)));
#pragma unroll
    for (int i = 0; i < T::kMicro; ++i) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const float4 q4 = *reinterpret_cast<const float4*>(q + 2 * i * T::kQStride + d + 4 * part);
#pragma unroll
        for (int j = 0; j < T::kMicro; ++j) {
          scores[i][j] = fmaf(q4.x, keys[j][4 * part], scores[i][j]);
          scores[i][j] = fmaf(q4.y, keys[j][4 * part + 1], scores[i][j]);
          scores[i][j] = fmaf(q4.z, keys[j][4 * part + 2], scores[i][j]);
          scores[i][j] = fmaf(q4.w, keys[j][4 * part + 3], scores[i][j]);
        }
      }
    }
  }
}

/// Online softmax of scores (base-2 exponents already): masks, raises row_max, writes the probabilities to p, this
/// lane's first row and key in shared memory, adds them to row_sum (this lane's keys only) and leaves in `correction`
/// the factor of everything summed before. key_end[i] is the first key that row ty + 2 i does not see, from this lane's
/// first key on.
template <class T>
__device__ __forceinline__ void softmax(float (&scores)[T::kMicro][T::kMicro], float* p, float (&row_max)[T::kMicro],
                                        float (&row_sum)[T::kMicro], float (&correction)[T::kMicro],
                                        const int (&key_end)[T::kMicro], const Place&) {
#pragma unroll
  for (int i = 0; i < T::kMicro; ++i) {
    float max = row_max[i];
#pragma unroll
    for (int j = 0; j < T::kMicro; ++j) {
      if (16 * j >= key_end[i]) scores[i][j] = sm80::MinusInfinity();
      max = fmaxf(max, scores[i][j]);
    }
    // 16 lanes hold one row between them.
#pragma unroll
    for (int lanes = 1; lanes < 16; lanes *= 2) max = fmaxf(max, __shfl_xor_sync(0xffffffffU, max, lanes));
    // Key 0 counts for every row, so from the first tile on the maximum is finite.
    correction[i] = sm80::Exp2(row_max[i] - max);
    row_max[i] = max;
    row_sum[i] *= correction[i];
#pragma unroll
    for (int j = 0; j < T::kMicro; ++j) {
      const float probability = sm80::Exp2(scores[i][j] - max);
      row_sum[i] += probability;
      p[2 * i * T::kPStride + 16 * j] = probability;
    }
  }
  __syncwarp();  // the warp reads the rows that it wrote, including other lanes' keys
}

/// o *= correction: rescales sums made under the old maximum.
template <class T>
__device__ __forceinline__ void rescale(float (&o)[T::kMicro][T::kColumnGroups][4],
                                        const float (&correction)[T::kMicro], const Place&) {
#pragma unroll
  for (int i = 0; i < T::kMicro; ++i) {
#pragma unroll
    for (int group = 0; group < T::kColumnGroups; ++group) {
#pragma unroll
      for (int x = 0; x < 4; ++x) o[i][group][x] *= correction[i];
    }
  }
}

/// o[i][group][x] of row ty + 2 i, column 4 tx + 64 group + x. p: this lane's first row, v: this lane's first column.
/// 4 LDS.128 of P and 4 LDS.64 of V feed 64 FMA.
template <class T>
__device__ __forceinline__ void pv(float (&o)[T::kMicro][T::kColumnGroups][4], const float* p, const __half* v,
                                   const Place&) {
#pragma unroll 2
  for (int key = 0; key < T::kBlockN; key += 4) {
    float p4[T::kMicro][4];
#pragma unroll
    for (int i = 0; i < T::kMicro; ++i) {
      const float4 row = *reinterpret_cast<const float4*>(p + 2 * i * T::kPStride + key);
      p4[i][0] = row.x;
      p4[i][1] = row.y;
      p4[i][2] = row.z;
      p4[i][3] = row.w;
    }
#pragma unroll
    for (int n = 0; n < 4; ++n) {
#pragma unroll
      for (int group = 0; group < T::kColumnGroups; ++group) {
        const uint2 raw = *reinterpret_cast<const uint2*>(v + (key + n) * T::kHeadDim + 64 * group);
        const float2 low = __half22float2(*reinterpret_cast<const __half2*>(&raw.x));
        const float2 high = __half22float2(*reinterpret_cast<const __half2*>(&raw.y));
#pragma unroll
        for (int i = 0; i < T::kMicro; ++i) {
          o[i][group][0] = fmaf(p4[i][n], low.x, o[i][group][0]);
          o[i][group][1] = fmaf(p4[i][n], low.y, o[i][group][1]);
          o[i][group][2] = fmaf(p4[i][n], high.x, o[i][group][2]);
          o[i][group][3] = fmaf(p4[i][n], high.y, o[i][group][3]);
        }
      }
    }
  }
  __syncwarp();  // the next softmax overwrites p
}

/// Divides by the row's sum and writes it; o_head: (seqlen, kHeadDim), `row` this lane's first, `column` likewise.
template <class T>
__device__ __forceinline__ void epilogue(__half* o_head, const float (&o)[T::kMicro][T::kColumnGroups][4],
                                         const float (&row_sum)[T::kMicro], int row, int column, int seqlen,
                                         const Place&) {
#pragma unroll
  for (int i = 0; i < T::kMicro; ++i) {
    float sum = row_sum[i];
#pragma unroll
    for (int lanes = 1; lanes < 16; lanes *= 2) sum += __shfl_xor_sync(0xffffffffU, sum, lanes);
    const float inverse = 1.0F / sum;
    if (row + 2 * i >= seqlen) continue;
    __half* to = o_head + static_cast<std::int64_t>(row + 2 * i) * T::kHeadDim + column;
#pragma unroll
    for (int group = 0; group < T::kColumnGroups; ++group) {
      uint2 packed;
      packed.x = sm80::PackHalf2(o[i][group][0] * inverse, o[i][group][1] * inverse);
      packed.y = sm80::PackHalf2(o[i][group][2] * inverse, o[i][group][3] * inverse);
      *reinterpret_cast<uint2*>(to + 64 * group) = packed;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(T::kThreads, T::kBlocksPerSm) TiledForward(const AttentionParams params) {
  extern __shared__ __align__(128) unsigned char shared[];
  __half* k_ring = reinterpret_cast<__half*>(shared);               // (kStages, kBlockN, kHeadDim) fp16
  __half* v_ring = k_ring + T::kStages * T::kBlockN * T::kHeadDim;  // (kStages, kBlockN, kHeadDim) fp16
  float* q = reinterpret_cast<float*>(v_ring + T::kStages * T::kBlockN * T::kHeadDim);  // (kBlockM, kQStride) fp32
  float* p = q + T::kBlockM * T::kQStride;                                              // (kBlockM, kPStride) fp32

  const int row_blocks = (params.seqlen + T::kBlockM - 1) / T::kBlockM;
  const int head = static_cast<int>(blockIdx.x) / row_blocks;
  // Last rows first: with a causal mask they have the most keys, and a long block that starts late makes the tail.
  const int block_row = (row_blocks - 1 - static_cast<int>(blockIdx.x) % row_blocks) * T::kBlockM;
  const std::int64_t offset = static_cast<std::int64_t>(head) * params.seqlen * T::kHeadDim;
  const int tx = static_cast<int>(threadIdx.x) % 16;
  const int row = static_cast<int>(threadIdx.x) / 32 * 8 + static_cast<int>(threadIdx.x) / 16 % 2;  // in the block

  const int key_end = sm80::KeyEnd(block_row + T::kBlockM - 1, params);
  const int tiles = (key_end + T::kBlockN - 1) / T::kBlockN;
  typename T::Place place{params};
  load_kv<T>(k_ring, v_ring, params.k + offset, params.v + offset, 0, key_end, place);
  load_q<T>(q, params.q + offset, block_row, params.seqlen, params.softmax_scale * sm80::kLog2E, place);

  float o[T::kMicro][T::kColumnGroups][4] = {};
  float row_max[T::kMicro];
  float row_sum[T::kMicro] = {};
#pragma unroll
  for (int i = 0; i < T::kMicro; ++i) row_max[i] = sm80::MinusInfinity();

  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile % T::kStages * T::kBlockN * T::kHeadDim;
    const int next = (tile + 1) % T::kStages * T::kBlockN * T::kHeadDim;
    sync(place);
    if (tile + 1 < tiles) {
      load_kv<T>(k_ring + next, v_ring + next, params.k + offset, params.v + offset, (tile + 1) * T::kBlockN, key_end,
                 place);
    }
    float scores[T::kMicro][T::kMicro];
    qk<T>(scores, q + row * T::kQStride, k_ring + stage + tx * T::kHeadDim, tx, place);
    int row_key_end[T::kMicro];
#pragma unroll
    for (int i = 0; i < T::kMicro; ++i) {
      row_key_end[i] = sm80::KeyEnd(block_row + row + 2 * i, params) - tile * T::kBlockN - tx;
    }
    float correction[T::kMicro];
    softmax<T>(scores, p + row * T::kPStride + tx, row_max, row_sum, correction, row_key_end, place);
    rescale<T>(o, correction, place);
    pv<T>(o, p + row * T::kPStride, v_ring + stage + 4 * tx, place);
  }
  epilogue<T>(params.o + offset, o, row_sum, block_row + row, 4 * tx, params.seqlen, place);
}

template <class T>
cudaError_t LaunchTile(const AttentionParams& params, cudaStream_t stream) {
  const std::int64_t row_blocks = (params.seqlen + T::kBlockM - 1) / T::kBlockM;
  return sm80::Launch(TiledForward<T>, row_blocks * params.batch * params.num_heads, T::kThreads, T::kSharedBytes,
                      params, stream);
}

}  // namespace
}  // namespace fa_profile

// Rung 7 with one thing undone or made worse, as a kernel library. Includer sets MUTANT_NAME first, and with the macros
// below what is different; none of them: it is the rung's own code.
#pragma once

#ifndef MUTANT_SERIAL_SOFTMAX
#define MUTANT_SERIAL_SOFTMAX false  // one lane of each warp does the softmax
#endif
#ifndef MUTANT_V_SWIZZLE
#define MUTANT_V_SWIZZLE 7  // bits of the row that V's swizzle takes: 7 no conflicts, 6 two wavefronts for one, 0 eight
#endif
#ifndef MUTANT_EXTRA_PHASE
#define MUTANT_EXTRA_PHASE none  // phase with a loop of MUTANT_EXTRA_WORK exponentials, each waiting for the one before
#endif
#ifndef MUTANT_EXTRA_WORK
#define MUTANT_EXTRA_WORK 0
#endif
#ifndef MUTANT_EXTRA_BARRIERS
#define MUTANT_EXTRA_BARRIERS 0  // a tile
#endif
#ifndef MUTANT_BLOCKS_PER_SM
#define MUTANT_BLOCKS_PER_SM 0  // above 0: caps the registers for so many blocks an SM, which spills
#endif

#define MmaRung UnusedMmaRung
#include "rung7_mma.cu"  // NOLINT(bugprone-suspicious-include): its phases are private to it
#undef MmaRung

#include <algorithm>
#include <string>

#define FIXTURE_OWN_NAME
#define FIXTURE_OWN_SUPPORTS
#define FIXTURE_OWN_LAUNCH
#include "fixture.h"

namespace fa_profile {

std::string WhyNotCommon(const AttentionShape& shape) {  // the rung's file asks for it
  return shape.head_dim == 64 || shape.head_dim == 128 ? std::string() : "head_dim must be 64 or 128";
}

namespace {
namespace mutant {

constexpr bool kSerialSoftmax = MUTANT_SERIAL_SOFTMAX;
constexpr bool kPlainV = MUTANT_V_SWIZZLE != 7;

enum class Phase { none, qk, softmax, pv, rescale, load_kv, epilogue };

/// The exponentials to burn: MUTANT_EXTRA_WORK, which the compiler must not know. So a mutant differs from the one with
/// none in one number, and not in how ptxas orders everything around the loop: that alone moves the time by 9 %.
__device__ __forceinline__ int Work(const AttentionParams& params) { return MUTANT_EXTRA_WORK + (params.seqlen >> 31); }

/// ptxas leaves out what nobody reads, volatile or not: so it is read, by a branch that is never taken.
template <Phase phase>
__device__ __forceinline__ void Burn(int work) {
  if constexpr (phase == Phase::MUTANT_EXTRA_PHASE) {
    float value = static_cast<float>(threadIdx.x) * 1e-3F;
#pragma unroll 1
    for (int i = 0; i < work; ++i) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(value));
    if (value < 0.0F) __trap();
  }
}

/// A warp's room for the serial softmax: its scores, then its weights, and what it carries from tile to tile.
template <class T>
struct Scratch {
  float scores[T::kRowsPerWarp][T::kWarpN];
  float max[T::kRowsPerWarp];
  float sum[T::kRowsPerWarp];
  float correction[T::kRowsPerWarp];
};

template <class T>
constexpr int kSharedBytes = T::kSharedBytes +
                             (kSerialSoftmax ? T::kThreads / 32 * static_cast<int>(sizeof(Scratch<T>)) : 0);

/// The rung's softmax with the same result, by one lane, through shared memory.
template <class T>
__device__ __forceinline__ void softmax(PFragments<T>& p, const Scores<T>& scores, PerRow<T>& row_max,
                                        PerRow<T>& row_sum, PerRow<T>& correction, float c, int key0,
                                        const AttentionParams& params, const Place& place, Scratch<T>& scratch) {
  const int quad = place.lane % 4;
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int nt = 0; nt < T::kNTiles; ++nt) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scratch.scores[16 * mt + 8 * (i / 2) + place.lane / 4][8 * nt + 2 * quad + i % 2] = scores[mt][nt][i];
      }
    }
  }
  __syncwarp();
  if (place.lane == 0) {
#pragma unroll 1
    for (int row = 0; row < T::kRowsPerWarp; ++row) {
      float* const line = scratch.scores[row];
      const int visible = min(max(sm80::KeyEnd(place.warp_row + row, params) - key0, 0), T::kWarpN);
      const float old_max = scratch.max[row];
      float max = old_max;
#pragma unroll 1
      for (int key = 0; key < visible; ++key) max = fmaxf(max, line[key]);
      const float shift = max == sm80::MinusInfinity() ? 0.0F : max * c;
      const float factor = sm80::Exp2(old_max * c - shift);
      float sum = scratch.sum[row] * factor;
#pragma unroll 1
      for (int key = 0; key < T::kWarpN; ++key) {
        const float weight = key < visible ? sm80::Exp2(line[key] * c - shift) : 0.0F;
        line[key] = weight;
        sum += weight;
      }
      scratch.max[row] = max;
      scratch.sum[row] = sum;
      scratch.correction[row] = factor;
    }
  }
  __syncwarp();
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = 16 * mt + 8 * half + place.lane / 4;
      row_max[mt][half] = scratch.max[row];
      row_sum[mt][half] = quad == 0 ? scratch.sum[row] : 0.0F;  // the epilogue adds the four lanes of a row
      correction[mt][half] = scratch.correction[row];
#pragma unroll
      for (int nt = 0; nt < T::kNTiles; ++nt) {
        const float* const pair = &scratch.scores[row][8 * nt + 2 * quad];
        p[mt][nt / 2][half + 2 * (nt % 2)] = sm80::PackHalf2(pair[0], pair[1]);
      }
    }
  }
  __syncwarp();
}

/// The rung's copy of a tile with part of its swizzle: chunk c of row r lies at chunk c ^ (r & MUTANT_V_SWIZZLE).
template <class T>
__device__ __forceinline__ void load_kv(std::uint32_t rows, const __half* head, int key0, int key_end) {
  if (key0 >= key_end) return;
  constexpr int kRowsPerPass = T::kSplitThreads / T::kChunks;
  const int thread = static_cast<int>(threadIdx.x) % T::kSplitThreads;
  const int chunk = thread % T::kChunks;
  const int first = thread / T::kChunks;
#pragma unroll
  for (int pass = 0; pass < T::kWarpN / kRowsPerPass; ++pass) {
    const int row = first + pass * kRowsPerPass;
    const bool valid = key0 + row < key_end;
    const __half* const from = head + static_cast<std::int64_t>(key0 + row) * T::kHeadDim + 8 * chunk;
    sm80::CopyAsync16(rows + static_cast<unsigned>(row * T::kRowBytes + ((chunk ^ (row & MUTANT_V_SWIZZLE)) << 4)),
                      valid ? from : head, valid);
  }
}

/// The rung's PV on such a tile: of the 8 rows that ldmatrix reads together those that differ in no swizzled bit lie in
/// the same 4 banks.
template <class T>
__device__ __forceinline__ void pv(Accumulator<T>& o, const PFragments<T>& p, std::uint32_t rows, const Place& place,
                                   int work) {
  if constexpr (!kPlainV) {
    fa_profile::pv<T>(o, p, rows, place);
  } else {
    const int swizzle = (place.lane >> 4) ^ (place.lane & MUTANT_V_SWIZZLE);
    const std::uint32_t from = rows + static_cast<unsigned>((place.lane & 15) * T::kRowBytes);
#pragma unroll
    for (int kk = 0; kk < T::kWarpN / 16; ++kk) {
#pragma unroll
      for (int dp = 0; dp < T::kDTiles / 2; ++dp) {
        std::uint32_t b[4];
        const std::uint32_t column = from + static_cast<unsigned>(((2 * dp) ^ swizzle) << 4);
        sm80::LoadMatrixTransposed(b, column + kk * 16 * T::kRowBytes);
#pragma unroll
        for (int mt = 0; mt < T::kMTiles; ++mt) {
          sm80::Mma(o[mt][2 * dp], p[mt][kk], b[0], b[1]);
          sm80::Mma(o[mt][2 * dp + 1], p[mt][kk], b[2], b[3]);
        }
      }
    }
  }
  Burn<Phase::pv>(work);
}

template <class T>
__device__ __forceinline__ void LoadV(std::uint32_t rows, const __half* head, int key0, int key_end) {
  if constexpr (kPlainV) {
    mutant::load_kv<T>(rows, head, key0, key_end);
  } else {
    fa_profile::load_kv<T>(rows, head, key0, key_end);
  }
}

// The rung's phases, each with what is burnt in it: what a phase calls is the phase's.
template <class T>
__device__ __forceinline__ void load_kv(std::uint32_t rows, const __half* head, int key0, int key_end, int work) {
  fa_profile::load_kv<T>(rows, head, key0, key_end);
  Burn<Phase::load_kv>(work);
}

template <class T>
__device__ __forceinline__ void qk(Scores<T>& scores, const QFragments<T>& q, std::uint32_t q_rows, std::uint32_t rows,
                                   const Place& place, int work) {
  fa_profile::qk<T>(scores, q, q_rows, rows, place);
  Burn<Phase::qk>(work);
}

template <class T>
__device__ __forceinline__ void softmax(PFragments<T>& p, Scores<T>& scores, PerRow<T>& row_max, PerRow<T>& row_sum,
                                        PerRow<T>& correction, float c, int key0, const AttentionParams& params,
                                        const Place& place, int work) {
  fa_profile::softmax<T>(p, scores, row_max, row_sum, correction, c, key0, params, place);
  Burn<Phase::softmax>(work);
}

template <class T>
__device__ __forceinline__ void rescale(Accumulator<T>& o, const PerRow<T>& correction, int work) {
  fa_profile::rescale<T>(o, correction);
  Burn<Phase::rescale>(work);
}

template <class T>
constexpr int kBlocksPerSm = MUTANT_BLOCKS_PER_SM > 0 ? MUTANT_BLOCKS_PER_SM : T::kBlocksPerSm;

// The rung's kernel, line by line.
template <class T>
__global__ void __launch_bounds__(T::kThreads, kBlocksPerSm<T>) MutantForward(const AttentionParams params) {
  extern __shared__ __align__(128) unsigned char shared[];
  const int row_blocks = (params.seqlen + T::kBlockM - 1) / T::kBlockM;
  const int heads = params.batch * params.num_heads;
  const int index = static_cast<int>(blockIdx.x);
  const int head = params.causal ? index % heads : index / row_blocks;
  const int block_row = (params.causal ? row_blocks - 1 - index / heads : index % row_blocks) * T::kBlockM;
  const std::int64_t offset = static_cast<std::int64_t>(head) * params.seqlen * T::kHeadDim;
  const __half* k_head = params.k + offset;
  const __half* v_head = params.v + offset;

  const int warp = static_cast<int>(threadIdx.x) / 32;
  const Place place{static_cast<int>(threadIdx.x) % 32, block_row + warp % T::kRowWarps * T::kRowsPerWarp,
                    warp / T::kRowWarps};
  const float c = params.softmax_scale * sm80::kLog2E;
  const int key_end = sm80::KeyEnd(block_row + T::kBlockM - 1, params);
  const int warp_key_end = sm80::KeyEnd(place.warp_row + T::kRowsPerWarp - 1, params);
  const int tiles = (key_end + T::kBlockN - 1) / T::kBlockN;

  const std::uint32_t k_tile = SharedAddress(shared);
  const std::uint32_t v_tile = k_tile + T::kTileBytes;
  const std::uint32_t q_tile = v_tile + T::kTileBytes;
  const std::uint32_t q_rows = q_tile + (place.warp_row - block_row) * T::kRowBytes;
  const int first_key = place.split * T::kWarpN;
  const std::uint32_t k_rows = k_tile + first_key * T::kRowBytes;
  const std::uint32_t v_rows = v_tile + first_key * T::kRowBytes;

  const int work = Work(params);
  mutant::load_kv<T>(k_rows, k_head, first_key, key_end, work);
  QFragments<T> q;
  load_q<T>(q, q_tile, params.q + offset, block_row, params.seqlen, place);

  Accumulator<T> o = {};
  PerRow<T> row_max;
  PerRow<T> row_sum = {};
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) row_max[mt][0] = row_max[mt][1] = sm80::MinusInfinity();
  if constexpr (kSerialSoftmax) {
    Scratch<T>& scratch = reinterpret_cast<Scratch<T>*>(shared + T::kSharedBytes)[warp];
    for (int row = place.lane; row < T::kRowsPerWarp; row += 32) {
      scratch.max[row] = sm80::MinusInfinity();
      scratch.sum[row] = 0.0F;
    }
    __syncwarp();
  }

  for (int tile = 0; tile < tiles; ++tile) {
    const int key0 = tile * T::kBlockN + first_key;
    const bool sees_keys = key0 < warp_key_end;
    PFragments<T> p;

    sync<T>(place);
    LoadV<T>(v_rows, v_head, key0, key_end);
    if (sees_keys) {
      Scores<T> scores;
      PerRow<T> correction;
      mutant::qk<T>(scores, q, q_rows, k_rows, place, work);
      if constexpr (kSerialSoftmax) {
        mutant::softmax<T>(p, scores, row_max, row_sum, correction, c, key0, params, place,
                           reinterpret_cast<Scratch<T>*>(shared + T::kSharedBytes)[warp]);
      } else {
        mutant::softmax<T>(p, scores, row_max, row_sum, correction, c, key0, params, place, work);
      }
      mutant::rescale<T>(o, correction, work);
    }
    sync<T>(place);
#pragma unroll
    for (int i = 0; i < MUTANT_EXTRA_BARRIERS; ++i) sync<T>(place);
    mutant::load_kv<T>(k_rows, k_head, key0 + T::kBlockN, key_end, work);
    if (sees_keys) mutant::pv<T>(o, p, v_rows, place, work);
  }
  epilogue<T>(params.o + offset, reinterpret_cast<float*>(shared), o, row_max, row_sum, c, block_row, params.seqlen,
              place);
}

template <class T>
cudaError_t LaunchMutantTile(const AttentionParams& params, cudaStream_t stream) {
  return sm80::Launch(MutantForward<T>, Blocks<T>(params), T::kThreads, kSharedBytes<T>, params, stream);
}

// As the rung chooses its tile; the serial softmax always takes the smaller one, since the larger leaves no register.
template <class Latency, class Throughput>
cudaError_t LaunchMutantBest(const AttentionParams& params, cudaStream_t stream) {
  if constexpr (!kSerialSoftmax) {
    int device = 0;
    int sms = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess) status = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (status != cudaSuccess) return status;
    if (Blocks<Latency>(params) > 2 * sms) return LaunchMutantTile<Throughput>(params, stream);
  }
  return LaunchMutantTile<Latency>(params, stream);
}

}  // namespace mutant
}  // namespace
}  // namespace fa_profile

#ifdef MUTANT_ONLY_64  // half the time to compile
constexpr bool kTakes128 = false;
#else
constexpr bool kTakes128 = true;
#endif

EXPORT const char* fa_profile_kernel_name(void) { return MUTANT_NAME; }

EXPORT int fa_profile_kernel_supports(const fa_profile_attention_args* args, char* error, size_t error_size) {
  if (args->head_dim == 64 || (kTakes128 && args->head_dim == 128)) return 0;
  std::snprintf(error, error_size, "head_dim must be 64%s, not %d", kTakes128 ? " or 128" : "",
                static_cast<int>(args->head_dim));
  return 1;
}

EXPORT int fa_profile_kernel_launch(const fa_profile_attention_args* args, char* error, size_t error_size) {
  using namespace fa_profile;  // NOLINT(google-build-using-namespace): a C function, of the rung's own file
  const AttentionParams params{.batch = args->batch,
                               .num_heads = args->num_heads,
                               .seqlen = args->seqlen,
                               .head_dim = args->head_dim,
                               .causal = args->causal != 0,
                               .softmax_scale = args->softmax_scale,
                               .q = static_cast<const __half*>(args->q),
                               .k = static_cast<const __half*>(args->k),
                               .v = static_cast<const __half*>(args->v),
                               .o = static_cast<__half*>(args->o),
                               .workspace = args->workspace,
                               .workspace_bytes = args->workspace_bytes};
  auto* const stream = static_cast<cudaStream_t>(args->stream);
  cudaError_t result = cudaErrorInvalidValue;
  if (args->head_dim == 64) {
    result = mutant::LaunchMutantBest<Latency64, Throughput64>(params, stream);
  } else if constexpr (kTakes128) {
    result = mutant::LaunchMutantBest<Latency128, Throughput128>(params, stream);
  }
  if (result == cudaSuccess) return 0;
  std::snprintf(error, error_size, "%s", cudaGetErrorString(result));
  return 1;
}

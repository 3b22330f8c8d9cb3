// Rung 7 with one thing undone or made worse, as a kernel library. The file that includes this sets MUTANT_NAME first,
// and the macros below for what is different. Without any of them it is the rung's own code.
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

#include "rung7_mma.cuh"

#define FIXTURE_OWN_NAME
#define FIXTURE_OWN_SUPPORTS
#define FIXTURE_OWN_LAUNCH
#include "fixture.h"

namespace fa_profile {
namespace {
namespace mutant {

constexpr bool kSerialSoftmax = MUTANT_SERIAL_SOFTMAX;

enum class Phase { none, qk, softmax, pv, rescale, load_kv };

/// A warp's room for the serial softmax: its scores, then its weights, and what it carries from tile to tile.
template <class T>
struct Scratch {
  float scores[T::kRowsPerWarp][T::kWarpN];
  float max[T::kRowsPerWarp];
  float sum[T::kRowsPerWarp];
  float correction[T::kRowsPerWarp];
};

/// Makes the kernel call the phases below instead of the rung's own.
struct Place : fa_profile::Place {};

/// One of the rung's tiles, changed.
template <class Tile>
struct Mutant : Tile {
  using Place = mutant::Place;
  static constexpr int kVSwizzle = MUTANT_V_SWIZZLE;
  static constexpr int kBlocksPerSm = MUTANT_BLOCKS_PER_SM > 0 ? MUTANT_BLOCKS_PER_SM : Tile::kBlocksPerSm;
  static constexpr int kSharedBytes =
      Tile::kSharedBytes + (kSerialSoftmax ? Tile::kThreads / 32 * static_cast<int>(sizeof(Scratch<Tile>)) : 0);
  static constexpr int kScratchAt = Tile::kSharedBytes;
};

template <class T>
__device__ __forceinline__ Scratch<T>& ScratchOfWarp() {
  extern __shared__ __align__(128) unsigned char shared[];
  return reinterpret_cast<Scratch<T>*>(shared + T::kScratchAt)[threadIdx.x / 32];
}

/// Adds MUTANT_EXTRA_WORK exponentials to the phase. The compiler must not know their number, so that a mutant differs
/// from the one without in one number, and not in how ptxas orders everything around the loop: that alone moves the
/// time by 9 %. ptxas leaves out what is never read, volatile or not, so a branch that is never taken reads it.
template <Phase phase>
__device__ __forceinline__ void Burn(const Place& place) {
  if constexpr (phase == Phase::MUTANT_EXTRA_PHASE) {
    const int work = MUTANT_EXTRA_WORK + (place.params.seqlen >> 31);
    float value = static_cast<float>(threadIdx.x) * 1e-3F;
#pragma unroll 1
    for (int i = 0; i < work; ++i) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(value));
    if (value < 0.0F) __trap();
  }
}

/// The rung's softmax with the same result, by one lane, through shared memory.
template <class T>
__device__ __forceinline__ void SerialSoftmax(PFragments<T>& p, const Scores<T>& scores, PerRow<T>& row_max,
                                              PerRow<T>& row_sum, PerRow<T>& correction, float c, int key0,
                                              const Place& place) {
  Scratch<T>& scratch = ScratchOfWarp<T>();
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
      const int visible = min(max(sm80::KeyEnd(place.warp_row + row, place.params) - key0, 0), T::kWarpN);
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

// The phases. Each calls the rung's own and adds to it: an instruction belongs to the phase that called it.
template <class T, Operand kOperand>
__device__ __forceinline__ void load_kv(std::uint32_t rows, const __half* head, int key0, int key_end, Place& place) {
  fa_profile::load_kv<T, kOperand>(rows, head, key0, key_end, place);
  if constexpr (kOperand == kK) Burn<Phase::load_kv>(place);
}

template <class T>
__device__ __forceinline__ void load_q(QFragments<T>& q, std::uint32_t q_tile, const __half* q_head, int block_row,
                                       int seqlen, Place& place) {
  fa_profile::load_q<T>(q, q_tile, q_head, block_row, seqlen, place);
  if constexpr (kSerialSoftmax) {
    Scratch<T>& scratch = ScratchOfWarp<T>();
    for (int row = place.lane; row < T::kRowsPerWarp; row += 32) {
      scratch.max[row] = sm80::MinusInfinity();
      scratch.sum[row] = 0.0F;
    }
    __syncwarp();
  }
}

template <class T, Operand kOperand>
__device__ __forceinline__ void sync(Place& place) {
  fa_profile::sync<T, kOperand>(place);
  if constexpr (kOperand == kV) {
#pragma unroll
    for (int i = 0; i < MUTANT_EXTRA_BARRIERS; ++i) fa_profile::sync<T, kOperand>(place);
  }
}

template <class T>
__device__ __forceinline__ void qk(Scores<T>& scores, const QFragments<T>& q, std::uint32_t q_rows, std::uint32_t rows,
                                   Place& place) {
  fa_profile::qk<T>(scores, q, q_rows, rows, place);
  Burn<Phase::qk>(place);
}

template <class T>
__device__ __forceinline__ void softmax(PFragments<T>& p, Scores<T>& scores, PerRow<T>& row_max, PerRow<T>& row_sum,
                                        PerRow<T>& correction, float c, int key0, Place& place) {
  if constexpr (kSerialSoftmax) {
    SerialSoftmax<T>(p, scores, row_max, row_sum, correction, c, key0, place);
  } else {
    fa_profile::softmax<T>(p, scores, row_max, row_sum, correction, c, key0, place);
  }
  Burn<Phase::softmax>(place);
}

template <class T>
__device__ __forceinline__ void rescale(Accumulator<T>& o, const PerRow<T>& correction, Place& place) {
  fa_profile::rescale<T>(o, correction, place);
  Burn<Phase::rescale>(place);
}

template <class T>
__device__ __forceinline__ void pv(Accumulator<T>& o, const PFragments<T>& p, std::uint32_t rows, Place& place) {
  fa_profile::pv<T>(o, p, rows, place);
  Burn<Phase::pv>(place);
}

// As the rung chooses its tile. The serial softmax always takes the smaller one: the larger leaves it no register.
template <class Latency, class Throughput>
cudaError_t Launch(const AttentionParams& params, cudaStream_t stream) {
  if constexpr (kSerialSoftmax) {
    return LaunchTile<Mutant<Latency>>(params, stream);
  } else {
    return LaunchBest<Mutant<Latency>, Mutant<Throughput>>(params, stream);
  }
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
    result = mutant::Launch<Latency64, Throughput64>(params, stream);
  } else if constexpr (kTakes128) {
    result = mutant::Launch<Latency128, Throughput128>(params, stream);
  }
  if (result == cudaSuccess) return 0;
  std::snprintf(error, error_size, "%s", cudaGetErrorString(result));
  return 1;
}

// Rung 7 taken apart. Its phases hand registers on, so where one is left out the next must not know what it gets:
// its inputs come from inline assembly whose operand is a kernel argument, and its outputs are used by one cheap
// instruction a register, so that the compiler removes no more than the phase. (That instruction is what a variant
// still costs of a phase that is gone.)
#define MmaRung UnusedMmaRung  // the library has its own
#include "rung7_mma.cu"        // NOLINT(bugprone-suspicious-include): its phases are private to it
#undef MmaRung

#include <utility>

#include "phase_truth.h"
#include "selftest/stopwatch.cuh"

namespace fa_profile {
namespace {

namespace rung7 {

enum Lap { kLoadQ, kLoadKv, kSync, kQk, kSoftmax, kRescale, kPv, kEpilogue, kLaps };
enum class Without { kNothing, kLoadQ, kLoadKv, kSync, kQk, kSoftmax, kRescale, kPv, kEpilogue };

// `f` on every register of an array of any rank.
template <class T, class F>
__device__ __forceinline__ void ForEach(T& x, F f) {
  if constexpr (std::is_array_v<T>) {
#pragma unroll
    for (auto& element : x) ForEach(element, f);
  } else {
    f(x);
  }
}

// Scores that qk did not compute: the accumulator's registers plus or minus an argument that is 0, which the compiler
// does not know. They differ from one another and from tile to tile, so the softmax has as much to do as ever.
template <class T>
__device__ __forceinline__ void MakeUpScores(Scores<T>& scores, const Accumulator<T>& o, float zero) {
  static_assert(T::kNTiles <= 2 * T::kDTiles);
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int nt = 0; nt < T::kNTiles; ++nt) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (nt < T::kDTiles) {
          asm volatile("add.f32 %0, %1, %2;" : "=f"(scores[mt][nt][i]) : "f"(o[mt][nt][i]), "f"(zero));
        } else {
          asm volatile("sub.f32 %0, %1, %2;" : "=f"(scores[mt][nt][i]) : "f"(o[mt][nt - T::kDTiles][i]), "f"(zero));
        }
      }
    }
  }
}

template <class T>
__device__ __forceinline__ void Use(std::uint32_t& all, const T& registers) {
  ForEach(registers, [&all](const std::uint32_t& x) { asm volatile("xor.b32 %0, %0, %1;" : "+r"(all) : "r"(x)); });
}

// Where a clock is read, what the phase before computed has been computed as far as the compiler is concerned.
template <bool kClocks, class T>
__device__ __forceinline__ void Pin(T& registers) {
  if constexpr (kClocks) {
    ForEach(registers, [](auto& x) {
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(x)>, float>) {
        asm volatile("" : "+f"(x));
      } else {
        asm volatile("" : "+r"(x));
      }
    });
  }
}

// The rung's kernel, line by line.
template <class T, Without kWithout, bool kClocks>
__global__ void __launch_bounds__(T::kThreads, T::kBlocksPerSm)
    Kernel(const AttentionParams params, float zero, std::uint64_t* sums) {
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

  Stopwatch<kClocks, kLaps> watch;
  std::uint32_t used = 0;
  watch.Start();
  if constexpr (kWithout != Without::kLoadKv) load_kv<T>(k_rows, k_head, first_key, key_end);
  watch.Lap(kLoadKv);
  QFragments<T> q = {};
  if constexpr (kWithout != Without::kLoadQ) {
    load_q<T>(q, q_tile, params.q + offset, block_row, params.seqlen, place);
  } else {
    ForEach(q, [zero](std::uint32_t& x) { asm volatile("mov.b32 %0, %1;" : "=r"(x) : "r"(__float_as_uint(zero))); });
  }
  Pin<kClocks>(q);
  watch.Lap(kLoadQ);

  Accumulator<T> o = {};
  PerRow<T> row_max;
  PerRow<T> row_sum = {};
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) row_max[mt][0] = row_max[mt][1] = sm80::MinusInfinity();

  for (int tile = 0; tile < tiles; ++tile) {
    const int key0 = tile * T::kBlockN + first_key;
    const bool sees_keys = key0 < warp_key_end;
    PFragments<T> p;

    if constexpr (kWithout != Without::kSync) sync<T>(place);
    watch.Lap(kSync);
    if constexpr (kWithout != Without::kLoadKv) load_kv<T>(v_rows, v_head, key0, key_end);
    watch.Lap(kLoadKv);
    if (sees_keys) {
      Scores<T> scores;
      PerRow<T> correction;
      if constexpr (kWithout != Without::kQk) {
        qk<T>(scores, q, q_rows, k_rows, place);
      } else {
        MakeUpScores<T>(scores, o, zero);
      }
      Pin<kClocks>(scores);
      watch.Lap(kQk);
      if constexpr (kWithout != Without::kSoftmax) {
        softmax<T>(p, scores, row_max, row_sum, correction, c, key0, params, place);
      } else {
#pragma unroll
        for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            asm volatile("mov.f32 %0, %1;" : "=f"(correction[mt][half]) : "f"(c));
            row_sum[mt][half] += c;
            row_max[mt][half] = c;
#pragma unroll
            for (int nt = 0; nt < T::kNTiles; ++nt) {
              p[mt][nt / 2][half + 2 * (nt % 2)] =
                  sm80::PackHalf2(scores[mt][nt][2 * half], scores[mt][nt][2 * half + 1]);
            }
          }
        }
      }
      Pin<kClocks>(p);
      Pin<kClocks>(correction);
      Pin<kClocks>(row_sum);
      watch.Lap(kSoftmax);
      if constexpr (kWithout != Without::kRescale) rescale<T>(o, correction);
      Pin<kClocks>(o);
      watch.Lap(kRescale);
    }
    if constexpr (kWithout != Without::kSync) sync<T>(place);
    watch.Lap(kSync);
    if constexpr (kWithout != Without::kLoadKv) load_kv<T>(k_rows, k_head, key0 + T::kBlockN, key_end);
    watch.Lap(kLoadKv);
    if (sees_keys) {
      if constexpr (kWithout != Without::kPv) {
        pv<T>(o, p, v_rows, place);
      } else {
        Use(used, p);
      }
    }
    Pin<kClocks>(o);
    watch.Lap(kPv);
  }
  if constexpr (kWithout != Without::kEpilogue) {
    epilogue<T>(params.o + offset, reinterpret_cast<float*>(shared), o, row_max, row_sum, c, block_row, params.seqlen,
                place);
  } else {
    float sum = row_sum[0][0] + row_max[0][0];
    ForEach(o, [&sum](const float& x) { sum += x; });
    used ^= __float_as_uint(sum);
  }
  watch.Lap(kEpilogue);
  if (used == 0x7f9f1234U) *reinterpret_cast<std::uint32_t*>(params.o) = used;  // never
  watch.Write(sums);
}

template <class T, Without kWithout, bool kClocks>
cudaError_t LaunchKernel(const AttentionParams& params, std::uint64_t* sums, cudaStream_t stream) {
  const auto function = reinterpret_cast<const void*>(Kernel<T, kWithout, kClocks>);
  const cudaError_t set = cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, T::kSharedBytes);
  if (set != cudaSuccess) return set;
  Kernel<T, kWithout, kClocks>
      <<<static_cast<unsigned>(Blocks<T>(params)), T::kThreads, T::kSharedBytes, stream>>>(params, 0.0F, sums);
  return cudaGetLastError();
}

template <class T, Without kWithout>
std::function<cudaError_t(cudaStream_t)> LaunchWithout(const AttentionParams& params) {
  return [&params](cudaStream_t stream) { return LaunchKernel<T, kWithout, false>(params, nullptr, stream); };
}

template <class T>
TakenApart TakeApart(const AttentionParams& params) {
  TakenApart rung;
  rung.id = "mma";
  rung.laps = {"load_q", "load_kv", "sync", "qk", "softmax", "rescale", "pv", "epilogue"};
  rung.left_out = rung.laps;
  rung.warps_per_block = T::kThreads / 32;
  rung.blocks = Blocks<T>(params);
  rung.unmodified = [&params](cudaStream_t stream) { return LaunchMma(params, stream); };
  rung.copy = LaunchWithout<T, Without::kNothing>(params);
  rung.clocked = [&params](std::uint64_t* sums, cudaStream_t stream) {
    return LaunchKernel<T, Without::kNothing, true>(params, sums, stream);
  };
  rung.without = {LaunchWithout<T, Without::kLoadQ>(params),   LaunchWithout<T, Without::kLoadKv>(params),
                  LaunchWithout<T, Without::kSync>(params),    LaunchWithout<T, Without::kQk>(params),
                  LaunchWithout<T, Without::kSoftmax>(params), LaunchWithout<T, Without::kRescale>(params),
                  LaunchWithout<T, Without::kPv>(params),      LaunchWithout<T, Without::kEpilogue>(params)};
  return rung;
}

}  // namespace rung7
}  // namespace

TakenApart TakeRung7Apart(const AttentionParams& params) {
  int device = 0;
  int sms = 0;
  (void)cudaGetDevice(&device);
  (void)cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  // As LaunchBest() chooses.
  return Blocks<Latency64>(params) <= 2 * sms ? rung7::TakeApart<Latency64>(params)
                                              : rung7::TakeApart<Throughput64>(params);
}

}  // namespace fa_profile

// Rung 7 taken apart. Its phases hand on registers. Where a phase is left out, the compiler must remove nothing else:
// inline assembly with a kernel argument makes what the next phase reads, and one cheap instruction a register uses
// what the phase before wrote. A variant still pays for these instructions.
#include <cstdint>
#include <functional>
#include <type_traits>

#include "phase_truth.h"
#include "rung7_mma.cuh"
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

// Clock reads of this warp, with those of the rung's own phases.
template <class T>
struct Place : fa_profile::Place {
  Stopwatch<T::kClocks, kLaps> watch = Stopwatch<T::kClocks, kLaps>::Started();
  std::uint32_t used = 0;
  float made_up = 0.0F;

  __device__ __forceinline__ float Zero() const {  // any number, as far as the compiler knows
    return __uint_as_float(static_cast<unsigned>(params.workspace_bytes));
  }
};

// One of the rung's tiles, with clocks or without a phase.
template <class Tile, Without kWithoutArg, bool kClocksArg>
struct Variant : Tile {
  using Place = rung7::Place<Variant>;
  static constexpr Without kWithout = kWithoutArg;
  static constexpr bool kClocks = kClocksArg;
};

// The phases that the rung's kernel calls for such a tile.
template <class T, Operand kOperand>
__device__ __forceinline__ void load_kv(std::uint32_t rows, const __half* head, int key0, int key_end,
                                        Place<T>& place) {
  if constexpr (T::kWithout != Without::kLoadKv) fa_profile::load_kv<T, kOperand>(rows, head, key0, key_end, place);
  place.watch.Lap(kLoadKv);
}

template <class T>
__device__ __forceinline__ void load_q(QFragments<T>& q, std::uint32_t q_tile, const __half* q_head, int block_row,
                                       int seqlen, Place<T>& place) {
  if constexpr (T::kWithout != Without::kLoadQ) {
    fa_profile::load_q<T>(q, q_tile, q_head, block_row, seqlen, place);
  } else {
    const std::uint32_t zero = __float_as_uint(place.Zero());
    ForEach(q, [zero](std::uint32_t& x) { asm volatile("mov.b32 %0, %1;" : "=r"(x) : "r"(zero)); });
  }
  if constexpr (T::kQInRegisters) Pin<T::kClocks>(q);
  place.watch.Lap(kLoadQ);
}

template <class T, Operand kOperand>
__device__ __forceinline__ void sync(Place<T>& place) {
  if constexpr (T::kWithout != Without::kSync) fa_profile::sync<T, kOperand>(place);
  place.watch.Lap(kSync);
}

// Scores that were not computed differ from one another and from tile to tile, so the softmax has as much to do as
// ever.
template <class T>
__device__ __forceinline__ void qk(Scores<T>& scores, const QFragments<T>& q, std::uint32_t q_rows, std::uint32_t rows,
                                   Place<T>& place) {
  if constexpr (T::kWithout != Without::kQk) {
    fa_profile::qk<T>(scores, q, q_rows, rows, place);
  } else {
    asm volatile("add.f32 %0, %0, %1;" : "+f"(place.made_up) : "f"(place.Zero()));
    float step = 0.0F;
    ForEach(scores, [&](float& x) { x = place.made_up + (step += 0.125F); });
  }
  Pin<T::kClocks>(scores);
  place.watch.Lap(kQk);
}

template <class T>
__device__ __forceinline__ void softmax(PFragments<T>& p, Scores<T>& scores, PerRow<T>& row_max, PerRow<T>& row_sum,
                                        PerRow<T>& correction, float c, int key0, Place<T>& place) {
  if constexpr (T::kWithout != Without::kSoftmax) {
    fa_profile::softmax<T>(p, scores, row_max, row_sum, correction, c, key0, place);
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
          p[mt][nt / 2][half + 2 * (nt % 2)] = sm80::PackHalf2(scores[mt][nt][2 * half], scores[mt][nt][2 * half + 1]);
        }
      }
    }
  }
  Pin<T::kClocks>(p);
  Pin<T::kClocks>(correction);
  Pin<T::kClocks>(row_sum);
  place.watch.Lap(kSoftmax);
}

template <class T>
__device__ __forceinline__ void rescale(Accumulator<T>& o, const PerRow<T>& correction, Place<T>& place) {
  if constexpr (T::kWithout != Without::kRescale) fa_profile::rescale<T>(o, correction, place);
  Pin<T::kClocks>(o);
  place.watch.Lap(kRescale);
}

template <class T>
__device__ __forceinline__ void pv(Accumulator<T>& o, const PFragments<T>& p, std::uint32_t rows, Place<T>& place) {
  if constexpr (T::kWithout != Without::kPv) {
    fa_profile::pv<T>(o, p, rows, place);
  } else {
    Use(place.used, p);
  }
  Pin<T::kClocks>(o);
  place.watch.Lap(kPv);
}

template <class T>
__device__ __forceinline__ void epilogue(__half* o_head, float* shared, const Accumulator<T>& o,
                                         const PerRow<T>& row_max, const PerRow<T>& row_sum, float c, int block_row,
                                         int seqlen, Place<T>& place) {
  if constexpr (T::kWithout != Without::kEpilogue) {
    fa_profile::epilogue<T>(o_head, shared, o, row_max, row_sum, c, block_row, seqlen, place);
  } else {
    float sum = row_sum[0][0] + row_max[0][0];
    ForEach(o, [&sum](const float& x) { sum += x; });
    place.used ^= __float_as_uint(sum);
  }
  place.watch.Lap(kEpilogue);
  if (place.used == 0x7f9f1234U) *reinterpret_cast<std::uint32_t*>(place.params.o) = place.used;  // never
  place.watch.Write(static_cast<std::uint64_t*>(place.params.workspace));
}

template <class T, Without kWithout>
std::function<cudaError_t(cudaStream_t)> LaunchWithout(const AttentionParams& params) {
  return [&params](cudaStream_t stream) { return LaunchTile<Variant<T, kWithout, false>>(params, stream); };
}

template <class T>
TakenApart TakeApart(const AttentionParams& params) {
  TakenApart rung;
  rung.id = "mma";
  rung.laps = {"load_q", "load_kv", "sync", "qk", "softmax", "rescale", "pv", "epilogue"};
  rung.left_out = rung.laps;
  rung.warps_per_block = T::kThreads / 32;
  rung.blocks = Blocks<T>(params);
  rung.unmodified = [&params](cudaStream_t stream) { return LaunchTile<T>(params, stream); };
  rung.copy = LaunchWithout<T, Without::kNothing>(params);
  rung.clocked = [&params](std::uint64_t* sums, cudaStream_t stream) {
    AttentionParams with_sums = params;
    with_sums.workspace = sums;
    return LaunchTile<Variant<T, Without::kNothing, true>>(with_sums, stream);
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

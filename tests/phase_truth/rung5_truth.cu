// Rung 5 taken apart. Its phases hand on everything through shared memory. So a phase can be left out without the
// compiler removing more than that: it must assume that the tile's contents are unknown.
#include <cstdint>
#include <functional>

#include "phase_truth.h"
#include "rung5_serial_softmax.cuh"
#include "selftest/stopwatch.cuh"

namespace fa_profile {
namespace {

namespace rung5 {

enum Lap {
  kLoadQ,
  kLoadKv,
  kWaitLoadKv,
  kQk,
  kWaitQk,
  kSoftmax,
  kWaitSoftmax,
  kRescale,
  kPv,
  kWaitPv,
  kEpilogue,
  kLaps
};
enum class Without { kNothing, kLoadKv, kQk, kSoftmax, kRescale, kPv, kEpilogue };

// What a left out phase would have written is as unknown as if it had.
template <class T>
__device__ __forceinline__ void Unknown(T& tile) {
  asm volatile("" ::"l"(&tile) : "memory");
}

template <int kOuter, int kInner>
__device__ __forceinline__ void Keep(float (&o)[kOuter][kInner]) {
#pragma unroll
  for (int i = 0; i < kOuter; ++i) {
#pragma unroll
    for (int j = 0; j < kInner; ++j) asm volatile("mov.b32 %0, %0;" : "+f"(o[i][j]));
  }
}

// The rung's tile in shared memory, and what this thread knows of its time.
template <int kHeadDimArg, Without kWithoutArg, bool kClocks>
struct Variant {
  static constexpr int kHeadDim = kHeadDimArg;
  static constexpr Without kWithout = kWithoutArg;
  Tile<kHeadDim>& tile;
  float* never;  // is never written
  Stopwatch<kClocks, kLaps> watch = Stopwatch<kClocks, kLaps>::Started();
};

// The phases that the rung's kernel calls for such a tile.
template <class T>
__device__ __forceinline__ void load_q(T& variant, const __half* q, int valid) {
  fa_profile::load_q(variant.tile, q, valid);
  variant.watch.Lap(kLoadQ);
}

template <class T>
__device__ __forceinline__ void load_kv(T& variant, const __half* k, const __half* v, int valid) {
  if constexpr (T::kWithout != Without::kLoadKv) fa_profile::load_kv(variant.tile, k, v, valid);
  Unknown(variant.tile);
  variant.watch.Lap(kLoadKv);
}

template <class T>
__device__ __forceinline__ void qk(T& variant) {
  if constexpr (T::kWithout != Without::kQk) fa_profile::qk(variant.tile);
  Unknown(variant.tile);
  variant.watch.Lap(kQk);
}

template <class T>
__device__ __forceinline__ void softmax(T& variant, int keys, int valid, bool causal, float scale) {
  if constexpr (T::kWithout != Without::kSoftmax) fa_profile::softmax(variant.tile, keys, valid, causal, scale);
  Unknown(variant.tile);
  variant.watch.Lap(kSoftmax);
}

template <class T, class O>
__device__ __forceinline__ void rescale(T& variant, O& o) {
  if constexpr (T::kWithout != Without::kRescale) fa_profile::rescale(variant.tile, o);
  variant.watch.Lap(kRescale);
}

template <class T, class O>
__device__ __forceinline__ void pv(T& variant, O& o) {
  if constexpr (T::kWithout != Without::kPv) fa_profile::pv(variant.tile, o);
  variant.watch.Lap(kPv);
}

template <WaitsFor kWhat, class T>
__device__ __forceinline__ void Barrier(T& variant) {
  fa_profile::Barrier<kWhat>(variant.tile);
  constexpr Lap kWait[] = {kWaitLoadKv, kWaitQk, kWaitSoftmax, kWaitPv};
  variant.watch.Lap(kWait[kWhat]);
}

template <class T, class O>
__device__ __forceinline__ void epilogue(T& variant, __half* out, int valid, O& o) {
  if constexpr (T::kWithout != Without::kEpilogue) {
    fa_profile::epilogue(variant.tile, out, valid, o);
  } else {
    Keep(o);
    float sum = 0.0F;
#pragma unroll
    for (auto& row : o) {
#pragma unroll
      for (const float x : row) sum += x;
    }
    if (__float_as_uint(sum) == 0x7f9f1234U) *variant.never = sum;
  }
}

template <int kHeadDim, Without kWithout, bool kClocks>
__global__ void __launch_bounds__(kThreads) Kernel(AttentionParams p, float* never, std::uint64_t* sums) {
  __shared__ Tile<kHeadDim> tile;
  Unknown(tile);
  Variant<kHeadDim, kWithout, kClocks> variant{tile, never};
  SerialSoftmax(variant, p);
  variant.watch.Lap(kEpilogue);
  variant.watch.Write(sums);
}

constexpr int kHeadDim = 64;

template <Without kWithout>
std::function<cudaError_t(cudaStream_t)> LaunchWithout(const AttentionParams& p) {
  return [&p](cudaStream_t stream) {
    Kernel<kHeadDim, kWithout, false><<<Blocks(p), kThreads, 0, stream>>>(p, reinterpret_cast<float*>(p.o), nullptr);
    return cudaGetLastError();
  };
}

}  // namespace rung5
}  // namespace

TakenApart TakeRung5Apart(const AttentionParams& params) {
  using rung5::LaunchWithout;
  using rung5::Without;
  TakenApart rung;
  rung.id = "serial_softmax";
  rung.laps = {"load_q",       "load_kv", "wait load_kv", "qk",      "wait qk", "softmax",
               "wait softmax", "rescale", "pv",           "wait pv", "epilogue"};
  rung.left_out = {"load_kv", "qk", "softmax", "rescale", "pv", "epilogue"};
  rung.warps_per_block = kThreads / 32;
  rung.blocks = Blocks(params);
  rung.unmodified = [&params](cudaStream_t stream) {
    SerialSoftmaxKernel<rung5::kHeadDim><<<Blocks(params), kThreads, 0, stream>>>(params);
    return cudaGetLastError();
  };
  rung.copy = LaunchWithout<Without::kNothing>(params);
  rung.clocked = [&params](std::uint64_t* sums, cudaStream_t stream) {
    rung5::Kernel<rung5::kHeadDim, Without::kNothing, true>
        <<<Blocks(params), kThreads, 0, stream>>>(params, reinterpret_cast<float*>(params.o), sums);
    return cudaGetLastError();
  };
  rung.without = {LaunchWithout<Without::kLoadKv>(params),  LaunchWithout<Without::kQk>(params),
                  LaunchWithout<Without::kSoftmax>(params), LaunchWithout<Without::kRescale>(params),
                  LaunchWithout<Without::kPv>(params),      LaunchWithout<Without::kEpilogue>(params)};
  return rung;
}

}  // namespace fa_profile

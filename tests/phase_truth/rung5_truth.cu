// Rung 5 taken apart. Its phases hand everything on through shared memory, so a phase can be left out without the
// compiler seeing more to remove: it is told that the tile's contents are unknown.
#define SerialSoftmaxRung UnusedSerialSoftmaxRung  // the library has its own
#include "rung5_serial_softmax.cu"                 // NOLINT(bugprone-suspicious-include): its phases are private to it
#undef SerialSoftmaxRung

#include <utility>

#include "phase_truth.h"
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

// The rung's kernel, line by line.
template <int kHeadDim, Without kWithout, bool kClocks>
__global__ void __launch_bounds__(kThreads) Kernel(AttentionParams p, float* never, std::uint64_t* sums) {
  __shared__ Tile<kHeadDim> tile;
  const int tiles = (p.seqlen + kBlockM - 1) / kBlockM;
  const int first_row = static_cast<int>(blockIdx.x % tiles) * kBlockM;
  const int valid_rows = min(kBlockM, p.seqlen - first_row);
  const std::size_t head = static_cast<std::size_t>(blockIdx.x / tiles) * p.seqlen * kHeadDim;
  const std::size_t query = head + static_cast<std::size_t>(first_row) * kHeadDim;
  const int end = p.causal ? first_row + valid_rows : p.seqlen;
  float o[kHeadDim / kPvThreads][kBlockM] = {};

  Unknown(tile);
  Stopwatch<kClocks, kLaps> watch;
  watch.Start();
  load_q(tile, p.q + query, valid_rows);
  watch.Lap(kLoadQ);
  for (int first_key = 0; first_key < end; first_key += kBlockN) {
    const std::size_t offset = head + static_cast<std::size_t>(first_key) * kHeadDim;
    const int valid_keys = min(kBlockN, p.seqlen - first_key);
    if constexpr (kWithout != Without::kLoadKv) load_kv(tile, p.k + offset, p.v + offset, valid_keys);
    Unknown(tile);
    watch.Lap(kLoadKv);
    __syncthreads();
    watch.Lap(kWaitLoadKv);
    if constexpr (kWithout != Without::kQk) qk(tile);
    Unknown(tile);
    watch.Lap(kQk);
    __syncthreads();
    watch.Lap(kWaitQk);
    if constexpr (kWithout != Without::kSoftmax) {
      softmax(tile, first_row - first_key + 1, valid_keys, p.causal, p.softmax_scale * kLog2e);
    }
    Unknown(tile);
    watch.Lap(kSoftmax);
    __syncthreads();
    watch.Lap(kWaitSoftmax);
    if (threadIdx.x < kPvThreads) {
      if constexpr (kWithout != Without::kRescale) rescale(tile, o);
      watch.Lap(kRescale);
      if constexpr (kWithout != Without::kPv) pv(tile, o);
      watch.Lap(kPv);
    }
    __syncthreads();
    watch.Lap(kWaitPv);
  }
  if constexpr (kWithout == Without::kEpilogue) {
    Keep(o);
    float sum = 0.0F;
#pragma unroll
    for (auto& row : o) {
#pragma unroll
      for (const float x : row) sum += x;
    }
    if (__float_as_uint(sum) == 0x7f9f1234U) *never = sum;
  } else {
    if (threadIdx.x < kPvThreads) epilogue(tile, p.o + query, valid_rows, o);
  }
  watch.Lap(kEpilogue);
  watch.Write(sums);
}

constexpr int kHeadDim = 64;

int Blocks(const AttentionParams& p) { return p.batch * p.num_heads * ((p.seqlen + kBlockM - 1) / kBlockM); }

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
  rung.blocks = rung5::Blocks(params);
  rung.unmodified = [&params](cudaStream_t stream) { return Launch(params, stream); };
  rung.copy = LaunchWithout<Without::kNothing>(params);
  rung.clocked = [&params](std::uint64_t* sums, cudaStream_t stream) {
    rung5::Kernel<rung5::kHeadDim, Without::kNothing, true>
        <<<rung5::Blocks(params), kThreads, 0, stream>>>(params, reinterpret_cast<float*>(params.o), sums);
    return cudaGetLastError();
  };
  rung.without = {LaunchWithout<Without::kLoadKv>(params),  LaunchWithout<Without::kQk>(params),
                  LaunchWithout<Without::kSoftmax>(params), LaunchWithout<Without::kRescale>(params),
                  LaunchWithout<Without::kPv>(params),      LaunchWithout<Without::kEpilogue>(params)};
  return rung;
}

}  // namespace fa_profile

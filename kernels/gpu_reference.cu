#include <algorithm>
#include <string>

#include "attention_workload.h"
#include "cuda_result.h"
#include "fa_profile/error.h"
#include "gpu_reference.h"

namespace fa_profile {
namespace {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffU;
// One warp per query row, eight rows per block: the rows share each tile of 32 keys, one key per lane.
constexpr int kRows = 8;
constexpr int kKeys = kWarp;
constexpr int kMaxHeadDim = 256;
constexpr int kDimsPerLane = kMaxHeadDim / kWarp;

__device__ double WarpMax(double x) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) x = fmax(x, __shfl_xor_sync(kAllLanes, x, lane));
  return x;
}

__device__ double WarpSum(double x) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) x += __shfl_xor_sync(kAllLanes, x, lane);
  return x;
}

__global__ void __launch_bounds__(kRows* kWarp) ReferenceKernel(AttentionParams p, double* out) {
  __shared__ float q[kRows][kMaxHeadDim];
  // One float of padding: lane j reads row j, and rows must not start in the same bank.
  __shared__ float kv[kKeys][kMaxHeadDim + 1];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int tiles = (p.seqlen + kRows - 1) / kRows;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.x / tiles) * p.seqlen * p.head_dim;
  const int first_row = static_cast<int>(blockIdx.x % tiles) * kRows;
  const int row = first_row + warp;
  const bool has_row = row < p.seqlen;
  const double scale = 1.0 / sqrt(static_cast<double>(p.head_dim));

  for (int d = lane; d < p.head_dim; d += kWarp) {
    q[warp][d] = has_row ? __half2float(p.q[head + static_cast<std::int64_t>(row) * p.head_dim + d]) : 0.0F;
  }
  double o[kDimsPerLane] = {};
  double max = -INFINITY;
  double sum = 0.0;
  const int end = p.causal ? min(first_row + kRows, p.seqlen) : p.seqlen;
  for (int first_key = 0; first_key < end; first_key += kKeys) {
    const auto load = [&](const __half* from) {
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < kKeys * p.head_dim; i += kRows * kWarp) {
        const int key = first_key + i / p.head_dim;
        const int d = i % p.head_dim;
        kv[i / p.head_dim][d] =
            key < p.seqlen ? __half2float(from[head + static_cast<std::int64_t>(key) * p.head_dim + d]) : 0.0F;
      }
      __syncthreads();
    };
    load(p.k);
    double score = 0.0;
    for (int d = 0; d < p.head_dim; ++d) score += static_cast<double>(q[warp][d]) * static_cast<double>(kv[lane][d]);
    const int key = first_key + lane;
    const bool visible = key < p.seqlen && (!p.causal || key <= row);
    score = visible ? score * scale : -INFINITY;
    const double new_max = fmax(max, WarpMax(score));
    // A row past the end, or one whose keys are all in an earlier tile, may have seen no key yet.
    const double weight = visible ? exp(score - new_max) : 0.0;
    const double correction = max == new_max ? 1.0 : exp(max - new_max);
    sum = sum * correction + WarpSum(weight);
    max = new_max;
    load(p.v);
#pragma unroll
    for (int i = 0; i < kDimsPerLane; ++i) {
      const int d = lane + i * kWarp;
      if (i * kWarp >= p.head_dim) break;
      o[i] *= correction;
      for (int j = 0; j < kKeys; ++j) {
        const double w = __shfl_sync(kAllLanes, weight, j);
        if (d < p.head_dim) o[i] += w * static_cast<double>(kv[j][d]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kDimsPerLane; ++i) {
    const int d = lane + i * kWarp;
    if (has_row && d < p.head_dim) out[head + static_cast<std::int64_t>(row) * p.head_dim + d] = o[i] / sum;
  }
}

// Non-negative doubles sort like their bit patterns.
__device__ void AtomicMax(double* address, double value) {
  atomicMax(reinterpret_cast<unsigned long long*>(address),
            static_cast<unsigned long long>(__double_as_longlong(value)));
}

__global__ void CompareKernel(const __half* outputs, const double* reference, std::int64_t count,
                              OutputErrors* errors) {
  constexpr double kTolerance = 1e-3;
  constexpr unsigned short kPoison = kPoisonByte << 8 | kPoisonByte;
  double abs_error = 0.0;
  double ratio = 0.0;
  unsigned nonfinite = 0;
  unsigned unwritten = 0;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    const double got = static_cast<double>(__half2float(outputs[i]));
    if (__half_as_ushort(outputs[i]) == kPoison) {
      ++unwritten;
    } else if (!isfinite(got)) {
      ++nonfinite;
    } else {
      const double error = fabs(got - reference[i]);
      abs_error = fmax(abs_error, error);
      ratio = fmax(ratio, error / (kTolerance + kTolerance * fabs(reference[i])));
    }
  }
  abs_error = WarpMax(abs_error);
  ratio = WarpMax(ratio);
  nonfinite = __reduce_add_sync(kAllLanes, nonfinite);
  unwritten = __reduce_add_sync(kAllLanes, unwritten);
  if (threadIdx.x % kWarp != 0) return;
  AtomicMax(&errors->max_abs_error, abs_error);
  AtomicMax(&errors->max_error_ratio, ratio);
  atomicAdd(&errors->nonfinite, static_cast<unsigned long long>(nonfinite));
  atomicAdd(&errors->unwritten, static_cast<unsigned long long>(unwritten));
}

}  // namespace

void GpuAttentionReference(const AttentionParams& params, double* out, cudaStream_t stream) {
  if (params.head_dim > kMaxHeadDim) {
    throw Error("the float64 reference takes head dimensions up to " + std::to_string(kMaxHeadDim) + ", not " +
                std::to_string(params.head_dim));
  }
  const auto heads = static_cast<unsigned>(params.batch) * static_cast<unsigned>(params.num_heads);
  const auto tiles = static_cast<unsigned>((params.seqlen + kRows - 1) / kRows);
  ReferenceKernel<<<heads * tiles, kRows * kWarp, 0, stream>>>(params, out);
  CheckCudaResult(cudaGetLastError(), "ReferenceKernel");
}

void CompareOutputs(const __half* outputs, const double* reference, std::int64_t count, OutputErrors* errors,
                    cudaStream_t stream) {
  constexpr int kThreads = 256;
  constexpr std::int64_t kMaxBlocks = 1024;
  const std::int64_t blocks = std::min<std::int64_t>((count + kThreads - 1) / kThreads, kMaxBlocks);
  CompareKernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(outputs, reference, count, errors);
  CheckCudaResult(cudaGetLastError(), "CompareKernel");
}

}  // namespace fa_profile

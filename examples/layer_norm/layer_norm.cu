// Layer norm: y = (x - mean) / sqrt(variance + 1e-5) * gamma + beta over each row, fp16 in and out, fp32 between.
//   fa-profile --kernel-lib layer_norm.so --kernel layer_norm --phase-map examples/layer_norm/phases.yaml
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "fa_profile/kernel_abi_2.h"

namespace {

constexpr int kWarp = 32;
constexpr int kThreads = 256;  // a row a block: wide rows are what layer norms have
constexpr int kWarps = kThreads / kWarp;
constexpr float kEpsilon = 1e-5F;

__device__ __forceinline__ float SumOfWarp(float x) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) x += __shfl_xor_sync(0xffffffffU, x, lane);
  return x;
}

// The sum over the block, in every thread. `partial`: a number a warp, used for this sum alone.
__device__ __forceinline__ float SumOfBlock(float x, float (&partial)[kWarps]) {
  x = SumOfWarp(x);
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = x;
  __syncthreads();
  float sum = 0.0F;
  for (int warp = 0; warp < kWarps; ++warp) sum += partial[warp];
  return sum;
}

__device__ __forceinline__ float mean_of_row(const __half* x, int cols, float (&partial)[kWarps]) {
  float sum = 0.0F;
  for (int col = static_cast<int>(threadIdx.x); col < cols; col += kThreads) sum += __half2float(x[col]);
  return SumOfBlock(sum, partial) / static_cast<float>(cols);
}

// In another pass over the row, which is in L1 now: the difference of two large sums would lose digits.
__device__ __forceinline__ float variance_of_row(const __half* x, int cols, float mean, float (&partial)[kWarps]) {
  float sum = 0.0F;
  for (int col = static_cast<int>(threadIdx.x); col < cols; col += kThreads) {
    const float difference = __half2float(x[col]) - mean;
    sum += difference * difference;
  }
  return SumOfBlock(sum, partial) / static_cast<float>(cols);
}

__device__ __forceinline__ void normalise(const __half* x, const float* gamma, const float* beta, __half* y, int cols,
                                          float mean, float scale) {
  for (int col = static_cast<int>(threadIdx.x); col < cols; col += kThreads) {
    y[col] = __float2half((__half2float(x[col]) - mean) * scale * gamma[col] + beta[col]);
  }
}

__global__ void __launch_bounds__(kThreads)
    LayerNorm(const __half* x, const float* gamma, const float* beta, __half* y, int cols) {
  __shared__ float of_mean[kWarps];
  __shared__ float of_variance[kWarps];
  x += static_cast<std::int64_t>(blockIdx.x) * cols;
  y += static_cast<std::int64_t>(blockIdx.x) * cols;
  const float mean = mean_of_row(x, cols, of_mean);
  const float variance = variance_of_row(x, cols, mean, of_variance);
  normalise(x, gamma, beta, y, cols, mean, rsqrtf(variance + kEpsilon));
}

// From here on: what fa-profile needs to know.
enum Parameter { kRows, kCols };
enum Tensor { kX, kGamma, kBeta, kY };

int Launch(const fa_profile_call* call, char* error, size_t error_size) {
  LayerNorm<<<static_cast<unsigned>(call->parameters[kRows]), kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const __half*>(call->tensors[kX]), static_cast<const float*>(call->tensors[kGamma]),
      static_cast<const float*>(call->tensors[kBeta]), static_cast<__half*>(call->tensors[kY]),
      static_cast<int>(call->parameters[kCols]));
  const cudaError_t result = cudaGetLastError();
  if (result == cudaSuccess) return 0;
  std::snprintf(error, error_size, "%s", cudaGetErrorString(result));
  return 1;
}

int Reference(const int64_t* parameters, double* const* tensors, char*, size_t) {
  const int64_t cols = parameters[kCols];
  for (int64_t row = 0; row < parameters[kRows]; ++row) {
    const double* const x = tensors[kX] + row * cols;
    double mean = 0.0;
    double variance = 0.0;
    for (int64_t col = 0; col < cols; ++col) mean += x[col] / static_cast<double>(cols);
    for (int64_t col = 0; col < cols; ++col) variance += (x[col] - mean) * (x[col] - mean) / static_cast<double>(cols);
    const double scale = 1.0 / std::sqrt(variance + static_cast<double>(kEpsilon));
    for (int64_t col = 0; col < cols; ++col) {
      tensors[kY][row * cols + col] = (x[col] - mean) * scale * tensors[kGamma][col] + tensors[kBeta][col];
    }
  }
  return 0;
}

void WorkOf(const int64_t* parameters, fa_profile_work* work) {
  const auto elements = static_cast<double>(parameters[kRows] * parameters[kCols]);
  work->flops = 8.0 * elements;
  work->bytes = 4.0 * elements + 8.0 * static_cast<double>(parameters[kCols]);
}

const fa_profile_parameter kParameters[] = {{"rows", 4096}, {"cols", 1024}};
const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP16, FA_PROFILE_INPUT, "rows,cols"},
    {"gamma", FA_PROFILE_FP32, FA_PROFILE_INPUT, "cols", {FA_PROFILE_UNIFORM, 0.5, 1.5}},
    {"beta", FA_PROFILE_FP32, FA_PROFILE_INPUT, "cols"},
    {"y", FA_PROFILE_FP16, FA_PROFILE_OUTPUT, "rows,cols", {}, {1e-3, 1e-3}}};
const fa_profile_kernel kKernel = {FA_PROFILE_KERNEL_SIZES, .name = "layer_norm",   .parameters = kParameters,
                                   .parameter_count = 2,    .tensors = kTensors,    .tensor_count = 4,
                                   .launch = Launch,        .reference = Reference, .work = WorkOf};

}  // namespace

FA_PROFILE_EXPORT_KERNEL(kKernel)

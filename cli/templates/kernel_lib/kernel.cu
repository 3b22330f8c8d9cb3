// The kernel @NAME@ and its interface to fa-profile (fa_profile/kernel_abi_2.h). As generated it scales each row by its
// own factor: put your kernel in its place.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "fa_profile/kernel_abi_2.h"

namespace {

constexpr int kThreads = 256;

// Phases of a kernel are functions that the compiler inlines: the report separates their time (phases.yaml).
__device__ __forceinline__ float load_factor(const float* factors, std::int64_t row) { return factors[row]; }

__device__ __forceinline__ void scale_row(const __half* x, __half* y, int cols, float factor) {
  for (int col = static_cast<int>(threadIdx.x); col < cols; col += kThreads) {
    y[col] = __float2half(factor * __half2float(x[col]));
  }
}

__global__ void __launch_bounds__(kThreads) ScaleRows(const __half* x, const float* factors, __half* y, int cols) {
  const std::int64_t row = blockIdx.x;
  scale_row(x + row * cols, y + row * cols, cols, load_factor(factors, row));
}

// The user gives these with --shape rows=...,cols=...
enum Parameter { kRows, kCols };
const fa_profile_parameter kParameters[] = {{"rows", 4096}, {"cols", 1024}};

// Name, type, role, shape, how it is drawn, tolerance, file.
enum Tensor { kX, kFactors, kY };
const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP16, FA_PROFILE_INPUT, "rows,cols"},
    {"factors", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows", {FA_PROFILE_UNIFORM, 0.5, 1.5}},
    {"y", FA_PROFILE_FP16, FA_PROFILE_OUTPUT, "rows,cols", {}, {1e-3, 1e-3}}};

// Enqueues one call. It must not synchronise, and must work in a CUDA graph.
int Launch(const fa_profile_call* call, char* error, size_t error_size) {
  ScaleRows<<<static_cast<unsigned>(call->parameters[kRows]), kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const __half*>(call->tensors[kX]), static_cast<const float*>(call->tensors[kFactors]),
      static_cast<__half*>(call->tensors[kY]), static_cast<int>(call->parameters[kCols]));
  const cudaError_t result = cudaGetLastError();
  if (result == cudaSuccess) return 0;
  std::snprintf(error, error_size, "%s", cudaGetErrorString(result));
  return 1;
}

// The same on the CPU in float64.
int Reference(const int64_t* parameters, double* const* tensors, char*, size_t) {
  const int64_t cols = parameters[kCols];
  for (int64_t i = 0; i < parameters[kRows] * cols; ++i) tensors[kY][i] = tensors[kFactors][i / cols] * tensors[kX][i];
  return 0;
}

// For TFLOP/s in the report; may be left out.
void WorkOf(const int64_t* parameters, fa_profile_work* work) {
  work->flops = static_cast<double>(parameters[kRows] * parameters[kCols]);
  work->bytes = 4.0 * work->flops + 4.0 * static_cast<double>(parameters[kRows]);
}

const fa_profile_kernel kKernel = {FA_PROFILE_KERNEL_SIZES, .name = "@NAME@",       .parameters = kParameters,
                                   .parameter_count = 2,    .tensors = kTensors,    .tensor_count = 3,
                                   .launch = Launch,        .reference = Reference, .work = WorkOf};

}  // namespace

FA_PROFILE_EXPORT_KERNEL(kKernel)

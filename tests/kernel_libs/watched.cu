// A kernel library that a test changes without a compiler: y = 2x as the word says that kHow ends with in the file.
#include <cuda_runtime.h>

#include "fa_profile/kernel_abi_2.h"

namespace {

constexpr int kWord = 12;  // of kHow
extern const volatile char kHow[];
const volatile char kHow[] = "watched_how=quick";

template <int kRounds>
__global__ void Double(const float* x, float* y, int n, float factor) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  float value = x[i];
  for (int round = 0; round < kRounds; ++round) value = fmaf(value, factor, 0.0F) * (1.0F / factor);
  y[i] = factor * value;
}

// Until x changes, which it does not.
__global__ void Hang(const volatile float* x, float* y) {
  const float first = x[0];
  while (x[0] == first) {
  }
  y[0] = first;
}

int Launch(const fa_profile_call* call, char*, size_t) {
  const int n = static_cast<int>(call->parameters[0]);
  const auto* const x = static_cast<const float*>(call->tensors[0]);
  auto* const y = static_cast<float*>(call->tensors[1]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  const unsigned blocks = (static_cast<unsigned>(n) + 255) / 256;
  const char how = kHow[kWord];
  if (how == 's') Double<5000><<<blocks, 256, 0, stream>>>(x, y, n, 2.0F);
  if (how == 'q') Double<1><<<blocks, 256, 0, stream>>>(x, y, n, 2.0F);
  if (how == 'w') Double<1><<<blocks, 256, 0, stream>>>(x, y, n, 4.0F);
  if (how == 'h') Hang<<<1, 1, 0, stream>>>(x, y);
  return cudaGetLastError() != cudaSuccess;
}

int Reference(const int64_t* parameters, double* const* tensors, char*, size_t) {
  for (int64_t i = 0; i < parameters[0]; ++i) tensors[1][i] = 2 * tensors[0][i];
  return 0;
}

const fa_profile_parameter kParameters[] = {{"n", 100000}};
const fa_profile_tensor kTensors[] = {{"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "n"},
                                      {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "n", {}, {0, 1e-6}}};
const fa_profile_kernel kKernel = {FA_PROFILE_KERNEL_SIZES, .name = "watched",     .parameters = kParameters,
                                   .parameter_count = 1,    .tensors = kTensors,   .tensor_count = 2,
                                   .launch = Launch,        .reference = Reference};

}  // namespace

FA_PROFILE_EXPORT_KERNEL(kKernel)

// A kernel library, y = 2x. Each broken library replaces one of its functions: it defines FIXTURE_OWN_<function> before
// including this and writes its own.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>

#include "fa_profile/kernel_abi_2.h"

namespace {

__global__ void Double(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = 2.0F * x[i];
}

int LaunchDouble(const fa_profile_call* call) {
  const int n = static_cast<int>(call->parameters[0]);
  Double<<<(static_cast<unsigned>(n) + 255) / 256, 256, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(call->tensors[0]), static_cast<float*>(call->tensors[1]), n);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}

#ifdef FIXTURE_OWN_LAUNCH
int Launch(const fa_profile_call* call, char* error, size_t error_size);
#else
int Launch(const fa_profile_call* call, char*, size_t) { return LaunchDouble(call); }
#endif

int Reference(const int64_t* parameters, double* const* tensors, char*, size_t) {
  for (int64_t i = 0; i < parameters[0]; ++i) tensors[1][i] = 2.0 * tensors[0][i];
  return 0;
}

const fa_profile_parameter kParameters[] = {{"n", 1000}};
const fa_profile_tensor kTensors[] = {{"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "n"},
                                      {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "n", {}, {0, 1e-6}}};
const fa_profile_kernel kKernel = {FA_PROFILE_KERNEL_SIZES, .name = "fixture",     .parameters = kParameters,
                                   .parameter_count = 1,    .tensors = kTensors,   .tensor_count = 2,
                                   .launch = Launch,        .reference = Reference};

}  // namespace

#ifndef FIXTURE_OWN_VERSION
FA_PROFILE_EXPORT uint32_t fa_profile_kernel_abi_version(void) { return FA_PROFILE_KERNEL_ABI_2_VERSION; }
#endif

#ifndef FIXTURE_OWN_NAME
FA_PROFILE_EXPORT const char* fa_profile_kernel_name(void) { return kKernel.name; }
#endif

#ifndef FIXTURE_OWN_DESCRIPTION
FA_PROFILE_EXPORT const fa_profile_kernel* fa_profile_kernel_description(void) { return &kKernel; }
#endif

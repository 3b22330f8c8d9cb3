#pragma once

#include <cuda_runtime_api.h>

#include <source_location>
#include <string>

namespace fa_profile {

/// The one place in kernels where a CUDA runtime result becomes an Error. `call` is the API's name ("cudaMalloc"); the
/// hint gives the cure for the results that users run into.
void CheckCudaResult(cudaError_t result, const char* call,
                     std::source_location where = std::source_location::current());

/// "cudaErrorIllegalAddress: an illegal memory access was encountered".
std::string DescribeCudaResult(cudaError_t result);

}  // namespace fa_profile

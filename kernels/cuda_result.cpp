#include "cuda_result.h"

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

std::string Hint(cudaError_t result) {
  switch (result) {
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
      return "no usable NVIDIA GPU: `nvidia-smi` must list one, with a driver for CUDA 13 (580 or newer)";
    case cudaErrorDevicesUnavailable:
      return "another process holds the GPU in exclusive mode: stop it, or choose another GPU with --device";
    case cudaErrorMemoryAllocation:
      return "the GPU has too little free memory: take a smaller shape, or stop other programs on it (`nvidia-smi` "
             "lists them)";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
      return "the kernels were built for the architectures " FA_PROFILE_CUDA_ARCHITECTURES
             ", and this GPU has another one: build again with -DCMAKE_CUDA_ARCHITECTURES=<that of your GPU>-real";
    case cudaErrorSharedObjectInitFailed:
      return "libcublas of the CUDA toolkit this was built with cannot be loaded: install it or set LD_LIBRARY_PATH";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
      return "a kernel that ran before in this process crashed, and CUDA refuses all work after that: start again "
             "without that kernel, and look for its fault with compute-sanitizer";
    default:
      return {};
  }
}

}  // namespace

std::string DescribeCudaResult(cudaError_t result) {
  return std::string(cudaGetErrorName(result)) + ": " + cudaGetErrorString(result);
}

void CheckCudaResult(cudaError_t result, const char* call, std::source_location where) {
  if (result == cudaSuccess) return;
  (void)cudaGetLastError();  // otherwise the next kernel launch would be blamed for it
  std::string file = where.file_name();
  file = file.substr(file.find_last_of('/') + 1);
  throw Error(call, cudaGetErrorName(result),
              std::string(cudaGetErrorString(result)) + " (" + file + ":" + std::to_string(where.line()) + ")",
              Hint(result));
}

}  // namespace fa_profile

#include "cublas_api.h"

#include <dlfcn.h>

#include <optional>
#include <string>

#include "fa_profile/cuda_toolkits.h"

namespace fa_profile {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::optional<CublasApi> Load() {
  // Never closed: handles may outlive us.
  void* const library = OpenCudaLibrary("libcublas.so." + std::to_string(CUBLAS_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  CublasApi api{};
  if (!Find(library, "cublasCreate_v2", api.create) || !Find(library, "cublasSetStream_v2", api.set_stream) ||
      !Find(library, "cublasSetWorkspace_v2", api.set_workspace) ||
      !Find(library, "cublasGemmStridedBatchedEx", api.gemm_strided_batched)) {
    return std::nullopt;
  }
  return api;
}

}  // namespace

const CublasApi* LoadCublas() {
  static const std::optional<CublasApi> api = Load();
  return api ? &*api : nullptr;
}

}  // namespace fa_profile

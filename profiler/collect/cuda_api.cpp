#include "cuda_api.h"

#include <dlfcn.h>

#include <algorithm>
#include <string>

#include "fa_profile/error.h"

namespace fa_profile::collect {
namespace {

std::string HintFor(cudaError_t result) {
  switch (result) {
    case cudaErrorMemoryAllocation:
      return "the GPU has too little free memory: use a smaller --shape, or stop what else runs on it (nvidia-smi)";
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
      return "`nvidia-smi` should list a GPU with a driver for CUDA 13 (580 or newer)";
    case cudaErrorNoKernelImageForDevice:
      return "the kernels were not built for this GPU: configure with -DCMAKE_CUDA_ARCHITECTURES=<its number>";
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
      return "a kernel crashed and took the CUDA context with it: run `compute-sanitizer` on `fa-profile verify`";
    case cudaErrorDevicesUnavailable:
      return "another process holds the GPU in exclusive mode: stop it, or choose another GPU with --device";
    default:
      return {};
  }
}

}  // namespace

void CheckCuda(cudaError_t result, const char* call, std::source_location where) {
  if (result == cudaSuccess) return;
  std::string file = where.file_name();
  file = file.substr(file.find_last_of('/') + 1);
  throw Error(call, cudaGetErrorName(result),
              std::string(cudaGetErrorString(result)) + " (" + file + ":" + std::to_string(where.line()) + ")",
              HintFor(result));
}

// The runtime's function for this initialises the runtime. Under CUDA_MODULE_LOADING=EAGER it then loads our code, and
// the driver waits for itself if that happens in its callback for a new context.
void* DriverEntry(const char* name, unsigned cuda_version) noexcept {
  using Find = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  static auto* const find = [] {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
    return driver == nullptr ? nullptr : reinterpret_cast<Find>(dlsym(driver, "cuGetProcAddress_v2"));
  }();
  void* entry = nullptr;
  CUdriverProcAddressQueryResult found{};
  if (find == nullptr ||
      find(name, &entry, static_cast<int>(cuda_version), CU_GET_PROC_ADDRESS_DEFAULT, &found) != CUDA_SUCCESS) {
    return nullptr;
  }
  return found == CU_GET_PROC_ADDRESS_SUCCESS ? entry : nullptr;
}

CUcontext CurrentContext() {
  auto* const get_current = reinterpret_cast<CUresult (*)(CUcontext*)>(DriverEntry("cuCtxGetCurrent"));
  if (get_current == nullptr) throw Error("the driver has no cuCtxGetCurrent", "update the driver");
  CUcontext context = nullptr;
  const CUresult result = get_current(&context);
  if (result != CUDA_SUCCESS || context == nullptr) {
    throw Error("cuCtxGetCurrent", "CUresult " + std::to_string(result), "no CUDA context is current");
  }
  return context;
}

CacheFlusher::CacheFlusher(bool enabled, std::size_t l2_bytes) {
  if (!enabled) return;
  constexpr std::size_t kLeast = std::size_t{64} << 20;
  bytes_ = std::max(2 * l2_bytes, kLeast);
  CheckCuda(cudaMalloc(&buffer_, bytes_), "cudaMalloc");
}

CacheFlusher::~CacheFlusher() {
  if (buffer_ != nullptr) (void)cudaFree(buffer_);
}

void CacheFlusher::Flush(cudaStream_t stream) const {
  if (enabled()) CheckCuda(cudaMemsetAsync(buffer_, 0, bytes_, stream), "cudaMemsetAsync");
}

}  // namespace fa_profile::collect

#include "check_cupti.h"

#include <dlfcn.h>

#include <new>
#include <string>
#include <string_view>

#include "cupti_library.h"
#include "fa_profile/error.h"

namespace fa_profile::collect {
namespace {

std::string HintFor(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "the driver lets only administrators read counters: load the nvidia module with "
             "NVreg_RestrictProfilingToAdminUsers=0, or run as root or with CAP_SYS_ADMIN";
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "another profiler holds the counters of this GPU (ncu, nsys, DCGM profiling metrics or another "
             "fa-profile): stop it, for DCGM with `dcgmi profile --pause`";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "this is a virtual GPU without profiling: enable profiling for the vGPU in the hypervisor";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return "the GPU runs in confidential-computing mode, in which counters cannot be read";
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_INVALID_CHIP_NAME:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
      return "this GPU or its mode is not supported by CUPTI's range profiler (compute capability 7.0 or newer is)";
    case CUPTI_ERROR_OUT_OF_MEMORY:
      return "too little memory for the counter data: use a smaller metric set or fewer ranges at once";
    case CUPTI_ERROR_NOT_INITIALIZED:
      return "no NVIDIA driver answered: `nvidia-smi` should list the GPU";
    default:
      return {};
  }
}

}  // namespace

void LoadNvperf() noexcept {
  [[maybe_unused]] static void* const library = []() -> void* {
    Dl_info info{};
    if (dladdr(CuptiFunction("cuptiGetResultString"), &info) == 0 || info.dli_fname == nullptr) return nullptr;
    const std::string_view cupti = info.dli_fname;
    try {
      // CUPTI's own dlopen("libnvperf_host.so") then finds it by that name.
      const std::string path = std::string(cupti.substr(0, cupti.rfind('/') + 1)) + "libnvperf_host.so";
      return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }();
}

void CheckCupti(CUptiResult result, const char* call, std::source_location where) {
  if (result == CUPTI_SUCCESS) return;
  if (!CuptiIsThere()) throw Error(CuptiLibraryName() + " is missing", kCuptiCure);
  const char* name = nullptr;
  if (cuptiGetResultString(result, &name) != CUPTI_SUCCESS || name == nullptr) name = "an unknown CUPTI result";
  std::string file = where.file_name();
  file = file.substr(file.find_last_of('/') + 1);
  throw Error(call, name, "result " + std::to_string(result) + " at " + file + ":" + std::to_string(where.line()),
              HintFor(result));
}

}  // namespace fa_profile::collect

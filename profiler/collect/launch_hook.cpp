#include "fa_profile/launch_hook.h"

#include <cuda.h>
#include <cupti.h>

#include <optional>

#include "cuda_api.h"
#include "fa_profile/demangle.h"

namespace fa_profile {
namespace {

void ReadAttributes(CUfunction function, Launch& launch) {
  static auto* const get =
      reinterpret_cast<CUresult (*)(int*, CUfunction_attribute, CUfunction)>(DriverEntry("cuFuncGetAttribute"));
  static auto* const to_function =
      reinterpret_cast<CUresult (*)(CUfunction*, CUkernel)>(DriverEntry("cuKernelGetFunction"));
  if (get == nullptr) return;
  int value = 0;
  // The runtime may pass a context-independent CUkernel in the place of a CUfunction.
  if (get(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function) != CUDA_SUCCESS && to_function != nullptr) {
    (void)to_function(&function, reinterpret_cast<CUkernel>(function));
  }
  if (get(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function) == CUDA_SUCCESS) launch.registers_per_thread = value;
  if (get(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) == CUDA_SUCCESS) {
    launch.static_shared_memory_bytes = value;
  }
  if (get(&value, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function) == CUDA_SUCCESS) {
    launch.local_memory_per_thread_bytes = value;
  }
}

// cuLaunchKernel's and cuLaunchCooperativeKernel's parameters, and CUlaunchConfig, share these members.
template <typename Parameters>
Launch ReadLaunch(const Parameters& p, CUfunction function) {
  Launch launch;
  launch.grid = {static_cast<int>(p.gridDimX), static_cast<int>(p.gridDimY), static_cast<int>(p.gridDimZ)};
  launch.block = {static_cast<int>(p.blockDimX), static_cast<int>(p.blockDimY), static_cast<int>(p.blockDimZ)};
  launch.dynamic_shared_memory_bytes = static_cast<std::int64_t>(p.sharedMemBytes);
  ReadAttributes(function, launch);
  return launch;
}

std::optional<Launch> ReadLaunch(CUpti_CallbackId id, const void* parameters) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz: {
      const auto& p = *static_cast<const cuLaunchKernel_params*>(parameters);
      return ReadLaunch(p, p.f);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz: {
      const auto& p = *static_cast<const cuLaunchCooperativeKernel_params*>(parameters);
      return ReadLaunch(p, p.f);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
      const auto& p = *static_cast<const cuLaunchKernelEx_params*>(parameters);
      return ReadLaunch(*p.config, p.f);
    }
    default:
      return std::nullopt;
  }
}

void CUPTIAPI OnCallback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept {
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  const auto& callback = *static_cast<const CUpti_CallbackData*>(data);
  auto* const observer = static_cast<LaunchObserver*>(user);
  if (callback.callbackSite != CUPTI_API_ENTER) {
    observer->OnLaunched();
  } else if (std::optional<Launch> launch = ReadLaunch(id, callback.functionParams)) {
    launch->kernel_name = Demangle(callback.symbolName);
    observer->OnLaunch(*launch);
  }
}

}  // namespace

bool ObserveLaunches(LaunchObserver* observer) {
  CUpti_SubscriberHandle subscriber = nullptr;
  if (cuptiSubscribe(&subscriber, OnCallback, observer) != CUPTI_SUCCESS) return false;
  for (const CUpti_CallbackId id :
       {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz}) {
    if (cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id) != CUPTI_SUCCESS) return false;
  }
  return true;
}

}  // namespace fa_profile

// What is learned from the driver's calls, over a CUPTI that only keeps its subscriber.
#include "fa_profile/launch_hook.h"

#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "fa_profile/launch_names.h"

namespace fa_profile::collect::launch_hook_test {
namespace {

class CountingObserver final : public ProgramObserver {
 public:
  bool OnLaunch(const LaunchCall& call) noexcept override {
    last_symbol = call.symbol;
    return false;
  }
  void OnLaunched() noexcept override {}
  void OnWorkBegins() noexcept override { ++work_begun; }
  void OnWorkEnded() noexcept override { ++work_ended; }
  void OnCaptureBegins(const void* /*stream*/) noexcept override {}
  void OnCaptureEnded(const void* stream) noexcept override { last_capture_ended = stream; }
  void OnDeviceGraph() noexcept override { ++device_graphs; }
  void OnProfiler(bool /*on*/) noexcept override {}
  void OnContextBegins(const void* /*context*/) noexcept override {}
  void OnModuleLoaded(std::span<const std::uint8_t> /*cubin*/) noexcept override {}
  void OnModuleUnloads() noexcept override { ++unloads; }
  void OnContextEnds(const void* /*context*/) noexcept override {}
  const char* last_symbol = nullptr;
  int device_graphs = 0;
  int work_begun = 0;
  int work_ended = 0;
  int unloads = 0;
  const void* last_capture_ended = nullptr;
};

TEST(LaunchHookTest, CallsAreToldAsTheDriverIsAskedForThem) {
  // Globally, before the first call of CUPTI: then its functions are the fake's.
  void* const fake = dlopen(FA_PROFILE_FAKE_CUPTI, RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(fake, nullptr);
  auto* const end_call =
      reinterpret_cast<void (*)(CUpti_CallbackId, const void*, CUresult)>(dlsym(fake, "EndDriverCall"));
  ASSERT_NE(end_call, nullptr);
  static CountingObserver observer;
  ASSERT_TRUE(ObserveProgram(&observer, false, false, false));

  const auto with_flags = [&](unsigned long long flags, CUresult result) {
    cuGraphInstantiateWithFlags_params call = {};
    call.flags = flags;
    end_call(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, &call, result);
    return observer.device_graphs;
  };
  EXPECT_EQ(with_flags(0, CUDA_SUCCESS), 0);
  EXPECT_EQ(with_flags(CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY, CUDA_SUCCESS), 0);
  EXPECT_EQ(with_flags(CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, CUDA_ERROR_INVALID_VALUE), 0);
  EXPECT_EQ(with_flags(CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, CUDA_SUCCESS), 1);

  CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {};
  parameters.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  cuGraphInstantiateWithParams_params call = {};
  call.instantiateParams = &parameters;
  end_call(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams, &call, CUDA_SUCCESS);
  end_call(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz, &call, CUDA_SUCCESS);
  EXPECT_EQ(observer.device_graphs, 3);

  // A stream that is destroyed no longer captures: CUDA ends the capture without a call for it.
  cuStreamDestroy_v2_params destroyed = {};
  destroyed.hStream = reinterpret_cast<CUstream>(&observer);
  end_call(CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, &destroyed, CUDA_SUCCESS);
  EXPECT_EQ(observer.last_capture_ended, &observer);

  // For a handle that is not a kernel's, CUPTI returns arbitrary bytes as the address of its name.
  auto* const begin_call =
      reinterpret_cast<void (*)(CUpti_CallbackId, const void*, const char*)>(dlsym(fake, "BeginDriverCall"));
  ASSERT_NE(begin_call, nullptr);
  const std::uint64_t parameters_of_any[16] = {};
  for (const CUpti_CallbackId id :
       {CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc, CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue32_v2_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx, CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile,
        CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async_ptsz, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2}) {
    const int before = observer.work_begun;
    begin_call(id, parameters_of_any, nullptr);
    EXPECT_EQ(observer.work_begun, before + 1) << id;
    EXPECT_EQ(observer.work_ended, before) << id;
    end_call(id, parameters_of_any, CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(observer.work_ended, before + 1) << id;
  }
  WatchLaunches(true);
  cuLaunchKernel_params launch = {};
  const auto symbol_of = [&](CUpti_CallbackId id, const void* asked, const char* name) {
    begin_call(id, asked, name);
    return std::string(observer.last_symbol);
  };
  EXPECT_EQ(symbol_of(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch, "a_kernel"), "a_kernel");
  EXPECT_EQ(
      symbol_of(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch, reinterpret_cast<const char*>(0x48b486430ec8348)),
      "?");
  EXPECT_EQ(symbol_of(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch, nullptr), "?");
  const cuLaunchKernelEx_params without_config = {};
  EXPECT_EQ(symbol_of(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &without_config, "a_kernel"), "a_kernel");
  WatchLaunches(false);

  // A name is kept at the launch, because CUPTI frees its own with the module.
  begin_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch, "not_kept");
  EXPECT_EQ(ProcessLaunchNames().NameOf(0), nullptr);
  const cuModuleUnload_params module = {};
  begin_call(CUPTI_DRIVER_TRACE_CBID_cuModuleUnload, &module, nullptr);
  const cuLibraryUnload_params library = {};
  begin_call(CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload, &library, nullptr);
  EXPECT_EQ(observer.unloads, 2);
  WatchNames();
  begin_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch, "kept");
  EXPECT_STREQ(ProcessLaunchNames().NameOf(0), "kept");
}

}  // namespace
}  // namespace fa_profile::collect::launch_hook_test

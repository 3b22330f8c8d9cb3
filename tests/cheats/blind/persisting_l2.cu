// Honest: each launch asks the GPU to keep the gathered table in the L2 cache (an access policy window), since rows of
// it are read many times within the call.
#include <algorithm>

#include "common.cuh"

LAUNCH {
  static const size_t most = [] {
    int set_aside = 0, window = 0;
    cudaDeviceGetAttribute(&set_aside, cudaDevAttrMaxPersistingL2CacheSize, 0);
    cudaDeviceGetAttribute(&window, cudaDevAttrMaxAccessPolicyWindowSize, 0);
    cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, size_t(set_aside) / 2);
    return size_t(window);
  }();
  const Gather g = GatherOf(call);
  cudaLaunchAttribute window = {};
  window.id = cudaLaunchAttributeAccessPolicyWindow;
  window.val.accessPolicyWindow.base_ptr = const_cast<__half*>(g.table);
  window.val.accessPolicyWindow.num_bytes = std::min(most, size_t{4096} * g.dim * sizeof(__half));
  window.val.accessPolicyWindow.hitRatio = 1.0F;
  window.val.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  window.val.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(GatherBlocks(g));
  config.blockDim = dim3(kThreads);
  config.stream = Stream(call);
  config.attrs = &window;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, GatherRows, g) != cudaSuccess;
}
static const fa_profile_parameter kParameters[] = {{"count", 65536}, {"dim", 256}};
GATHER_TENSORS()
EXPORT_WITH("persisting_l2", kParameters, .reference = GatherReference, .work = GatherWork)

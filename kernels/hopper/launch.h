#pragma once

// Launches for both kernels of rung 8: optionally in clusters, optionally while the previous kernel in the stream ends.

#include <cuda_runtime_api.h>

#include <cstddef>

namespace fa_profile::hopper {

/// Grid, block and attributes of a launch.
struct LaunchShape {
  dim3 grid;
  int threads;  // per block
  std::size_t shared_bytes;
  int cluster;     // blocks along x; 1: none
  bool dependent;  // the kernel calls WaitForKernelBefore() before it reads or writes tensors
};

/// Enqueues `kernel`, whose parameter is `call`.
template <class Call>
cudaError_t Launch(const void* kernel, Call& call, const LaunchShape& shape, cudaStream_t stream) {
  cudaLaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (shape.cluster > 1) {
    cudaLaunchAttribute& cluster = attributes[count++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(shape.cluster);
    cluster.val.clusterDim.y = 1;
    cluster.val.clusterDim.z = 1;
  }
  if (shape.dependent) {
    cudaLaunchAttribute& dependent = attributes[count++];
    dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    dependent.val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  void* arguments[] = {&call};
  return cudaLaunchKernelExC(&config, kernel, arguments);
}

}  // namespace fa_profile::hopper

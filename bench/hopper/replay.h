#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

namespace fa_profile::hopper {

struct ReplayTime {
  double in_chain_us = 0.0;  // a call in a graph of many: the median over replays
  double alone_us = 0.0;     // a graph of one call, replay after replay
};

/// Times `launch` in CUDA graphs. Throws Error when CUDA refuses.
ReplayTime TimeReplays(const std::function<cudaError_t(cudaStream_t)>& launch, int replays);

}  // namespace fa_profile::hopper

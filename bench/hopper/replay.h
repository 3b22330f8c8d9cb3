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

/// A chain of calls in a graph, to be replayed in turn with others.
class Chain {
 public:
  static constexpr int kCalls = 20;

  /// Throws Error when CUDA refuses.
  explicit Chain(const std::function<cudaError_t(cudaStream_t)>& launch);
  ~Chain();
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  /// Microseconds per call, over `replays` replays of the chain.
  double TimeUs(int replays);

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace fa_profile::hopper

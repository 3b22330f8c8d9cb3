#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rung.h"

namespace fa_profile {

/// A rung taken apart: copies of its kernel, which call the rung's own phase functions from its own file, with clock
/// reads between the phases or with one phase left out. Evidence about its phases that owes nothing to a profiler.
struct TakenApart {
  std::string id;
  std::vector<std::string> laps;      ///< what the clock tells apart; "a" is followed by "wait a", the barrier after it
  std::vector<std::string> left_out;  ///< phases that can be left out
  int warps_per_block = 0;
  std::int64_t blocks = 0;
  std::function<cudaError_t(cudaStream_t)> unmodified;  ///< the kernel as the product launches it
  std::function<cudaError_t(cudaStream_t)> copy;        ///< the copy with neither clocks nor anything left out
  /// sums (blocks, warps_per_block, laps): cycles, by the first lane of each warp.
  std::function<cudaError_t(std::uint64_t* sums, cudaStream_t)> clocked;
  std::vector<std::function<cudaError_t(cudaStream_t)>> without;  ///< by left_out
};

/// head_dim must be 64; `params` must stay valid while the result is used.
TakenApart TakeRung5Apart(const AttentionParams& params);
TakenApart TakeRung7Apart(const AttentionParams& params);

}  // namespace fa_profile

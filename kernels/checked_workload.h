#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "fa_profile/workload.h"

namespace fa_profile {

/// How a draw's outputs compare with their reference.
struct DrawErrors {
  bool passes = false;
  double max_abs_error = 0.0;
  double max_error_ratio = 0.0;
  std::int64_t nonfinite = 0;
  std::int64_t unwritten = 0;
  std::string where;  ///< an element that is wrong, and how; empty: unknown, or none is
  std::string error;  ///< the library could not compute its reference, for this reason
};

/// A workload whose outputs can be compared with a reference.
class CheckedWorkload : public Workload {
 public:
  /// Draws the inputs afresh. Enqueued on `stream`, or done at once.
  virtual void Fill(std::uint64_t seed, cudaStream_t stream) = 0;
  /// Overwrites outputs and workspace, so that what no kernel wrote is known. Alike.
  virtual void Poison(cudaStream_t stream) = 0;
  /// Compares the outputs of a launch that has ended, on inputs of this seed.
  virtual DrawErrors Check(std::uint64_t seed, cudaStream_t stream) = 0;
};

}  // namespace fa_profile

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/shape.h"

namespace fa_profile {

/// A cudaStream_t, opaque here because the model knows no CUDA.
using StreamHandle = void*;

/// Repeatable GPU work: one kernel of the ladder at one shape, with its tensors allocated and filled.
///
/// A workload has one part per kernel launch (rung 4: qk, softmax, pv; most rungs: one). Launching all parts in order
/// is one call. Each part can be replayed by itself: it reads and writes separate buffers and does not update in
/// place, which is what lets a collector run it once per pass.
/// Used from one thread. The destructor frees the device memory.
class Workload {
 public:
  virtual ~Workload() = default;
  Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  /// Kernel id ("mma") and where it comes from ("ladder", or the path of a kernel library).
  virtual const std::string& kernel() const = 0;
  virtual const std::string& origin() const = 0;
  /// Absent for work that is not an attention call.
  virtual std::optional<Shape> shape() const = 0;

  /// Names of the parts, in launch order; never empty.
  virtual const std::vector<std::string>& parts() const = 0;

  /// Enqueues part `index` on `stream` inside its NVTX ranges and returns without waiting. Throws Error when the
  /// launch is refused.
  virtual void LaunchPart(std::size_t index, StreamHandle stream) = 0;

  /// Enqueues the whole call, inside one NVTX range.
  virtual void Launch(StreamHandle stream) = 0;
};

}  // namespace fa_profile

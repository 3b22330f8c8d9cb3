#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "rung.h"

namespace fa_profile {

/// Attention in float64 of params.q, k, v into `out` (device, the shape's elements). Does not touch params.o.
/// head_dim may be any number up to 256. Enqueued on `stream`; throws Error when the launch is refused.
void GpuAttentionReference(const AttentionParams& params, double* out, cudaStream_t stream);

/// What a comparison counts. Lives on the device while it runs; zero it first.
struct OutputErrors {
  double max_abs_error;          // over finite outputs
  double max_error_ratio;        // |error| / (1e-3 + 1e-3*|reference|), over finite outputs
  unsigned long long nonfinite;  // NaN or infinite, not counting poison
  unsigned long long unwritten;  // still poison (kPoisonByte)
};

/// Compares `count` outputs (device) with the reference and adds to `errors` (device). Enqueued on `stream`.
void CompareOutputs(const __half* outputs, const double* reference, std::int64_t count, OutputErrors* errors,
                    cudaStream_t stream);

}  // namespace fa_profile

#pragma once

#include <cuda_runtime_api.h>

#include "rung.h"

namespace fa_profile::hopper {

/// A way to build rung 8, for tests and benchmarks. The steps of a head dimension add one switch each.
struct Variant {
  const char* name;     // "64_overlap"
  const char* changes;  // what it has that the previous one lacks
  int head_dim;
  bool bf16;
  int max_seqlen;  // 0: any
  cudaError_t (*launch)(const AttentionParams& params, cudaStream_t stream);
};

struct Variants {
  const Variant* begin_;
  const Variant* end_;
  const Variant* begin() const { return begin_; }
  const Variant* end() const { return end_; }
};

/// For the kernel for many rows, plain first.
Variants ForwardVariants();
/// For the same kernel, with other shapes and switches.
Variants TuningVariants();
/// For the kernel for few rows, which splits the keys.
Variants SplitVariants();

}  // namespace fa_profile::hopper

#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstddef>

namespace fa_profile {

/// Input of every rung's launch: device pointers to fp16 (batch, num_heads, seqlen, head_dim), contiguous.
struct AttentionParams {
  int batch = 0;
  int num_heads = 0;
  int seqlen = 0;
  int head_dim = 0;
  bool causal = false;
  float softmax_scale = 0.0F;  // 1/sqrt(head_dim)
  const __half* q = nullptr;
  const __half* k = nullptr;
  const __half* v = nullptr;
  __half* o = nullptr;
  void* workspace = nullptr;  // with Rung::workspace_bytes bytes
  std::size_t workspace_bytes = 0;
};

/// One kernel launch of a rung.
struct RungPart {
  const char* name;  // "qk"; for a rung of one launch the rung's id
  // Enqueues the launch and returns its status; never synchronises.
  cudaError_t (*launch)(const AttentionParams& params, cudaStream_t stream);
};

/// Everything that the ladder knows about a rung. The file kernels/rung<number>_<id>.cu defines it. It holds only plain
/// types: nvcc reads the standard library's headers once for each architecture.
struct Rung {
  int number;           // its place on the ladder, from 1
  const char* id;       // "mma"
  const char* teaches;  // one line: what to learn from its profile
  const char* phases;   // the names of its phase functions, separated by a space
  RungPart parts[3];    // in launch order; unused ones are empty
  // Device memory needed in addition to the tensors; its argument only holds the shape. Null: 0 bytes.
  std::size_t (*workspace_bytes)(const AttentionParams& params) = nullptr;
  // The major compute capability that its instructions require; 0: any. 9 is sm_90a, which no later GPU runs.
  int compute_capability_major = 0;
};

}  // namespace fa_profile

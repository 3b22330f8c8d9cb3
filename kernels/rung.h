#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

#include "fa_profile/attention_shape.h"

namespace fa_profile {

/// What every rung's launch receives: device pointers to fp16 (batch, num_heads, seqlen, head_dim), contiguous.
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
  void* workspace = nullptr;  // Rung::workspace_bytes() of device memory
  std::size_t workspace_bytes = 0;
};

/// One kernel launch of a rung.
struct RungPart {
  std::string name;  // "qk"; for a single-launch rung the rung's id
  // Enqueues the launch and returns what the launch said; never synchronises.
  cudaError_t (*launch)(const AttentionParams& params, cudaStream_t stream);
};

/// A line of the registry. Each rung's file defines one.
struct Rung {
  int number;
  std::string id;
  std::string teaches;
  std::vector<std::string> phases;
  std::vector<RungPart> parts;
  std::string (*why_not)(const AttentionShape& shape);  // empty: takes it
  std::size_t (*workspace_bytes)(const AttentionShape& shape);
};

const Rung& MinimalRung();        // rung1_minimal.cu
const Rung& ScalarRung();         // rung2_scalar.cu
const Rung& TiledRung();          // rung3_tiled.cu
const Rung& CublasRung();         // rung4_cublas.cu
const Rung& SerialSoftmaxRung();  // rung5_serial_softmax.cu
const Rung& WmmaRung();           // rung6_wmma.cu
const Rung& MmaRung();            // rung7_mma.cu

/// Every rung takes head_dim 64 and 128 and any batch, num_heads and seqlen whose grid fits; says so otherwise.
std::string WhyNotCommon(const AttentionShape& shape);

}  // namespace fa_profile

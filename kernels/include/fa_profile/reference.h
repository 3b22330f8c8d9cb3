#pragma once

#include <span>
#include <vector>

#include "fa_profile/attention_shape.h"

namespace fa_profile {

/// Attention in float64 on the CPU, as the formula says it: O = softmax(Q K^T / sqrt(head_dim)) V, with keys after the
/// query left out when causal. Tensors are (batch, num_heads, seqlen, head_dim), contiguous. What the reference that
/// runs on the GPU is held against. Throws Error when a span's size is not shape.Elements().
std::vector<double> AttentionReference(const AttentionShape& shape, std::span<const float> q, std::span<const float> k,
                                       std::span<const float> v);

}  // namespace fa_profile

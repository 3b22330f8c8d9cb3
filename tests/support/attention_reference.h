#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "fa_profile/attention_shape.h"
#include "fa_profile/error.h"

namespace fa_profile {

/// Attention in float64 on the CPU, following the formula: O = softmax(Q K^T / sqrt(head_dim)) V, with keys after the
/// query left out when causal. Tensors are (batch, num_heads, seqlen, head_dim), contiguous. The reference that runs on
/// the GPU is checked against it. Throws Error when a span's size is not shape.Elements().
inline std::vector<double> AttentionReference(const AttentionShape& shape, std::span<const float> q,
                                              std::span<const float> k, std::span<const float> v) {
  const auto elements = static_cast<std::size_t>(shape.Elements());
  if (q.size() != elements || k.size() != elements || v.size() != elements) {
    throw Error("a tensor's size does not match shape " + shape.ToString());
  }
  const auto dim = static_cast<std::size_t>(shape.head_dim);
  const auto seqlen = static_cast<std::size_t>(shape.seqlen);
  const double scale = 1.0 / std::sqrt(static_cast<double>(dim));
  std::vector<double> out(elements, 0.0);
  std::vector<double> weights(seqlen);
  for (std::size_t row = 0; row < elements / dim; ++row) {
    const std::size_t query = row % seqlen;
    const std::size_t head = (row - query) * dim;  // offset of this head's first element
    const std::size_t keys = shape.causal ? query + 1 : seqlen;
    for (std::size_t j = 0; j < keys; ++j) {
      double score = 0.0;
      for (std::size_t d = 0; d < dim; ++d) {
        score += static_cast<double>(q[row * dim + d]) * static_cast<double>(k[head + j * dim + d]);
      }
      weights[j] = score * scale;
    }
    const double max = *std::max_element(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(keys));
    double sum = 0.0;
    for (std::size_t j = 0; j < keys; ++j) sum += weights[j] = std::exp(weights[j] - max);
    for (std::size_t j = 0; j < keys; ++j) {
      for (std::size_t d = 0; d < dim; ++d) {
        out[row * dim + d] += weights[j] / sum * static_cast<double>(v[head + j * dim + d]);
      }
    }
  }
  return out;
}

}  // namespace fa_profile

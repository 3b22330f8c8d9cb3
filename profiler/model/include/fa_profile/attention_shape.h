#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace fa_profile {

/// Shape of one attention forward call: Q, K, V and O are (batch, num_heads, seqlen, head_dim), fp16, contiguous.
struct AttentionShape {
  int batch = 1;
  int num_heads = 8;
  int seqlen = 512;
  int head_dim = 64;
  bool causal = false;

  /// Floating-point operations the mathematics needs: two products of 2*head_dim FLOPs per score,
  /// 4 * batch * num_heads * head_dim * scores, where scores = seqlen^2, or seqlen*(seqlen+1)/2 when causal.
  /// The softmax is not counted, as in the FlashAttention papers.
  double Flops() const;

  /// Elements of one tensor.
  std::int64_t Elements() const;

  /// "1,8,512,64" or "1,8,512,64 causal".
  std::string ToString() const;

  /// Parses "B,H,S,D" (`causal` is taken from the argument) or ToString()'s output. Throws Error for anything else, for
  /// a value below 1, and for tensors of more than 2^31 elements.
  static AttentionShape Parse(std::string_view text, bool causal = false);

  auto operator<=>(const AttentionShape&) const = default;
};

}  // namespace fa_profile

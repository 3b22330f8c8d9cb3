#include "fa_profile/attention_shape.h"

#include <array>
#include <charconv>
#include <limits>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

[[noreturn]] void Refuse(std::string_view text, const std::string& why) {
  throw Error("shape '" + std::string(text) + "' " + why,
              "give it as BATCH,HEADS,SEQLEN,HEAD_DIM, for example --shape 1,8,512,64");
}

}  // namespace

double AttentionShape::Flops() const {
  const double s = seqlen;
  const double scores = causal ? s * (s + 1.0) / 2.0 : s * s;
  return 4.0 * batch * num_heads * head_dim * scores;
}

std::int64_t AttentionShape::Elements() const {
  return static_cast<std::int64_t>(batch) * num_heads * seqlen * head_dim;
}

std::string AttentionShape::ToString() const {
  std::string text = std::to_string(batch) + "," + std::to_string(num_heads) + "," + std::to_string(seqlen) + "," +
                     std::to_string(head_dim);
  return causal ? text + " causal" : text;
}

AttentionShape AttentionShape::Parse(std::string_view text, bool causal) {
  constexpr std::string_view kCausal = " causal";
  const std::string_view whole = text;
  if (text.ends_with(kCausal)) {
    causal = true;
    text.remove_suffix(kCausal.size());
  }
  std::array<int, 4> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), values[i]);
    if (error == std::errc::result_out_of_range) Refuse(whole, "has a number that is too large");
    if (error != std::errc{}) Refuse(whole, "is not four whole numbers");
    if (values[i] < 1) Refuse(whole, "has a value below 1");
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (i + 1 < values.size()) {
      if (!text.starts_with(',')) Refuse(whole, "is not four whole numbers");
      text.remove_prefix(1);
    }
  }
  if (!text.empty()) Refuse(whole, "has something after the fourth number");
  const AttentionShape shape{values[0], values[1], values[2], values[3], causal};
  // In double first: four ints below 2^31 overflow 64 bits.
  const double elements = 1.0 * shape.batch * shape.num_heads * shape.seqlen * shape.head_dim;
  if (elements > std::numeric_limits<std::int32_t>::max()) Refuse(whole, "has more than 2^31 elements a tensor");
  return shape;
}

}  // namespace fa_profile

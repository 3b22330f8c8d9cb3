#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fa_profile/attention_shape.h"

namespace fa_profile {

/// A parameter of a kernel library's shapes, and its value.
struct ShapeParameter {
  std::string name;
  std::int64_t value = 0;
  auto operator<=>(const ShapeParameter&) const = default;
};

/// Names of parameters have 1 to this many characters of [A-Za-z0-9_], the first no digit.
inline constexpr std::size_t kLongestParameterName = 32;
/// A shape has 1 to this many parameters.
inline constexpr std::size_t kMostParameters = 32;

bool IsParameterName(std::string_view name);

/// The shape of a case: an attention call's, or the values of the parameters that a kernel library names.
class Shape {
 public:
  /// The default attention shape.
  Shape() = default;
  Shape(const AttentionShape& attention) : value_(attention) {}  // NOLINT: an attention shape is a shape
  Shape(int batch, int num_heads, int seqlen, int head_dim, bool causal)
      : value_(AttentionShape{batch, num_heads, seqlen, head_dim, causal}) {}
  explicit Shape(std::vector<ShapeParameter> parameters) : value_(std::move(parameters)) {}

  /// Null: it has parameters instead.
  const AttentionShape* attention() const { return std::get_if<AttentionShape>(&value_); }
  /// Null: it is an attention shape.
  const std::vector<ShapeParameter>* parameters() const { return std::get_if<std::vector<ShapeParameter>>(&value_); }

  /// AttentionShape::ToString(), or "m=4096,n=4096,k=4096".
  std::string ToString() const;

  /// Parses ToString()'s output, or like AttentionShape::Parse(). Text with '=' has parameters. Throws Error, with the
  /// cure.
  static Shape Parse(std::string_view text, bool causal = false);

  auto operator<=>(const Shape&) const = default;

 private:
  std::variant<AttentionShape, std::vector<ShapeParameter>> value_;
};

/// The least that a call of a case does mathematically, as counted by its library.
struct Work {
  std::optional<double> flops;  ///< floating-point operations
  std::optional<double> bytes;  ///< bytes read or written
  bool operator==(const Work&) const = default;
};

}  // namespace fa_profile

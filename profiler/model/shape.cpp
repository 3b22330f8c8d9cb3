#include "fa_profile/shape.h"

#include <algorithm>
#include <charconv>

#include "fa_profile/error.h"
#include "fa_profile/text.h"

namespace fa_profile {
namespace {

[[noreturn]] void RefuseParameters(std::string_view text, const std::string& why) {
  constexpr std::size_t kShown = 200;
  throw Error("shape '" + Truncate(Printable(text), kShown) + "' " + why,
              "give it as NAME=VALUE,NAME=VALUE, for example --shape m=4096,n=4096");
}

bool IsWordCharacter(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

ShapeParameter ParseParameter(std::string_view whole, std::string_view item) {
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos) RefuseParameters(whole, "has an item without '='");
  ShapeParameter parameter{std::string(item.substr(0, equals)), 0};
  if (!IsParameterName(parameter.name)) RefuseParameters(whole, "has an item without a name before '='");
  const std::string_view value = item.substr(equals + 1);
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parameter.value);
  if (error == std::errc() && end == value.data() + value.size()) return parameter;
  RefuseParameters(whole, "has a value of '" + parameter.name + "' that is not a whole number below 2^63");
}

std::vector<ShapeParameter> ParseParameters(std::string_view text) {
  std::vector<ShapeParameter> parameters;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    ShapeParameter parameter = ParseParameter(text, rest.substr(0, comma));
    if (std::ranges::find(parameters, parameter.name, &ShapeParameter::name) != parameters.end()) {
      RefuseParameters(text, "names '" + parameter.name + "' twice");
    }
    parameters.push_back(std::move(parameter));
    if (parameters.size() > kMostParameters) RefuseParameters(text, "has too many parameters");
    if (comma == std::string_view::npos) return parameters;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

bool IsParameterName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestParameterName && (name[0] < '0' || name[0] > '9') &&
         std::ranges::all_of(name, IsWordCharacter);
}

std::string Shape::ToString() const {
  if (const AttentionShape* const shape = attention()) return shape->ToString();
  std::string text;
  for (const ShapeParameter& parameter : *parameters()) {
    text += (text.empty() ? "" : ",") + parameter.name + "=" + std::to_string(parameter.value);
  }
  return text;
}

Shape Shape::Parse(std::string_view text, bool causal) {
  if (text.find('=') == std::string_view::npos) return AttentionShape::Parse(text, causal);
  if (causal) RefuseParameters(text, "cannot be --causal");
  return Shape(ParseParameters(text));
}

}  // namespace fa_profile

#include "fa_profile/kernel_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

std::vector<std::string> NamesOf(const std::vector<KernelParameter>& parameters) {
  std::vector<std::string> names;
  for (const KernelParameter& parameter : parameters) names.push_back(parameter.name);
  return names;
}

Shape OwnShape(const std::vector<KernelParameter>& parameters) {
  std::vector<ShapeParameter> values;
  for (const KernelParameter& parameter : parameters) values.push_back({parameter.name, parameter.value});
  return Shape(std::move(values));
}

// Why the parameters cannot have this value; empty: they can.
std::string WhyNotParameter(const std::vector<KernelParameter>& parameters, const ShapeParameter& asked) {
  const auto found = std::ranges::find(parameters, asked.name, &KernelParameter::name);
  if (found == parameters.end()) {
    const std::vector<std::string> names = NamesOf(parameters);
    return fmt::format("it has no parameter '{}'{}; its parameters are {}", asked.name, DidYouMean(asked.name, names),
                       fmt::join(names, ", "));
  }
  if (asked.value >= found->minimum && asked.value <= found->maximum) return {};
  return fmt::format("its parameter '{}' is {} to {}, not {}", asked.name, found->minimum, found->maximum, asked.value);
}

}  // namespace

FittedShape FitParameters(const std::vector<KernelParameter>& parameters, const std::optional<Shape>& asked) {
  if (!asked) return {OwnShape(parameters), {}};
  if (asked->attention() != nullptr) {
    return {{}, "it takes --shape NAME=VALUE,...; its parameters are " + ToString(parameters), true};
  }
  std::vector<ShapeParameter> values = *OwnShape(parameters).parameters();
  for (const ShapeParameter& parameter : *asked->parameters()) {
    if (std::string why_not = WhyNotParameter(parameters, parameter); !why_not.empty()) return {{}, why_not};
    std::ranges::find(values, parameter.name, &ShapeParameter::name)->value = parameter.value;
  }
  return {Shape(std::move(values)), {}};
}

std::string ToString(const std::vector<KernelParameter>& parameters) { return OwnShape(parameters).ToString(); }

}  // namespace fa_profile

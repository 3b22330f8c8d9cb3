#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/shape.h"

namespace fa_profile {

/// A shape parameter of a kernel library: its name, its value where the user gives none, and its bounds, both included.
struct KernelParameter {
  std::string name;
  std::int64_t value = 1;
  std::int64_t minimum = 1;
  std::int64_t maximum = 1;
  bool operator==(const KernelParameter&) const = default;
};

/// What a kernel makes of a shape that was asked for.
struct FittedShape {
  std::optional<Shape> shape;  ///< with every parameter; absent: it does not take the shape
  std::string why_not;         ///< then the reason
  bool other_kind = false;     ///< then: parameters were asked of an attention kernel, or an attention shape of another
};

/// `asked`, completed by the parameters' own values; without it those values alone.
FittedShape FitParameters(const std::vector<KernelParameter>& parameters, const std::optional<Shape>& asked);

/// "m=4096,n=4096": the parameters' own values.
std::string ToString(const std::vector<KernelParameter>& parameters);

}  // namespace fa_profile

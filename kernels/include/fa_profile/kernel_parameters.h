#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/shape.h"

namespace fa_profile {

/// A shape parameter of a kernel library: its name, its default value, and its bounds, both included.
struct KernelParameter {
  std::string name;
  std::int64_t value = 1;
  std::int64_t minimum = 1;
  std::int64_t maximum = 1;
  bool operator==(const KernelParameter&) const = default;
};

/// A kernel's answer to a requested shape.
struct FittedShape {
  std::optional<Shape> shape;  ///< with every parameter; absent: it does not take the shape
  std::string why_not;         ///< the reason, if it does not
  bool other_kind = false;     ///< if it does not: parameters were requested of an attention kernel, or an attention
                               ///< shape of another
};

/// `asked`, completed by the parameters' default values; without it only those values.
FittedShape FitParameters(const std::vector<KernelParameter>& parameters, const std::optional<Shape>& asked);

/// "m=4096,n=4096": the parameters' default values.
std::string ToString(const std::vector<KernelParameter>& parameters);

}  // namespace fa_profile

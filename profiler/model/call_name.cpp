#include "fa_profile/call_name.h"

namespace fa_profile {

std::string CallName(const std::string& kernel, const std::optional<Shape>& shape, const std::string& part) {
  std::string name = kernel;
  if (shape) name.append("@").append(shape->ToString());
  if (!part.empty()) name.append("/").append(part);
  return name;
}

}  // namespace fa_profile

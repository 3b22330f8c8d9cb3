#pragma once

#include <string>
#include <vector>

namespace fa_profile::hopper {

/// One piece of hardware that rung 8 uses, tried alone.
struct Part {
  const char* name;
  const char* tries;
  /// "" or what is wrong.
  std::string (*run)();
};

/// In the order in which the kernel needs them.
std::vector<Part> Parts();

}  // namespace fa_profile::hopper

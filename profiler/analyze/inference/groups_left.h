#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Whether a warpgroup matrix instruction is the last of a group that can be waited for.
inline bool EndsGroup(const Instruction& product) { return product.operands.find("gsb0") != std::string::npos; }

/// How many groups of warpgroup matrix instructions may still be running after "WARPGROUP.DEPBAR.LE gsb0, 0x1".
inline std::size_t GroupsLeft(std::string_view operands) {
  const std::size_t at = operands.rfind("0x");
  std::size_t left = 0;
  if (operands.find("gsb0") != std::string_view::npos && at != std::string_view::npos) {
    (void)std::from_chars(operands.data() + at + 2, operands.data() + operands.size(), left, 16);
  }
  return left;
}

}  // namespace fa_profile::analyze

#pragma once

#include <span>
#include <string_view>

namespace fa_profile::cli {

struct EmbeddedText {
  std::string_view id;
  std::string_view text;
};

/// The files of cli/templates/kernel_lib/, by name. @NAME@ in them is the kernel's name.
std::span<const EmbeddedText> KernelLibTexts();

/// skills/fa-profile/SKILL.md alone.
std::span<const EmbeddedText> SkillTexts();

}  // namespace fa_profile::cli

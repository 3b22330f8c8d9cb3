#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "fa_profile/finding_rule.h"

namespace fa_profile::analyze {

/// A Markdown file of findings/, compiled in by cmake/embed_texts.cmake.
struct EmbeddedText {
  std::string_view id;  ///< the file's name without ".md"
  std::string_view text;
};
std::span<const EmbeddedText> FindingTexts();

/// The contents of a finding's file, with its {thresholds} filled in. The line "# " is the title, what follows the
/// story, and "## Fires when", "## Weight", "## Source", "## What to do" and "## By stall reason" (a list) the other
/// fields. Throws Error without such a file, and for another section.
FindingRule ReadFindingText(std::string_view id);

/// The row with this id, or nullptr.
const FindingRule* FindRule(const std::vector<FindingRule>& rules, std::string_view id);

}  // namespace fa_profile::analyze

#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "section_text.h"

namespace fa_profile::collect {

/// One .section file of Nsight Compute. A value.
class Section {
 public:
  /// `file` names it in errors. Throws Error as ParseTextFormat() does.
  Section(std::string_view text, const std::string& file);

  /// The sets that hold the section ("full").
  std::set<std::string> Sets() const;

  /// The section's metrics for a compute capability (10*major + minor): metrics, each with all rollups where Nsight
  /// Compute collects all, the operands of its derived metrics, and names that Nsight Compute expands by itself
  /// ("breakdown:...", "group:..."). Throws Error for an architecture filter that holds no number.
  std::set<std::string> Metrics(int cc) const;

 private:
  bool Passes(const TextField& message, int cc) const;
  bool InRange(const TextField& message, int cc) const;
  void Names(const TextField& message, int cc, std::map<std::string, bool>& names) const;
  void SuffixTable(const TextField& table, int cc, std::map<std::string, bool>& names) const;

  std::string file_;
  TextField root_;
};

}  // namespace fa_profile::collect

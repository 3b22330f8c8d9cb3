#pragma once

#include <re2/re2.h>

#include <string>
#include <string_view>
#include <vector>

namespace fa_profile {

/// The argument of --kernel and --nvtx: a regular expression in RE2's syntax, which matches in time linear in the name.
class KernelPattern {
 public:
  /// An empty pattern matches everything. Throws Error, which names `option`, for an invalid or too large regular
  /// expression.
  explicit KernelPattern(const std::string& pattern, const std::string& option = "--kernel");

  /// Whether the expression matches part of `name`. Safe from several threads.
  bool Finds(std::string_view name) const { return RE2::PartialMatch(name, expression_); }

 private:
  RE2 expression_;
};

/// Throws the Error that the pattern matches none of these kernels, with the near matches, or that there are none.
[[noreturn]] void RefusePattern(const std::string& pattern, const std::vector<std::string>& kernels);

/// Those of `ids` that match the pattern, in order. Throws Error: not a regular expression; none match (with near
/// matches).
std::vector<std::string> MatchKernels(const std::string& pattern, const std::vector<std::string>& ids);

}  // namespace fa_profile

#pragma once

#include <re2/re2.h>

#include <string>
#include <string_view>
#include <vector>

namespace fa_profile {

/// What --kernel and --nvtx take: a regular expression in RE2's syntax, which finds in time linear in the name,
/// whatever it is.
class KernelPattern {
 public:
  /// An empty pattern matches everything. Throws Error, which names `option`, for an invalid or too large regular
  /// expression.
  explicit KernelPattern(const std::string& pattern, const std::string& option = "--kernel");

  /// Whether the expression matches some part of `name`. Safe from several threads.
  bool Finds(std::string_view name) const { return RE2::PartialMatch(name, expression_); }

 private:
  RE2 expression_;
};

/// Throws the Error that the pattern matches none of these kernels, with the near matches; or that there is none.
[[noreturn]] void RefusePattern(const std::string& pattern, const std::vector<std::string>& kernels);

/// Those of `ids` that the pattern finds, in their order. Throws Error: no regular expression; it finds none (with near
/// matches).
std::vector<std::string> MatchKernels(const std::string& pattern, const std::vector<std::string>& ids);

}  // namespace fa_profile

#include "fa_profile/kernel_pattern.h"

#include <fmt/format.h>

#include <algorithm>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

// A message is a readable line, even if the pattern is a megabyte.
std::string Shortened(const std::string& text) {
  constexpr std::size_t kLongest = 80;
  if (text.size() <= kLongest) return text;
  std::size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // between two UTF-8 characters
  return text.substr(0, end) + "...";
}

}  // namespace

KernelPattern::KernelPattern(const std::string& pattern, const std::string& option) : expression_(pattern, RE2::Quiet) {
  if (expression_.ok()) return;
  throw Error(option + " '" + Shortened(pattern) + "' is not a regular expression: " + Shortened(expression_.error()),
              (option == "--kernel" ? "for one kernel give its id, for several --kernel 'wmma|mma'"
                                    : "for one name give a part of it, for several " + option + " 'one|another'") +
                  "; the syntax is RE2's, which has no lookaround and no back-references");
}

void RefusePattern(const std::string& pattern, const std::vector<std::string>& kernels) {
  if (kernels.empty()) throw Error("the GPU code has no kernel", "give a file that has a __global__ function");
  constexpr std::size_t kMostShown = 12;
  const auto shown = static_cast<std::ptrdiff_t>(std::min(kernels.size(), kMostShown));
  std::string known = fmt::format("{}", fmt::join(kernels.begin(), kernels.begin() + shown, ", "));
  if (kernels.size() > kMostShown) known += fmt::format(" and {} more", kernels.size() - kMostShown);
  throw Error("no kernel matches '" + Shortened(pattern) + "'" + DidYouMean(pattern, kernels),
              "the kernels are " + known);
}

std::vector<std::string> MatchKernels(const std::string& pattern, const std::vector<std::string>& ids) {
  const KernelPattern expression(pattern);
  std::vector<std::string> matches;
  for (const std::string& id : ids) {
    if (expression.Finds(id)) matches.push_back(id);
  }
  if (matches.empty() && !pattern.empty()) RefusePattern(pattern, ids);
  return matches;
}

}  // namespace fa_profile

#include "fa_profile/first_thresholds.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "fa_profile/thresholds.h"

namespace fa_profile::gate {
namespace {

constexpr std::size_t kMostListed = 40;      // for one file: a library of templates has hundreds
constexpr std::size_t kLongestKernel = 120;  // in a comment of one line

constexpr const char* kHead =
    R"(# Limits of `fa-profile gate`, begun by `fa-profile gate init`. It reads ci/thresholds.yaml by itself, and any other file
# with --thresholds. docs/gate.md of fa-profile explains the keys; `fa-profile gate --explain` lists the limits of
# each kernel with the line that they come from.
version: 1

defaults:  # the same as without this file; written out, so that a change is a diff
)";

constexpr const char* kRules =
    R"(
# Rules demand something of one metric. To use some, remove the "#" in front of `rules:` and of the lines that you want.
# A rule whose kernel is not there is an error, so a typo does not pass for a check. `--static` and `--pair` may know a
# kernel by different names: "*" holds for both.
#rules:
#  # No kernel may spill registers.
#  - {kernel: "*", metric: spill_bytes, maximum: 0, owner: me}
#  # More registers per thread are looked at, and block nothing.
#  - {kernel: "*", metric: registers_per_thread, relative: 0%, absolute: 8, severity: warning, owner: me}
)";

constexpr const char* kExceptions =
    R"(
# Changes that are accepted until a day. `fa-profile list metrics` lists the metrics.
#exceptions:
#  - {kernel: "*", metric: instructions, relative: 10%, owner: me, reason: "wider masks, #42", expires: 2099-12-31}
)";

// As a limit is written in the file: "2%", "0.1us", "3".
std::string YamlLimit(double value, std::string_view unit) {
  constexpr double kPercent = 100.0;
  constexpr double kMicroseconds = 1e6;
  if (unit == "ratio") return fmt::format("{:g}%", value * kPercent);
  if (unit == "seconds") return fmt::format("{:g}us", value * kMicroseconds);
  return fmt::format("{:g}", value);
}

std::string Defaults() {
  Thresholds thresholds;
  std::string text;
  std::string_view open;
  for (const DefaultSetting& setting : DefaultSettings()) {
    if (!open.empty() && setting.section != open) text += "}\n";
    const std::string limit = YamlLimit(setting.value(thresholds), setting.unit);
    if (setting.section.empty()) {
      text += fmt::format("  {}: {}\n", setting.key, limit);
    } else {
      const bool begins = setting.section != open;
      text += begins ? fmt::format("  {}: {{", setting.section) : std::string(", ");
      text += fmt::format("{}: {}", setting.key, limit);
    }
    open = setting.section;
  }
  return open.empty() ? text : text + "}\n";
}

// In double quotes, read alike by YAML and JSON; ASCII only, so that nothing in it ends a comment. Names in rules are
// patterns: a name that contains a star matches itself.
std::string QuotedName(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
}

// A rule can name it: it is short enough, and has nothing that the reader refuses.
bool CanBeNamed(const std::string& kernel) {
  return kernel.size() <= kLongestKernel && std::ranges::all_of(kernel, [](char c) { return c >= ' ' && c <= '~'; });
}

// "sm_90a, 64 registers, no spills"; empty: the code is not known.
std::string CodeText(const CaseFacts& facts) {
  if (facts.code.empty()) return {};
  const CodeFacts& code = facts.code.front();
  std::string text = code.architecture;
  if (code.registers_per_thread) text += fmt::format(", {} registers", *code.registers_per_thread);
  text += code.spill_bytes == 0 ? ", no spills" : fmt::format(", {} bytes spilled", code.spill_bytes);
  return text;
}

bool Spills(const CaseFacts& facts) {
  return std::ranges::any_of(facts.code, [](const CodeFacts& code) { return code.spill_bytes > 0; });
}

std::string FoundCase(const CaseFacts& facts) {
  const std::string code = CodeText(facts);
  return fmt::format("#  #   {}{}{}\n", QuotedName(facts.kernel.substr(0, kLongestKernel)),
                     facts.shape.empty() ? "" : ", shape " + QuotedName(facts.shape), code.empty() ? "" : ": " + code);
}

// The rule that holds a kernel to its current values.
std::string RuleOf(const CaseFacts& facts) {
  if (facts.code.empty() || !CanBeNamed(facts.kernel)) return {};
  if (!Spills(facts)) {
    return fmt::format("#  - {{kernel: {}, metric: spill_bytes, maximum: 0, owner: me}}\n", QuotedName(facts.kernel));
  }
  const auto registers = facts.code.front().registers_per_thread;
  if (!registers) return {};
  return fmt::format("#  - {{kernel: {}, metric: registers_per_thread, maximum: {}, owner: me}}\n",
                     QuotedName(facts.kernel), *registers);
}

std::string FoundIn(const Evidence& evidence, std::set<std::string>& named) {
  std::string text = fmt::format("#\n#  # In {}:\n", QuotedName(evidence.origin));
  std::string rules;
  std::size_t listed = 0;
  for (const CaseFacts& facts : evidence.cases) {
    if (facts.kernel == kReferenceKernel) continue;
    if (++listed > kMostListed) continue;
    text += FoundCase(facts);
    if (named.insert(facts.kernel).second) rules += RuleOf(facts);
  }
  if (listed == 0) text += "#  #   no kernel\n";
  if (listed > kMostListed) text += fmt::format("#  #   and {} more\n", listed - kMostListed);
  return text + rules;
}

}  // namespace

std::string FirstThresholds(const std::vector<Evidence>& found) {
  std::string text = kHead + Defaults() + kRules;
  std::set<std::string> named;
  for (const Evidence& evidence : found) text += FoundIn(evidence, named);
  return text + kExceptions;
}

}  // namespace fa_profile::gate

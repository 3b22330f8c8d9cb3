#include "fa_profile/thresholds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "fa_profile/error.h"
#include "fa_profile/evidence.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/static_metrics.h"

namespace fa_profile::gate {
namespace {

using CaseNames = std::vector<std::pair<std::string, std::string>>;

bool HasExpired(const ThresholdRule& rule, const std::string& today) {
  return !rule.expires.empty() && rule.expires < today;  // ISO dates sort as text
}

/// A rule without phase matches the whole kernel; `*` matches every phase, not the whole kernel.
bool PhaseMatches(const ThresholdRule& rule, const std::string& phase) {
  return rule.phase.empty() ? phase.empty() : !phase.empty() && GlobMatches(rule.phase, phase);
}

bool ShapeMatches(const ThresholdRule& rule, const std::string& shape) {
  return shape.empty() || GlobMatches(rule.shape, shape);
}

/// "; did you mean ...?" for a pattern without its wildcards.
std::string NearPattern(std::string pattern, const std::vector<std::string>& names) {
  std::erase_if(pattern, [](char c) { return c == '*' || c == '?'; });
  return pattern.empty() ? "" : DidYouMean(pattern, names);
}

std::string Listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 12;
  if (names.empty()) return "there are no names to match";
  const auto shown = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShown));
  return fmt::format("known names: {}{}", fmt::join(names.begin(), shown, "; "), names.size() > kShown ? "; ..." : "");
}

[[noreturn]] void FailUnmatched(const Thresholds& thresholds, const ThresholdRule& rule, const std::string& what,
                                const std::string& pattern, const std::set<std::string>& there) {
  const std::vector<std::string> names(there.begin(), there.end());
  throw Error(fmt::format("{}: '{}' matches no {}, so this rule checks nothing{}", PlaceOf(thresholds, rule), pattern,
                          what, NearPattern(pattern, names)),
              Listed(names) +
                  "; correct the pattern or remove the rule, or give --thresholds none, or FILE (default: "
                  "ci/thresholds.yaml, if it exists)");
}

}  // namespace

std::string DefaultSetting::Name() const {
  return section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
}

std::span<const DefaultSetting> DefaultSettings() {
  using T = Thresholds;
  static constexpr std::array kSettings = {
      DefaultSetting{"duration", "relative", "ratio", 1.0, [](T& t) -> double& { return t.duration.relative; },
                     "a call's time and cycles: worse by"},
      DefaultSetting{"duration", "absolute", "seconds", 1.0, [](T& t) -> double& { return t.duration.absolute; },
                     "and by"},
      DefaultSetting{"phase_time", "relative", "ratio", 1.0, [](T& t) -> double& { return t.phase_time.relative; },
                     "a phase's time: worse by"},
      DefaultSetting{"phase_time", "absolute", "ratio", 1.0, [](T& t) -> double& { return t.phase_time.absolute; },
                     "and by, of the kernel's time in the base"},
      DefaultSetting{"counters", "relative", "ratio", 1.0, [](T& t) -> double& { return t.counter_relative; },
                     "a deterministic counter: worse by"},
      DefaultSetting{"counters", "aa_ranges", "", 1000.0, [](T& t) -> double& { return t.counter_aa_ranges; },
                     "and by, in ranges of equal code"},
      DefaultSetting{"code", "instructions", "ratio", 1.0, [](T& t) -> double& { return t.code_instructions; },
                     "instructions in a kernel's code: suspect if more by"},
      DefaultSetting{"code", "registers", "ratio", 1.0, [](T& t) -> double& { return t.code_registers; },
                     "a kernel's registers per thread: suspect if more by"},
      DefaultSetting{"", "budget", "ratio", 1.0, [](T& t) -> double& { return t.budget; },
                     "drift from the promoted baseline"},
      DefaultSetting{"", "between_cards", "ratio", 1.0, [](T& t) -> double& { return t.between_cards; },
                     "standard deviation between GPUs, at least"},
      DefaultSetting{"levels", "suspect", "", 0.5, [](T& t) -> double& { return t.suspect_level; },
                     "p of a suspicion, at most"},
      DefaultSetting{"levels", "regression", "", 0.5, [](T& t) -> double& { return t.regression_level; },
                     "p of a regression, at most"},
      DefaultSetting{"", "most_dropped_pairs", "ratio", 1.0, [](T& t) -> double& { return t.most_dropped_pairs; },
                     "dropped pairs, at most"}};
  return kSettings;
}

bool GlobMatches(const std::string& pattern, const std::string& text) {
  // Without recursion: only the last star is retried, because it can take whatever an earlier one would.
  std::size_t at = 0;
  std::size_t in = 0;
  std::size_t star = std::string::npos;
  std::size_t star_end = 0;  // end of what the last star has taken
  while (in < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      star_end = in;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in])) {
      ++at;
      ++in;
    } else if (star != std::string::npos) {
      at = star + 1;
      in = ++star_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string::npos;
}

std::optional<std::string_view> UnitOf(std::string_view phase, std::string_view metric) {
  if (phase.empty() && metric == kCycles) return "cycles";
  if (const CatalogueMetric* found = phase.empty() ? FindMetric(metric) : FindPhaseMetric(metric)) return found->unit;
  const StaticMetric* const found = FindStaticMetric(metric);
  return found != nullptr && (phase.empty() || found->of_phases) ? std::optional(found->unit) : std::nullopt;
}

std::string PlaceOf(const Thresholds& thresholds, const ThresholdRule& rule) {
  return fmt::format("{}:{}", thresholds.file, rule.line);
}

std::vector<const ThresholdRule*> Expired(const Thresholds& thresholds, const std::string& today) {
  std::vector<const ThresholdRule*> expired;
  for (const ThresholdRule& rule : thresholds.rules) {
    if (HasExpired(rule, today)) expired.push_back(&rule);
  }
  return expired;
}

Demand FindDemand(const Thresholds& thresholds, const std::string& kernel, const std::string& shape,
                  const std::string& phase, const std::string& metric, const std::string& today) {
  Demand demand;
  std::array<const ThresholdRule*, 5> from{};
  for (const ThresholdRule& rule : thresholds.rules) {
    if (rule.metric != metric || HasExpired(rule, today) || !PhaseMatches(rule, phase)) continue;
    if (!GlobMatches(rule.kernel, kernel) || !GlobMatches(rule.shape, shape)) continue;
    const auto take = [&rule](const auto& given, auto& kept, const ThresholdRule*& source) {
      if (!given) return;
      kept = *given;
      source = &rule;
    };
    take(rule.relative, demand.relative, from[0]);
    take(rule.absolute, demand.absolute, from[1]);
    take(rule.minimum, demand.minimum, from[2]);
    take(rule.maximum, demand.maximum, from[3]);
    take(rule.severity, demand.severity, from[4]);
  }
  std::ranges::sort(from);  // pointers into one vector: the file's order
  for (const ThresholdRule* rule : from) {
    if (rule != nullptr && (demand.rules.empty() || demand.rules.back() != rule)) demand.rules.push_back(rule);
  }
  return demand;
}

void RequireRulesMatch(const Thresholds& thresholds, const CaseNames& cases, const std::vector<std::string>& phases) {
  for (const ThresholdRule& rule : thresholds.rules) {
    std::set<std::string> kernels;
    std::set<std::string> shapes;  // shapes of the kernels that it matches
    bool matches = false;
    for (const auto& [kernel, shape] : cases) {
      kernels.insert(kernel);
      if (!GlobMatches(rule.kernel, kernel)) continue;
      shapes.insert(shape);
      matches = matches || ShapeMatches(rule, shape);
    }
    if (shapes.empty()) FailUnmatched(thresholds, rule, "kernel", rule.kernel, kernels);
    if (!matches) FailUnmatched(thresholds, rule, "shape of '" + rule.kernel + "'", rule.shape, shapes);
    const bool phase_is_there =
        std::ranges::any_of(phases, [&](const auto& phase) { return PhaseMatches(rule, phase); });
    if (!phases.empty() && !rule.phase.empty() && !phase_is_there) {
      FailUnmatched(thresholds, rule, "phase", rule.phase, {phases.begin(), phases.end()});
    }
  }
}

bool AreAboutOtherKernels(const Thresholds& thresholds, const CaseNames& cases) {
  bool name_kernels = false;
  for (const ThresholdRule& rule : thresholds.rules) {
    if (rule.kernel.find_first_not_of('*') == std::string::npos) continue;
    name_kernels = true;
    if (std::ranges::any_of(cases, [&](const auto& one) { return GlobMatches(rule.kernel, one.first); })) return false;
  }
  return name_kernels;
}

std::string LeftOutNote(const Thresholds& thresholds) {
  return fmt::format(
      "{} in the current folder is not applied: its rules name other kernels; --thresholds {} applies it",
      thresholds.file, thresholds.file);
}

}  // namespace fa_profile::gate

#include "case_report.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "fa_profile/findings.h"
#include "fa_profile/lint.h"
#include "safe_text.h"

namespace fa_profile::gate {
namespace {

/// Most overruled warnings of a case that get their own lines.
constexpr std::size_t kMostOverruled = 3;

/// Most lines about what blocks, for one case and for all.
constexpr std::size_t kMostBlockersOfCase = 4;
constexpr std::size_t kMostBlockers = 16;

/// Lint findings that say what to do about worse code.
constexpr std::array<std::pair<std::string_view, const char*>, 4> kCodeCures = {{
    {"spill_bytes", "spills"},
    {"local_array_bytes", "stack-without-spills"},
    {"externals", "calls-printf"},
    {"static_tensor_instructions", "wmma-without-tensor"},
}};

const FindingRule* RuleFor(const std::vector<FindingRule>& rules, std::string_view id) {
  const auto found = std::ranges::find(rules, id, &FindingRule::id);
  return found == rules.end() ? nullptr : &*found;
}

/// The first of several steps.
std::string FirstStep(const std::string& cure) { return cure.substr(0, cure.find('\n')); }

void AddLine(CaseReport& report, const CaseVerdict& of, ReportLine line) {
  const bool said = line.text.empty() || of.headline.find(line.text) != std::string::npos;
  const auto same = [&line](const ReportLine& other) { return other.text == line.text && other.rule == line.rule; };
  if (!said && std::ranges::none_of(report.lines, same)) report.lines.push_back(std::move(line));
}

void AddCure(CaseReport& report, const std::string& cure) {
  const auto same = [&cure](const ReportLine& line) { return line.cure && line.text == cure; };
  if (!cure.empty() && std::ranges::none_of(report.lines, same)) report.lines.push_back({cure, "", true});
}

/// The reasons for the verdict on time; time and cycles together if they have the same reason.
void AddTimeReasons(CaseReport& report, const CaseVerdict& of) {
  const auto reason = [](const Comparison* one) { return one == nullptr ? std::string() : one->reason; };
  const auto rule = [](const Comparison* one) { return one == nullptr ? std::string() : one->rule; };
  const bool together = reason(report.time) == reason(report.cycles) && rule(report.time) == rule(report.cycles);
  for (const auto& [name, one] : {std::pair{together ? "time and cycles" : "time", report.time},
                                  std::pair{"cycles", together ? nullptr : report.cycles}}) {
    if (reason(one).empty() || of.headline.find(reason(one)) != std::string::npos) continue;
    AddLine(report, of, {std::string(name) + ": " + reason(one), rule(one), false});
  }
}

void AddFindings(CaseReport& report, const CaseVerdict& of) {
  for (const CaseFinding& finding : of.findings) {
    AddLine(report, of, {finding.id + ": " + finding.evidence, "", false});
    AddCure(report, CureOf(finding));
  }
}

/// The cure for worse code comes from lint.
void AddCodeCures(CaseReport& report, const CaseVerdict& of) {
  for (const Comparison& comparison : of.comparisons) {
    if (!comparison.blocking || comparison.tier != 0 || !IsBad(comparison.verdict)) continue;
    for (const auto& [metric, id] : kCodeCures) {
      const FindingRule* const rule = comparison.metric == metric ? RuleFor(analyze::LintRules(), id) : nullptr;
      if (rule != nullptr) AddCure(report, FirstStep(rule->cure));
    }
  }
}

void AddOverruled(CaseReport& report, const CaseVerdict& of) {
  std::size_t told = 0;
  for (const Comparison& comparison : of.comparisons) {
    const bool known = comparison.verdict == Verdict::kRegression || comparison.tier == 0;
    const bool worse = comparison.overruled && known;
    if (!worse || told == kMostOverruled) continue;
    AddLine(report, of, {comparison.reason, "", false});
    ++told;
  }
}

/// The rule of the comparison whose reason this is.
std::string RuleOf(const CaseVerdict& of, const std::string& reason) {
  const auto found = std::ranges::find(of.comparisons, reason, &Comparison::reason);
  return found == of.comparisons.end() ? std::string() : found->rule;
}

bool IsTold(const CaseReport& report, const CaseVerdict& of, const Comparison& comparison) {
  const auto names = [&comparison](const ReportLine& line) { return line.rule == comparison.rule; };
  if (!comparison.rule.empty() && std::ranges::none_of(report.lines, names)) return false;
  const auto says = [&comparison](const ReportLine& line) { return !line.cure && line.text == comparison.reason; };
  const bool reasoned = !comparison.reason.empty();
  return comparison.told || (reasoned && of.headline.find(comparison.reason) != std::string::npos) ||
         (reasoned && std::ranges::any_of(report.lines, says));
}

/// Without limit or numbers, what is wrong: a result, a new compiler warning.
std::string BlockerLine(const CaseVerdict& of, const Comparison& comparison) {
  const bool compared = comparison.base && comparison.candidate && !comparison.allowed.empty();
  const std::string text = compared ? fmt::format("{} {}; allowed: {}", MetricTitle(comparison),
                                                  ShownNumbers(comparison), comparison.allowed)
                                    : comparison.reason;
  return CaseTitle(of) + ": " + text + (comparison.rule.empty() ? "" : " (" + comparison.rule + ")");
}

}  // namespace

Blockers BlockersOf(const GateResult& result) {
  Blockers blockers;
  for (const CaseVerdict& of : result.cases) {
    if (result.verdict != Verdict::kRegression || of.verdict != Verdict::kRegression) continue;
    std::vector<const Comparison*> own;
    for (const Comparison& comparison : of.comparisons) {
      if (comparison.blocking && comparison.verdict == Verdict::kRegression) own.push_back(&comparison);
    }
    const auto is_time = [](const Comparison* one) {
      return one->phase.empty() && (one->metric == kDuration || one->metric == kCycles);
    };
    std::ranges::stable_partition(own, is_time);
    if (own.empty() && blockers.lines.size() < kMostBlockers) {
      blockers.lines.push_back(CaseTitle(of) + ": " + of.headline);
    }
    std::size_t shown = 0;
    for (const Comparison* const comparison : own) {
      if (shown == kMostBlockersOfCase || blockers.lines.size() == kMostBlockers) break;
      blockers.lines.push_back(BlockerLine(of, *comparison));
      ++shown;
    }
    blockers.more += own.size() - shown;
  }
  return blockers;
}

CaseReport ReportOf(const CaseVerdict& of) {
  CaseReport report;
  for (const Comparison& comparison : of.comparisons) {
    if (!comparison.phase.empty() || (!comparison.base && !comparison.candidate)) continue;
    if (comparison.metric == kDuration && report.time == nullptr) report.time = &comparison;
    if (comparison.metric == kCycles && report.cycles == nullptr) report.cycles = &comparison;
  }
  if (of.refused) AddLine(report, of, {"a speed that is not certified was not judged (docs/honest.md)", "", false});
  if (of.incorrect && !of.refused) {
    AddLine(report, of, {"a wrong result has no speed: its time was not judged", "", false});
    AddCure(report, CureOf({"not-correct", ""}));
  }
  for (const std::string& line : of.why) AddLine(report, of, {line, RuleOf(of, line), false});
  AddFindings(report, of);
  AddCodeCures(report, of);
  AddOverruled(report, of);
  AddTimeReasons(report, of);
  for (const Comparison& comparison : of.comparisons) {
    if (&comparison == report.time || &comparison == report.cycles || IsTold(report, of, comparison)) continue;
    if (comparison.verdict != Verdict::kPass || !comparison.reason.empty()) report.others.push_back(&comparison);
  }
  return report;
}

std::string CureOf(const CaseFinding& finding) {
  const FindingRule* const rule = RuleFor(analyze::FindingRules(), finding.id);
  if (rule == nullptr) return {};
  // "softmax takes 40 % of the time: wait 46 %, ...": what helps depends on what the phase waits for.
  const std::size_t colon = finding.evidence.find(": ");
  if (rule->cure_of_stall.empty() || colon == std::string::npos) return FirstStep(rule->cure);
  const std::string waits = finding.evidence.substr(colon + 2);
  const auto cure = rule->cure_of_stall.find(waits.substr(0, waits.find(' ')));
  return cure == rule->cure_of_stall.end() ? std::string() : cure->second;
}

std::vector<std::string> WhyAndFindings(const CaseVerdict& of) {
  std::vector<std::string> lines = of.why;
  for (const CaseFinding& finding : of.findings) lines.push_back(finding.id + ": " + finding.evidence);
  return lines;
}

std::string ControlCounts(const ControlResult& control) {
  std::string text =
      fmt::format("the baseline against itself: {} of {} judged worse", control.false_positives, control.trials);
  if (control.equal_code_trials > 0) {
    text += fmt::format("; equal machine code: {} of {}", control.equal_code_worse, control.equal_code_trials);
  }
  return text;
}

std::string OwnReason(const Comparison& comparison) {
  std::string_view reason = comparison.reason;
  const std::string place = " in " + comparison.phase;
  if (!comparison.phase.empty() && reason.ends_with(place)) reason.remove_suffix(place.size());
  const bool numbers =
      reason.starts_with(MetricLabel(comparison.metric) + " ") && reason.find(" -> ") != std::string_view::npos &&
      reason.find_first_of(";(") == std::string_view::npos && reason.find(", ") == std::string_view::npos;
  return numbers ? std::string() : comparison.reason;
}

}  // namespace fa_profile::gate

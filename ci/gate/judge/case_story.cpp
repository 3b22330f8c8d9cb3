#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "fa_profile/profile.h"
#include "fa_profile/units.h"
#include "judge.h"

namespace fa_profile::gate {
namespace {

constexpr std::size_t kMostLines = 8;
constexpr std::size_t kMostPhases = 3;
constexpr std::size_t kMostCounters = 3;
constexpr std::size_t kMostStalls = 2;

/// Least growth that gets a line: of a phase one point of the kernel's time, of a stall five points of the warps' time.
constexpr double kPhaseLine = 0.01;
constexpr double kStallLine = 0.05;

/// Worst first: what blocks, then notes, then what passed.
auto Rank(const Comparison& comparison) {
  const bool passed = comparison.verdict == Verdict::kPass;
  const double size = comparison.change ? std::abs(*comparison.change)
                      : passed          ? 0.0
                                        : 1e9;  // no ratio if the base is 0
  return std::tuple(comparison.blocking ? comparison.verdict : Verdict::kPass, comparison.verdict, size);
}

/// The worst verdict that blocks. Fewer instructions alone are not an improvement: only time, or a corrected result.
Verdict Worst(const std::vector<Comparison>& comparisons) {
  Verdict worst = Verdict::kPass;
  for (const Comparison& comparison : comparisons) {
    if (comparison.blocking) worst = std::max(worst, comparison.verdict);
  }
  return worst;
}

std::string Largest(const std::map<std::string, double>& values) {
  const auto largest =
      std::ranges::max_element(values, [](const auto& a, const auto& b) { return a.second < b.second; });
  return largest == values.end() ? std::string() : largest->first;
}

/// The phase that grew most. If its growth is too small for a line, which may be noise, the phase of a blocking
/// comparison comes first.
std::string WorstPhase(const std::map<std::string, double>& growth, const std::vector<Comparison>& comparisons) {
  std::map<std::string, double> named = growth;
  named.erase(kUnattributed);
  std::string most = Largest(named);
  if (!most.empty() && named.at(most) >= kPhaseLine) return most;
  for (const Comparison& comparison : comparisons) {
    if (comparison.blocking && comparison.verdict >= Verdict::kSuspect && !comparison.phase.empty()) {
      return comparison.phase;
    }
  }
  return !most.empty() && named.at(most) > 0.0 ? most : std::string();
}

struct Shares {
  std::map<std::string, double> before, after, growth;
};

/// A share in per cent as it is printed: to a tenth.
std::string Printed(const std::map<std::string, double>& shares, const std::string& phase) {
  const auto found = shares.find(phase);
  return fmt::format("{:.1f}", 100.0 * (found == shares.end() ? 0.0 : found->second));
}

/// How a phase changed: its share if that rose. A phase can cost more and still have a smaller share of a kernel that
/// became even slower: then its cost, in points of the base's time. Empty: no change that can be printed.
std::string PhaseLine(const Shares& shares, const std::string& phase) {
  const std::string name = OneLine(phase, 40);
  const std::string before = Printed(shares.before, phase);
  const std::string after = Printed(shares.after, phase);
  const auto growth = shares.growth.find(phase);
  const double grown = growth == shares.growth.end() ? 0.0 : growth->second;
  const bool rose = std::stod(after) > std::stod(before);
  if (before != after && (rose || grown <= 0.0)) return fmt::format("{} {} -> {} % of the time", name, before, after);
  const std::string points = fmt::format("{:+.1f}", 100.0 * grown);
  if (points == "+0.0" || points == "-0.0") return {};
  return fmt::format("{} {} points of the base's time (share {} %)", name, points,
                     before == after ? before : before + " -> " + after);
}

/// No share changed, as printed: the kernel is slower as a whole.
bool AllAlike(const Shares& shares) {
  return std::ranges::all_of(shares.growth, [&](const auto& one) {
    return Printed(shares.before, one.first) == Printed(shares.after, one.first);
  });
}

/// The lines of the `most` largest growths.
void AddLargest(std::vector<std::pair<double, std::string>> grown, std::size_t most, std::vector<std::string>& why) {
  std::ranges::stable_sort(grown, [](const auto& a, const auto& b) { return a.first > b.first; });
  grown.resize(std::min(grown.size(), most));
  for (auto& [growth, line] : grown) why.push_back(std::move(line));
}

void AddPhases(const Shares& shares, std::vector<std::string>& why) {
  std::vector<std::pair<double, std::string>> grown;
  for (const auto& [phase, growth] : shares.growth) {
    if (growth >= kPhaseLine) grown.emplace_back(growth, PhaseLine(shares, phase));
  }
  AddLargest(std::move(grown), kMostPhases, why);
}

/// Logarithm of the factor by which a counter changed; infinite from or to 0.
double Distance(const Comparison& comparison) {
  const double base = comparison.base.value_or(0.0);
  const double candidate = comparison.candidate.value_or(0.0);
  if (base <= 0.0 || candidate <= 0.0) return std::numeric_limits<double>::infinity();
  return std::abs(std::log(candidate / base));
}

/// One line per metric, for the phase in which it changed most.
void AddCounters(const std::vector<Comparison>& comparisons, std::vector<std::string>& why) {
  std::vector<const Comparison*> worse;
  for (const Comparison& comparison : comparisons) {
    if (comparison.tier == 1 && comparison.verdict == Verdict::kRegression) worse.push_back(&comparison);
  }
  std::ranges::stable_sort(worse, [](const Comparison* a, const Comparison* b) { return Distance(*a) > Distance(*b); });
  std::set<std::string> labels;
  for (const Comparison* const comparison : worse) {
    const MetricFacts facts = FactsOf({comparison->phase, comparison->metric});
    if (labels.size() == kMostCounters || !labels.insert(facts.label).second) continue;
    why.push_back(fmt::format("{} {} -> {}{}", facts.label, Number(*comparison->base, facts.unit),
                              Number(*comparison->candidate, facts.unit),
                              comparison->phase.empty() ? "" : " in " + OneLine(comparison->phase, 40)));
  }
}

void AddStalls(const JudgeContext& context, const CaseWork& work, std::vector<std::string>& why) {
  std::vector<std::pair<double, std::string>> grown;
  for (const CatalogueMetric& metric : MetricCatalogue()) {
    if (!metric.id.starts_with("stall_")) continue;
    const MetricKey key{"", std::string(metric.id)};
    const auto before = MedianOf(Samples(context.input.base, work.base_index, "recording", key, true));
    const auto after = MedianOf(Samples(context.input.candidate, work.candidate_index, "recording", key, true));
    if (!before || !after || *after - *before < kStallLine) continue;
    grown.emplace_back(*after - *before, fmt::format("{} stalls {:.1f} -> {:.1f} % of the warps' time", metric.label,
                                                     100.0 * *before, 100.0 * *after));
  }
  AddLargest(std::move(grown), kMostStalls, why);
}

std::vector<std::string> Why(const JudgeContext& context, const CaseWork& work, const Shares& shares) {
  std::vector<std::string> why;
  AddPhases(shares, why);
  for (const Comparison& comparison : work.verdict.comparisons) {
    const bool demanded = work.broken_demands.contains(comparison.reason);
    if ((comparison.tier == 0 || demanded) && comparison.blocking && comparison.verdict == Verdict::kRegression) {
      why.push_back(comparison.reason);
    }
  }
  AddCounters(work.verdict.comparisons, why);
  AddStalls(context, work, why);
  for (const auto& [id, evidence] : work.candidate->findings) {
    if (!work.base->findings.contains(id)) why.push_back(OneLine(id + ": " + evidence));
  }
  if (why.size() > kMostLines) why.resize(kMostLines);
  return why;
}

/// "11.8 % slower", "5.0 % more cycles, ..."; empty: the verdict is not about time.
std::string Speed(const CaseWork& work, Verdict verdict) {
  const Comparison* time = nullptr;
  const Comparison* cycles = nullptr;
  for (const Comparison& comparison : work.verdict.comparisons) {
    if (work.broken_demands.contains(comparison.reason)) continue;  // a limit that does not depend on the base
    if (!comparison.blocking || comparison.verdict != verdict) continue;
    if (comparison.metric == kSlowProcesses) return comparison.reason;  // the median hides them
    if (!comparison.change) continue;
    if (comparison.metric == kDuration) time = &comparison;
    if (comparison.metric == kCycles) cycles = &comparison;
  }
  const Comparison* const said = time != nullptr ? time : cycles;
  if (said == nullptr ||
      (verdict != Verdict::kRegression && verdict != Verdict::kSuspect && verdict != Verdict::kImproved)) {
    return {};
  }
  const bool slower = *said->change > 0.0;
  std::string speed = time != nullptr
                          ? fmt::format("{} {}", Percent(std::abs(*said->change)), slower ? "slower" : "faster")
                          : fmt::format("{} {} cycles", Percent(std::abs(*said->change)), slower ? "more" : "fewer");
  if (time == nullptr && !said->reason.empty() && said->reason.starts_with("hidden")) speed += ", " + said->reason;
  return verdict == Verdict::kSuspect ? "perhaps " + speed : speed;
}

std::string Headline(const CaseWork& work, const Shares& shares) {
  const CaseVerdict& verdict = work.verdict;
  if (work.base == nullptr && verdict.verdict == Verdict::kPass) return "new: the base does not have it";
  if (work.candidate == nullptr) {
    return verdict.verdict == Verdict::kPass ? "removed, which a rule allows" : "only in the base";
  }
  if (verdict.verdict == Verdict::kPass) return verdict.identical ? "the same machine code" : "";
  std::string headline = Speed(work, verdict.verdict);
  const bool worse = verdict.verdict == Verdict::kRegression || verdict.verdict == Verdict::kSuspect;
  if (headline.empty() && !verdict.comparisons.empty()) {
    const Comparison& worst = verdict.comparisons.front();
    if (work.broken_demands.contains(worst.reason)) return fmt::format("{} ({})", worst.reason, worst.rule);
    if (worst.metric == kPhaseTime && !worst.phase.empty() && worse) headline = PhaseLine(shares, worst.phase);
    if (headline.empty()) headline = worst.reason;
  } else if (worse && !verdict.phase.empty() && shares.growth.contains(verdict.phase)) {
    const std::string line = AllAlike(shares) ? "all phases equally" : PhaseLine(shares, verdict.phase);
    if (!line.empty()) headline += ": " + line;
  }
  if (worse && verdict.bottleneck_before != verdict.bottleneck_after && !verdict.bottleneck_before.empty()) {
    headline += "; bottleneck moved to " + OneLine(verdict.bottleneck_after, 40);
  }
  return headline;
}

}  // namespace

void TellCase(const JudgeContext& context, CaseWork& work) {
  CaseVerdict& verdict = work.verdict;
  std::ranges::stable_sort(verdict.comparisons,
                           [](const Comparison& a, const Comparison& b) { return Rank(a) > Rank(b); });
  const bool allowed = TimeDemand(context, work, false).severity == Severity::kOff;
  verdict.verdict = work.candidate != nullptr ? Worst(verdict.comparisons)
                    : allowed                 ? Verdict::kPass
                                              : Verdict::kMissing;
  // A case that cannot be compared does not pass. A wrong result and worse code are regressions on any machine.
  if (!context.comparable && work.candidate != nullptr && work.base != nullptr) {
    verdict.verdict = std::max(verdict.verdict, Verdict::kIncomparable);
  }
  Shares shares;
  const bool worse = verdict.verdict == Verdict::kRegression || verdict.verdict == Verdict::kSuspect;
  if (work.base != nullptr && work.candidate != nullptr && work.compare_speed && context.comparable) {
    shares.before = work.base_shares;
    shares.after = work.candidate_shares;
    shares.growth = PhaseGrowth(context, work);
    verdict.bottleneck_before = Largest(shares.before);
    verdict.bottleneck_after = Largest(shares.after);
  }
  if (worse && !verdict.incorrect) verdict.phase = WorstPhase(shares.growth, verdict.comparisons);
  verdict.headline = Headline(work, shares);
  if (verdict.verdict == Verdict::kIncomparable) verdict.headline = "not comparable";
  if (work.candidate == nullptr) return;
  if (worse && work.base != nullptr && !verdict.incorrect) verdict.why = Why(context, work, shares);
  const auto& places = work.candidate->places;
  auto place = places.find(verdict.phase);
  if (place == places.end()) place = places.find("");
  if (place != places.end()) verdict.place = place->second;
}

}  // namespace fa_profile::gate

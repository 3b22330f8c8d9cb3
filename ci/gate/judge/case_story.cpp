#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "fa_profile/profile.h"
#include "fa_profile/units.h"
#include "phase_story.h"
#include "phase_work.h"

namespace fa_profile::gate {
namespace {

constexpr std::size_t kMostWhyLines = 8;
constexpr std::size_t kMostCounters = 3;
constexpr std::size_t kMostCountersWithFindings = 2;  // a finding says the same in words
constexpr std::size_t kMostStalls = 2;

/// Least growth of a stall that gets a line: five points of warp time.
constexpr double kStallLine = 0.05;

/// What a phase waits for, in a report's words.
constexpr const char* kBottleneckFinding = "bottleneck-phase";

/// Worst first: what blocks, then notes, then what passed.
auto Rank(const Comparison& comparison) {
  const bool passed = comparison.verdict == Verdict::kPass;
  const double size = comparison.change ? std::abs(*comparison.change)
                      : passed          ? 0.0
                                        : 1e9;  // no ratio if the base is 0
  return std::tuple(comparison.blocking ? comparison.verdict : Verdict::kPass, comparison.verdict, size);
}

/// The worst verdict that blocks. Fewer instructions alone are not an improvement: only time is, or a corrected result.
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

/// The phase that is the cause, and the headline's words for it. Both empty: there is none.
struct Cause {
  std::string phase;
  std::string line;
};

/// Judged by time: the phase that grew most. But if only one other phase does more work, that one: time of waiting
/// warps moves to phases that have not changed. A new phase keeps its place: all of its work is more, but it is
/// compared with nothing. If several do more and spill, the one with most spills. If no phase alone does more, and
/// waits that are in no phase's time grew more than any phase, the phase that waits. If the growth of the time is too
/// small for a line, and may be noise, the phase of a blocking comparison comes first.
Cause CauseOfCase(const JudgeContext& context, const CaseWork& work, const Shares& shares) {
  const bool everywhere = EveryPhaseIsSlower(shares);
  const std::string most = everywhere ? std::string() : CauseOf(shares);
  const double grown = most.empty() ? 0.0 : shares.growth.at(most);
  if (everywhere || grown >= kPhaseLine) {
    const std::string only = OnlyPhaseWithMoreWork(context, work, shares);
    if (!only.empty() && only != most && (everywhere || shares.before.contains(most))) {
      return {only, WorkLine(*MoreWork(work.verdict, only))};
    }
    const Comparison* const spills = only.empty() ? MostSpills(context, work, shares) : nullptr;
    if (spills != nullptr) return {spills->phase, WorkLine(*spills) + ", the largest growth of all phases"};
    const std::string waits = only.empty() ? PhaseThatWaitsMore(context, work, shares) : std::string();
    if (!waits.empty()) return {waits, WaitLine(context, work, waits)};
    return {most, everywhere ? std::string() : PhaseCost(shares, most)};
  }
  for (const Comparison& comparison : work.verdict.comparisons) {
    if (comparison.blocking && comparison.verdict >= Verdict::kSuspect && !comparison.phase.empty()) {
      return {comparison.phase, shares.growth.contains(comparison.phase) ? PhaseCost(shares, comparison.phase) : ""};
    }
  }
  return grown > 0.0 ? Cause{most, PhaseCost(shares, most)} : Cause{};
}

/// The lines of the `most` largest growths.
void AddLargest(std::vector<std::pair<double, std::string>> grown, std::size_t most, std::vector<std::string>& why) {
  std::ranges::stable_sort(grown, [](const auto& a, const auto& b) { return a.first > b.first; });
  grown.resize(std::min(grown.size(), most));
  for (auto& [growth, line] : grown) why.push_back(std::move(line));
}

/// "instructions in softmax 11,143,168 -> 15,990,784 (+43.5 %)".
std::string CounterLine(const Comparison& comparison, const MetricFacts& facts) {
  const std::string where = comparison.phase.empty() ? "" : " in " + OneLine(comparison.phase, 40);
  std::string numbers =
      fmt::format("{}{} {}", facts.label, where, FromTo(*comparison.base, *comparison.candidate, facts.unit));
  const double change = comparison.change.value_or(0.0);
  if (change == 0.0 || *comparison.candidate == 0.0) return numbers;
  return fmt::format("{} ({})", numbers,
                     change < kFactorFrom ? SignedPercent(change) : fmt::format("{:.3g} times", 1.0 + change));
}

/// One line per metric, at most `most`: for the phase that is the cause, then where it changed most. Marks their
/// comparisons as told.
void AddCounters(CaseVerdict& of, Verdict verdict, std::size_t most) {
  std::vector<Comparison*> changed;
  for (Comparison& comparison : of.comparisons) {
    if (comparison.tier == 1 && comparison.verdict == verdict && comparison.base && comparison.candidate) {
      changed.push_back(&comparison);
    }
  }
  const auto rank = [&of](const Comparison* one) {
    return std::pair(!of.phase.empty() && one->phase == of.phase, Distance(*one));
  };
  std::ranges::stable_sort(changed, std::greater<>(), rank);
  std::set<std::string> labels;
  for (Comparison* const comparison : changed) {
    const MetricFacts facts = FactsOf({comparison->phase, comparison->metric});
    if (labels.size() == most || !labels.insert(facts.label).second) continue;
    comparison->told = true;
    const bool said = !comparison->reason.empty() && of.headline.find(comparison->reason) != std::string::npos;
    if (!said) of.why.push_back(CounterLine(*comparison, facts));
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

/// Worse code and broken demands, in the words of their comparisons.
void AddBlockers(CaseWork& work, std::vector<std::string>& why) {
  for (Comparison& comparison : work.verdict.comparisons) {
    const bool demanded = work.broken_demands.contains(comparison.reason);
    const bool worse = comparison.verdict == Verdict::kSuspect || comparison.verdict == Verdict::kRegression;
    if (!worse || !comparison.blocking || (comparison.tier != 0 && !demanded)) continue;
    why.push_back(comparison.reason);
    comparison.told = true;
  }
}

void TellPhases(const Shares& shares, bool better, CaseVerdict& verdict) {
  verdict.why = PhaseLines(shares, better);
  for (Comparison& comparison : verdict.comparisons) {
    const auto growth = shares.growth.find(comparison.phase);
    if (comparison.metric != kPhaseTime || growth == shares.growth.end()) continue;
    const std::string line = PhaseLine(shares, comparison.phase);
    comparison.told = !line.empty() && std::ranges::find(verdict.why, line) != verdict.why.end();
  }
}

/// A finding that the base does not have explains what got worse. If there is none, what the phase waits for does.
void TellFindings(CaseWork& work) {
  CaseVerdict& verdict = work.verdict;
  for (const auto& [id, evidence] : work.candidate->findings) {
    if (!work.base->findings.contains(id)) verdict.findings.push_back({id, OneLine(evidence)});
  }
  const auto bottleneck = work.candidate->findings.find(kBottleneckFinding);
  if (!verdict.findings.empty() || verdict.phase.empty() || bottleneck == work.candidate->findings.end()) return;
  if (bottleneck->second.starts_with(verdict.phase + " ")) {
    verdict.findings.push_back({bottleneck->first, OneLine(bottleneck->second)});
  }
}

void TellWorse(const JudgeContext& context, CaseWork& work, const Shares& shares) {
  CaseVerdict& verdict = work.verdict;
  TellPhases(shares, false, verdict);
  if (verdict.bottleneck_before != verdict.bottleneck_after && !verdict.bottleneck_before.empty() &&
      !verdict.bottleneck_after.empty()) {
    verdict.why.push_back(fmt::format("most time is now in {}, before in {}", OneLine(verdict.bottleneck_after, 40),
                                      OneLine(verdict.bottleneck_before, 40)));
  }
  TellFindings(work);
  AddBlockers(work, verdict.why);
  AddCounters(verdict, Verdict::kRegression, verdict.findings.empty() ? kMostCounters : kMostCountersWithFindings);
  AddStalls(context, work, verdict.why);
  if (verdict.why.size() > kMostWhyLines) verdict.why.resize(kMostWhyLines);
}

void TellBetter(CaseWork& work, const Shares& shares) {
  CaseVerdict& verdict = work.verdict;
  TellPhases(shares, true, verdict);
  AddCounters(verdict, Verdict::kImproved, kMostCountersWithFindings);
  for (const auto& [id, evidence] : work.base->findings) {
    if (!work.candidate->findings.contains(id)) verdict.why.push_back("no longer found: " + OneLine(id, 40));
  }
  if (verdict.why.size() > kMostWhyLines) verdict.why.resize(kMostWhyLines);
}

/// "11.8 % slower", "5.0 % more cycles", "takes 3.2 times as long".
std::string Speed(const Comparison& comparison) {
  const bool cycles = comparison.metric == kCycles;
  const bool slower = *comparison.change > 0.0;
  const bool factor = *comparison.change >= kFactorFrom;
  return fmt::format("{}{} {}", factor ? "takes " : "", MoreBy(std::abs(*comparison.change)),
                     cycles   ? (factor   ? "the cycles"
                                 : slower ? "more cycles"
                                          : "fewer cycles")
                     : factor ? "as long"
                     : slower ? "slower"
                              : "faster");
}

/// What the verdict on a time leaves open, to follow the change.
std::string Doubt(const Comparison& comparison) {
  if (comparison.verdict == Verdict::kInconclusive) return ", unconfirmed";
  return comparison.verdict == Verdict::kPass ? ", which may be noise" : "";
}

/// The time of the whole call, for the start of its headline.
struct CallTime {
  std::string change;    ///< empty: not measured
  std::string doubt;     ///< about the change
  bool decides = false;  ///< the verdict is about time
  bool slower = false;   ///< it is slower, or seems to be
};

/// What decides comes first, time before cycles. A limit that does not depend on the base says nothing about the
/// change.
CallTime TimeOfCall(const CaseWork& work, Verdict verdict) {
  const Comparison* told = nullptr;
  const auto rank = [verdict](const Comparison& one) {
    return std::pair(one.blocking && one.verdict == verdict, one.metric == kDuration);
  };
  for (const Comparison& comparison : work.verdict.comparisons) {
    if (work.broken_demands.contains(comparison.reason) || !comparison.phase.empty()) continue;
    const bool decides = comparison.blocking && comparison.verdict == verdict;
    // The median hides them.
    if (comparison.metric == kSlowProcesses && decides) return {comparison.reason, "", true, true};
    if ((comparison.metric != kDuration && comparison.metric != kCycles) || !comparison.change) continue;
    if (told == nullptr || rank(comparison) > rank(*told)) told = &comparison;
  }
  if (told == nullptr) return {};
  const bool suspect = told->verdict == Verdict::kSuspect;
  CallTime time{(suspect ? "perhaps " : "") + Speed(*told), Doubt(*told), rank(*told).first,
                *told->change > 0.0 && told->verdict != Verdict::kPass};
  if (*told->change == 0.0) time = {"the same time", "", time.decides, false};
  if (told->metric == kCycles && told->reason.starts_with("hidden")) time.doubt = ", " + told->reason;
  return time;
}

/// The reason of the verdict if it is not time.
std::string WorstReason(const CaseVerdict& verdict, const Shares& shares, bool worse) {
  if (verdict.comparisons.empty()) return {};
  const Comparison& worst = verdict.comparisons.front();
  std::string line;
  if (worst.metric == kPhaseTime && !worst.phase.empty() && worse) line = PhaseLine(shares, worst.phase);
  return line.empty() ? worst.reason : line;
}

/// Host code decides when and how the kernel runs: only a time of the call covers it.
std::string EqualCode(const JudgeContext& context, const CaseVerdict& verdict) {
  const bool timed = std::ranges::any_of(
      verdict.comparisons, [](const Comparison& one) { return one.metric == kDuration || one.metric == kCycles; });
  const bool compared = timed || (context.Dynamic() && !context.Paired());
  if (compared) return "the same machine code";
  if (!verdict.same_host_code) return "the same machine code; host code was not compared";
  return *verdict.same_host_code ? "the same machine code and host code" : "the same machine code, other host code";
}

/// Time comes first wherever it was measured: then its cause, or what decided instead.
std::string Headline(const JudgeContext& context, const CaseWork& work, const Shares& shares, const Cause& cause) {
  const CaseVerdict& verdict = work.verdict;
  if (work.base == nullptr && verdict.verdict == Verdict::kPass) return "new: the base does not have it";
  if (work.candidate == nullptr) {
    return verdict.verdict == Verdict::kPass ? "removed, which a rule allows" : "only in the base";
  }
  if (verdict.verdict == Verdict::kPass && verdict.identical) return EqualCode(context, verdict);
  if (verdict.verdict == Verdict::kPass) return context.Dynamic() ? "" : "other machine code, worse by no limit";
  const bool worse = verdict.verdict == Verdict::kRegression || verdict.verdict == Verdict::kSuspect;
  CallTime time = verdict.incorrect ? CallTime{} : TimeOfCall(work, verdict.verdict);
  if (!worse && (!time.decides || verdict.verdict != Verdict::kImproved)) time = {};
  if (!time.decides && !verdict.comparisons.empty()) {
    const Comparison& worst = verdict.comparisons.front();
    if (work.broken_demands.contains(worst.reason)) return fmt::format("{} ({})", worst.reason, worst.rule);
  }
  std::string why = time.decides ? std::string() : WorstReason(verdict, shares, worse);
  if (worse && (time.decides || time.slower)) {
    if (cause.line.empty() && EveryPhaseIsSlower(shares)) return time.change + " in every phase" + time.doubt;
    // For the same phase, what decided explains why it costs more.
    if (!cause.line.empty() && (why.empty() || verdict.comparisons.front().phase != cause.phase)) why = cause.line;
  }
  const std::string speed = time.change + time.doubt;
  return speed.empty() || why.empty() ? speed + why : speed + ": " + why;
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
  const bool speed = work.base != nullptr && work.candidate != nullptr && work.compare_speed && context.comparable;
  if (speed) {
    shares = SharesOf(context, work);
    verdict.bottleneck_before = Largest(shares.before);
    verdict.bottleneck_after = Largest(shares.after);
  }
  const Cause cause = worse && !verdict.incorrect ? CauseOfCase(context, work, shares) : Cause{};
  verdict.phase = cause.phase;
  verdict.headline = Headline(context, work, shares, cause);
  if (verdict.verdict == Verdict::kIncomparable) verdict.headline = "not comparable";
  if (work.candidate == nullptr) return;
  if (worse && work.base != nullptr && !verdict.incorrect) TellWorse(context, work, shares);
  if (verdict.verdict == Verdict::kImproved && speed) TellBetter(work, shares);
  const auto& places = work.candidate->places;
  auto place = places.find(verdict.phase);
  if (place == places.end()) place = places.find("");
  if (place != places.end()) verdict.place = place->second;
}

}  // namespace fa_profile::gate

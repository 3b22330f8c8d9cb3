#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "fa_profile/gate_statistics.h"
#include "fa_profile/units.h"
#include "judge.h"

namespace fa_profile::gate {
namespace {

/// With this many base processes, their own spread is the error term.
constexpr std::size_t kEnoughProcesses = 8;

/// Standard deviations beyond which a difference is not noise: processes have heavier tails than a normal distribution.
constexpr double kSigmas = 6.0;

/// Standard deviation between processes of the same code, for calls of several lengths on an H200: 0.28 to 0.63 %. The
/// least is the floor for a lucky baseline; the most is used if there are too few processes to estimate it.
constexpr double kLeastSpread = 0.003;
constexpr double kMostSpread = 0.0063;

/// Ratio of a normal distribution's standard deviation to its median absolute deviation.
constexpr double kMadToSigma = 1.4826;

/// A case's values by card.
using OfCards = std::map<std::string, std::vector<double>>;

/// How far apart two medians of the same code on one card may be.
double Noise(const OfCards& before, double scale) {
  std::vector<double> deviations;
  for (const auto& [card, values] : before) {
    const double median = Median(values);
    for (const double value : values) deviations.push_back(std::abs(value - median));
  }
  // With few processes the errors of both sides count: two processes differ by sqrt(2) times the deviation of one.
  if (deviations.size() < kEnoughProcesses) return kSigmas * std::sqrt(2.0) * kMostSpread;
  return kSigmas * std::max(kLeastSpread, kMadToSigma * Median(deviations) / scale);
}

/// The median over the cards: each counts once, however many processes it has.
std::optional<double> MedianOfCards(const OfCards& values) {
  std::vector<double> medians;
  for (const auto& [card, of_card] : values) medians.push_back(Median(of_card));
  return MedianOf(medians);
}

/// " and 6.8 % between cards"
std::string AndBetweenCards(double growth) {
  return growth > 0.0 ? fmt::format(" and {} between cards", Percent(growth)) : "";
}

std::string TooFewProcesses(double change) {
  return fmt::format("too few processes to tell {} from noise: run gate --pair", Percent(std::abs(change)));
}

void Conclude(const JudgeContext& context, const Demand& demand, double on_one_card,
              const std::optional<CardTerm>& cards, double noise, Comparison& comparison) {
  const bool promoted = context.input.base_is_promoted;
  const double more = cards ? cards->growth : 0.0;
  const double budget = std::max(on_one_card, context.thresholds.budget);
  const double tolerance = on_one_card + more;
  // Beyond this the code differs. The candidate may have used up the budget over a promoted baseline already.
  const double known = std::max(budget, std::hypot(noise, more));
  const double limit = promoted ? budget + more : std::max(known, tolerance);
  const double change = *comparison.change;
  comparison.tier = promoted ? 3 : 2;
  comparison.rule = context.GrowthRule(demand);
  Block(comparison, demand.severity);
  if (change > limit && change > noise) {
    comparison.verdict = Verdict::kRegression;
    comparison.allowed = comparison.phase.empty() ? Percent(std::max(limit, noise))
                                                  : Allowed(0.0, std::max(limit, noise), 0.0, comparison.unit);
    comparison.reason = promoted
                            ? fmt::format("drifted over the budget of {}{}", Percent(budget), AndBetweenCards(more))
                            : fmt::format("worse by more than {}", Percent(limit));
  } else if (change > limit || (change > tolerance && !promoted)) {
    comparison.verdict = Verdict::kSuspect;
    comparison.reason = TooFewProcesses(change);
  } else if (change > tolerance) {
    comparison.reason = fmt::format("drifted, within the budget of {}{}", Percent(budget), AndBetweenCards(more));
  } else if (change > on_one_card) {
    comparison.reason =
        fmt::format("another card: within {} and {} between cards", Percent(on_one_card), Percent(more));
  } else if (-change > known) {
    comparison.verdict = Verdict::kImproved;
    comparison.blocking = comparison.phase.empty();  // only the time of the whole call improves the case
  }
}

std::optional<Comparison> JudgeTime(const JudgeContext& context, const CaseWork& work, bool cycles) {
  const GateInput& input = context.input;
  const std::string kind = DurationKind(input.base, work.base_index);
  const std::string other_kind = DurationKind(input.candidate, work.candidate_index);
  const std::string metric = cycles ? kCycles : kDuration;
  const OfCards before = SamplesOfCards(input.base, work.base_index, kind, {"", metric});
  const std::vector<double> after = Samples(input.candidate, work.candidate_index, other_kind, {"", metric}, false);
  const Demand demand = TimeDemand(context, work, cycles);
  if (before.empty() || after.empty() || demand.severity == Severity::kOff) return std::nullopt;
  Comparison comparison = Compared({"", metric}, MedianOfCards(before), Median(after));
  if (*comparison.base <= 0.0) return std::nullopt;
  const auto seconds = MedianOf(Samples(input.base, work.base_index, kind, {"", kDuration}, false));
  const double tolerance = TimeTolerance(context, work, seconds, cycles ? comparison.base : std::nullopt, cycles);
  Conclude(context, demand, tolerance, TermBetweenCards(context, work, cycles), Noise(before, *comparison.base),
           comparison);
  return comparison;
}

void JudgePhases(const JudgeContext& context, CaseWork& work) {
  const auto share = [](const std::map<std::string, double>& shares, const std::string& phase) {
    const auto found = shares.find(phase);
    return found == shares.end() ? 0.0 : found->second;
  };
  // In points of the kernel's time a phase cannot grow by more than the kernel does.
  const std::optional<CardTerm> cards = TermBetweenCards(context, work, false);
  for (const auto& [phase, growth] : PhaseGrowth(context, work)) {
    const Demand demand = context.DemandOn(work, phase, kPhaseTime);
    if (demand.severity == Severity::kOff) continue;
    Comparison comparison =
        Compared({phase, kPhaseTime}, share(work.base_shares, phase), share(work.candidate_shares, phase));
    comparison.change = growth;  // as a share of the base kernel's time
    const OfCards samples = SamplesOfCards(context.input.base, work.base_index, "recording", {phase, kPhaseTime});
    Conclude(context, demand, PhaseTolerance(context, demand, *comparison.base), cards, Noise(samples, 1.0),
             comparison);
    if (comparison.verdict == Verdict::kRegression) comparison.reason += OwnerOf(demand);
    work.verdict.comparisons.push_back(std::move(comparison));
  }
}

/// The call's time and cycles, if both have this kind of change.
template <typename Is>
bool BothAre(const std::optional<Comparison>& time, const std::optional<Comparison>& cycles, Is is) {
  return (time || cycles) && (!time || is(*time)) && (!cycles || is(*cycles));
}

/// What the call's time says about code, counters and phases.
void LetTimeTell(const std::optional<Comparison>& time, const std::optional<Comparison>& cycles, CaseWork& work) {
  const auto faster = [](const Comparison& one) { return one.verdict == Verdict::kImproved; };
  const auto perhaps = [](const Comparison& one) { return one.verdict <= Verdict::kImproved && *one.change < 0.0; };
  const double change = time ? *time->change : cycles ? *cycles->change : 0.0;
  if (BothAre(time, cycles, faster)) {
    work.not_slower = fmt::format("{} faster all the same", Percent(-change));
  } else if (BothAre(time, cycles, perhaps)) {
    work.perhaps_faster = TooFewProcesses(change);
  }
}

}  // namespace

void JudgeUnpaired(const JudgeContext& context, CaseWork& work) {
  std::optional<Comparison> time = JudgeTime(context, work, false);
  std::optional<Comparison> cycles = JudgeTime(context, work, true);
  if (time && cycles) WeighClock(&*time, &*cycles, context.thresholds.suspect_level, false);
  LetTimeTell(time, cycles, work);
  for (std::optional<Comparison>* const comparison : {&time, &cycles}) {
    if (!*comparison) continue;
    if ((*comparison)->verdict == Verdict::kRegression) {
      (*comparison)->reason += OwnerOf(TimeDemand(context, work, comparison == &cycles));
    }
    work.verdict.comparisons.push_back(std::move(**comparison));
  }
  JudgePhases(context, work);
}

void JudgeEqualCode(const JudgeContext& context, CaseWork& work) {
  CaseWork timed = work;
  timed.verdict.comparisons.clear();
  JudgeUnpaired(context, timed);
  for (Comparison& comparison : timed.verdict.comparisons) {
    if (comparison.verdict != Verdict::kRegression || !comparison.phase.empty()) continue;
    // Two recordings of the same code also differ by the machine: only a baseline of many processes knows by how much.
    if (!context.input.base_is_promoted) comparison.verdict = Verdict::kSuspect;
    work.verdict.comparisons.push_back(std::move(comparison));
  }
}

}  // namespace fa_profile::gate

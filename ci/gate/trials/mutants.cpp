#include <fmt/format.h>

#include <algorithm>

#include "fa_profile/error.h"
#include "fa_profile/gate_statistics.h"
#include "trial_run.h"

namespace fa_profile::gate {
namespace {

constexpr double kLeastNamed = 0.95;
constexpr double kLeastMutantsAt3 = 0.90;
constexpr double kLeastMutantsAt5 = 0.99;
/// Of changed code that is not slower.
constexpr double kMostBlocked = 0.01;

/// A mutant gets this fraction of the draws: they include recordings and are judged in full.
constexpr std::int64_t kMutantShare = 4;
constexpr std::int64_t kEqualTimeShare = 20;

struct Count {
  std::int64_t hits = 0, trials = 0;
};

/// One mutant and its original.
struct MutantCase {
  const MutantFacts& facts;
  std::size_t base = 0;
  std::size_t mutant = 0;
  double ratio = 1.0;  ///< of the medians of their durations
};

/// Pairs of a base's and a mutant's process that ran near each other. If each process measured both (`shared`),
/// neighbours: a pair never has one process on both sides.
std::vector<DrawnBlock> Blocks(TrialRun& run, const char* kind, const MutantCase& one, bool& shared) {
  const std::vector<std::size_t> of_base = ProcessesOf(run.data.mutants, kind, one.base);
  const std::vector<std::size_t> of_mutant = ProcessesOf(run.data.mutants, kind, one.mutant);
  shared = of_base == of_mutant;
  if (shared) return Neighbours(of_base, 2, run.random.Below(2));
  std::vector<DrawnBlock> blocks;
  for (std::size_t i = 0; i < std::min(of_base.size(), of_mutant.size()); ++i) {
    if (of_base[i] != of_mutant[i]) blocks.push_back({of_base[i], of_mutant[i]});
  }
  return blocks;
}

/// The verdict on a mutant whose durations and cycles are multiplied by `factor`.
GateResult Judged(TrialRun& run, const MutantCase& one, double factor) {
  Draw draw;
  bool shared = false;
  const std::vector<DrawnBlock> timed = Blocks(run, "timing", one, shared);
  if (timed.size() < kFirstPairs) {
    throw Error(fmt::format("{}: {} pairs of timing processes are too few",
                            CaseName(run.data.mutants.cases[one.mutant]), timed.size()),
                fmt::format("measure at least {}: docs/gate-selftest.md", kFirstPairs + kSecondPairs));
  }
  DrawBlocks(timed, kFirstPairs, kSecondPairs, shared, run.random, draw.first, draw.second);
  const std::vector<DrawnBlock> recorded = Blocks(run, "recording", one, shared);
  DrawBlocks(recorded, kFirstPairs, kSecondPairs, shared, run.random, draw.recorded_first, draw.recorded_second);
  const TrialArm base{&run.data.mutants, {one.base}, one.facts.base, {}, true};
  TrialArm mutant{&run.data.mutants, {one.mutant}, one.facts.base, {}, true};
  if (factor != 1.0) mutant.factors.assign(kFirstPairs + kSecondPairs, factor);
  return JudgeDraw(base, mutant, draw, run.options.thresholds);
}

void AskMutant(TrialRun& run, const MutantCase& one, Count& all_named) {
  const MutantFacts& facts = one.facts;
  const std::string name = CaseName(run.data.mutants.cases[one.mutant]);
  std::int64_t found = 0;
  std::int64_t by_time = 0;
  std::int64_t early = 0;
  std::int64_t named = 0;
  const std::int64_t trials = std::max<std::int64_t>(1, run.options.power_trials / kMutantShare);
  for (std::int64_t trial = 0; trial < trials; ++trial) {
    const GateResult result = Judged(run, one, 1.0);
    const CaseVerdict& verdict = result.cases.at(0);
    const auto worse_in = [&verdict](bool tier_two) {
      return std::ranges::any_of(verdict.comparisons, [tier_two](const Comparison& comparison) {
        return comparison.verdict == Verdict::kRegression && (comparison.tier == 2) == tier_two;
      });
    };
    by_time += worse_in(true) ? 1 : 0;
    early += worse_in(false) ? 1 : 0;
    if (verdict.verdict != Verdict::kRegression) continue;
    ++found;
    named += verdict.phase == facts.phase ? 1 : 0;
  }
  const bool has_phase = !facts.phase.empty();
  if (has_phase) {
    all_named.trials += found;
    all_named.hits += named;
  }
  const double slower = one.ratio - 1.0;
  run.report.notes.push_back(fmt::format("{}: measured {:+.1f} % slower than {}, changed in {}", name, 100.0 * slower,
                                         facts.base, has_phase ? facts.phase : "no single phase"));
  const RuleRate rate = run.Add("mutant " + name, found, trials);
  run.Add("mutant " + name + ": by time or phases", by_time, trials);
  if (has_phase) run.Add("mutant " + name + ": phase " + facts.phase, named, found);
  if (slower >= 0.05) {
    run.RequireAtLeast(rate, kLeastMutantsAt5);
  } else if (slower >= 0.03) {
    run.RequireAtLeast(rate, kLeastMutantsAt3);
  }
  if (!facts.faster_tiers) return;
  const RuleRate tiers = run.Add("mutant " + name + ": by tiers 0 and 1", early, trials);
  if (early < trials) {
    run.report.failed.push_back(
        fmt::format("{}: {} of {}; code and counters must show it every time", tiers.question, early, trials));
  }
}

/// What a pull request usually is: other code in the same time. The mutants' code, counters and phases, with their time
/// divided by how much slower they are, and 5 % faster than that.
void AskEqualTime(TrialRun& run, const std::vector<MutantCase>& mutants) {
  const std::int64_t each = std::max<std::int64_t>(1, run.options.power_trials / kEqualTimeShare);
  for (const auto& [question, factor] : {std::pair{"worse code in equal time, blocked", 1.0},
                                         std::pair{"worse code that is 5 % faster, blocked", 1.0 / 1.05}}) {
    Count blocked;
    for (const MutantCase& one : mutants) {
      for (std::int64_t trial = 0; trial < each; ++trial, ++blocked.trials) {
        blocked.hits += Judged(run, one, factor / one.ratio).verdict == Verdict::kRegression ? 1 : 0;
      }
    }
    run.RequireAtMost(run.Add(question, blocked.hits, blocked.trials), kMostBlocked);
  }
}

}  // namespace

void AskMutants(TrialRun& run) {
  const Evidence& evidence = run.data.mutants;
  const auto median = [&evidence](std::size_t index) {
    std::vector<double> values;
    for (const auto& [process, value] : Values(evidence, index, "timing", {"", kDuration})) {
      if (!evidence.processes[process].throttled) values.push_back(value);
    }
    return values.empty() ? 1.0 : Median(std::move(values));
  };
  std::vector<MutantCase> mutants;
  for (const MutantFacts& facts : run.data.facts) {
    for (std::size_t index = 0; index < evidence.cases.size(); ++index) {
      const CaseFacts& mutant = evidence.cases[index];
      const auto base = FindCase(evidence, facts.base, mutant.shape);
      if (mutant.kernel == facts.kernel && base)
        mutants.push_back({facts, *base, index, median(index) / median(*base)});
    }
  }
  if (run.data.facts.empty()) {
    run.report.notes.emplace_back("there are no mutants: the data do not show whether real faults are found");
    return;
  }
  Count named;
  for (const MutantCase& one : mutants) AskMutant(run, one, named);
  run.RequireAtLeast(run.Add("mutants found: the right phase named", named.hits, named.trials), kLeastNamed);
  AskEqualTime(run, mutants);
}

}  // namespace fa_profile::gate

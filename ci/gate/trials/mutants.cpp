#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/gate_statistics.h"
#include "trial_run.h"

namespace fa_profile::gate {
namespace {

constexpr double kLeastNamed = 0.95;
constexpr double kLeastMutantsAt3 = 0.90;
constexpr double kLeastMutantsAt5 = 0.99;
/// Blocked share of changed code that is not slower.
constexpr double kMostBlocked = 0.01;
/// Code whose time changed by less counts as equally fast.
constexpr double kEqualTime = 0.005;
/// A speed-up that a developer measures and presents.
constexpr double kSpeedUp = 0.02;

/// A mutant gets this fraction of the draws: they include recordings and are judged in full.
constexpr std::int64_t kMutantShare = 4;
constexpr double kBlockedShare = 0.6;

struct BlockedCount {
  std::int64_t hits = 0, trials = 0;
};

/// By draw: whether it was blocked.
using Blocked = std::vector<bool>;

/// One mutant and its original.
struct MutantCase {
  const MutantFacts& facts;
  std::size_t base = 0;
  std::size_t mutant = 0;
  double slower = 0.0, more_cycles = 0.0;  ///< difference of the mutant's medians, relative to the base's
};

/// Turns a slower mutant into a faster one.
MutantCase Swapped(const MutantCase& one) {
  return {one.facts, one.mutant, one.base, 1.0 / (1.0 + one.slower) - 1.0, 1.0 / (1.0 + one.more_cycles) - 1.0};
}

/// Removes the mutant's own slow-down, then multiplies by `factor`.
struct EqualTime {
  double factor = 1.0;
};

/// Pairs of a base process and a mutant process that ran near each other. If each process measured both (`shared`),
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

CaseVerdict Judged(TrialRun& run, const MutantCase& one, std::optional<EqualTime> equal = std::nullopt) {
  Draw draw;
  bool shared = false;
  const std::vector<DrawnBlock> timed = Blocks(run, "timing", one, shared);
  if (timed.size() < kFirstPairs) {
    throw Error(fmt::format("{}: {} pairs of timing processes are too few",
                            CaseName(run.data.mutants.cases[one.mutant]), timed.size()),
                fmt::format("measure at least {}: docs/gate-reference.md", kFirstPairs + kSecondPairs));
  }
  DrawBlocks(timed, kFirstPairs, kSecondPairs, shared, run.random, draw.first, draw.second);
  const std::vector<DrawnBlock> recorded = Blocks(run, "recording", one, shared);
  DrawBlocks(recorded, kFirstPairs, kSecondPairs, shared, run.random, draw.recorded_first, draw.recorded_second);
  const TrialArm base{&run.data.mutants, {one.base}, one.facts.base, {}, true};
  TrialArm mutant{&run.data.mutants, {one.mutant}, one.facts.base, {}, true};
  if (equal) {
    mutant.duration_scale = equal->factor / (1.0 + one.slower);
    mutant.cycles_scale = equal->factor / (1.0 + one.more_cycles);
  }
  return JudgeDraw(base, mutant, draw, run.options.thresholds).cases.at(0);
}

Blocked AskMutant(TrialRun& run, const MutantCase& one, BlockedCount& all_named) {
  const MutantFacts& facts = one.facts;
  const std::string name = CaseName(run.data.mutants.cases[one.mutant]);
  std::int64_t found = 0;
  std::int64_t by_time = 0;
  std::int64_t early = 0;
  std::int64_t named = 0;
  std::map<std::string, std::int64_t> others;  // phases that were named instead
  const std::int64_t trials = std::max<std::int64_t>(1, run.options.power_trials / kMutantShare);
  Blocked blocked;
  for (std::int64_t trial = 0; trial < trials; ++trial) {
    const CaseVerdict verdict = Judged(run, one);
    blocked.push_back(verdict.verdict == Verdict::kRegression);
    const auto worse_in = [&verdict](bool tier_two) {
      return std::ranges::any_of(verdict.comparisons, [tier_two](const Comparison& comparison) {
        return comparison.verdict == Verdict::kRegression && (comparison.tier == 2) == tier_two;
      });
    };
    by_time += worse_in(true) ? 1 : 0;
    early += worse_in(false) ? 1 : 0;
    if (!blocked.back()) continue;
    ++found;
    named += verdict.phase == facts.phase ? 1 : 0;
    if (verdict.phase != facts.phase) ++others[verdict.phase.empty() ? "none" : verdict.phase];
  }
  const bool has_phase = !facts.phase.empty();
  if (has_phase) {
    all_named.trials += found;
    all_named.hits += named;
  }
  run.report.notes.push_back(fmt::format("{}: measured {:+.1f} % slower than {}, changed in {}", name,
                                         100.0 * one.slower, facts.base, has_phase ? facts.phase : "no single phase"));
  for (const auto& [phase, times] : others) {
    if (has_phase) run.report.notes.push_back(fmt::format("{}: {} was named {} times", name, phase, times));
  }
  const RuleRate rate = run.Add("mutant " + name, found, trials);
  run.Add("mutant " + name + ": by time or phases", by_time, trials);
  if (has_phase) run.Add("mutant " + name + ": phase " + facts.phase, named, found);
  if (one.slower >= 0.05) {
    run.RequireAtLeast(rate, kLeastMutantsAt5);
  } else if (one.slower >= 0.03) {
    run.RequireAtLeast(rate, kLeastMutantsAt3);
  }
  if (!facts.faster_tiers) return blocked;
  const RuleRate tiers = run.Add("mutant " + name + ": by tiers 0 and 1", early, trials);
  if (early < trials) {
    run.report.failed.push_back(
        fmt::format("{}: {} of {}; code and counters must show it every time", tiers.question, early, trials));
  }
  return blocked;
}

/// How many of the mutants are blocked although all should pass, and which.
void AskBlocked(TrialRun& run, const std::string& question, const std::vector<MutantCase>& mutants,
                std::optional<EqualTime> equal) {
  if (mutants.empty()) return;
  const auto all = static_cast<std::int64_t>(kBlockedShare * static_cast<double>(run.options.power_trials));
  const auto each = std::max<std::int64_t>(1, all / static_cast<std::int64_t>(mutants.size()));
  BlockedCount blocked;
  for (const MutantCase& one : mutants) {
    std::int64_t hits = 0;
    std::string why;
    for (std::int64_t trial = 0; trial < each; ++trial) {
      const CaseVerdict verdict = Judged(run, one, equal);
      if (verdict.verdict != Verdict::kRegression) continue;
      ++hits;
      why = verdict.headline;
    }
    blocked.hits += hits;
    blocked.trials += each;
    if (hits == 0) continue;
    run.report.notes.push_back(fmt::format("{}: {} in {} of {}, because of {}", question,
                                           CaseName(run.data.mutants.cases[one.mutant]), hits, each, why));
  }
  run.RequireAtMost(run.Add(question, blocked.hits, blocked.trials), kMostBlocked);
}

bool TakesEqualTime(const MutantCase& one) {
  return std::abs(one.slower) <= kEqualTime && std::abs(one.more_cycles) <= kEqualTime;
}

/// The usual pull request: other code that takes the same time. One that changes a kernel, and one that changes as many
/// as there are mutants, using the same draw of each. A case judged alone is blocked at least as easily as among
/// others.
void AskEqualTime(TrialRun& run, const std::vector<Blocked>& mutants) {
  if (mutants.empty()) return;
  BlockedCount one;
  BlockedCount request;
  for (std::size_t trial = 0; trial < mutants.front().size(); ++trial) {
    const auto hits = std::ranges::count_if(mutants, [trial](const Blocked& blocked) { return blocked[trial]; });
    one.hits += hits;
    one.trials += static_cast<std::int64_t>(mutants.size());
    request.hits += hits > 0 ? 1 : 0;
    ++request.trials;
  }
  const std::string question = fmt::format("{} mutants in equal time, blocked", mutants.size());
  run.RequireAtMost(run.Add(question, one.hits, one.trials), kMostBlocked);
  run.RequireAtMost(run.Add(question + ": any of them", request.hits, request.trials), kMostBlocked);
}

/// Other code that is faster, and code whose slow-down is removed.
void AskFaster(TrialRun& run, const std::vector<MutantCase>& mutants) {
  std::vector<MutantCase> faster;
  for (const MutantCase& one : mutants) {
    const MutantCase back = Swapped(one);
    if (std::max(back.slower, back.more_cycles) < -kSpeedUp) faster.push_back(back);
  }
  AskBlocked(run, fmt::format("{} mutants undone, over 2 % faster, blocked", faster.size()), faster, std::nullopt);
  AskBlocked(run, "all mutants, their slow-down taken away, blocked", mutants, EqualTime{});
  AskBlocked(run, "all mutants, made 5 % faster, blocked", mutants, EqualTime{1.0 / 1.05});
}

}  // namespace

void AskMutants(TrialRun& run) {
  const Evidence& evidence = run.data.mutants;
  const auto ratio = [&evidence](std::size_t base, std::size_t mutant, const char* metric) {
    std::vector<double> values[2];
    for (const std::size_t side : {0, 1}) {
      for (const auto& [process, value] : Values(evidence, side == 0 ? base : mutant, "timing", {"", metric})) {
        if (!evidence.processes[process].throttled) values[side].push_back(value);
      }
      if (values[side].empty()) return 1.0;
    }
    return Median(std::move(values[1])) / Median(std::move(values[0]));
  };
  std::vector<MutantCase> mutants;
  for (const MutantFacts& facts : run.data.facts) {
    for (std::size_t index = 0; index < evidence.cases.size(); ++index) {
      const CaseFacts& mutant = evidence.cases[index];
      const auto base = FindCase(evidence, facts.base, mutant.shape);
      if (mutant.kernel != facts.kernel || !base) continue;
      mutants.push_back(
          {facts, *base, index, ratio(*base, index, kDuration) - 1.0, ratio(*base, index, kCycles) - 1.0});
    }
  }
  if (run.data.facts.empty()) {
    run.report.notes.emplace_back("there are no mutants: the data do not show whether real faults are found");
    return;
  }
  BlockedCount named;
  std::vector<Blocked> in_equal_time;
  for (const MutantCase& one : mutants) {
    Blocked blocked = AskMutant(run, one, named);
    if (TakesEqualTime(one)) in_equal_time.push_back(std::move(blocked));
  }
  run.RequireAtLeast(run.Add("mutants found: the right phase named", named.hits, named.trials), kLeastNamed);
  AskEqualTime(run, in_equal_time);
  AskFaster(run, mutants);
}

}  // namespace fa_profile::gate

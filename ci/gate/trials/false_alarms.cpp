#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "fa_profile/arm_order.h"
#include "fa_profile/gate_statistics.h"
#include "trial_run.h"

namespace fa_profile::gate {
namespace {

constexpr double kMostAlarms = 0.0001;          // per comparison
constexpr double kMostAlarmedRequests = 0.005;  // per pull request of 60
/// Level of the check of p, over all deciles together.
constexpr double kCalibrationLevel = 0.001;

bool IsWholeCall(const Comparison& comparison) {
  return comparison.phase.empty() && (comparison.metric == kDuration || comparison.metric == kCycles);
}

std::vector<ProcessBlock> Logarithms(const Draw& draw, const std::vector<double>& values) {
  std::vector<ProcessBlock> blocks;
  for (const DrawnBlock& block : draw.first) {
    blocks.push_back({std::log(values[block[1]]), std::log(values[block[0]]), std::log(values[block[2]])});
  }
  return blocks;
}

/// Simulated pull requests of 60 comparisons, judged by time alone.
void Requests(TrialRun& run) {
  const std::int64_t requests = run.options.false_alarm_trials;
  std::int64_t alarms = 0;
  std::int64_t alarmed = 0;
  for (std::int64_t trial = 0; trial < requests; ++trial) {
    const std::int64_t before = alarms;
    std::size_t left = kRequestComparisons / 2;
    while (left > 0) {
      const Draw draw = run.DrawTimings();
      const std::size_t size = std::min(left, run.pool.cases.size());
      const std::vector<std::size_t> positions = run.random.Sample(run.pool.cases.size(), size);
      if (run.MayBeSuspect(draw, positions)) alarms += Alarms(run.Judged(draw, positions));
      left -= size;
    }
    alarmed += alarms > before ? 1 : 0;
  }
  run.RequireAtMost(run.Add("same code", alarms, requests * static_cast<std::int64_t>(kRequestComparisons)),
                    kMostAlarms);
  run.RequireAtMost(run.Add("same code, any of 60", alarmed, requests), kMostAlarmedRequests);
}

/// Runs that share no process, in the order in which the gate measures, with the next processes if something is
/// suspect. Few, but no process counts twice and nothing is left to chance.
struct RunsInOrder {
  std::int64_t runs = 0;
  std::int64_t alarmed = 0;
  std::int64_t comparisons = 0;
  std::int64_t alarms = 0;
  std::int64_t small_p = 0;
};

std::vector<DrawnBlock> TakeBlocks(std::size_t pairs, std::size_t first_pair, std::size_t& next) {
  std::vector<DrawnBlock> taken;
  for (std::size_t i = 0; i < pairs; ++i) {
    DrawnBlock& block = taken.emplace_back(3);
    for (const PairArm arm : ArmOrder(static_cast<int>(first_pair + i))) {
      block[arm == PairArm::kBase ? 0 : arm == PairArm::kCandidate ? 1 : 2] = next++;
    }
  }
  return taken;
}

void CountRuns(const TrialRun& run, RunsInOrder& counts) {
  const std::vector<std::size_t> all = run.AllCases();
  const std::size_t processes = run.pool.processes.size();
  std::size_t next = 0;
  while (next + 3 * kFirstPairs <= processes) {
    Draw draw;
    draw.first = TakeBlocks(kFirstPairs, 0, next);
    const bool suspect = run.MayBeSuspect(draw, all);
    if (suspect && next + 3 * kSecondPairs > processes) break;
    if (suspect) draw.second = TakeBlocks(kSecondPairs, kFirstPairs, next);
    const std::int64_t found = suspect ? Alarms(run.Judged(draw, all)) : 0;
    for (const std::size_t position : all) {
      for (const auto& metric : run.pool.values) {
        counts.small_p += PermutationP(Logarithms(draw, metric[position])) <= 0.05;
      }
    }
    ++counts.runs;
    counts.comparisons += static_cast<std::int64_t>(2 * all.size());
    counts.alarms += found;
    counts.alarmed += found > 0 ? 1 : 0;
  }
}

/// On every measured GPU: each has its own processes.
void AskRunsInOrder(TrialRun& run) {
  RunsInOrder counts;
  CountRuns(run, counts);
  for (const Evidence& more : run.data.more_same_code) {
    const TrialData other{run.data.name, more, {}, {}, {}};
    const TrialRun there(other, run.options);
    CountRuns(there, counts);
    std::ranges::copy(there.pool.left_out, std::back_inserter(run.report.notes));
  }
  run.Add("same code, independent runs, a run", counts.alarmed, counts.runs);
  run.Add("same code, independent runs, a comparison", counts.alarms, counts.comparisons);
  run.Add("same code, independent runs, p <= 0.05 at tolerance 0", counts.small_p, counts.comparisons);
}

/// Simulated pull requests judged in full, with counters and phases of the recording processes.
void EveryTier(TrialRun& run) {
  const Evidence& same_code = run.data.same_code;
  std::set<std::size_t> all(run.pool.cases.begin(), run.pool.cases.end());
  std::set<std::size_t> recordings;
  for (std::size_t index = 0; index < same_code.cases.size(); ++index) {
    const std::vector<std::size_t> processes = ProcessesOf(same_code, "recording", index);
    recordings.insert(processes.begin(), processes.end());
    if (!processes.empty() && same_code.cases[index].kernel != kReferenceKernel) all.insert(index);
  }
  const std::vector<std::size_t> recorded(recordings.begin(), recordings.end());
  const TrialArm arm{&same_code, {all.begin(), all.end()}, {}, {}, false};
  const std::vector<std::size_t> positions = run.AllCases();
  std::int64_t comparisons = 0;
  std::int64_t alarms = 0;
  std::int64_t alarmed = 0;
  std::int64_t missed = 0;
  for (std::int64_t trial = 0; trial < run.options.power_trials; ++trial) {
    Draw draw = run.DrawTimings();
    const bool may = run.MayBeSuspect(draw, positions);
    run.ToProcesses(draw);
    DrawBlocks(Neighbours(recorded, 2, run.random.Below(2)), kFirstPairs, kSecondPairs, true, run.random,
               draw.recorded_first, draw.recorded_second);
    const GateResult result = JudgeDraw(arm, arm, draw, run.options.thresholds);
    const std::int64_t found = Alarms(result);
    alarms += found;
    alarmed += found > 0 ? 1 : 0;
    for (const CaseVerdict& verdict : result.cases) {
      comparisons += static_cast<std::int64_t>(verdict.comparisons.size());
      for (const Comparison& comparison : verdict.comparisons) {
        // A suspect was judged by the pairs of the second stage.
        const bool suspect = comparison.pairs > static_cast<int>(kFirstPairs) &&
                             (IsWholeCall(comparison) || comparison.metric == kSlowProcesses);
        missed += !may && suspect ? 1 : 0;
      }
    }
  }
  run.Add("same code, every tier, a comparison", alarms, comparisons);
  run.RequireAtMost(run.Add("same code, every tier, a run", alarmed, run.options.power_trials), kMostAlarmedRequests);
  if (missed > 0) {
    run.report.failed.push_back(fmt::format("the trials would have missed {} suspects of the judge: a bug", missed));
  }
}

/// p of one random comparison per trial, so that trials are independent: the number at or below any p is then at most
/// binomial. A p may be too large (ties), which costs power; AskPower() measures that.
void Calibrate(TrialRun& run) {
  constexpr std::size_t kDeciles = 10;
  const std::int64_t trials = run.options.false_alarm_trials;
  std::vector<std::int64_t>& deciles = run.report.p_deciles;
  deciles.assign(kDeciles, 0);
  for (std::int64_t trial = 0; trial < trials; ++trial) {
    const Draw draw = run.DrawTimings();
    const auto& metric = run.pool.values[run.random.Below(2)];
    const double p = PermutationP(Logarithms(draw, metric[run.random.Below(run.pool.cases.size())]));
    ++deciles[std::min(kDeciles - 1, static_cast<std::size_t>(std::ceil(p * kDeciles)) - 1)];
  }
  std::int64_t under = 0;
  for (std::size_t decile = 0; decile + 1 < kDeciles; ++decile) {
    under += deciles[decile];
    const double expected = static_cast<double>(decile + 1) / kDeciles;
    const double least = ProportionLowerBound(under, trials, 1.0 - kCalibrationLevel / (kDeciles - 1));
    if (least <= expected) continue;
    run.report.failed.push_back(fmt::format("p below {:.1f} in {} of {} draws of the same code: the test is too sure",
                                            expected, under, trials));
    return;
  }
}

}  // namespace

void AskFalseAlarms(TrialRun& run) {
  AskRunsInOrder(run);
  Requests(run);
  EveryTier(run);
  Calibrate(run);
  run.report.notes.push_back(fmt::format(
      "a simulated pull request: {} comparisons, time and cycles of {} cases, new blocks for every {} cases",
      kRequestComparisons, kRequestComparisons / 2, run.pool.cases.size()));
  run.report.notes.push_back(fmt::format(
      "all draws use the same {} processes: they add what chance makes of these processes, and are not independent",
      run.pool.processes.size()));
}

}  // namespace fa_profile::gate

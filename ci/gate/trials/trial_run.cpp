#include "trial_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fa_profile::gate {
namespace {

/// Processes of a block: the base, the candidate, and the base as the run's control.
constexpr std::size_t kBlock = 3;

/// The longest of the candidate's processes is beyond any limit for slow ones: over 1 + 3 x 2 % of even the shortest.
constexpr double kPerhapsSlow = 1.06;

}  // namespace

const RuleRate& TrialRun::Add(const std::string& question, std::int64_t hits, std::int64_t trials) {
  return report.rates.emplace_back(Rate(kGate, question, hits, trials));
}

void TrialRun::RequireAtMost(const RuleRate& rate, double most) {
  if (rate.high <= most) return;
  report.failed.push_back(fmt::format("{}, {}: {} of {}, at most {:.2g} % with 95 % confidence; the target is {:g} %",
                                      rate.rule, rate.question, rate.hits, rate.trials, 100.0 * rate.high,
                                      100.0 * most));
}

void TrialRun::RequireAtLeast(const RuleRate& rate, double least) {
  if (rate.low >= least) return;
  report.failed.push_back(fmt::format("{}, {}: {} of {}, at least {:.1f} % with 95 % confidence; the target is {:g} %",
                                      rate.rule, rate.question, rate.hits, rate.trials, 100.0 * rate.low,
                                      100.0 * least));
}

std::vector<std::size_t> TrialRun::AllCases() const {
  std::vector<std::size_t> all(pool.cases.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

Draw TrialRun::DrawTimings() {
  std::vector<std::size_t> order(pool.processes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Draw draw;
  DrawBlocks(Neighbours(order, kBlock, random.Below(kBlock)), kFirstPairs, kSecondPairs, true, random, draw.first,
             draw.second);
  return draw;
}

void TrialRun::ToProcesses(Draw& draw) const {
  for (auto* const blocks : {&draw.first, &draw.second}) {
    for (DrawnBlock& block : *blocks) {
      for (std::size_t& process : block) process = pool.processes[process];
    }
  }
}

GateResult TrialRun::Judged(Draw draw, const std::vector<std::size_t>& positions, std::vector<double> factors) const {
  ToProcesses(draw);
  TrialArm arm{pool.data, {}, {}, {}, false};
  for (const std::size_t position : positions) arm.cases.push_back(pool.cases[position]);
  TrialArm slower = arm;
  slower.factors = std::move(factors);
  return JudgeDraw(arm, slower, draw, options.thresholds);
}

bool TrialRun::MayBeSuspect(const Draw& draw, const std::vector<std::size_t>& positions) const {
  const Thresholds& thresholds = options.thresholds;
  if (!thresholds.rules.empty() || thresholds.suspect_level >= 0.5 || thresholds.duration.relative < 0.02) return true;
  const double limit = std::log1p(thresholds.duration.relative);
  for (const std::size_t position : positions) {
    for (const auto& metric : pool.values) {
      const std::vector<double>& values = metric[position];
      double product = 1.0;  // product of the ratios: one logarithm in place of eight
      double shortest = values[draw.first.front().front()];
      double longest = 0.0;
      for (const DrawnBlock& block : draw.first) {
        product *= values[block[1]] / values[block[0]];
        longest = std::max(longest, values[block[1]]);
        for (const std::size_t process : block) shortest = std::min(shortest, values[process]);
      }
      if (std::log(product) > static_cast<double>(draw.first.size()) * limit) return true;
      if (longest > kPerhapsSlow * shortest) return true;
    }
  }
  return false;
}

std::int64_t Alarms(const GateResult& result) {
  std::int64_t alarms = 0;
  for (const CaseVerdict& verdict : result.cases) {
    alarms += std::ranges::count(verdict.comparisons, Verdict::kRegression, &Comparison::verdict);
  }
  return alarms;
}

}  // namespace fa_profile::gate

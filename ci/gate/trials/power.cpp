#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fa_profile/gate_statistics.h"
#include "trial_run.h"

namespace fa_profile::gate {
namespace {

/// Cases from here on have the targets of long kernels.
constexpr double kLongSeconds = 10e-6;
constexpr double kLeastFoundAt3 = 0.95;
constexpr double kLeastFoundAt3Short = 0.90;
constexpr double kLeastFoundAt5 = 0.995;
/// For slow-downs in half of the processes.
constexpr double kLeastFoundInHalf = 0.80;

/// A case gets half or a fifth of the draws: there are a dozen of them. At +3 % each case has its own target.
constexpr double kCaseShare = 0.2;
constexpr double kCaseShareAt3 = 0.5;

bool Found(TrialRun& run, std::size_t position, std::vector<double> factors) {
  return run.Judged(run.DrawTimings(), {position}, std::move(factors)).verdict == Verdict::kRegression;
}

/// Every process of the candidate slower by the same factor, case by case.
void Slower(TrialRun& run, int percent) {
  const std::string question = fmt::format("+{} %", percent);
  const std::int64_t trials = std::max<std::int64_t>(
      1, std::llround((percent == 3 ? kCaseShareAt3 : kCaseShare) * static_cast<double>(run.options.power_trials)));
  const std::vector<double> factors(kFirstPairs + kSecondPairs, 1.0 + percent / 100.0);
  std::vector<RuleRate> cases;
  std::int64_t all = 0;
  for (const std::size_t position : run.AllCases()) {
    std::int64_t found = 0;
    for (std::int64_t trial = 0; trial < trials; ++trial) found += Found(run, position, factors) ? 1 : 0;
    all += found;
    const double seconds = Median(run.pool.values[0][position]);
    const RuleRate& rate = run.Add(fmt::format("{}: {} ({:.1f} us)", question,
                                               CaseName(run.pool.data->cases[run.pool.cases[position]]), seconds * 1e6),
                                   found, trials);
    if (percent == 3) run.RequireAtLeast(rate, seconds >= kLongSeconds ? kLeastFoundAt3 : kLeastFoundAt3Short);
  }
  const RuleRate& rate = run.Add(question, all, trials * static_cast<std::int64_t>(run.pool.cases.size()));
  if (percent == 5) run.RequireAtLeast(rate, kLeastFoundAt5);
}

/// Some processes of the candidate slower, the others not: two modes.
void SomeSlower(TrialRun& run, const char* which, std::size_t one_of, double factor) {
  std::int64_t found = 0;
  for (std::int64_t trial = 0; trial < run.options.power_trials; ++trial) {
    std::vector<double> factors(kFirstPairs + kSecondPairs, 1.0);
    for (double& of_block : factors) of_block = run.random.Below(one_of) == 0 ? factor : 1.0;
    found += Found(run, run.random.Below(run.pool.cases.size()), std::move(factors)) ? 1 : 0;
  }
  const RuleRate& rate =
      run.Add(fmt::format("{} of the processes {:g} times slower", which, factor), found, run.options.power_trials);
  if (one_of == 2) run.RequireAtLeast(rate, kLeastFoundInHalf);
}

}  // namespace

void AskPower(TrialRun& run) {
  for (const int percent : {2, 3, 5}) Slower(run, percent);
  SomeSlower(run, "half", 2, 10.0);
  SomeSlower(run, "half", 2, 1.1);
  SomeSlower(run, "a quarter", 4, 10.0);
  run.report.notes.push_back(fmt::format(
      "+2 % to +5 %, and slower processes: durations and cycles of {} cases multiplied", run.pool.cases.size()));
}

}  // namespace fa_profile::gate

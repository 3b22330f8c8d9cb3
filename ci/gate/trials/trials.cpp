#include <fmt/format.h>

#include <algorithm>

#include "fa_profile/error.h"
#include "trial_run.h"

namespace fa_profile::gate {
namespace {

/// "NVIDIA H200, driver 580.95.05: 200 timing and 60 recording processes of 14 cases".
std::string Of(const Evidence& evidence) {
  const Environment& environment = evidence.environment;
  std::string where = environment.gpu_name;
  if (!environment.driver_version.empty()) where += ", driver " + environment.driver_version;
  if (!environment.taken_at.empty()) where += ", taken " + environment.taken_at;
  if (!environment.tool_commit.empty()) where += ", commit " + environment.tool_commit;
  return fmt::format("{}: {} timing and {} recording processes of {} cases", where,
                     std::ranges::count(evidence.processes, "timing", &ProcessSample::kind),
                     std::ranges::count(evidence.processes, "recording", &ProcessSample::kind), evidence.cases.size());
}

}  // namespace

TrialReport RunTrials(const TrialData& data, const TrialOptions& options) {
  if (options.false_alarm_trials < 1 || options.power_trials < 1) {
    throw Error("a selftest needs trials", "use at least --trials 1");
  }
  TrialRun run(data, options);
  run.report.about = {"data: " + data.name, "same code: " + Of(data.same_code)};
  for (const Evidence& more : data.more_same_code) run.report.about.push_back("independent runs too: " + Of(more));
  run.report.about.push_back("mutants: " + Of(data.mutants));
  run.report.about.push_back(fmt::format("seed {}, {} simulated pull requests, {} draws per question", options.seed,
                                         options.false_alarm_trials, options.power_trials));
  run.report.notes = run.pool.left_out;
  AskFalseAlarms(run);
  AskPower(run);
  AskMutants(run);
  return std::move(run.report);
}

}  // namespace fa_profile::gate

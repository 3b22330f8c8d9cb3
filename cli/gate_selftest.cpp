#include "gate_selftest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "fa_profile/baseline_files.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gate_trials.h"
#include "formats.h"
#include "gate_data.h"

namespace fa_profile {
namespace {

constexpr const char* kBundledName = "h200-trials.json";
constexpr std::size_t kMostBytes = std::size_t{64} << 20U;  // the reader's own limit

std::string BundledTrials() {
  if (const std::optional<std::string> path = FindGateData(kBundledName)) return *path;
  throw Error(fmt::format("the trial data {} that come with the program are missing", kBundledName),
              "reinstall, or give a file: fa-profile gate selftest --data FILE.json");
}

// What the numbers are of: "NVIDIA H200, driver 580.95.05: 200 timing and 60 recording processes of 14 cases".
std::string Of(const Evidence& evidence) {
  const Environment& environment = evidence.environment;
  std::string where = environment.gpu_name;
  if (!environment.driver_version.empty()) where += ", driver " + environment.driver_version;
  if (!environment.taken_at.empty()) where += ", taken " + environment.taken_at;
  if (!environment.tool_commit.empty()) where += ", commit " + environment.tool_commit;
  const auto timings = std::ranges::count(evidence.processes, "timing", &ProcessSample::kind);
  const auto recordings = std::ranges::count(evidence.processes, "recording", &ProcessSample::kind);
  return fmt::format("{}: {} timing and {} recording processes of {} cases", where, timings, recordings,
                     evidence.cases.size());
}

}  // namespace

int RunGateSelftest(const GateSelftestOptions& options) {
  const std::string path = options.data.empty() ? BundledTrials() : options.data;
  const TrialData data = TrialDataFromJson(ReadPlainFile(path, kMostBytes), path);
  TrialOptions trials;
  trials.seed = options.seed;
  trials.false_alarm_trials = options.trials;
  trials.power_trials = options.power_trials;
  const TrialReport report = RunTrials(data, trials);
  if (options.format->for_people) {
    std::cout << fmt::format(
        "The gate, put to the proof on recorded processes: {}\nsame code: {}\nmutants: {}\n"
        "seed {}, {} fake pull requests, {} draws a question\n\n",
        path, Of(data.same_code), Of(data.mutants), options.seed, options.trials, options.power_trials);
  }
  std::cout << options.format->gate_selftest(report);
  return report.failed.empty() ? kExitFine : kExitRegression;
}

}  // namespace fa_profile

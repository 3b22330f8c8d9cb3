#include "trial_pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "fa_profile/error.h"
#include "fa_profile/gate_statistics.h"

namespace fa_profile::gate {
namespace {

/// A history of 64 and two more; both stages together need 44.
constexpr std::size_t kLeastProcesses = 66;

/// The values of a case in the timing processes that have it and were not throttled.
std::vector<double> ValuesIn(const Evidence& data, std::size_t index, const char* metric) {
  std::vector<double> values;
  for (const auto& [process, value] : Values(data, index, "timing", {"", metric})) {
    if (!data.processes[process].throttled && value > 0.0) values.push_back(value);
  }
  return values;
}

}  // namespace

TimingPool PoolOf(const Evidence& data) {
  TimingPool pool;
  pool.data = &data;
  std::size_t throttled = 0;
  for (std::size_t i = 0; i < data.processes.size(); ++i) {
    if (data.processes[i].kind != "timing") continue;
    if (data.processes[i].throttled) {
      ++throttled;
    } else {
      pool.processes.push_back(i);
    }
  }
  if (throttled > 0) {
    pool.left_out.push_back(fmt::format("{} throttled processes are left out", throttled));
  }
  if (pool.processes.size() < kLeastProcesses) {
    throw Error(fmt::format("{} timing processes of the same code are too few", pool.processes.size()),
                fmt::format("measure at least {}: docs/gate-reference.md", kLeastProcesses));
  }
  for (std::size_t index = 0; index < data.cases.size(); ++index) {
    if (data.cases[index].kernel == kReferenceKernel) continue;
    std::vector<double> seconds = ValuesIn(data, index, kDuration);
    std::vector<double> cycles = ValuesIn(data, index, kCycles);
    if (seconds.size() < pool.processes.size() || cycles.size() < pool.processes.size()) {
      pool.left_out.push_back(CaseName(data.cases[index]) + " is left out: not every process timed it");
      continue;
    }
    pool.cases.push_back(index);
    pool.values[0].push_back(std::move(seconds));
    pool.values[1].push_back(std::move(cycles));
  }
  if (pool.cases.empty()) {
    throw Error("no case was timed in every process", "measure again: docs/gate-reference.md");
  }
  return pool;
}

RuleRate Rate(const std::string& rule, const std::string& question, std::int64_t hits, std::int64_t trials) {
  return {rule, question, hits, trials, ProportionLowerBound(hits, trials), ProportionUpperBound(hits, trials)};
}

}  // namespace fa_profile::gate

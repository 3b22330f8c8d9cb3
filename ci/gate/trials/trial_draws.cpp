#include "trial_draws.h"

#include <algorithm>
#include <numeric>

namespace fa_profile::gate {
namespace {

/// The processes of one side of a run, in the order of its pairs.
void Append(const TrialArm& arm, const std::vector<DrawnPair>& pairs, bool base, int stage, int first_pair,
            const std::vector<bool>& measured, std::vector<ProcessSample>& processes) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const ProcessSample& drawn = arm.data->processes[base ? pairs[i].first : pairs[i].second];
    ProcessSample sample;
    sample.kind = drawn.kind;
    sample.stage = stage;
    sample.pair = first_pair + static_cast<int>(i);
    sample.throttled = drawn.throttled;
    sample.sm_clock_hz = drawn.sm_clock_hz;
    sample.values.resize(arm.cases.size());
    for (std::size_t position = 0; position < arm.cases.size(); ++position) {
      if (!measured[position] || arm.cases[position] >= drawn.values.size()) continue;
      sample.values[position] = drawn.values[arm.cases[position]];
      if (arm.factor == 1.0) continue;
      for (const char* metric : {kDuration, kCycles}) {
        const auto value = sample.values[position].find({"", metric});
        if (value != sample.values[position].end()) value->second *= arm.factor;
      }
    }
    processes.push_back(std::move(sample));
  }
}

Evidence Facts(const TrialArm& arm, const std::string& origin) {
  Evidence evidence;
  evidence.origin = origin;
  evidence.environment = arm.data->environment;
  for (const std::size_t index : arm.cases) {
    CaseFacts facts = arm.data->cases[index];
    if (!arm.kernel.empty()) facts.kernel = arm.kernel;
    if (!arm.with_code) {
      facts.code.clear();
      facts.launches.clear();
    }
    evidence.cases.push_back(std::move(facts));
  }
  return evidence;
}

}  // namespace

std::vector<std::size_t> TrialRandom::Sample(std::size_t count, std::size_t size) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t i = 0; i < size; ++i) std::swap(all[i], all[i + Below(count - i)]);
  all.resize(size);
  return all;
}

std::vector<DrawnPair> Neighbours(const std::vector<std::size_t>& processes, bool skip_first) {
  std::vector<DrawnPair> blocks;
  for (std::size_t i = skip_first ? 1 : 0; i + 1 < processes.size(); i += 2) {
    blocks.emplace_back(processes[i], processes[i + 1]);
  }
  return blocks;
}

void DrawBlocks(const std::vector<DrawnPair>& blocks, std::size_t first, std::size_t second, bool flip,
                TrialRandom& random, std::vector<DrawnPair>& into_first, std::vector<DrawnPair>& into_second) {
  const std::size_t size = std::min(blocks.size(), first + second);
  for (const std::size_t index : random.Sample(blocks.size(), size)) {
    DrawnPair pair = blocks[index];
    if (flip && random.Coin()) std::swap(pair.first, pair.second);
    (into_first.size() < first ? into_first : into_second).push_back(pair);
  }
}

GateResult JudgeDraw(const TrialArm& base, const TrialArm& candidate, const Draw& draw, const Thresholds& thresholds) {
  GateInput input;
  input.design = "pairs";
  input.drawn_pairs = true;
  input.base = Facts(base, "trial base");
  input.candidate = Facts(candidate, "trial candidate");
  const std::vector<bool> all(base.cases.size(), true);
  for (const bool is_base : {true, false}) {
    const TrialArm& arm = is_base ? base : candidate;
    std::vector<ProcessSample>& processes = (is_base ? input.base : input.candidate).processes;
    Append(arm, draw.first, is_base, 1, 0, all, processes);
    Append(arm, draw.recorded_first, is_base, 1, 0, all, processes);
  }
  GateResult result = Judge(input, thresholds);
  if (result.suspects.empty()) return result;
  std::vector<bool> suspect(all.size());
  for (std::size_t position = 0; position < suspect.size(); ++position) {
    suspect[position] = std::ranges::count(result.suspects, CaseName(input.base.cases[position])) != 0;
  }
  for (const bool is_base : {true, false}) {
    const TrialArm& arm = is_base ? base : candidate;
    std::vector<ProcessSample>& processes = (is_base ? input.base : input.candidate).processes;
    Append(arm, draw.second, is_base, 2, static_cast<int>(kFirstPairs), suspect, processes);
    Append(arm, draw.recorded_second, is_base, 2, static_cast<int>(kFirstPairs), suspect, processes);
  }
  input.second_stage = true;
  return Judge(input, thresholds);
}

std::vector<std::size_t> ProcessesOf(const Evidence& data, const std::string& kind, std::size_t case_index) {
  std::vector<std::size_t> processes;
  for (std::size_t i = 0; i < data.processes.size(); ++i) {
    const ProcessSample& process = data.processes[i];
    if (process.kind == kind && !process.throttled && case_index < process.values.size() &&
        !process.values[case_index].empty()) {
      processes.push_back(i);
    }
  }
  return processes;
}

}  // namespace fa_profile::gate

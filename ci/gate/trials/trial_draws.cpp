#include "trial_draws.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace fa_profile::gate {
namespace {

/// Places in a block.
constexpr std::size_t kBase = 0;
constexpr std::size_t kCandidate = 1;
constexpr std::size_t kControl = 2;

/// The processes of one side of a run, in the order of its blocks.
void Append(const TrialArm& arm, const std::vector<DrawnBlock>& blocks, std::size_t place, int stage,
            std::size_t first_block, const std::vector<bool>& measured, std::vector<ProcessSample>& processes) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (place >= blocks[i].size()) continue;
    const ProcessSample& drawn = arm.data->processes[blocks[i][place]];
    const double factor = arm.factors.empty() ? 1.0 : arm.factors.at(first_block + i);
    ProcessSample sample;
    sample.kind = drawn.kind;
    sample.stage = stage;
    sample.pair = static_cast<int>(first_block + i);
    sample.throttled = drawn.throttled;
    sample.sm_clock_hz = drawn.sm_clock_hz;
    sample.values.resize(arm.cases.size());
    for (std::size_t position = 0; position < arm.cases.size(); ++position) {
      if (!measured[position] || arm.cases[position] >= drawn.values.size()) continue;
      sample.values[position] = drawn.values[arm.cases[position]];
      for (const auto& [metric, scale] : {std::pair{kDuration, arm.duration_scale}, {kCycles, arm.cycles_scale}}) {
        const auto value = sample.values[position].find({"", metric});
        if (value != sample.values[position].end()) value->second *= factor * scale;
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

std::vector<DrawnBlock> Neighbours(const std::vector<std::size_t>& processes, std::size_t size, std::size_t skip) {
  std::vector<DrawnBlock> blocks;
  for (std::size_t i = skip; i + size <= processes.size(); i += size) {
    const auto first = processes.begin() + static_cast<std::ptrdiff_t>(i);
    blocks.emplace_back(first, first + static_cast<std::ptrdiff_t>(size));
  }
  return blocks;
}

void DrawBlocks(const std::vector<DrawnBlock>& blocks, std::size_t first, std::size_t second, bool shuffle,
                TrialRandom& random, std::vector<DrawnBlock>& into_first, std::vector<DrawnBlock>& into_second) {
  const std::size_t size = std::min(blocks.size(), first + second);
  for (const std::size_t index : random.Sample(blocks.size(), size)) {
    DrawnBlock block;
    if (shuffle) {
      for (const std::size_t place : random.Sample(blocks[index].size(), blocks[index].size())) {
        block.push_back(blocks[index][place]);
      }
    }
    if (!shuffle) block = blocks[index];
    (into_first.size() < first ? into_first : into_second).push_back(std::move(block));
  }
}

GateResult JudgeDraw(const TrialArm& base, const TrialArm& candidate, const Draw& draw, const Thresholds& thresholds) {
  GateInput input;
  input.design = "pairs";
  input.drawn_pairs = true;
  input.intervals = false;
  input.base = Facts(base, "trial base");
  input.candidate = Facts(candidate, "trial candidate");
  if (!draw.first.empty() && draw.first.front().size() > kControl) input.control = Facts(base, "trial control");
  const auto append = [&](int stage, std::size_t first_block, const std::vector<bool>& measured) {
    const std::vector<DrawnBlock>& timed = stage == 1 ? draw.first : draw.second;
    const std::vector<DrawnBlock>& recorded = stage == 1 ? draw.recorded_first : draw.recorded_second;
    Append(base, timed, kBase, stage, first_block, measured, input.base.processes);
    Append(candidate, timed, kCandidate, stage, first_block, measured, input.candidate.processes);
    if (input.control) Append(base, timed, kControl, stage, first_block, measured, input.control->processes);
    Append(base, recorded, kBase, stage, first_block, measured, input.base.processes);
    Append(candidate, recorded, kCandidate, stage, first_block, measured, input.candidate.processes);
  };
  std::vector<bool> measured(base.cases.size(), true);
  append(1, 0, measured);
  GateResult result = Judge(input, thresholds);
  if (result.suspects.empty()) return result;
  for (std::size_t position = 0; position < measured.size(); ++position) {
    measured[position] = std::ranges::count(result.suspects, CaseName(input.base.cases[position])) != 0;
  }
  append(2, kFirstPairs, measured);
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

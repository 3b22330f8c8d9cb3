#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "fa_profile/gate_statistics.h"
#include "fa_profile/units.h"
#include "judge.h"

namespace fa_profile::gate {
namespace {

/// Probability that a run's controls fail when nothing is wrong.
constexpr double kControlLevel = 0.05;

/// How far the frozen kernel may move between the arms: no further than a kernel whose code changed.
constexpr double kReferenceTolerance = 0.02;

struct Trial {
  std::string name;
  StageDecision stage;
  double change = 0.0;
};

/// Each stage of a test is a trial: the candidate is judged in the same way.
void AddTrials(const std::string& name, const std::vector<PairedTest>& tests, std::vector<Trial>& trials) {
  for (const PairedTest& test : tests) {
    for (const std::vector<ProcessBlock>* const blocks : {&test.differences.first, &test.differences.second}) {
      const StageDecision stage = DecideStage(*blocks, test.differences.limit, kControlLevel);
      if (!stage.enough) continue;
      const double median = Median(Differences(*blocks));
      trials.push_back({name + " " + (test.comparison.phase.empty() ? test.comparison.metric : test.comparison.phase),
                        stage, test.logarithmic ? std::expm1(median) : median});
    }
  }
}

std::optional<std::size_t> ReferenceIn(const Evidence& evidence) {
  const auto found = std::ranges::find(evidence.cases, kReferenceKernel, &CaseFacts::kernel);
  if (found == evidence.cases.end()) return std::nullopt;
  return static_cast<std::size_t>(found - evidence.cases.begin());
}

/// The frozen kernel between the arms, in both directions: if the base was slowed down, the candidate seems faster.
void JudgeReference(const JudgeContext& context, ControlResult& control) {
  const auto base = ReferenceIn(context.input.base);
  const auto candidate = ReferenceIn(context.input.candidate);
  if (!base || !candidate) return;
  std::vector<ProcessBlock> logs;
  for (const ProcessPair& pair : context.timing_pairs) {
    if (pair.throttled || logs.size() == kMostBlocks) continue;
    const auto before = ValueIn(context.input.base, pair.base, *base, {"", kDuration});
    const auto after = ValueIn(context.input.candidate, pair.candidate, *candidate, {"", kDuration});
    if (before && after && *before > 0.0 && *after > 0.0) logs.push_back({std::log(*after), std::log(*before), {}});
  }
  if (logs.empty()) return;
  control.reference_change = std::expm1(Median(Differences(logs)));
  const StageDecision stage = DecideStage(logs, 0.0, kControlLevel / 2.0);
  const bool significant = std::min(stage.worse_p, stage.better_p) <= kControlLevel / 2.0;
  if (significant && std::abs(*control.reference_change) > kReferenceTolerance) {
    control.passed = false;
    control.reason =
        fmt::format("the reference kernel, whose code never changes, moved by {} between base and candidate",
                    SignedPercent(*control.reference_change));
  }
}

/// The control that a run lacks; empty: none.
std::string MissingControl(const JudgeContext& context, const ControlResult& control) {
  const GateInput& input = context.input;
  const bool ran = input.control && std::ranges::any_of(input.control->processes, [](const ProcessSample& process) {
                     return process.kind == "timing";
                   });
  if (!ran) return "no control: the base was not measured against itself";
  return control.reference_change ? "" : "no control: the reference kernel was not timed on both sides";
}

/// The first trial that is worse after Holm's correction over all of them; null: none.
const Trial* Alarm(const std::vector<Trial>& trials, double level) {
  std::vector<double> p;
  // Capped as in Confirm(): otherwise many trials could not fail, however much slower the control is.
  std::vector<double> caps;
  for (const Trial& trial : trials) {
    p.push_back(trial.stage.worse_p);
    caps.push_back(std::max(1.0, std::floor(level / trial.stage.least_p)));
  }
  const std::vector<double> adjusted = HolmAdjust(p, caps);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (adjusted[i] <= level) return &trials[i];
  }
  return nullptr;
}

int CountWorse(const std::vector<Trial>& trials) {
  return static_cast<int>(std::ranges::count_if(trials, [](const Trial& trial) { return trial.stage.worse; }));
}

}  // namespace

std::optional<ControlResult> JudgeControl(const JudgeContext& context, const std::vector<CaseWork>& works,
                                          const std::vector<PairedTest>& identical, bool required,
                                          std::vector<std::string>& notes) {
  ControlResult control;
  const double level = kControlLevel;
  std::vector<Trial> trials;
  if (context.input.control) {
    const Evidence& extra = *context.input.control;
    const auto timing = PairsOf(context.input.base, extra, "timing");
    const auto recording = PairsOf(context.input.base, extra, "recording");
    for (const CaseWork& work : works) {
      if (work.base == nullptr) continue;
      const auto index = FindCase(extra, work.base->kernel, work.base->shape);
      if (!index) continue;
      AddTrials(work.Name(), PairedTests(context, work, extra, *index, timing, recording), trials);
    }
  }
  control.trials = static_cast<int>(trials.size());
  control.false_positives = CountWorse(trials);
  if (const Trial* const alarm = Alarm(trials, level)) {
    control.passed = false;
    control.reason = fmt::format("the base was judged worse than itself: {} {}", OneLine(alarm->name, 80),
                                 SignedPercent(alarm->change));
  }
  // Equal code cannot be slower, so this is also a trial; but it compares two builds, so an alarm is only noted.
  std::vector<Trial> same;
  for (const PairedTest& test : identical) AddTrials(works[test.work].Name(), {test}, same);
  control.equal_code_trials = static_cast<int>(same.size());
  control.equal_code_worse = CountWorse(same);
  if (const Trial* const alarm = Alarm(same, level)) {
    notes.push_back(fmt::format("equal machine code measured worse: {} {}: this run may be wrong about other cases too",
                                OneLine(alarm->name, 80), SignedPercent(alarm->change)));
  }
  JudgeReference(context, control);
  const std::string missing = required ? MissingControl(context, control) : std::string();
  if (!missing.empty()) {
    notes.push_back(missing + ": times of this run are not judged");
    if (control.passed) control.reason = missing;
    control.passed = false;
  }
  if (trials.empty() && same.empty() && !control.reference_change && control.passed) return std::nullopt;
  return control;
}

}  // namespace fa_profile::gate

#include "fa_profile/gate_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "fa_profile/error.h"
#include "pair_runner.h"

namespace fa_profile::gate {
namespace {

constexpr int kArms = 3;

// Cases whose time may differ: in both builds, correct in both, and with different code.
std::set<CaseId> CasesToTime(const PairRun& run, const GateResult& look, bool identical_too) {
  std::set<CaseId> cases;
  for (const CaseFacts& facts : run.base.cases) {
    const auto index = FindCase(run.candidate, facts.kernel, facts.shape);
    if (facts.kernel == kReferenceKernel || !index) continue;
    if (!facts.works() || !run.candidate.cases[*index].works()) continue;
    const auto verdict = std::ranges::find_if(
        look.cases, [&](const CaseVerdict& one) { return one.kernel == facts.kernel && one.shape == facts.shape; });
    const bool settled = verdict != look.cases.end() && ((verdict->identical && !identical_too) || verdict->incorrect);
    if (!settled) cases.emplace(facts.kernel, facts.shape);
  }
  return cases;
}

// The measured cases that are suspect; with `recorded` only those that a recording made suspect.
std::set<CaseId> Suspects(const std::set<CaseId>& cases, const GateResult& result, bool recorded) {
  std::set<CaseId> suspects;
  for (const CaseVerdict& one : result.cases) {
    CaseFacts facts;
    facts.kernel = one.kernel;
    facts.shape = one.shape;
    const bool listed = std::ranges::find(result.suspects, CaseName(facts)) != result.suspects.end();
    const bool in_recording = std::ranges::any_of(one.comparisons, [](const Comparison& comparison) {
      const bool timed =
          comparison.metric == kDuration || comparison.metric == kCycles || comparison.metric == kSlowProcesses;
      return !timed && comparison.tier > 0 && comparison.verdict == Verdict::kSuspect;
    });
    if (listed && (in_recording || !recorded) && cases.contains({one.kernel, one.shape})) {
      suspects.emplace(one.kernel, one.shape);
    }
  }
  return suspects;
}

void MeasurePairs(PairRunner& runner, int first, int timings, int recordings, int stage) {
  for (int pair = first; pair < first + timings; ++pair) {
    for (const PairArm arm : ArmOrder(pair)) runner.Time(arm, pair, stage);
    runner.NoteCompany(pair);
  }
  for (int pair = first; pair < first + recordings; ++pair) {
    if (pair == 0) {  // the first look provides the rest of this pair
      runner.Record(PairArm::kControl, pair, stage);
      continue;
    }
    for (const PairArm arm : ArmOrder(pair)) runner.Record(arm, pair, stage);
  }
}

}  // namespace

PairRun RunPair(const PairOptions& options) {
  PairRunner runner(options);
  PairRun& run = runner.run();
  const auto judge = [&] {
    return JudgePair(run, options.thresholds, options.today, options.reproduce, options.partial);
  };
  const auto finish = [&] {
    runner.ThrowIfInterrupted();
    for (Evidence* const evidence : {&run.base, &run.candidate, &run.control}) {
      for (ProcessSample& process : evidence->processes) process.values.resize(evidence->cases.size());
    }
    return std::move(run);
  };

  runner.FirstLook();
  const GateResult look = judge();
  std::set<CaseId> cases = CasesToTime(run, look, options.measure_identical);
  if (cases.empty() || !look.incomparable.empty()) return finish();

  runner.Want(cases, options.phase_pairs > 0 ? cases : std::set<CaseId>());
  runner.Expect(options.warmups + kArms * options.pairs, kArms * options.phase_pairs - 2);
  runner.WarmUp();
  MeasurePairs(runner, 0, options.pairs, options.phase_pairs, 1);

  const GateResult first = judge();
  if (first.suspects.empty()) return finish();
  run.second_stage = true;
  const std::set<CaseId> timed = Suspects(cases, first, false);
  const std::set<CaseId> recorded = Suspects(cases, first, true);
  runner.Want(timed, recorded);
  runner.Expect(timed.empty() ? 0 : kArms * options.second_pairs, recorded.empty() ? 0 : kArms * options.second_pairs);
  MeasurePairs(runner, std::max(options.pairs, options.phase_pairs), options.second_pairs, options.second_pairs, 2);
  return finish();
}

Evidence MeasureBuild(const PairOptions& options, int timings, int recordings) {
  PairRunner runner(options);
  runner.FirstLook();
  std::set<CaseId> cases;
  for (const CaseFacts& facts : runner.run().base.cases) {
    if (facts.kernel == kReferenceKernel) continue;
    if (!facts.works()) {
      const std::string why = !facts.refused.empty()   ? "is not certified: " + facts.refused
                              : !facts.untimed.empty() ? "cannot be timed by the judge: " + facts.untimed
                                                       : "is not correct";
      throw Error(fmt::format("{} {}, so it is not measured", CaseName(facts), why),
                  "run fa-profile verify to see what is wrong");
    }
    cases.emplace(facts.kernel, facts.shape);
  }
  runner.Want(cases, cases);
  runner.Expect(options.warmups + timings, recordings);
  runner.WarmUp();
  for (int i = 0; i < timings; ++i) runner.Time(PairArm::kBase, i, 1);
  for (int i = 1; i < recordings; ++i) runner.Record(PairArm::kBase, i, 1);
  runner.ThrowIfInterrupted();
  Evidence evidence = std::move(runner.run().base);
  for (ProcessSample& process : evidence.processes) {
    process.values.resize(evidence.cases.size());
    process.pair = -1;
  }
  return evidence;
}

GateResult JudgePair(const PairRun& run, const Thresholds& thresholds, const std::string& today,
                     const std::string& reproduce, bool partial) {
  GateInput input;
  input.partial = partial;
  input.base = run.base;
  input.candidate = run.candidate;
  if (!run.control.processes.empty()) input.control = run.control;
  input.design = "pairs";
  input.second_stage = run.second_stage;
  input.today = today;
  input.reproduce = reproduce;
  return Judge(input, thresholds);
}

}  // namespace fa_profile::gate

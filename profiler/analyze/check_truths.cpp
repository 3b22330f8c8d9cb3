#include "fa_profile/check_truths.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "derive.h"
#include "fa_profile/infer_phases.h"
#include "fa_profile/measured_code.h"
#include "fa_profile/phases.h"

namespace fa_profile::analyze {
namespace {

constexpr const char* kSync = "sync";

/// A counter, and one that gives the same quantity of a kernel correctly (none: the quantity is 0).
struct Liar {
  const char* kernel;
  const char* counter;
  const char* honest;
  const char* how;
};

constexpr Liar kLiars[] = {
    {"occupancy_1", "TPC.TriageCompute.tpc__warps_active_realtime.sum", "sm__warps_active.sum",
     "counts every warp twice, and nothing while an SM is full"},
    {"phases_50_30_20", "sm__inst_executed_pipe_tensor.sum", nullptr,
     "counts HFMA2, by which compilers load constants, in a kernel without a matrix instruction"},
};

/// The counters of a case, whole call.
std::optional<double> FindCounter(const Recording& recording, std::int64_t case_id, const std::string& name) {
  for (const Range& range : recording.ranges) {
    if (range.case_id == case_id && range.part.empty()) return Find(range.metrics, name);
  }
  return std::nullopt;
}

/// The measurements of one case.
class Measurements {
 public:
  Measurements(const Recording& recording, const ProfileEntry& entry)
      : recording_(recording), entry_(entry), unavailable_(UnavailableMetrics(recording)) {
    const PhaseMap map = SelftestPhases();
    for (const DeviceFunction& function : recording.functions) {
      functions_.emplace(function.id, Labelled{&function, PhasesOf(function, map)});
    }
  }

  TruthCheck Check(const Truth& truth) const {
    TruthCheck check{truth, Find(truth), TruthCheck::Verdict::kFail};
    if (check.measured) {
      if (std::abs(*check.measured - truth.expected) <= truth.tolerance) check.verdict = TruthCheck::Verdict::kPass;
    } else if (unavailable_.contains(truth.name)) {
      check.verdict = TruthCheck::Verdict::kUnavailable;
    }
    return check;
  }

 private:
  struct Labelled {
    const DeviceFunction* function;
    std::vector<std::string> phases;
  };

  std::optional<double> Find(const Truth& truth) const {
    switch (truth.source) {
      case TruthSource::kSass:
        return SumSass(truth);
      case TruthSource::kCounter:
        return FindCounter(recording_, entry_.case_id, truth.name);
      case TruthSource::kLaunch:
        return BlocksPerSm();
      case TruthSource::kShare:
        return Share(truth);
      case TruthSource::kWait:
        return Waits(truth);
      case TruthSource::kInferred:
        return TakenForAttention();
    }
    return std::nullopt;
  }

  std::optional<double> BlocksPerSm() const {
    return entry_.occupancy ? std::optional<double>(entry_.occupancy->blocks_per_sm) : std::nullopt;
  }

  /// An instruction without a value for a metric has 0 of it, so a sum is known as soon as anything was counted.
  std::optional<double> SumSass(const Truth& truth) const {
    const auto counting = std::ranges::find(recording_.countings, entry_.case_id, &SassCounting::case_id);
    if (counting == recording_.countings.end() || counting->counts.empty() || unavailable_.contains(truth.name)) {
      return std::nullopt;
    }
    double sum = 0.0;
    for (const SassCount& count : counting->counts) {
      const auto value = count.values.find(truth.name);
      if (value == count.values.end()) continue;
      const auto labelled = functions_.find(count.function_id);
      if (labelled == functions_.end()) return std::nullopt;
      const DeviceFunction& function = *labelled->second.function;
      const auto index = IndexOf(function, count.offset);
      if (!index) return std::nullopt;  // not disassembled
      const bool in_phase = truth.phase.empty() || labelled->second.phases[*index] == truth.phase;
      if (in_phase && function.instructions[*index].opcode.starts_with(truth.opcode)) {
        sum += static_cast<double>(value->second);
      }
    }
    return sum;
  }

  std::optional<double> TakenForAttention() const {
    const auto counting = std::ranges::find(recording_.countings, entry_.case_id, &SassCounting::case_id);
    if (counting == recording_.countings.end()) return std::nullopt;
    const std::vector<const DeviceFunction*> functions = MeasuredFunctions(recording_, {}, {&*counting});
    double taken = 0.0;
    for (const DeviceFunction* const function : functions) {
      if (function->instructions.empty()) return std::nullopt;  // not disassembled
      taken += InferPhases(*function, ExecutedOf(*function, &*counting)).refusal.empty() ? 1.0 : 0.0;
    }
    return functions.empty() ? std::nullopt : std::optional(taken);
  }

  /// Nothing was sampled in a phase that is not in the table.
  double PhaseMetric(const std::string& phase, const std::string& id) const {
    if (!entry_.phases) return 0.0;
    const auto found = std::ranges::find(entry_.phases->phases, phase, &PhaseEntry::name);
    return found == entry_.phases->phases.end() ? 0.0 : fa_profile::analyze::Find(found->metrics, id).value_or(0.0);
  }

  double AtWork(const std::string& phase) const {
    return PhaseMetric(phase, "phase_warp_time_ratio") * (1.0 - PhaseMetric(phase, "phase_waiting_ratio"));
  }

  std::optional<double> Waits(const Truth& truth) const {
    if (!entry_.phases) return std::nullopt;
    double waits = 0.0;
    double cycles = 0.0;
    for (const AsyncWait& wait : entry_.phases->async_waits) {
      if (wait.kind != "mbarrier") continue;
      waits += wait.waits;
      cycles += wait.waits * wait.waited_cycles;
    }
    if (waits <= 0.0) return std::nullopt;
    return truth.name == "mbarrier_cycles" ? cycles / waits : waits;
  }

  std::optional<double> Share(const Truth& truth) const {
    if (!entry_.phases || entry_.phases->samples == 0) return std::nullopt;
    if (truth.name == "time_share") return PhaseMetric(truth.phase, "phase_time_ratio");
    double work = 0.0;
    double waiting = PhaseMetric(kSync, "phase_warp_time_ratio");
    for (const PhaseEntry& phase : entry_.phases->phases) {
      if (phase.name == kSync) continue;
      const double at_work = AtWork(phase.name);
      waiting += PhaseMetric(phase.name, "phase_warp_time_ratio") - at_work;
      if (phase.name != kUnattributed) work += at_work;
    }
    if (truth.name == "work_share") return work > 0.0 ? std::optional(AtWork(truth.phase) / work) : std::nullopt;
    if (truth.name == "warp_time_share") return truth.phase == kSync ? waiting : AtWork(truth.phase);
    return std::nullopt;
  }

  const Recording& recording_;
  const ProfileEntry& entry_;
  std::map<std::int64_t, Labelled> functions_;  // by id
  std::set<std::string> unavailable_;
};

}  // namespace

PhaseMap SelftestPhases() {
  PhaseMap map{"inline functions", {}};
  for (const char* const phase : {"alpha", "beta", "gamma"}) map.rules.push_back({phase, {phase}, {}, {}});
  // The stopwatch counts what it waits for after a barrier as waiting.
  map.rules.push_back({kSync, {kSync, "LapBehindBarrier"}, {}, {}});
  return map;
}

std::vector<TruthCheck> CheckTruths(const Recording& recording, const ProfileEntry& entry,
                                    const std::vector<Truth>& truths) {
  const Measurements measurements(recording, entry);
  std::vector<TruthCheck> checks;
  checks.reserve(truths.size());
  for (const Truth& truth : truths) checks.push_back(measurements.Check(truth));
  return checks;
}

std::vector<KnownLie> CheckKnownLies(const Recording& recording) {
  constexpr double kNear = 0.05;  // counters of different passes may differ a little
  std::vector<KnownLie> lies;
  for (const Liar& liar : kLiars) {
    const auto measured = std::ranges::find(recording.cases, liar.kernel, &Case::kernel);
    if (measured == recording.cases.end()) continue;
    KnownLie lie{liar.kernel, liar.counter, liar.how, 0.0, FindCounter(recording, measured->id, liar.counter), {}};
    if (liar.honest != nullptr) lie.truth = FindCounter(recording, measured->id, liar.honest);
    if (lie.truth && lie.says) lie.still_lies = std::abs(*lie.says - *lie.truth) > kNear * *lie.truth;
    lies.push_back(std::move(lie));
  }
  return lies;
}

std::vector<std::string> KnownLieInputs() {
  std::set<std::string> names;
  for (const Liar& liar : kLiars) {
    names.insert(liar.counter);
    if (liar.honest != nullptr) names.insert(liar.honest);
  }
  return {names.begin(), names.end()};
}

}  // namespace fa_profile::analyze

#include "fa_profile/phases.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "async_work.h"
#include "branch_skid.h"
#include "choose_phases.h"
#include "derive.h"
#include "fa_profile/call_name.h"
#include "fa_profile/measured_code.h"
#include "measured_call.h"
#include "phase_sums.h"

namespace fa_profile::analyze {
namespace {

// Allowed share of samples whose instruction is not known.
constexpr double kSampleLimit = 0.01;

// In a program, instructions are counted in another launch than the range profiler's: diverged threads of a warp meet
// again at other times, and data may differ.
constexpr double kOtherLaunchLimit = 0.001;

/// Two sources of one quantity. Formulas over the sums over all phases, and over counters of the range profiler,
/// `metric.<id>` from the kernel catalogue and `sampling.*`.
struct ClosureRow {
  const char* quantity;
  const char* phases;
  const char* whole;
  double limit_ratio;
  const char* slack;   // how much two runs of the same code may differ, beyond the limit
  const char* unless;  // not compared where this is not 0
};

// - Code that polls an mbarrier polls as often as it takes: no two runs execute the same number of instructions.
// - Conflicts that the range profiler counts include those of shared-memory accesses with other traffic (cp.async,
//   global stores), up to 1 % of the wavefronts, differently in each run. What is left without conflicts is exact; and
//   with them there is a limit. Both take the counters of loads and stores: the one of all wavefronts has parts of
//   cp.async and matrix operands that the instructions' own counts do not have, and they count operations on mbarriers.
constexpr const char* kSamples = "samples";
constexpr ClosureRow kClosures[] = {
    {kSamples, "samples.total", "sampling.named", kSampleLimit, "0", "0"},
    {"instructions", "sass.smsp__sass_inst_executed", "metric.instructions", 0.0, "inst.polling", "0"},
    {"HMMA instructions", "inst.hmma", "metric.hmma_instructions", 0.0, "0", "0"},
    {"warpgroup MMA instructions", "inst.gmma", "metric.gmma_instructions", 0.0, "0", "0"},
    {"shared load/store wavefronts", "wavefronts.ldst",
     "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum + l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
     0.01, "0", "inst.mbarrier"},
    {"shared load/store wavefronts less conflicts", "wavefronts.ldst_ideal",
     "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum - l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum "
     "+ "
     "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum - l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
     0.0, "0", "inst.mbarrier"},
    {"cp.async wavefronts", "wavefronts.ldgsts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
     0.0, "0", "0"},
};

ChosenPhases LabelByKernels(const std::vector<const DeviceFunction*>& functions, const CallParts& parts) {
  ChosenPhases labelled{{}, "kernels", {}};
  for (const DeviceFunction* function : functions) {
    labelled.functions.push_back({function, parts.NameOf(*function), {}});
  }
  return labelled;
}

/// The entry's value for "metric.<id>".
std::optional<double> FindMetricOf(const ProfileEntry& entry, const std::string& name) {
  constexpr std::string_view kPrefix = "metric.";
  return name.starts_with(kPrefix) ? Find(entry.metrics, name.substr(kPrefix.size())) : std::nullopt;
}

/// The catalogue's formulas for the phases of one table.
class PhaseDeriver {
 public:
  PhaseDeriver(const Device& device, const ProfileEntry& entry, const PhaseVariables& whole) : entry_(entry) {
    if (device.sm_count > 0) common_["device.sm_count"] = device.sm_count;
    if (device.sm_clock_max_hz > 0) common_["device.sm_clock_max_hz"] = static_cast<double>(device.sm_clock_max_hz);
    if (entry.timing) common_["timing.median_ns"] = entry.timing->median_ns;
    for (const auto& [name, value] : whole) common_["kernel." + name] = value;
  }

  Derived Derive(const PhaseVariables& phase) const {
    // A phase cannot do more than the peak in its time. Shares are sampled, so slightly above 1 is 1; far above, the
    // work (WGMMA, mostly) runs while other instructions are sampled, and the ratio says nothing.
    constexpr double kSampleSlack = 0.1;
    static const ParsedCatalogue catalogue(PhaseCatalogue(), kSampleSlack);
    return catalogue.Evaluate([&](const std::string& name) {
      if (const auto value = FindMetricOf(entry_, name)) return value;
      if (const auto value = Find(phase, name)) return value;
      return Find(common_, name);
    });
  }

 private:
  const ProfileEntry& entry_;
  PhaseVariables common_;
};

std::vector<StallShare> StallsOfPhase(const PhaseVariables& phase) {
  constexpr std::string_view kPrefix = "samples.";
  static const std::set<std::string_view> kNoReasons{"selected", "total", "waiting", "uncharged"};
  std::vector<StallShare> stalls;
  const double total = Find(phase, "samples.total").value_or(0.0);
  for (const auto& [name, samples] : phase) {
    if (!name.starts_with(kPrefix) || samples <= 0.0) continue;
    std::string reason = name.substr(kPrefix.size());
    if (!kNoReasons.contains(reason)) stalls.push_back({std::move(reason), samples / total});
  }
  std::ranges::stable_sort(stalls, std::greater<>(), &StallShare::ratio);
  return stalls;
}

double OtherSamples(const Recording& recording, std::int64_t case_id) {
  const auto found = std::ranges::find(recording.cases, case_id, &Case::id);
  if (found == recording.cases.end()) return 0.0;
  const std::string subject = CallName(found->kernel, found->shape);
  double samples = 0.0;
  for (const DataLoss& loss : recording.losses) {
    if (loss.kind == "samples_unnamed" && loss.subject == subject && loss.count > 0) {
      samples += static_cast<double>(loss.count);
    }
  }
  return samples;
}

/// The counters of an entry: its own range's, or those of the only range of a call of one kernel.
const Metrics* CountersOf(const Recording& recording, const ProfileEntry& entry, bool several) {
  if (const Range* own = FindPiece(recording.ranges, entry.case_id, entry.part)) return &own->metrics;
  if (!entry.part.empty() || several) return nullptr;
  const auto only = std::ranges::find(recording.ranges, entry.case_id, &Range::case_id);
  return only == recording.ranges.end() ? nullptr : &only->metrics;
}

std::vector<Closure> ClosuresOf(const ProfileEntry& entry, const Metrics* counters,
                                const std::optional<double>& named_samples, const PhaseVariables& whole) {
  const double least_limit = entry.origin == "program" ? kOtherLaunchLimit : 0.0;
  const Lookup lookup = [&](const std::string& name) -> std::optional<double> {
    if (name == "sampling.named") return named_samples;
    if (const auto value = FindMetricOf(entry, name)) return value;
    if (const auto value = Find(whole, name)) return value;
    return counters == nullptr ? std::nullopt : Find(*counters, name);
  };
  std::vector<Closure> closures;
  for (const ClosureRow& row : kClosures) {
    const auto sum = Expression(row.phases).Evaluate(lookup);
    const auto other = Expression(row.whole).Evaluate(lookup);
    if (!sum || !other || Expression(row.unless).Evaluate(lookup).value_or(0.0) != 0.0) continue;
    const double slack = Expression(row.slack).Evaluate(lookup).value_or(0.0);
    const double limit = std::max(row.limit_ratio, least_limit);
    closures.push_back({row.quantity, *sum, *other, limit + (*other > 0.0 ? slack / *other : 0.0)});
  }
  return closures;
}

/// Capped at the largest count: the sum of a recording's counts may exceed it.
std::uint64_t ToCount(double samples) {
  constexpr double kTooMany = 0x1p64;
  return samples < kTooMany ? static_cast<std::uint64_t>(samples) : std::numeric_limits<std::uint64_t>::max();
}

std::vector<PhaseEntry> EntriesOf(const PhaseSums& sums, const PhaseDeriver& deriver) {
  std::vector<PhaseEntry> entries;
  for (const auto& [name, variables] : sums.phases) {
    Derived derived = deriver.Derive(variables);
    entries.push_back({name, std::move(derived.metrics), StallsOfPhase(variables), std::move(derived.contradictory)});
  }
  const auto rank = [](const PhaseEntry& entry) {
    return std::tuple(entry.name != kUnattributed, Find(entry.metrics, "phase_time_ratio").value_or(0.0),
                      Find(entry.metrics, "phase_instructions").value_or(0.0));
  };
  std::ranges::stable_sort(entries, std::greater<>(), rank);
  return entries;
}

}  // namespace

std::optional<PhaseTable> AnalyzePhases(const Recording& recording, const ProfileEntry& entry,
                                        const std::optional<PhaseMap>& map, PhaseSource source) {
  const Measured measured = FindMeasured(recording, entry);
  std::vector<const DeviceFunction*> functions = MeasuredFunctions(recording, {measured.sampling}, {measured.counting});
  const CallParts parts(recording, entry.case_id);
  if (!measured.own) {
    auto own = parts.OnlyOf(functions, entry.part);
    if (!own) return std::nullopt;
    functions = std::move(*own);
  }
  const bool by_kernels = entry.part.empty() && parts.several();
  const ChosenPhases labelled = by_kernels ? LabelByKernels(functions, parts)
                                           : ChoosePhases(functions, map, source, measured.sampling, measured.counting);
  std::optional<PcSampling> corrected;
  if (measured.sampling != nullptr && measured.counting != nullptr) {
    corrected = WithoutBranchSkid(functions, *measured.sampling, *measured.counting);
  }
  const PcSampling* const sampling = corrected ? &*corrected : measured.sampling;
  const PhaseSums sums = SumPhases(labelled.functions, sampling, measured.counting, UnavailableMetrics(recording));
  if (!sums.sampled && !sums.counted) return std::nullopt;

  const PhaseVariables whole = sums.Whole();
  PhaseTable table;
  table.phases = EntriesOf(sums, PhaseDeriver(recording.device, entry, whole));
  table.attribution = labelled.attribution;
  table.inference = labelled.inference;
  std::optional<double> named_samples;  // samples in these kernels' own code, by the hardware's count
  if (sums.sampled) {
    const double samples = Find(whole, "samples.total").value_or(0.0);
    if (samples > 0.0) table.waiting_ratio = Find(whole, "samples.uncharged").value_or(0.0) / samples;
    table.samples = ToCount(samples);
    table.dropped_samples = measured.sampling->dropped_samples;
    table.period_cycles = measured.sampling->period_cycles;
    if (measured.own) {
      named_samples = static_cast<double>(measured.sampling->total_samples) -
                      static_cast<double>(measured.sampling->dropped_samples) - OtherSamples(recording, entry.case_id);
    }
  }
  const auto warp_cycles = Find(entry.metrics, "warps_active_cycles");
  // For several kernels the share of samples is not a share of warp-cycles: the sampler takes one warp per SM, however
  // many there are. Their parts have their own.
  if (!by_kernels && sums.sampled && sums.counted && warp_cycles && *warp_cycles > 0.0) {
    table.async_waits = AsyncWaitsOf(labelled.functions, *sampling, *measured.counting, *warp_cycles);
    table.overlap = OverlapOf(table.async_waits);
  }
  // Without a function's code it is not known whether it polls.
  const bool code_known =
      std::ranges::none_of(functions, [](const DeviceFunction* f) { return f->instructions.empty(); });
  table.closures = ClosuresOf(entry, CountersOf(recording, entry, parts.several()), named_samples, whole);
  if (!code_known) std::erase_if(table.closures, [](const Closure& sum) { return sum.quantity != kSamples; });
  return table;
}

std::vector<std::string> ClosureInputs() {
  std::set<std::string> inputs;
  for (const ClosureRow& row : kClosures) {
    for (const std::string& name : FormulaNames(row.whole)) {
      if (name.find("__") != std::string::npos) inputs.insert(name);
    }
  }
  return {inputs.begin(), inputs.end()};
}

}  // namespace fa_profile::analyze

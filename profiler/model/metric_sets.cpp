#include "fa_profile/metric_sets.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

// Order of the columns of table.inc.
enum Column : std::size_t { kGa100, kAd104, kGh100, kGb100, kColumns };

struct Row {
  std::string_view metric;
  std::string_view holders[kColumns];  // letters of the sets and groups that contain it, per chip
};

constexpr Row kSetTable[] = {
#include "metric_sets/table.inc"
};

struct SetRow {
  std::string_view name;
  char letter;  // in table.inc; 0: not there
  std::string_view description;
};

constexpr std::array kSets = {
    SetRow{"basic", 'b', "speed of light, occupancy, launch and workload distribution (Nsight Compute's basic set)"},
    SetRow{"detailed", 'd', "basic, compute and memory workload, source counters (Nsight Compute's detailed set)"},
    SetRow{"full", 'f', "everything: memory tables, schedulers, warp states, instructions, all rooflines, samples"},
    SetRow{"roofline", 'r', "what the rooflines of all precisions need"},
    SetRow{"phases", 0, "tensor use, occupancy, shared-memory wavefronts and stalls in a single pass"},
    SetRow{"triage", 0, "set phases and what limits a kernel: throughput of SM, L1, L2 and DRAM, in two passes"},
};

// A set of one pass: counters were added in the order of their worth to a fused kernel's phases, each kept if CUPTI
// still planned one pass, so it depends on the chip. Counters of "TriageCompute" are wired to be counted together;
// Ampere and Ada have none. An SM counts few of its events at once, so that two or three stall reasons fit at most:
// the two scoreboards (waiting for global and for shared memory or XU) tell most about attention. What reads memory is
// counted outside the SM and comes for free, and so do peak rates; percentages of a peak would need counters of their
// own on GH100 and GB100.
constexpr std::array kPhasesGh100 = {
    "gpu__time_duration.sum",
    "gpc__cycles_elapsed.max",
    "TPC.TriageCompute.sm__cycles_active.sum",
    "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum",
    "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum.peak_sustained",
    "TPC.TriageCompute.sm__inst_executed_realtime.sum",
    "TPC.TriageCompute.tpc__warps_active_shader_cs_realtime.sum",
    "TPC.TriageCompute.tpc__warps_active_shader_cs_realtime.sum.peak_sustained",
    "SM_A.TriageCompute.l1tex__data_pipe_lsu_wavefronts.sum",
    "SM_A.TriageCompute.l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "SM_A.TriageCompute.l1tex__lsu_writeback_active.sum",
    "SM_A.TriageCompute.sm__inst_executed_pipe_xu_realtime.sum",
    "SM_C.TriageCompute.smsp__thread_inst_executed_pred_on.sum",
    "SM_C.TriageCompute.smsp__warps_issue_stalled_long_scoreboard.sum",
    "SM_C.TriageCompute.smsp__warps_issue_stalled_short_scoreboard.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct",
    "lts__t_sectors.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
};
constexpr std::array kPhasesGa100 = {
    "gpu__time_duration.sum",
    "gpc__cycles_elapsed.max",
    "sm__cycles_active.sum",
    "sm__pipe_tensor_cycles_active.sum",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__warps_active.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed.sum",
    "smsp__issue_active.sum",
    "smsp__warps_issue_stalled_long_scoreboard.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "lts__t_sectors.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
};
// On Ada, Nsight Compute reads tensor use from the counters called "_v2".
constexpr std::array kPhasesAd104 = {
    "gpu__time_duration.sum",
    "gpc__cycles_elapsed.max",
    "sm__cycles_active.sum",
    "sm__pipe_tensor_cycles_active_v2.sum",
    "sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_active",
    "sm__warps_active.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed.sum",
    "sm__inst_executed_pipe_xu.sum",
    "smsp__warps_issue_stalled_short_scoreboard.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "lts__t_sectors.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
};

// On GH100 and GB100 a second pass for the throughput of each unit; L2 and DRAM cost none. Elsewhere their counters
// would take five passes and more.
constexpr std::array kThroughputGh100 = {
    "TriageCompute.sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "SM_A.TriageCompute.l1tex__throughput.avg.pct_of_peak_sustained_active",
    "LTS.TriageCompute.lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
};

struct Omission {
  std::string_view pattern;  // for a whole name; "*" stands for anything and may be at its start or end
  std::string_view reason;
};

constexpr std::string_view kPerInstruction =
    "counted per instruction by rewriting the kernel's machine code, not by a hardware counter";
constexpr std::string_view kDerived = "computed by Nsight Compute from other metrics";
constexpr std::string_view kPcSampling = "a result of PC sampling";
constexpr std::string_view kPmSampling = "a timeline, from PM sampling";
constexpr std::string_view kTopology = "the machine's topology, not a measurement";
constexpr std::string_view kTheoretical = "computed from the launch and the device's limits";

constexpr std::array kOmissions = {
    Omission{"device__attribute_*", "a fact about the device, not a counter"},
    Omission{"launch__*", "a fact about the launch, not a counter"},
    Omission{"profiler__*", "about Nsight Compute's own run"},
    Omission{"derived__*", kDerived},
    Omission{"sass__*", kPerInstruction},
    Omission{"inst_executed", kPerInstruction},
    Omission{"thread_inst_executed*", kPerInstruction},
    Omission{"memory_*", kPerInstruction},
    Omission{"smsp__sass_inst_executed_memdesc_*", kPerInstruction},
    Omission{"smsp__branch_targets_threads_divergent", kPerInstruction},
    Omission{"smsp__pcsamp_*", kPcSampling},
    Omission{"group:smsp__pcsamp_*", kPcSampling},
    Omission{"pmsampling:*", kPmSampling},
    Omission{"*.TriageSCG.*", kPmSampling},
    Omission{"*TriageAC.*", kPmSampling},
    Omission{"*TriageA.*", kPmSampling},
    Omission{"numa__*", kTopology},
    Omission{"nvlink__*", kTopology},
    Omission{"c2clink__*", kTopology},
    Omission{"sm__maximum_warps_*", kTheoretical},
    Omission{"smsp__maximum_warps_*", kTheoretical},
};

bool Matches(std::string_view pattern, std::string_view name) {
  const bool prefix = pattern.ends_with('*');
  if (prefix) pattern.remove_suffix(1);
  if (pattern.starts_with('*')) return name.find(pattern.substr(1)) != std::string_view::npos;
  return prefix ? name.starts_with(pattern) : name == pattern;
}

// The chip whose names a chip shares.
Column ColumnOf(std::string_view chip) {
  if (chip.starts_with("GA")) return kGa100;
  if (chip.starts_with("AD")) return kAd104;
  if (chip.starts_with("GB")) return kGb100;
  return kGh100;
}

std::vector<std::string> PhasesMetrics(Column column) {
  switch (column) {
    case kGa100:
      return {kPhasesGa100.begin(), kPhasesGa100.end()};
    case kAd104:
      return {kPhasesAd104.begin(), kPhasesAd104.end()};
    default:  // GB100 takes GH100's
      return {kPhasesGh100.begin(), kPhasesGh100.end()};
  }
}

std::vector<std::string> TriageMetrics(Column column) {
  std::vector<std::string> metrics = PhasesMetrics(column);
  if (column == kGh100 || column == kGb100) {
    metrics.insert(metrics.end(), kThroughputGh100.begin(), kThroughputGh100.end());
  }
  return metrics;
}

}  // namespace

std::vector<std::string> MetricSetNames() {
  std::vector<std::string> names;
  for (const SetRow& set : kSets) names.emplace_back(set.name);
  return names;
}

std::vector<std::string> MetricSetChips() { return {"GA100", "AD104", "GH100", "GB100"}; }

MetricSet BuiltinMetricSet(std::string_view name, std::string_view chip) {
  const auto row = std::find_if(kSets.begin(), kSets.end(), [&](const SetRow& set) { return set.name == name; });
  if (row == kSets.end()) {
    const std::vector<std::string> names = MetricSetNames();
    std::string hint = "the sets are";
    for (const std::string& known : names) hint += " " + known;
    throw Error("there is no metric set '" + std::string(name) + "'" + DidYouMean(name, names), hint);
  }
  const Column column = ColumnOf(chip);
  MetricSet set{std::string(row->name), std::string(row->description), {}, {}};
  if (row->letter == 0) {
    set.metrics = name == "triage" ? TriageMetrics(column) : PhasesMetrics(column);
  } else {
    for (const Row& entry : kSetTable) {
      if (entry.holders[column].find(row->letter) == std::string_view::npos) continue;
      const std::string_view reason = OmissionReason(entry.metric);
      if (reason.empty()) {
        set.metrics.emplace_back(entry.metric);
      } else {
        set.omitted.push_back({std::string(entry.metric), std::string(reason)});
      }
    }
  }
  std::sort(set.metrics.begin(), set.metrics.end());
  return set;
}

std::string_view OmissionReason(std::string_view metric) {
  for (const Omission& omission : kOmissions) {
    if (Matches(omission.pattern, metric)) return omission.reason;
  }
  return {};
}

std::vector<std::string> ExpandMetricGroup(std::string_view group, std::string_view chip) {
  char letter = 0;
  if (group.starts_with("breakdown:")) letter = 'B';
  if (group == "group:memory__chart") letter = 'C';
  if (group.starts_with("group:memory__") && group.ends_with("_table")) letter = 'T';
  std::vector<std::string> metrics;
  if (letter == 0) return metrics;
  for (const Row& entry : kSetTable) {
    if (entry.holders[ColumnOf(chip)].find(letter) != std::string_view::npos) metrics.emplace_back(entry.metric);
  }
  return metrics;
}

}  // namespace fa_profile

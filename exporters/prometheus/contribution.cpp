#include "fa_profile/contribution.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "fa_profile/demangle.h"
#include "fa_profile/exported_metrics.h"
#include "fa_profile/stall_reasons.h"
#include "fa_profile/text.h"
#include "fa_profile/totals.h"
#include "fa_profile/totals_sums.h"

namespace fa_profile::prom {
namespace {

constexpr std::size_t kLongestLabel = 64;

// Catalogue id -> exported gauge, from the one table.
std::map<std::string, std::string> GaugesById() {
  std::map<std::string, std::string> gauges;
  for (const ExportedMetric& metric : ExportedMetrics()) {
    if (metric.type == ExportedType::kGauge && metric.name.starts_with("faprof_kernel_") && metric.unit != "info" &&
        metric.unit != "bool") {
      gauges.emplace(metric.source, metric.name);
    }
  }
  return gauges;
}

std::optional<double> Metric(const std::map<std::string, double>& metrics, const std::string& id) {
  const auto found = metrics.find(id);
  return found == metrics.end() ? std::nullopt : std::optional(found->second);
}

// Follows a label that is not the whole name: other names get other labels, the same ones in every run.
std::string HashMark(std::string_view name) {
  std::array<char, 8> mark{};
  (void)std::snprintf(mark.data(), mark.size(), "~%04x", static_cast<unsigned>(Fnv1a(name) >> 48U));
  return mark.data();
}

std::string Label(std::string_view name) {
  std::string label;
  for (const char c : name) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_:.-").find(c) != std::string_view::npos;
    if (plain || !label.ends_with('_')) label += plain ? c : '_';
  }
  if (label == name && label.size() <= kLongestLabel && !label.empty()) return label;
  const std::string mark = HashMark(name);
  return (label.empty() ? "unnamed" : label.substr(0, kLongestLabel - mark.size())) + mark;
}

// "other arithmetic" and its like, the phases by opcode classes, need no mark.
std::string PhaseLabel(std::string phase) {
  if (phase == kUnattributed) return "unattributed";
  const bool is_words =
      std::ranges::all_of(phase, [](char c) { return c == ' ' || std::islower(static_cast<unsigned char>(c)) != 0; });
  if (is_words && !phase.starts_with(' ') && phase.size() <= kLongestLabel) std::ranges::replace(phase, ' ', '_');
  return Label(phase);
}

std::string OriginLabel(const std::string& origin) {
  return origin == "ladder" || origin == "program" ? origin : "library";
}

// Only what looks like a git commit: a recording may hold any text.
std::string CommitLabel(const std::string& commit) {
  const std::size_t hex = commit.find_first_not_of("0123456789abcdef");
  return commit.substr(0, std::min<std::size_t>(hex, 12));
}

using TimingsByCase = std::multimap<std::pair<std::int64_t, std::string>, const Timing*>;

std::size_t BucketOf(double seconds) {
  return static_cast<std::size_t>(std::ranges::lower_bound(kDurationBounds, seconds) - kDurationBounds.begin());
}

void AddDurations(const TimingsByCase& timings, const ProfileEntry& entry, ShapeTotals& totals) {
  const auto [first, last] = timings.equal_range({entry.case_id, entry.part});
  for (auto timing = first; timing != last; ++timing) {
    for (const double ns : timing->second->durations_ns) {
      const double seconds = ns * 1e-9;
      totals.duration_counts[BucketOf(seconds)] += 1;
      totals.duration_sum_seconds += seconds;
      totals.launches += 1;
      totals.flops += Metric(entry.metrics, "shape_flops").value_or(0);
    }
  }
}

// For a launch class all launches and their time; its timings are a sample, which decides the buckets.
void AddUse(const TimingsByCase& timings, const ProfileEntry& entry, ShapeTotals& totals) {
  const auto launches = static_cast<double>(entry.use->launches);
  const double seconds = static_cast<double>(entry.use->total_ns) * 1e-9;
  ShapeTotals sample;
  AddDurations(timings, entry, sample);
  if (sample.launches == 0) {
    sample.launches = 1;
    sample.duration_counts[BucketOf(seconds / launches)] = 1;
  }
  double sampled = 0;
  double counted = 0;
  for (std::size_t i = 0; i < sample.duration_counts.size(); ++i) {
    sampled += sample.duration_counts[i];
    const double up_to_here = std::round(sampled / sample.launches * launches);
    totals.duration_counts[i] += up_to_here - counted;
    counted = up_to_here;
  }
  totals.duration_sum_seconds += seconds;
  totals.launches += launches;
}

// Formulas: docs/prometheus.md. Cycles are split by the phases' shares of the time, so that they add up to the
// kernel's; warp cycles by their shares of the samples.
void AddPhases(const ProfileEntry& entry, KernelTotals& kernel) {
  const std::optional<double> sm_cycles = Metric(entry.metrics, "sm_active_cycles");
  const std::optional<double> warp_cycles = Metric(entry.metrics, "warps_active_cycles");
  for (const PhaseEntry& phase : entry.phases->phases) {
    PhaseTotals& totals = kernel.phases[PhaseLabel(phase.name)];
    const std::optional<double> time = Metric(phase.metrics, "phase_time_ratio");
    if (time && sm_cycles) totals.cycles += *time * *sm_cycles;
    AddIfThere(totals.instructions, Metric(phase.metrics, "phase_instructions"));
    AddIfThere(totals.wavefronts, Metric(phase.metrics, "phase_shared_wavefronts"));
    AddIfThere(totals.excess_wavefronts, Metric(phase.metrics, "phase_bank_conflicts"));
    const std::optional<double> of_samples = Metric(phase.metrics, "phase_warp_time_ratio");
    if (!of_samples || !warp_cycles) continue;
    for (const StallShare& stall : phase.stalls) {
      totals.stall_cycles[std::string(StallGroupOf(stall.reason))] += stall.ratio * *of_samples * *warp_cycles;
    }
  }
  AddIfThere(kernel.dropped_samples, static_cast<double>(entry.phases->dropped_samples));
}

// Gauges of a kernel, from one entry.
void Describe(const Recording& recording, const ProfileEntry& entry, KernelTotals& kernel) {
  static const std::map<std::string, std::string> kGauges = GaugesById();
  kernel.gauges.clear();
  for (const auto& [id, name] : kGauges) {
    if (const std::optional<double> value = Metric(entry.metrics, id)) kernel.gauges[name] = *value;
  }
  if (!entry.phases) return;
  for (const PhaseEntry& phase : entry.phases->phases) {
    if (phase.name != kUnattributed) continue;
    kernel.gauges["faprof_exporter_unattributed_ratio"] = Metric(phase.metrics, "phase_time_ratio").value_or(0);
  }
  for (const PcSampling& sampling : recording.samplings) {
    if (sampling.case_id == entry.case_id && sampling.part == entry.part && sampling.call_ns && entry.timing &&
        entry.timing->median_ns > 0) {
      kernel.gauges["faprof_exporter_overhead_ratio"] = *sampling.call_ns / entry.timing->median_ns - 1;
    }
  }
}

// The time of a call in seconds, to find the costliest of a kernel's shapes and to weigh them.
std::optional<double> Cost(const ProfileEntry& entry) {
  if (entry.timing) return entry.timing->median_ns * 1e-9;
  return Metric(entry.metrics, "replay_duration_seconds");
}

// Sums of time, which ToRatios() turns into shares: a shape weighs as much as one of its calls takes.
void AddPhaseTimes(const ProfileEntry& entry, ShapeTotals& shape) {
  constexpr double kUnknown = 1e-12;  // negligible compared with a shape of known cost
  for (const PhaseEntry& phase : entry.phases->phases) {
    const double share = Metric(phase.metrics, "phase_time_ratio").value_or(0);
    shape.phase_ratios[PhaseLabel(phase.name)] += share * Cost(entry).value_or(kUnknown);
  }
}

void ToRatios(std::map<std::string, double>& times) {
  double sum = 0;
  for (const auto& [phase, time] : times) sum += time;
  if (!(sum > 0)) times.clear();
  for (auto& [phase, time] : times) time /= sum;
}

bool IsOfProgram(const ProfileEntry& entry) { return entry.origin == "program" && !entry.launches.empty(); }

// Includes everything that distinguishes it from another kernel.
const std::string& FullName(const ProfileEntry& entry) {
  return IsOfProgram(entry) ? entry.launches.front().kernel_name : entry.kernel;
}

}  // namespace

std::string ShapeBucket(const std::optional<Shape>& shape) {
  const AttentionShape* const attention = shape ? shape->attention() : nullptr;
  if (attention == nullptr) return "none";
  for (const int bound : {512, 2048, 8192}) {
    if (attention->seqlen <= bound) return "le_" + std::to_string(bound);
  }
  return "gt_8192";
}

std::string KernelLabel(const ProfileEntry& entry) {
  const std::string name =
      IsOfProgram(entry) ? QualifiedName(Demangle(entry.launches.front().kernel_name.c_str())) : entry.kernel;
  const std::string label = Label(name);
  return label == kOtherLabel ? label + HashMark(name) : label;
}

Totals Contribution(const Recording& recording, const Profile& profile) {
  Totals totals;
  Totals::Gpu& gpu = totals.gpus[recording.device.ordinal];
  gpu.uuid = recording.device.uuid;
  TimingsByCase timings;
  for (const Timing& timing : recording.timings) timings.emplace(std::pair(timing.case_id, timing.part), &timing);
  std::map<std::string, std::set<std::string>> names;  // names that have the label
  std::map<std::string, std::optional<double>> cost;   // cost of the entry that describes the kernel
  for (const ProfileEntry& entry : profile.entries) {
    if (!entry.part.empty() && entry.shape) continue;  // parts are phases of their call
    const std::string label = KernelLabel(entry);
    names[label].insert(FullName(entry));
    KernelTotals& kernel = gpu.kernels[label];
    ShapeTotals& shape = kernel.shapes[ShapeBucket(entry.shape)];
    kernel.origin = OriginLabel(entry.origin);
    kernel.commit = CommitLabel(recording.session.tool_commit);
    std::optional<double> correct;
    if (const auto before = kernel.gauges.find("faprof_kernel_correct"); before != kernel.gauges.end())
      correct = before->second;
    if (const std::optional<bool> of_entry = entry.correct())
      correct = std::min(correct.value_or(1), *of_entry ? 1.0 : 0.0);
    if (const auto known = cost.find(label); known == cost.end() || Cost(entry) > known->second) {
      Describe(recording, entry, kernel);
      cost[label] = Cost(entry);
    }
    if (correct) kernel.gauges["faprof_kernel_correct"] = *correct;
    if (entry.use) {
      AddUse(timings, entry, shape);
    } else if (entry.timing) {
      AddDurations(timings, entry, shape);
    }
    AddIfThere(kernel.tensor_active_cycles, Metric(entry.metrics, "tensor_active_cycles"));
    AddIfThere(kernel.sm_active_cycles, Metric(entry.metrics, "sm_active_cycles"));
    AddIfThere(kernel.warps_active_cycles, Metric(entry.metrics, "warps_active_cycles"));
    AddIfThere(kernel.dram_bytes, Metric(entry.metrics, "dram_bytes"));
    if (entry.metrics.contains("sm_active_cycles")) shape.profiled_launches += 1;
    if (!entry.phases) continue;
    AddPhases(entry, kernel);
    AddPhaseTimes(entry, shape);
  }
  for (auto& [label, kernel] : gpu.kernels) {
    for (auto& [bucket, shape] : kernel.shapes) ToRatios(shape.phase_ratios);
  }
  for (const auto& [label, sharing] : names) totals.merged += static_cast<double>(sharing.size() - 1);
  CheckTotals(totals, kMostOfAContribution);
  // Capped here too: a program may have a thousand kernels.
  Totals capped;
  Merge(capped, totals);
  return capped;
}

}  // namespace fa_profile::prom

#include <algorithm>

#include "fa_profile/exported_metrics.h"
#include "fa_profile/totals.h"
#include "sums.h"

namespace fa_profile::prom {
namespace {

void Add(ShapeTotals& into, const ShapeTotals& from) {
  for (const auto& sum : kShapeSums) into.*sum.value += from.*sum.value;
  for (std::size_t i = 0; i < into.duration_counts.size(); ++i) into.duration_counts[i] += from.duration_counts[i];
}

void Add(PhaseTotals& into, const PhaseTotals& from) {
  into.cycles += from.cycles;
  for (const auto& sum : kPhaseSums) AddIfThere(into.*sum.value, from.*sum.value);
  for (const auto& [reason, cycles] : from.stall_cycles) into.stall_cycles[reason] += cycles;
}

bool IsReserved(const std::string& label) { return label == kOtherLabel || label == "unattributed"; }

// The name under which `wanted` is counted among `known`; at most `most` of them keep their own.
template <typename Value>
std::string Slot(const std::string& wanted, const std::map<std::string, Value>& known, int most, double& folded) {
  if (IsReserved(wanted) || known.contains(wanted)) return wanted;
  const auto own = std::ranges::count_if(known, [](const auto& entry) { return !IsReserved(entry.first); });
  if (own < most) return wanted;
  folded += 1;
  return kOtherLabel;
}

// A phase without sums in its name has its share in "other", too.
void DescribePhases(KernelTotals& into, const KernelTotals& from) {
  for (const auto& [bucket, shape] : from.shapes) {
    if (shape.phase_ratios.empty()) continue;
    std::map<std::string, double>& ratios = into.shapes[bucket].phase_ratios;
    ratios.clear();
    for (const auto& [phase, ratio] : shape.phase_ratios) {
      ratios[into.phases.contains(phase) ? phase : kOtherLabel] += ratio;
    }
  }
}

// "other" is many kernels: it has sums, and no gauges.
void Describe(KernelTotals& into, const KernelTotals& from) {
  into.gauges = from.gauges;
  DescribePhases(into, from);
  into.origin = from.origin;
  into.commit = from.commit;
}

void Add(KernelTotals& into, const KernelTotals& from, double& folded) {
  for (const auto& [shape, totals] : from.shapes) Add(into.shapes[shape], totals);
  for (const auto& [phase, totals] : from.phases)
    Add(into.phases[Slot(phase, into.phases, kMaxPhaseLabels, folded)], totals);
  for (const auto& sum : kKernelSums) AddIfThere(into.*sum.value, from.*sum.value);
  into.idle_seconds = from.idle_seconds;
}

}  // namespace

void Merge(Totals& into, const Totals& from) {
  into.folded += from.folded;
  into.merged += from.merged;
  for (const auto& [index, gpu] : from.gpus) {
    Totals::Gpu& target = into.gpus[index];
    target.uuid = gpu.uuid;
    for (const auto& [name, kernel] : gpu.kernels) {
      const std::string slot = Slot(name, target.kernels, kMaxKernelLabels, into.folded);
      KernelTotals& totals = target.kernels[slot];
      Add(totals, kernel, into.folded);
      if (slot != kOtherLabel) Describe(totals, kernel);
    }
  }
}

void AgeKernels(Totals& totals, double seconds, double most) {
  for (auto& [index, gpu] : totals.gpus) {
    for (auto& [name, kernel] : gpu.kernels) kernel.idle_seconds += seconds;
    std::erase_if(gpu.kernels, [most](const auto& entry) { return entry.second.idle_seconds > most; });
  }
  std::erase_if(totals.gpus, [](const auto& entry) { return entry.second.kernels.empty(); });
}

}  // namespace fa_profile::prom

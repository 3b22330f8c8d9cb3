#include <algorithm>

#include "fa_profile/exported_metrics.h"
#include "fa_profile/totals.h"
#include "fa_profile/totals_sums.h"

namespace fa_profile {
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

// A phase name without sums has its share in "other", too.
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

// "other" stands for many kernels: it has sums, but no gauges.
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
}

void SetToZero(KernelTotals& kernel) {
  const auto set = [](std::optional<double>& sum) {
    if (sum) sum = 0;
  };
  for (auto& [bucket, shape] : kernel.shapes) {
    for (const auto& sum : kShapeSums) shape.*sum.value = 0;
    shape.duration_counts.fill(0);
  }
  for (auto& [name, phase] : kernel.phases) {
    phase.cycles = 0;
    for (const auto& sum : kPhaseSums) set(phase.*sum.value);
    for (auto& [reason, cycles] : phase.stall_cycles) cycles = 0;
  }
  for (const auto& sum : kKernelSums) set(kernel.*sum.value);
}

// The series that the page has for a kernel's sums: equal for two kernels with the same ones.
KernelTotals SeriesOf(const KernelTotals& kernel) {
  KernelTotals series;
  series.shapes = kernel.shapes;
  series.phases = kernel.phases;
  for (const auto& sum : kKernelSums) series.*sum.value = kernel.*sum.value;
  SetToZero(series);
  for (auto& [bucket, shape] : series.shapes) {
    shape.phase_ratios.clear();
    shape.flops = kernel.shapes.at(bucket).HasFlops() ? 1 : 0;
    shape.launches = kernel.shapes.at(bucket).HasDurations() ? 1 : 0;
  }
  return series;
}

// From now on the page shows `counted` with the sums that it showed until now: the held ones, or those `before`.
void Hold(KernelTotals& held, const KernelTotals& before, const KernelTotals& counted, bool is_held) {
  const KernelTotals shown = is_held ? held : before;
  double none_folded = 0;
  held = counted;
  SetToZero(held);
  Add(held, shown, none_folded);
}

bool IsHeld(const PageHistory& history, int gpu, const std::string& kernel) {
  return history.held != nullptr && FindKernel(*history.held, gpu, kernel) != nullptr;
}

// The kernel idle for longest among those that `choose` accepts; null: none.
template <typename Choose>
std::pair<const std::string, KernelTotals>* Oldest(std::map<std::string, KernelTotals>& kernels, const Choose& choose) {
  std::pair<const std::string, KernelTotals>* oldest = nullptr;
  for (auto& entry : kernels) {
    if (!choose(entry)) continue;
    if (oldest == nullptr || entry.second.idle_seconds > oldest->second.idle_seconds) oldest = &entry;
  }
  return oldest;
}

std::pair<const std::string, KernelTotals>* MayBeHidden(int index, Totals::Gpu& gpu, const PageHistory& history) {
  return Oldest(gpu.kernels, [&](const auto& entry) {
    return !entry.second.hidden && !IsReserved(entry.first) && entry.second.idle_seconds > history.hide_after &&
           !IsHeld(history, index, entry.first);
  });
}

// The name under which a kernel is counted, once it is on the page.
std::string KernelSlot(const std::string& wanted, int index, Totals::Gpu& gpu, const PageHistory& history,
                       double& folded) {
  const auto known = gpu.kernels.find(wanted);
  if (IsReserved(wanted) || (known != gpu.kernels.end() && !known->second.hidden)) return wanted;
  const auto shown = std::ranges::count_if(
      gpu.kernels, [](const auto& entry) { return !IsReserved(entry.first) && !entry.second.hidden; });
  if (shown < kMaxKernelLabels) return wanted;
  if (auto* const oldest = MayBeHidden(index, gpu, history)) {
    oldest->second.hidden = true;
    return wanted;
  }
  folded += 1;
  return kOtherLabel;
}

void ForgetOldest(Totals::Gpu& gpu) {
  while (gpu.kernels.size() > kMostKernelsKept) {
    const auto* const oldest = Oldest(gpu.kernels, [](const auto& entry) { return entry.second.hidden; });
    if (oldest == nullptr) return;
    gpu.kernels.erase(oldest->first);
  }
}

}  // namespace

const KernelTotals* FindKernel(const Totals& totals, int gpu, const std::string& name) {
  const auto of_gpu = totals.gpus.find(gpu);
  if (of_gpu == totals.gpus.end()) return nullptr;
  const auto found = of_gpu->second.kernels.find(name);
  return found == of_gpu->second.kernels.end() ? nullptr : &found->second;
}

void Merge(Totals& into, const Totals& from, const PageHistory& history) {
  into.folded += from.folded;
  into.merged += from.merged;
  for (const auto& [index, gpu] : from.gpus) {
    Totals::Gpu& target = into.gpus[index];
    target.uuid = gpu.uuid;
    for (const auto& [name, kernel] : gpu.kernels) {
      const std::string slot = KernelSlot(name, index, target, history, into.folded);
      KernelTotals& totals = target.kernels[slot];
      const KernelTotals before = totals;
      Add(totals, kernel, into.folded);
      if (slot != kOtherLabel) Describe(totals, kernel);
      totals.idle_seconds = kernel.idle_seconds;
      totals.hidden = false;
      if (history.held == nullptr || (!before.hidden && SeriesOf(before) == SeriesOf(totals))) continue;
      const bool is_held = IsHeld(history, index, slot);
      Hold(history.held->gpus[index].kernels[slot], before, totals, is_held);
    }
    ForgetOldest(target);
  }
}

void AgeKernels(Totals& totals, double seconds, double most) {
  for (auto& [index, gpu] : totals.gpus) {
    for (auto& [name, kernel] : gpu.kernels) kernel.idle_seconds += seconds;
    std::erase_if(gpu.kernels, [most](const auto& entry) { return entry.second.idle_seconds > most; });
  }
  std::erase_if(totals.gpus, [](const auto& entry) { return entry.second.kernels.empty(); });
}

bool HideOldest(Totals& totals, const PageHistory& history) {
  KernelTotals* oldest = nullptr;
  for (auto& [index, gpu] : totals.gpus) {
    auto* const found = MayBeHidden(index, gpu, history);
    if (found != nullptr && (oldest == nullptr || found->second.idle_seconds > oldest->idle_seconds)) {
      oldest = &found->second;
    }
  }
  if (oldest != nullptr) oldest->hidden = true;
  return oldest != nullptr;
}

}  // namespace fa_profile

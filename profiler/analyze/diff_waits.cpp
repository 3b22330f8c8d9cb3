#include "diff_waits.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "async_work.h"
#include "derive.h"

namespace fa_profile::analyze {
namespace {

/// Waits vary by this much of the warps' time between runs.
constexpr double kSameWait = 0.01;

/// Counts of waits in the same code differ by no more than this: which warp comes first may change from run to run.
constexpr double kSameTimes = 0.01;

using Waits = std::vector<const AsyncWait*>;

/// By phase and kind; for each, the places in the order of the source, or of the code.
using Groups = std::map<std::pair<std::string, std::string>, Waits>;

Groups GroupsOf(const ProfileEntry& entry) {
  Groups groups;
  for (const AsyncWait& wait : entry.phases->async_waits) groups[{wait.phase, wait.kind}].push_back(&wait);
  for (auto& [key, waits] : groups)
    std::ranges::stable_sort(waits, {}, [](const auto* wait) { return OrderOfPlace(wait->place); });
  return groups;
}

std::optional<double> WarpCycles(const ProfileEntry& entry) {
  const auto cycles = Find(entry.metrics, "warps_active_cycles");
  const bool measured = WasSampled(entry) && WereInstructionsCounted(entry);
  return measured && cycles && *cycles > 0.0 ? cycles : std::nullopt;
}

bool SameWaits(const AsyncWait& before, const AsyncWait& after) {
  return before.place == after.place && std::abs(after.waits - before.waits) <= kSameTimes * before.waits;
}

/// Pairs of the same place; null: the side lacks it.
std::vector<std::pair<const AsyncWait*, const AsyncWait*>> Pairs(const Waits& before, Waits after) {
  std::vector<std::pair<const AsyncWait*, const AsyncWait*>> pairs;
  const bool as_many = before.size() == after.size();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto same = as_many ? after.begin() + static_cast<std::ptrdiff_t>(i)
                              : std::ranges::find_if(after, [&](const AsyncWait* wait) {
                                  return wait != nullptr && SameWaits(*before[i], *wait);
                                });
    pairs.emplace_back(before[i], same == after.end() ? nullptr : std::exchange(*same, nullptr));
  }
  for (const AsyncWait* const wait : after) {
    if (wait != nullptr) pairs.emplace_back(nullptr, wait);
  }
  return pairs;
}

const char* JudgementOf(const WaitChange& change) {
  if (std::abs(change.cost_ratio) < kSameWait) return "same";
  if (!change.before) return "new";
  if (!change.after) return "gone";
  return change.cost_ratio > 0.0 ? "worse" : "better";
}

}  // namespace

bool WasSampled(const ProfileEntry& entry) { return entry.phases && entry.phases->samples > 0; }

bool WereInstructionsCounted(const ProfileEntry& entry) {
  return entry.phases && std::ranges::any_of(entry.phases->phases, [](const PhaseEntry& phase) {
           return phase.metrics.contains("phase_instructions");
         });
}

void CompareWaits(const ProfileEntry& before, const ProfileEntry& after, const WaitChange& names,
                  std::vector<WaitChange>& waits) {
  const auto cycles_before = WarpCycles(before);
  const auto cycles_after = WarpCycles(after);
  if (!cycles_before || !cycles_after) return;
  Groups groups_before = GroupsOf(before);
  Groups groups_after = GroupsOf(after);
  for (const auto& [key, found] : groups_after) groups_before[key];
  const auto first = static_cast<std::ptrdiff_t>(waits.size());
  for (const auto& [key, found] : groups_before) {
    for (const auto& [old, now] : Pairs(found, groups_after[key])) {
      WaitChange change = names;
      std::tie(change.phase, change.kind) = key;
      const auto side = [](const AsyncWait* wait, double warp_cycles) {
        if (wait == nullptr) return std::optional<WaitSide>();
        return std::optional(WaitSide{wait->place, wait->waits, wait->waited_cycles,
                                      wait->waits * wait->waited_cycles / warp_cycles, wait->copies});
      };
      change.before = side(old, *cycles_before);
      change.after = side(now, *cycles_after);
      change.cost_ratio = (change.after ? change.after->warps_ratio * *cycles_after / *cycles_before : 0.0) -
                          (change.before ? change.before->warps_ratio : 0.0);
      change.judgement = JudgementOf(change);
      waits.push_back(std::move(change));
    }
  }
  std::stable_sort(waits.begin() + first, waits.end(), [](const WaitChange& a, const WaitChange& b) {
    return std::abs(a.cost_ratio) > std::abs(b.cost_ratio);
  });
}

}  // namespace fa_profile::analyze

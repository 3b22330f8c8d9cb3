#include "diff_waits.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "derive.h"

namespace fa_profile::analyze {
namespace {

/// Waits differ by as much of the warps' time from run to run.
constexpr double kSameWait = 0.01;

using Waits = std::vector<const AsyncWait*>;

/// By phase and kind; of each the places in the order of the source, or of the code.
using Groups = std::map<std::pair<std::string, std::string>, Waits>;

/// "schedule.h:126": ("schedule.h", 126); "0x3a40": ("", 0x3a40).
std::pair<std::string, long> OrderOf(const AsyncWait& wait) {
  const std::size_t colon = wait.place.rfind(':');
  const bool line = colon != std::string::npos;
  const std::size_t begin = line ? colon + 1 : wait.place.starts_with("0x") ? 2 : 0;
  long number = 0;
  std::from_chars(wait.place.data() + begin, wait.place.data() + wait.place.size(), number, line ? 10 : 16);
  return {line ? wait.place.substr(0, colon) : std::string(), number};
}

Groups GroupsOf(const ProfileEntry& entry) {
  Groups groups;
  for (const AsyncWait& wait : entry.phases->async_waits) groups[{wait.phase, wait.kind}].push_back(&wait);
  for (auto& [key, waits] : groups)
    std::ranges::stable_sort(waits, {}, [](const auto* wait) { return OrderOf(*wait); });
  return groups;
}

std::optional<double> WarpCycles(const ProfileEntry& entry) {
  const auto cycles = Find(entry.metrics, "warps_active_cycles");
  return entry.phases && cycles && *cycles > 0.0 ? cycles : std::nullopt;
}

/// Pairs of the same place; null: the side lacks it.
std::vector<std::pair<const AsyncWait*, const AsyncWait*>> Pairs(Waits before, Waits after) {
  std::vector<std::pair<const AsyncWait*, const AsyncWait*>> pairs;
  for (const AsyncWait*& old : before) {
    const auto same = std::ranges::find_if(
        after, [&](const AsyncWait* wait) { return wait != nullptr && wait->place == old->place; });
    if (same == after.end()) continue;
    pairs.emplace_back(old, *same);
    old = *same = nullptr;
  }
  std::erase(before, nullptr);
  std::erase(after, nullptr);
  const bool moved = before.size() == after.size();
  for (std::size_t i = 0; i < before.size(); ++i) pairs.emplace_back(before[i], moved ? after[i] : nullptr);
  for (const AsyncWait* const wait : moved ? Waits() : after) pairs.emplace_back(nullptr, wait);
  return pairs;
}

const char* JudgementOf(const WaitChange& change) {
  if (std::abs(change.cost_ratio) < kSameWait) return "same";
  if (!change.before) return "new";
  if (!change.after) return "gone";
  return change.cost_ratio > 0.0 ? "worse" : "better";
}

}  // namespace

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
        return std::optional(
            WaitSide{wait->place, wait->waits, wait->waited_cycles, wait->waits * wait->waited_cycles / warp_cycles});
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

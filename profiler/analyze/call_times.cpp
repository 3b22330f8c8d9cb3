#include "call_times.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "divide_time.h"

namespace fa_profile::analyze {
namespace {

bool IsCorrect(const ProfileEntry& entry) { return !entry.verification || entry.verification->correct(); }

/// "name #2" or "#2": another range of the same part, which has no separate time.
bool IsRepeated(const ProfileEntry& entry) {
  const std::size_t sign = entry.part.rfind('#');
  if (sign == std::string::npos || sign + 1 == entry.part.size()) return false;
  const bool marked = sign == 0 || entry.part[sign - 1] == ' ';
  return marked && entry.part.find_first_not_of("0123456789", sign + 1) == std::string::npos;
}

std::int64_t SumOfLaunches(const ProfileEntry& entry) {
  double sum = 0.0;
  for (const Launch& launch : entry.launches) sum += static_cast<double>(LaunchNs(launch));
  return WholeNs(sum);
}

std::int64_t TimeOf(const ProfileEntry& entry) {
  return entry.timing ? WholeNs(entry.timing->median_ns) : SumOfLaunches(entry);
}

/// The values by which parts are compared: their medians, or if one has none the durations of their launches.
std::vector<std::int64_t> TimesOfParts(const std::vector<const ProfileEntry*>& parts) {
  const bool timed = std::ranges::all_of(parts, [](const ProfileEntry* part) { return part->timing.has_value(); });
  std::vector<std::int64_t> times;
  for (const ProfileEntry* const part : parts) times.push_back(timed ? TimeOf(*part) : SumOfLaunches(*part));
  return times;
}

std::vector<double> RatiosOf(const std::vector<std::int64_t>& times) {
  double sum = 0.0;
  for (const std::int64_t ns : times) sum += static_cast<double>(ns);
  std::vector<double> ratios;
  for (const std::int64_t ns : times) ratios.push_back(sum > 0.0 ? static_cast<double>(ns) / sum : 0.0);
  return ratios;
}

CallTimes MakeCall(const ProfileEntry* whole, const std::vector<const ProfileEntry*>& parts) {
  CallTimes call;
  call.first = whole != nullptr ? whole : parts.front();
  const std::vector<std::int64_t> times = TimesOfParts(parts);
  if (whole != nullptr) call.ns = TimeOf(*whole);
  if (call.ns == 0) {
    double sum = 0.0;
    for (const std::int64_t ns : times) sum += static_cast<double>(ns);
    call.ns = WholeNs(sum);
  }
  const std::vector<std::int64_t> portions = Portions(call.ns, RatiosOf(times));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (portions[i] > 0) call.parts.push_back({parts[i], portions[i]});
  }
  return call;
}

}  // namespace

std::vector<CallTimes> TimesOfCalls(const Profile& profile) {
  struct Entries {
    const ProfileEntry* whole = nullptr;
    std::vector<const ProfileEntry*> parts;
  };
  std::vector<std::int64_t> order;
  std::map<std::int64_t, Entries> cases;
  for (const ProfileEntry& entry : profile.entries) {
    if (!IsCorrect(entry) || IsRepeated(entry)) continue;
    const auto [place, is_new] = cases.try_emplace(entry.case_id);
    if (is_new) order.push_back(entry.case_id);
    if (entry.part.empty()) {
      place->second.whole = &entry;
    } else {
      place->second.parts.push_back(&entry);
    }
  }
  std::vector<CallTimes> calls;
  for (const std::int64_t case_id : order) {
    const Entries& entries = cases.at(case_id);
    CallTimes call = MakeCall(entries.whole, entries.parts);
    if (call.ns > 0) calls.push_back(std::move(call));
  }
  return calls;
}

std::vector<double> LaunchRatios(const std::vector<Launch>& launches) {
  std::vector<std::int64_t> times;
  for (const Launch& launch : launches) times.push_back(LaunchNs(launch));
  return RatiosOf(times);
}

std::int64_t LaunchNs(const Launch& launch) { return WholeNs(launch.start_ns, launch.end_ns); }

}  // namespace fa_profile::analyze

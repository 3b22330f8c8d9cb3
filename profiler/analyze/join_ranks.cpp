#include <algorithm>
#include <charconv>
#include <climits>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fa_profile/analyze.h"
#include "fa_profile/demangle.h"

namespace fa_profile::analyze {
namespace {

/// Sums by key, one column per rank, in the order in which keys first appeared.
class RankTable {
 public:
  using Place = std::list<RankTimes>::iterator;

  explicit RankTable(std::size_t ranks) : ranks_(ranks) {}

  /// A new row goes before `before`.
  Place Add(const std::string& key, const std::string& name, std::size_t rank, std::int64_t ns, Place before) {
    const auto [known, is_new] = places_.try_emplace(key);
    if (is_new) {
      known->second = rows_.insert(before, RankTimes{});
      known->second->name = name;
      known->second->total_ns.resize(ranks_, 0);
    }
    std::int64_t& sum = known->second->total_ns[rank];
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - sum;  // recordings may hold any number
    sum += std::clamp<std::int64_t>(ns, 0, room);
    return known->second;
  }
  Place end() { return rows_.end(); }

  std::vector<RankTimes> Rows() {
    for (RankTimes& row : rows_) {
      for (const std::int64_t ns : row.total_ns) row.mean_ns += static_cast<double>(ns) / static_cast<double>(ranks_);
      const auto least = std::ranges::min_element(row.total_ns);
      const auto most = std::ranges::max_element(row.total_ns);
      row.least = static_cast<std::size_t>(least - row.total_ns.begin());
      row.most = static_cast<std::size_t>(most - row.total_ns.begin());
      if (row.mean_ns > 0.0) {
        row.spread_ratio = (static_cast<double>(*most) - static_cast<double>(*least)) / row.mean_ns;
      }
    }
    return {std::move_iterator(rows_.begin()), std::move_iterator(rows_.end())};
  }

 private:
  std::size_t ranks_;
  std::list<RankTimes> rows_;
  std::map<std::string, Place> places_;
};

using NamedProfiles = std::vector<std::pair<std::string, Profile>>;

std::vector<RankTimes> JoinRanges(const NamedProfiles& profiles) {
  RankTable table(profiles.size());
  for (std::size_t rank = 0; rank < profiles.size(); ++rank) {
    std::vector<RankTable::Place> around;  // rows that may contain the next one, outermost first
    for (const NvtxUse& use : profiles[rank].second.program->nvtx) {
      around.resize(std::min(around.size(), static_cast<std::size_t>(std::max(use.level, 0))), table.end());
      // A range that only this rank has: after the others nested in the same one.
      RankTable::Place before = table.end();
      if (!around.empty()) {
        before = std::find_if(std::next(around.back()), table.end(),
                              [&](const RankTimes& row) { return row.level <= around.back()->level; });
      }
      const RankTable::Place row = table.Add(use.path, use.name, rank, use.gpu_ns, before);
      row->level = static_cast<int>(around.size());
      around.push_back(row);
    }
  }
  return table.Rows();
}

// "F.fap.part.1", "F.fap.part.2", ..., "F.fap.part", "F.fap" are one process that was killed and restarted: the name
// without the ending, and the place in this order.
std::pair<std::string, int> Attempt(const std::string& recording) {
  constexpr std::string_view kPart = ".part";
  const std::size_t at = recording.rfind(kPart);
  if (at == std::string::npos) return {recording, INT_MAX};
  const std::string number = recording.substr(at + kPart.size());
  if (number.empty()) return {recording.substr(0, at), INT_MAX - 1};
  int place = 0;
  const auto [end, error] = std::from_chars(number.data() + 1, number.data() + number.size(), place);
  const bool numbered = number[0] == '.' && error == std::errc() && end == number.data() + number.size();
  return numbered ? std::pair(recording.substr(0, at), place) : std::pair(recording, INT_MAX);
}

void NameNext(std::vector<fa_profile::Rank>& ranks) {
  for (fa_profile::Rank& rank : ranks) {
    const auto [name, place] = Attempt(rank.recording);
    int nearest = INT_MAX;
    for (const fa_profile::Rank& other : ranks) {
      const auto [other_name, other_place] = Attempt(other.recording);
      if (other_name != name || other_place <= place || other_place > nearest) continue;
      nearest = other_place;
      rank.next = other.recording;
    }
  }
}

}  // namespace

RankReport JoinRanks(const NamedProfiles& profiles) {
  RankReport report;
  RankTable kernels(profiles.size());
  RankTable all(profiles.size());
  for (std::size_t rank = 0; rank < profiles.size(); ++rank) {
    const auto& [recording, profile] = profiles[rank];
    report.ranks.push_back(
        {recording, profile.device, profile.session.complete, profile.session.created_at, "", *profile.program});
    report.ranks.back().use.memory.clear();
    report.ranks.back().use.nvtx.clear();
    all.Add("", "all kernels", rank, profile.program->kernel_ns, all.end());
    for (const ProfileEntry& entry : profile.entries) {
      if (!entry.use) continue;
      const std::string& name = entry.launches.empty() ? entry.kernel : entry.launches.front().kernel_name;
      kernels.Add(name, ShortName(name), rank, entry.use->total_ns, kernels.end());
    }
  }
  NameNext(report.ranks);
  report.all_kernels = all.Rows().front();
  report.kernels = kernels.Rows();
  std::ranges::stable_sort(report.kernels,
                           [](const RankTimes& a, const RankTimes& b) { return a.mean_ns > b.mean_ns; });
  report.ranges = JoinRanges(profiles);
  return report;
}

}  // namespace fa_profile::analyze

#pragma once

#include <span>
#include <string_view>

namespace fa_profile {

/// Stall reasons with the same remedies.
struct StallGroup {
  std::string_view id;     ///< label in Prometheus, key in JSON: "shared_memory"
  std::string_view title;  ///< in a legend: "shared memory, MUFU"
  std::string_view help;   ///< one line, no full stop
};

/// Which counters of the range profiler count a reason for a whole kernel.
enum class StallCounters {
  kNone,            ///< PC samples only
  kNamed,           ///< smsp__average_warps_issue_stalled_<reason>_per_issue_active.ratio
  kNamedAndTriage,  ///< also one that the single pass of set `phases` takes
};

/// Why a resident warp did not issue an instruction: one row of the table that the metric catalogue, Prometheus, the
/// reports and docs/metrics.md read.
struct StallReason {
  std::string_view reason;  ///< CUPTI's name: "long_scoreboard"
  std::string_view group;   ///< StallGroup::id
  StallCounters counters;
  std::string_view help;  ///< one sentence
};

/// The whole table; "selected" (the warp issued) is its last row.
std::span<const StallReason> StallReasons();

/// The groups, in the order of a legend.
std::span<const StallGroup> StallGroups();

/// The id of the reason's group; "other" for a reason that is not in the table, such as one from a later chip.
std::string_view StallGroupOf(std::string_view reason);

}  // namespace fa_profile

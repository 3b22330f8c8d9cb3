#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/profile_diff.h"

namespace fa_profile::python {

/// The contents of a column; absent cells are std::monostate, in any kind.
enum class Kind { kText, kNumber, kCount, kFlag };

using Cell = std::variant<std::monostate, std::string, double, std::int64_t, bool>;

struct Column {
  std::string name;
  Kind kind = Kind::kText;
  std::vector<Cell> cells;
};

/// Columns of equal length, with different names.
using Table = std::vector<Column>;

/// One row per entry: what it is, its times, its launches, then each metric of the catalogue that some entry has.
Table KernelTable(const Profile& profile);

/// One row per entry and phase: each metric of the phase catalogue that some phase has.
Table PhaseTableOf(const Profile& profile);

/// One row per entry and metric, and per phase and metric.
Table MetricTable(const Profile& profile);

/// One row per finding, an entry's ordered by weight.
Table FindingTable(const Profile& profile);

/// One row per sample of a metric over the time of a call.
Table TimelineTable(const Profile& profile);

/// One row per NVTX range of a watched program.
Table NvtxTable(const Profile& profile);

/// One row per layer of a watched program and kernel that it launches, most time first.
Table LayerTable(const Profile& profile);

/// One row per kind of copies and sets of a watched program.
Table MemoryTable(const Profile& profile);

/// One row per loss: what could not be measured.
Table LossTable(const Profile& profile);

/// One row per metric that is on both sides, or on one.
Table ChangeTable(const ProfileDiff& diff);

/// One row per place where warps wait for asynchronous work.
Table WaitChangeTable(const ProfileDiff& diff);

/// One row per finding that only one side has.
Table FindingChangeTable(const ProfileDiff& diff);

}  // namespace fa_profile::python

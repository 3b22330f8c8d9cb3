#pragma once

#include <vector>

#include "fa_profile/recording.h"
#include "read_rows.h"

namespace fa_profile::store {

/// Reads code and what its instructions did, from a file of version 2 at least, into `recording`, which has its cases.
/// `metrics` are the names of all metrics. Throws Error (damaged) for what no CodeWriter wrote.
void LoadCode(Connection& connection, const std::vector<Name>& metrics, Recording& recording);

/// All cubins, decompressed.
std::vector<Cubin> LoadCubins(Connection& connection);

}  // namespace fa_profile::store

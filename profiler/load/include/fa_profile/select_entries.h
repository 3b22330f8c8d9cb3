#pragma once

#include <set>
#include <string>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/shape.h"

namespace fa_profile::load {

/// Which kernels of a profile are wanted.
struct EntrySelection {
  std::string kernel_pattern{};  ///< regular expression; empty: all
  std::vector<Shape> shapes{};   ///< empty: all
  std::string nvtx_pattern{};    ///< regular expression of NVTX ranges of a program; empty: all kernels
  bool all_kernels = false;      ///< with nvtx_pattern: those outside the ranges too, and no range need match
};

/// Removes the entries that are not selected, and with a selection the losses of other calls. Returns the paths of the
/// NVTX ranges that match. Throws Error that names what there is where nothing matches. `path`: of the recording, for
/// errors.
std::set<std::string> SelectEntries(const std::string& path, const EntrySelection& selection, Profile& profile);

}  // namespace fa_profile::load

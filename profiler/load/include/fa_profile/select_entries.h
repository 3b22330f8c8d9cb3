#pragma once

#include <set>
#include <string>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/shape.h"

namespace fa_profile::load {

/// Selects kernels of a profile.
struct EntrySelection {
  std::string kernel_pattern{};  ///< regular expression; empty: all
  std::vector<Shape> shapes{};   ///< empty: all
  std::string nvtx_pattern{};    ///< regular expression for a program's NVTX ranges; empty: all kernels
  bool all_kernels = false;      ///< with nvtx_pattern: also those outside the ranges, and no range need match
};

/// Removes the entries that are not selected, and with a selection the losses of other calls and the NVTX ranges that
/// neither match, nor are nested in one that does or around it. Returns the paths of the matching NVTX ranges. Throws
/// Error, with what exists, if nothing matches. `path`: the recording's, for errors.
std::set<std::string> SelectEntries(const std::string& path, const EntrySelection& selection, Profile& profile);

}  // namespace fa_profile::load

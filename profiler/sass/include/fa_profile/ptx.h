#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile::sass {

/// A kernel (.entry) of PTX.
struct PtxKernel {
  std::string name;  ///< mangled; empty: functions that no kernel of this PTX calls
  /// FNV-1a of its text and that of the functions and variables it uses: not of comments, line information, layout,
  /// what nvcc numbers through a file, and the hash of the source's path in names.
  std::uint64_t hash = 0;
};

/// The kernels in PTX, by position. Any text is accepted: other text has none.
std::vector<PtxKernel> ReadPtx(std::string_view text);

}  // namespace fa_profile::sass

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/code_listing.h"
#include "fa_profile/recording.h"

namespace fa_profile::load {

inline constexpr std::size_t kMostSourceBytes = std::size_t{16} << 20U;  ///< a larger file is not read

/// Where to look for a recording's source.
struct SourceSearch {
  std::string root = ".";                                  ///< the folder below which files are read
  std::vector<std::pair<std::string, std::string>> moved;  ///< a folder in the recording, and its present location
  std::string recorded_at{};                               ///< UTC, ISO 8601, as in a Session
  std::map<std::string, std::string> sha256{};             ///< by file, as recorded
};

/// `from`, completed with what `recording` says about its files.
SourceSearch SearchFor(const Recording& recording, SourceSearch from);

/// A source file named in a recording, as this machine has it now: the file with that path, or with the end of that
/// path (for "/build/kernels/a.cu" also "kernels/a.cu" and "a.cu") if its content is what was recorded. A file whose
/// content is known to differ is not read: its lines would be wrong. Without a recorded hash, `changed` goes by the
/// time.
///
/// Never fails: `unread` gives the reason if the text is missing. A recording may come from anywhere and name any file.
/// So only files below `root` or, if they were moved, below that folder are opened, wherever ".." and symbolic links
/// lead, and only if their names end like those of sources (.cu, .cuh, .h, .cpp, .py, ...).
SourceText ReadSource(const std::string& file, const SourceSearch& search);

/// Files that were found but not read.
struct UnreadSources {
  std::vector<std::string> outside;  ///< not below the folder
  std::vector<std::string> differ;   ///< not what was recorded
};

/// Adds the text of each line whose file can be read, and names the files that were read and those that changed since.
/// Only the lines still in a listing are looked up.
UnreadSources AddSourceText(std::vector<SourceListing>& listings, const SourceSearch& search);

}  // namespace fa_profile::load

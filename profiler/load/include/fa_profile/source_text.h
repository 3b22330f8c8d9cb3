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

/// Where the source of a recording is looked for.
struct SourceSearch {
  std::string root = ".";                                  ///< the folder below which files are read
  std::vector<std::pair<std::string, std::string>> moved;  ///< a folder of the recording, and where it is now
  std::string recorded_at{};                               ///< UTC, ISO 8601, as a Session has it
  std::map<std::string, std::string> sha256{};             ///< by file, as recorded
};

/// `from`, with what `recording` says of its files.
SourceSearch SearchFor(const Recording& recording, SourceSearch from);

/// A source file that a recording names, as this machine has it now: the file of that path, or of the end of that path
/// (of "/build/kernels/a.cu" also "kernels/a.cu" and "a.cu") if its content is what was recorded. A file whose content
/// is known to differ is not read: its lines would be wrong. Without a recorded hash, `changed` tells by the time.
///
/// Never fails: `unread` gives the reason when the text is missing. A recording may come from anywhere and name any
/// file. So only files below `root` or, if they were moved, below that folder are opened, wherever ".." and symbolic
/// links lead, whose names end as those of sources do (.cu, .cuh, .h, .cpp, .py, ...).
SourceText ReadSource(const std::string& file, const SourceSearch& search);

/// Files that were found and not read.
struct UnreadSources {
  std::vector<std::string> outside;  ///< not below the folder
  std::vector<std::string> differ;   ///< not what was recorded
};

/// Adds the text of each line whose file can be read, and names the files that were read and that changed since. Of a
/// listing's lines, only those that it still has are looked for.
UnreadSources AddSourceText(std::vector<SourceListing>& listings, const SourceSearch& search);

}  // namespace fa_profile::load

#pragma once

#include <string>
#include <vector>

#include "fa_profile/code_listing.h"

namespace fa_profile::load {

/// A source file that a recording names, as this machine has it now. `recorded_at`: UTC, ISO 8601, as a Session has it.
///
/// Never fails: `unread` gives the reason when the text is missing. A recording may come from anywhere and name any
/// file. So only files below the folder `root` are opened, wherever ".." and symbolic links lead, whose names end as
/// those of sources do (.cu, .cuh, .h, .cpp, .py, ...), at most 16 MiB each.
SourceText ReadSource(const std::string& file, const std::string& recorded_at, const std::string& root);

/// Adds the text of each line whose file can be read, and names the files that were read and that changed since. Of a
/// listing's lines, only those that it still has are looked for. Returns the files that are there, but not below
/// `root`.
std::vector<std::string> AddSourceText(std::vector<SourceListing>& listings, const std::string& recorded_at,
                                       const std::string& root);

}  // namespace fa_profile::load

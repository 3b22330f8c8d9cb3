#pragma once

#include <string>

namespace fa_profile::gate {

/// The git checkout of the current folder: the nearest folder upwards with a .git; empty: none.
std::string FindRepository();

/// A source file's path relative to `repository`: the part below it; else the longest end of the path that names a file
/// in it (the same checkout elsewhere); else, and without a repository, the unchanged path.
std::string RelativeSource(const std::string& path, const std::string& repository);

}  // namespace fa_profile::gate

#pragma once

#include <string>

namespace fa_profile {

/// The git checkout that the current folder is in: the nearest folder upwards that has a .git; empty outside of any.
std::string FindRepository();

/// The path of a source file as the repository calls it: below `repository` when it lies there; else the longest end of
/// it that names a file there (the same checkout elsewhere); else, and without a repository, the path as it is.
std::string RelativeSource(const std::string& path, const std::string& repository);

}  // namespace fa_profile

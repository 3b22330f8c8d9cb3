#pragma once

#include <string_view>

namespace fa_profile {

/// The project's version, "0.2.0".
std::string_view Version();

/// The git commit this was built from, 12 hexadecimal digits, with "-dirty" when tracked files differed from it;
/// "unknown" when built outside a git checkout (from a tarball).
std::string_view Commit();

}  // namespace fa_profile

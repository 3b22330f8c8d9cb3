#pragma once

#include <optional>
#include <string>

namespace fa_profile {

/// Path of a file bundled with the program: in share/fa-profile/`installed` next to the installed program, or in
/// `source` of the source tree that it was built from. Absent: it is missing.
std::optional<std::string> FindBundled(const std::string& installed, const std::string& source,
                                       const std::string& name);

}  // namespace fa_profile

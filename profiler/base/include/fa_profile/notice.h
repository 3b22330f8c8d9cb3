#pragma once

#include <string_view>

namespace fa_profile {

/// A line on stderr, made Printable(): texts of recordings, names of files and replies of servers may hold bytes that a
/// terminal obeys, and line ends that would forge a message. What else goes to stderr is the log and the progress bar.
void PrintToStderr(std::string_view line);

/// The same with "fa-profile: " before it: a warning, or what was done.
void Notice(std::string_view text);

}  // namespace fa_profile

#pragma once

#include <exception>
#include <string_view>

namespace fa_profile {

/// A line on stderr, made Printable(): texts of recordings, names of files and replies of servers may hold bytes that a
/// terminal obeys, and line ends that would forge a message. What else goes to stderr is the log and the progress bar.
void PrintToStderr(std::string_view line) noexcept;

/// "fa-profile: text": a warning, or what was done.
void Notice(std::string_view text) noexcept;

/// "fa-profile: text: what is wrong", and below it an Error's hint.
void NoticeOf(std::string_view text, const std::exception& error) noexcept;

}  // namespace fa_profile

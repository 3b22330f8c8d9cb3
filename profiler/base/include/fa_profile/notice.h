#pragma once

#include <exception>
#include <string_view>

namespace fa_profile {

/// A line on stderr, made Printable(): texts from recordings, file names and replies of servers may contain bytes that
/// a terminal interprets, and line ends that would forge a message. The only other output on stderr is the log and the
/// progress bar. Nothing is written when descriptor 2 has become something else, such as the GPU.
void PrintToStderr(std::string_view line) noexcept;

/// "fa-profile: text": a warning, or what was done.
void Notice(std::string_view text) noexcept;

/// "fa-profile: text: what is wrong", followed by an Error's hint.
void NoticeOf(std::string_view text, const std::exception& error) noexcept;

}  // namespace fa_profile

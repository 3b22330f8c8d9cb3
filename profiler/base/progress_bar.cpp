#include "fa_profile/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "fa_profile/notice.h"
#include "fa_profile/text.h"

namespace fa_profile {

// A dumb terminal cannot erase a line.
ProgressBar::ProgressBar(Elsewhere elsewhere)
    : terminal_(isatty(STDERR_FILENO) != 0 &&
                std::string_view(std::getenv("TERM") == nullptr ? "" : std::getenv("TERM")) != "dumb"),
      lines_(!terminal_ && elsewhere == Elsewhere::kLines) {}

ProgressBar::~ProgressBar() { Clear(); }

void ProgressBar::Show(const std::string& stage, const std::string& subject, int done, int total) {
  const bool counted = total > 0;
  if (!counted && done <= 0) return;
  constexpr std::chrono::seconds kBetweenLines{30};
  if (const auto now = std::chrono::steady_clock::now(); lines_ && now - last_line_ >= kBetweenLines) {
    last_line_ = now;
    Notice(fmt::format("{} {}: {}", stage, subject,
                       counted ? fmt::format("{} of {}", done, total) : fmt::to_string(done)));
  }
  if (!terminal_) return;
  constexpr int kWidth = 30;
  const int filled = counted ? std::clamp(kWidth * done / total, 0, kWidth) : 0;
  std::string line =
      fmt::format("\r\x1b[K{:<9} [{}{}] {}/{} {}", stage, std::string(static_cast<std::size_t>(filled), '#'),
                  std::string(static_cast<std::size_t>(kWidth - filled), ' '), done,
                  counted ? fmt::to_string(total) : "?", Printable(subject));
  constexpr std::size_t kMostColumns = 96;
  line = Truncate(line, kMostColumns);
  (void)std::fputs(line.c_str(), stderr);
  (void)std::fflush(stderr);
  shown_ = true;
}

void ProgressBar::Clear() {
  if (!shown_) return;
  (void)std::fputs("\r\x1b[K", stderr);
  (void)std::fflush(stderr);
  shown_ = false;
}

}  // namespace fa_profile

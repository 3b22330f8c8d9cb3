#include "fa_profile/notice.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/quiet_writes.h"
#include "fa_profile/text.h"

namespace fa_profile {
namespace {

struct Stderr {
  struct stat file {};
  bool open = false;
};

Stderr StderrNow() noexcept {
  Stderr now;
  now.open = fstat(STDERR_FILENO, &now.file) == 0;
  return now;
}

const Stderr kAtStart = StderrNow();

// A program may close it, and what is opened next gets its number: the GPU, or a pipe between the driver's threads.
bool StderrIsForText() noexcept {
  const Stderr now = StderrNow();
  const mode_t mode = now.file.st_mode;
  if (!now.open || S_ISREG(mode)) return now.open;
  if (S_ISCHR(mode))
    return now.file.st_rdev == makedev(1, 3) || isatty(STDERR_FILENO) == 1;  // /dev/null, or a terminal
  const bool as_at_start =
      kAtStart.open && now.file.st_dev == kAtStart.file.st_dev && now.file.st_ino == kAtStart.file.st_ino;
  return as_at_start && (S_ISFIFO(mode) || S_ISSOCK(mode));
}

}  // namespace

void PrintToStderr(std::string_view line) noexcept {
  const QuietWrites quiet;
  if (!StderrIsForText()) return;
  try {
    std::cerr << Printable(line) + '\n';
  } catch (...) {  // out of memory: there is nowhere to report it
  }
}

void Notice(std::string_view text) noexcept {
  try {
    PrintToStderr(std::string("fa-profile: ").append(text));
  } catch (...) {
  }
}

void NoticeOf(std::string_view text, const std::exception& error) noexcept {
  try {
    const auto* const ours = dynamic_cast<const Error*>(&error);
    Notice(std::string(text).append(": ").append(ours == nullptr ? error.what() : ours->Headline()));
    if (ours != nullptr && !ours->hint().empty()) PrintToStderr("  hint: " + ours->hint());
  } catch (...) {
  }
}

}  // namespace fa_profile

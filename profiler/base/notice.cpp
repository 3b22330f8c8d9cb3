#include "fa_profile/notice.h"

#include <iostream>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/quiet_writes.h"
#include "fa_profile/text.h"

namespace fa_profile {

void PrintToStderr(std::string_view line) noexcept {
  const QuietWrites quiet;
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

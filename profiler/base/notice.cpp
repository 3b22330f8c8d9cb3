#include "fa_profile/notice.h"

#include <iostream>
#include <string>

#include "fa_profile/text.h"

namespace fa_profile {

void PrintToStderr(std::string_view line) { std::cerr << Printable(line) + '\n'; }

void Notice(std::string_view text) { PrintToStderr("fa-profile: " + std::string(text)); }

}  // namespace fa_profile

#pragma once

#include <string>

#include "fa_profile/profile.h"
#include "fa_profile/text_page.h"

namespace fa_profile::exporters {

/// Texts about a kernel shared by several reports.

bool IsWrong(const ProfileEntry& entry);

/// "99 of 100 draws, worst error 17.5 of the tolerance, 3 NaN or infinite; c[3,17]: 0.5, expected 1.25"
std::string VerificationText(const TextPage& page, const Verification& verification);

/// "long_scoreb. 30%": the reason that most warp-cycles wait for; "n/a" if not every reason was counted.
std::string TopStall(const ProfileEntry& entry);

/// For "better", "worse" and the other judgements of a difference.
Style StyleOf(const std::string& judgement);

}  // namespace fa_profile::exporters

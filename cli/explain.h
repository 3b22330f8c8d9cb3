#pragma once

#include <ostream>
#include <string>

#include "fa_profile/findings.h"
#include "fa_profile/profile.h"

namespace fa_profile {

/// Throws Error, with near matches, for what is no finding's id.
void RequireFinding(const std::string& id);

/// A row of a findings' table, as a person reads it. `width`: columns.
void ExplainRule(std::ostream& out, const FindingRule& rule, int width);

/// The whole story of a finding, and where it was found in `profile`. `width`: columns.
void Explain(std::ostream& out, const std::string& id, const Profile& profile, int width);

}  // namespace fa_profile

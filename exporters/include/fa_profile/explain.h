#pragma once

#include <iosfwd>
#include <string>

#include "fa_profile/finding_rule.h"
#include "fa_profile/profile.h"
#include "fa_profile/report.h"

namespace fa_profile::exporters {

/// Everything about one kind of finding.
void WriteExplanation(std::ostream& out, const FindingRule& rule, const ReportOptions& options = {});

/// The same, plus where it occurs in `profile`.
void WriteExplanation(std::ostream& out, const FindingRule& rule, const Profile& profile,
                      const ReportOptions& options = {});

/// What `profile` says about the losses of one kind; false: it has none.
bool WriteLosses(std::ostream& out, const std::string& kind, const Profile& profile, const ReportOptions& options = {});

}  // namespace fa_profile::exporters

#pragma once

#include <iosfwd>
#include <string>

#include "fa_profile/analyze.h"
#include "fa_profile/profile.h"

namespace fa_profile {

struct ReportOptions {
  int width = 100;         ///< columns; no line is longer
  bool color = false;      ///< ANSI colours: only for a terminal
  bool details = true;     ///< per-kernel blocks after the summary table
};

/// The terminal report: which GPU, driver and date; one summary table; per kernel its metrics, stalls, occupancy and
/// launches; what is missing. Strings from a recording are printed with control characters escaped.
void WriteTextReport(std::ostream& out, const Profile& profile, const ReportOptions& options = {});

/// docs/report.schema.json describes it. Absent values are null.
void WriteJsonReport(std::ostream& out, const Profile& profile);

/// One row per entry and metric: kernel,part,batch,num_heads,seqlen,head_dim,causal,metric,value,unit. RFC 4180.
void WriteCsvReport(std::ostream& out, const Profile& profile);

void WriteTextDiff(std::ostream& out, const ProfileDiff& diff, const Profile& before, const Profile& after,
                   const ReportOptions& options = {});
void WriteJsonDiff(std::ostream& out, const ProfileDiff& diff);

}  // namespace fa_profile

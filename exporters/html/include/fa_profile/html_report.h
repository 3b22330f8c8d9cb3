#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "fa_profile/code_listing.h"
#include "fa_profile/profile.h"
#include "fa_profile/profile_diff.h"
#include "fa_profile/rank_report.h"
#include "fa_profile/report.h"

/// Pages for a browser: one file each, which loads nothing (docs/html-report.md). A page holds the documents that the
/// JSON writers write, and the program of exporters/html/view/ that draws them. Its content security policy lets
/// nothing else run. Strings of a recording are data in it: the program writes them as text alone.
namespace fa_profile::exporters {

/// The code of a report's kernels. Line i is of instruction listing i; `lines` has no instructions.
struct ReportCode {
  std::vector<InstructionListing> instructions;
  std::vector<SourceListing> lines;
  /// Packed, of all functions: a page opens at once only while it is small.
  std::size_t most_bytes = 16'000'000;
};

/// The report with its code. The code of a function is packed, and unpacked when it is looked at. What does not fit
/// into `most_bytes` is left out, and the page says where.
void WriteHtmlReport(std::ostream& out, const Profile& profile, const ReportCode& code,
                     const ReportOptions& options = {});

/// What changed, and the two reports without code.
void WriteHtmlDiff(std::ostream& out, const ProfileDiff& diff, const Profile& before, const Profile& after,
                   const ReportOptions& options = {});

/// Recordings of one program side by side.
void WriteHtmlRanks(std::ostream& out, const RankReport& report, const ReportOptions& options = {});

/// The page of a gate's result. `gate_json`: as docs/gate.schema.json describes it.
std::string HtmlGate(const std::string& gate_json);

}  // namespace fa_profile::exporters

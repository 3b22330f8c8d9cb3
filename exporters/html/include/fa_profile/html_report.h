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

/// Pages for a browser: one file each, which loads nothing (docs/html-report.md). A page contains the documents that
/// the JSON writers write, and the program in exporters/html/view/ that draws them. Its content security policy lets
/// nothing else run. Strings from a recording are data in it: the program only writes them as text.
namespace fa_profile::exporters {

/// The code of a report's kernels. Line listing i belongs to instruction listing i; `lines` has no instructions.
struct ReportCode {
  std::vector<InstructionListing> instructions;
  std::vector<SourceListing> lines;
  /// For all functions, packed: a page only opens at once while it is small.
  std::size_t most_bytes = 16'000'000;
};

/// The report with its code. A function's code is packed, and unpacked when it is opened. What does not fit into
/// `most_bytes` is left out, and the page says where.
void WriteHtmlReport(std::ostream& out, const Profile& profile, const ReportCode& code,
                     const ReportOptions& options = {});

/// What changed, and the two reports without code.
void WriteHtmlDiff(std::ostream& out, const ProfileDiff& diff, const Profile& before, const Profile& after,
                   const ReportOptions& options = {});

/// Recordings of one program next to each other.
void WriteHtmlRanks(std::ostream& out, const RankReport& report, const ReportOptions& options = {});

/// The page for a gate's result. `gate_json`: described by docs/gate.schema.json.
std::string HtmlGate(const std::string& gate_json);

}  // namespace fa_profile::exporters

#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "fa_profile/code_listing.h"
#include "fa_profile/report.h"

namespace fa_profile::exporters {

/// A line per instruction, by address: samples, phase and why, stalls, counts, source line, machine code. Columns that
/// are empty in a listing are left out; a column with the same value in all lines is named above the table.
void WriteTextInstructions(std::ostream& out, const std::vector<InstructionListing>& listings,
                           const ReportOptions& options = {});
/// docs/report.schema.json, definition `instructions`, describes it. Absent values are null.
void WriteJsonInstructions(std::ostream& out, const std::vector<InstructionListing>& listings,
                           const ReportOptions& options = {});
/// A row per instruction. `stalls` are "wait:0.61;barrier:0.2", from the instruction's own samples. RFC 4180.
void WriteCsvInstructions(std::ostream& out, const std::vector<InstructionListing>& listings,
                          const ReportOptions& options = {});

/// A line per source line, hottest first; for code without lines, per instruction.
void WriteTextSource(std::ostream& out, const std::vector<SourceListing>& listings, const ReportOptions& options = {});
/// docs/report.schema.json, definition `source`, describes it.
void WriteJsonSource(std::ostream& out, const std::vector<SourceListing>& listings, const ReportOptions& options = {});
/// A row per source line, or per instruction.
void WriteCsvSource(std::ostream& out, const std::vector<SourceListing>& listings, const ReportOptions& options = {});

}  // namespace fa_profile::exporters

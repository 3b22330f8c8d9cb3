#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "fa_profile/code_listing.h"
#include "fa_profile/report.h"

namespace fa_profile::exporters {

/// A line an instruction, by address: samples, phase and why, stalls, counts, source line, machine code. Columns that
/// are empty in a listing are left out; a column with one value in all its lines is named above the table.
void WriteTextInstructions(std::ostream& out, const std::vector<InstructionListing>& listings,
                           const ReportOptions& options = {});
/// docs/report.schema.json, definition `instructions`, describes it. Absent values are null.
void WriteJsonInstructions(std::ostream& out, const std::vector<InstructionListing>& listings,
                           const ReportOptions& options = {});
/// A row an instruction. `stalls` are "wait:0.61;barrier:0.2", of the instruction's own samples. RFC 4180.
void WriteCsvInstructions(std::ostream& out, const std::vector<InstructionListing>& listings,
                          const ReportOptions& options = {});

/// A line a source line, hottest first; of code without lines a line an instruction.
void WriteTextSource(std::ostream& out, const std::vector<SourceListing>& listings, const ReportOptions& options = {});
/// docs/report.schema.json, definition `source`, describes it.
void WriteJsonSource(std::ostream& out, const std::vector<SourceListing>& listings, const ReportOptions& options = {});
/// A row a source line, or an instruction.
void WriteCsvSource(std::ostream& out, const std::vector<SourceListing>& listings, const ReportOptions& options = {});

}  // namespace fa_profile::exporters

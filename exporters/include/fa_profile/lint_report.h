#pragma once

#include <iosfwd>
#include <vector>

#include "fa_profile/kernel_lint.h"
#include "fa_profile/report.h"

namespace fa_profile::exporters {

/// One block per kernel: what the compiler fixed, its code by phase and loop depth, findings with their cures. Strings
/// of a cubin are printed escaped, as a recording's are. Then what was found, and each cubin that was not read.
void WriteTextLint(std::ostream& out, const FileLint& lint, const ReportOptions& options = {});

/// docs/lint.schema.json describes it. Absent values are null.
void WriteJsonLint(std::ostream& out, const FileLint& lint, const ReportOptions& options = {});

/// One row per kernel. Absent values are empty. It has no place for what was not read.
void WriteCsvLint(std::ostream& out, const FileLint& lint, const ReportOptions& options = {});

/// A package's attention kernels: one table, in JSON and CSV as above; then what was refused and what was skipped.
void WriteTextPackage(std::ostream& out, const PackageLint& package, const ReportOptions& options = {});
void WriteJsonPackage(std::ostream& out, const PackageLint& package, const ReportOptions& options = {});
void WriteCsvPackage(std::ostream& out, const PackageLint& package, const ReportOptions& options = {});

}  // namespace fa_profile::exporters

#pragma once

#include <iosfwd>
#include <vector>

#include "fa_profile/kernel_lint.h"
#include "fa_profile/report.h"

namespace fa_profile::exporters {

/// One block per kernel: what the compiler fixed, its code by phase and loop depth, findings with their cures. Strings
/// of a cubin are printed escaped, as a recording's are.
void WriteTextLint(std::ostream& out, const std::vector<KernelLint>& kernels, const ReportOptions& options = {});

/// docs/lint.schema.json describes it. Absent values are null.
void WriteJsonLint(std::ostream& out, const std::vector<KernelLint>& kernels, const ReportOptions& options = {});

}  // namespace fa_profile::exporters

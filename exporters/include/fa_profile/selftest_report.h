#pragma once

#include <iosfwd>

#include "fa_profile/report.h"
#include "fa_profile/selftest.h"

namespace fa_profile::exporters {

/// One line per check below its kernel: expected, measured, difference and pass or FAIL; then the counters known to
/// lie, and "N of M checks passed".
void WriteTextSelftest(std::ostream& out, const SelftestReport& report, const ReportOptions& options = {});

/// docs/cli.md describes it. Absent values are null.
void WriteJsonSelftest(std::ostream& out, const SelftestReport& report, const ReportOptions& options = {});

}  // namespace fa_profile::exporters

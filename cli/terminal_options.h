#pragma once

#include "fa_profile/report.h"

namespace fa_profile::cli {

/// How a report looks on standard output: as wide as the terminal (60 to 100 columns), in colours on a terminal unless
/// NO_COLOR has a value or TERM is dumb.
exporters::ReportOptions TerminalOptions();

}  // namespace fa_profile::cli

#pragma once

#include "fa_profile/report.h"

namespace fa_profile::cli {

/// How a report looks on standard output: as wide as the terminal (60 to `widest` columns), in colours on a terminal
/// unless NO_COLOR has a value or TERM is dumb. Without a terminal it is `widest` columns wide.
exporters::ReportOptions TerminalOptions(int widest = 100);

}  // namespace fa_profile::cli

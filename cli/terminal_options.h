#pragma once

#include <string>

#include "fa_profile/report.h"

namespace fa_profile::cli {

/// How a report looks on standard output: as wide as the terminal (60 to `widest` columns), in colours on a terminal
/// unless NO_COLOR has a value or TERM is dumb. Without a terminal it is `widest` columns wide. `bars`: "always",
/// "never", or "auto": on a terminal that is not dumb and shows UTF-8. A page with bars is 12 columns wider, for the
/// bars.
exporters::ReportOptions TerminalOptions(int widest = 100, const std::string& bars = "never");

/// Whether std::cout goes to a terminal.
bool PrintsToTerminal();

/// Whether the locale's characters are UTF-8: LC_ALL, LC_CTYPE or LANG, the first that has a value.
bool IsUtf8Locale();

}  // namespace fa_profile::cli

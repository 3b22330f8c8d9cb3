#include "terminal_options.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "print_to.h"

namespace fa_profile::cli {

exporters::ReportOptions TerminalOptions(int widest) {
  exporters::ReportOptions options;
  options.width = widest;
  winsize size{};
  constexpr int kNarrowest = 60;
  if (PrintsToTerminal() && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = std::clamp<int>(size.ws_col, kNarrowest, options.width);
  }
  const auto is = [](const char* name) {
    return std::string_view(std::getenv(name) == nullptr ? "" : std::getenv(name));
  };
  options.color = PrintsToTerminal() && is("NO_COLOR").empty() && is("TERM") != "dumb";
  return options;
}

}  // namespace fa_profile::cli

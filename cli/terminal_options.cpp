#include "terminal_options.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string_view>

namespace fa_profile::cli {
namespace {

std::string_view Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

exporters::Bars BarsFor(const std::string& when, bool is_terminal) {
  if (when == "never" || (when == "auto" && !(is_terminal && IsUtf8Locale()))) return exporters::Bars::kNone;
  return IsUtf8Locale() ? exporters::Bars::kBlocks : exporters::Bars::kAscii;
}

}  // namespace

bool PrintsToTerminal() {
  return dynamic_cast<std::stringbuf*>(std::cout.rdbuf()) == nullptr && isatty(STDOUT_FILENO) != 0;
}

bool IsUtf8Locale() {
  std::string name;
  for (const char* const variable : {"LANG", "LC_CTYPE", "LC_ALL"}) {  // the last one with a value counts
    if (!Variable(variable).empty()) name = Variable(variable);
  }
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.find("utf-8") != std::string::npos || name.find("utf8") != std::string::npos;
}

exporters::ReportOptions TerminalOptions(int widest, const std::string& bars) {
  constexpr int kNarrowest = 60;
  constexpr int kForBars = 12;
  const bool is_terminal = PrintsToTerminal();
  const bool is_dumb = Variable("TERM") == "dumb";
  exporters::ReportOptions options;
  options.bars = BarsFor(bars, is_terminal && !is_dumb);
  options.width = options.bars == exporters::Bars::kNone ? widest : widest + kForBars;
  winsize size{};
  if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = std::clamp<int>(size.ws_col, kNarrowest, options.width);
  }
  options.color = is_terminal && Variable("NO_COLOR").empty() && !is_dumb;
  return options;
}

}  // namespace fa_profile::cli

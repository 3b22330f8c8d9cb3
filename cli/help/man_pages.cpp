#include "fa_profile/man_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <sstream>

#include "fa_profile/edit_text.h"
#include "fa_profile/error.h"
#include "fa_profile/help_text.h"
#include "fa_profile/utc_time.h"
#include "fa_profile/utf8.h"

namespace fa_profile::help {
namespace {

/// Escapes a character that roff would interpret, or print as another.
std::string RoffCharacter(std::uint32_t code_point) {
  switch (code_point) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '~':
      return "\\(ti";
    case '^':
      return "\\(ha";
    case '`':
      return "\\(ga";
    case '\'':
      return "\\(aq";
    default:
      return code_point > 0x7E ? fmt::format("\\[u{:04X}]", code_point) : std::string(1, static_cast<char>(code_point));
  }
}

/// Escapes text for roff, in ASCII. A line that begins with a dot would be a command.
std::string Roff(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const auto [code_point, bytes] = DecodeUtf8(text);
    if (code_point == '.' && (safe.empty() || safe.back() == '\n')) safe += "\\&";
    safe += RoffCharacter(bytes == 0 ? '?' : code_point);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return safe;
}

std::string Bold(std::string_view text) { return "\\fB" + Roff(text) + "\\fR"; }
std::string Italic(std::string_view text) { return "\\fI" + Roff(text) + "\\fR"; }

/// "fa-profile-gate-selftest"
std::string PageName(const CLI::App& command) { return Replaced(FullName(command), " ", "-"); }

/// The date of a package's sources if they give one, so that the same sources make the same pages.
std::string Date() {
  const char* const epoch = std::getenv("SOURCE_DATE_EPOCH");
  if (epoch == nullptr || *epoch == '\0') return UtcNow("%Y-%m-%d");
  char* end = nullptr;
  const std::time_t seconds = std::strtoll(epoch, &end, 10);
  std::tm time{};
  if (*end != '\0' || gmtime_r(&seconds, &time) == nullptr) {
    throw Error("SOURCE_DATE_EPOCH is not a number of seconds",
                "unset it, or set it as git log -1 --format=%ct prints it");
  }
  return fmt::format("{:04}-{:02}-{:02}", time.tm_year + 1900, time.tm_mon + 1, time.tm_mday);
}

std::string Synopsis(const CLI::App& command) {
  std::string text = ".B " + Roff(FullName(command)) + "\n[" + Italic("options") + "]";
  for (const CLI::Option* const option : ShownOptions(command)) {
    if (!option->get_positional()) continue;
    std::string name = Italic(option->get_name()) + (IsList(*option) ? "..." : "");
    text += " " + (option->get_required() ? name : "[" + name + "]");
  }
  if (!ShownCommands(command).empty())
    text += "\n.br\n.B " + Roff(FullName(command)) + "\n" + Italic("command") + " [" + Italic("options") + "]";
  return text + "\n";
}

/// A paragraph with a tag: "--warmup N", then the help text.
std::string OptionEntry(const HelpText& help, const CLI::Option& option) {
  std::string names;
  if (option.get_positional()) names = Italic(option.get_name());
  for (const std::string& name : NamesOf(option)) names += (names.empty() ? "" : ", ") + Bold(name);
  const std::string value = option.get_positional() ? "" : help.make_option_opts(&option);
  return ".TP\n" + names + (value.size() < 2 ? "" : " " + Italic(value.substr(1))) + "\n" +
         Roff(help.make_option_desc(&option)) + "\n";
}

std::string Options(const CLI::App& command) {
  const HelpText help;
  std::string text;
  std::string group = "Options";
  std::string arguments;
  for (const CLI::Option* const option : ShownOptions(command)) {
    if (option->get_positional()) {
      arguments += OptionEntry(help, *option);
      continue;
    }
    if (option->get_group() != group) text += ".SS " + Roff(option->get_group()) + "\n";
    group = option->get_group();
    text += OptionEntry(help, *option);
  }
  return (arguments.empty() ? "" : ".SH ARGUMENTS\n" + arguments) + ".SH OPTIONS\n" + text;
}

std::string CommandEntries(const CLI::App& command) {
  std::string text;
  for (const CLI::App* const each : ShownCommands(command)) {
    text += ".TP\n.BR " + Roff(PageName(*each)) + " (1)\n" + Roff(each->get_description()) + "\n";
  }
  return text.empty() ? "" : ".SH COMMANDS\n" + text;
}

std::string Notes(const CLI::App& app) {
  std::string text;
  std::istringstream lines(app.get_footer());
  for (std::string line; std::getline(lines, line);) text += (text.empty() ? "" : ".br\n") + Roff(line) + "\n";
  return text.empty() ? "" : ".SH NOTES\n" + text;
}

std::string SeeAlso(const CLI::App& command) {
  if (command.get_parent() == nullptr) return "";
  return ".SH SEE ALSO\n.BR " + Roff(PageName(*command.get_parent())) + " (1)\n";
}

std::string Sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + (text.ends_with('?') ? "" : ".");
}

std::string PageText(const CLI::App& command, const std::string& program, std::string_view version) {
  const std::string name = PageName(command);
  // The main app's description begins with its name.
  std::string what = command.get_description();
  if (what.starts_with(name + ": ")) what.erase(0, name.size() + 2);
  return ".\\\" Written by " + program + " man.\n.TH " + Roff(Upper(name)) + " 1 " + Date() + " \"" +
         Roff(fmt::format("{} {}", program, version)) + "\" \"User Commands\"\n.SH NAME\n" + Roff(name) + " \\- " +
         Roff(what) + "\n.SH SYNOPSIS\n" + Synopsis(command) + ".SH DESCRIPTION\n" + Roff(Sentence(what)) + "\n" +
         Options(command) + CommandEntries(command) + Notes(command) + SeeAlso(command);
}

}  // namespace

std::vector<ManPage> ManPages(const CLI::App& app, std::string_view version) {
  std::vector<ManPage> pages;
  for (const CLI::App* const command : ShownApps(app)) {
    pages.push_back({PageName(*command), PageText(*command, app.get_name(), version)});
  }
  return pages;
}

}  // namespace fa_profile::help

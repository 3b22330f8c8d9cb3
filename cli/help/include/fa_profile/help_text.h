#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace fa_profile::help {

/// The numbers that an option takes.
struct NumberRange {
  bool is_whole = true;
  std::string text;  ///< "1 to 10000"
};

/// Absent: the option has no CLI::Range check.
std::optional<NumberRange> RangeOf(const CLI::Option& option);

/// The words that an option accepts; empty: it is not limited to a list.
std::vector<std::string> ChoicesOf(const CLI::Option& option);

/// "FILE", "N", "REGEX": CLI11's type without what checks add to it.
std::string TypeOf(const CLI::Option& option);

/// "-o", "--output"; none for a positional argument.
std::vector<std::string> NamesOf(const CLI::Option& option);

/// Whether it takes several values after one name.
bool IsList(const CLI::Option& option);

/// The main app and every command that help lists, each before its subcommands.
std::vector<const CLI::App*> ShownApps(const CLI::App& app);
/// Commands and options that help lists, in its order.
std::vector<const CLI::App*> ShownCommands(const CLI::App& app);
std::vector<const CLI::Option*> ShownOptions(const CLI::App& app);

/// The main app, then each command that was given: gate, selftest.
std::vector<const CLI::App*> GivenCommands(const CLI::App& app);

/// "fa-profile gate selftest"
std::string FullName(const CLI::App& command);
/// "gate selftest"; empty: the main app.
std::string PathOf(const CLI::App& command);

/// Help that a reader can skim: `--warmup N`, then what the option does, what it accepts and its default. CLI11 alone
/// prints `--warmup INT:INT in [0 - 1000]=5`.
class HelpText final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace fa_profile::help

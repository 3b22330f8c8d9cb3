#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace fa_profile::cli {

/// The numbers that an option takes.
struct NumberRange {
  bool is_whole = true;
  std::string text;  ///< "1 to 10000"
};

/// Absent: the option has no CLI::Range check.
std::optional<NumberRange> RangeOf(const CLI::Option& option);

/// Help as a reader skims it: `--warmup N`, then what the option does, what it accepts and its default. CLI11 alone
/// prints `--warmup INT:INT in [0 - 1000]=5`.
class HelpText final : public CLI::Formatter {
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace fa_profile::cli

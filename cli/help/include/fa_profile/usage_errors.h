#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/error.h"

namespace fa_profile::help {

/// What a program adds to usage errors.
struct ProgramUsage {
  /// The error for a word that `command` does not accept; absent: the general one.
  std::function<std::optional<Error>(const CLI::App& command, const std::string& word)> unknown_word;
  std::vector<std::string> other_commands;  ///< not in `app`, but suggested as near matches
  /// Precedes the list of commands, for a word without a near match: "to measure a program: ...; ".
  std::function<std::string(const std::string& word)> alternative;
  /// Options of the main app that also affect the commands that have them.
  std::vector<std::string> shared_options;
};

/// The error for a wrong command line: it names the argument and the command, what it means, a near match, and what to
/// do. `app` is the main one, after its parse() threw `error`.
Error UsageError(const CLI::App& app, const CLI::ParseError& error, const ProgramUsage& program);

/// Throws Error for what CLI11 lets pass: an option given an empty value (an unset variable must not mean the default),
/// an option of the main job in front of a command, "-5" as an argument.
void CheckUsage(const CLI::App& app, const ProgramUsage& program);

/// "text, json or csv"
std::string Listed(const std::vector<std::string>& words);

/// A value that must be one of these, spelled exactly; the error names them and a near match.
CLI::Validator OneOf(const std::vector<std::string>& choices);

}  // namespace fa_profile::help

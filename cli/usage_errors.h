#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "fa_profile/error.h"

namespace fa_profile::cli {

/// The error of a wrong command line: it names the argument and the command, what it means, a near
/// match, and what to do. `app` is the main one, after its parse() threw `error`.
Error UsageError(const CLI::App& app, const CLI::ParseError& error);

/// Throws Error for what CLI11 lets pass: an option that was given an empty value (an unset variable must not mean the
/// default), --explain with a format for programs, an option of the main job in front of a command, "-5" as an
/// argument.
void CheckUsage(const CLI::App& app);

/// "text, json or csv"
std::string Listed(const std::vector<std::string>& words);

/// A value that must be one of these, as they are written; the error names them and a near match.
CLI::Validator OneOf(const std::vector<std::string>& choices);

}  // namespace fa_profile::cli

#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile::help {

/// What the options of a command line do not tell about their values.
struct KnownValues {
  /// Words to offer for an option that takes any text; empty: none are known. `option`: "--kernel", or of a positional
  /// argument its name.
  std::function<std::vector<std::string>(const CLI::App& command, const std::string& option)> words;
  /// Options with a text that names no file.
  std::set<std::string, std::less<>> texts;
};

/// What completes the command lines of `app` in a shell: "bash", "zsh" or "fish". `version`: of the program.
std::string Completion(const CLI::App& app, const std::string& shell, std::string_view version,
                       const KnownValues& values);

}  // namespace fa_profile::help

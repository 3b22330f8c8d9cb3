#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <set>
#include <string>
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

/// What may come in place of the last of `words`, which follow the program's name. A line "words", "folders", or
/// "files" with the ends of their names (none: all files); then a line for each word, which may have a tab and a
/// description.
std::string Complete(const CLI::App& app, const std::vector<std::string>& words, const KnownValues& values);

/// What completes the command lines of the program `name` in a shell ("bash", "zsh", "fish"): it runs `program complete
/// =WORD...`, for what Complete() gives.
std::string CompletionScript(const std::string& name, const std::string& shell, const std::string& program);

}  // namespace fa_profile::help

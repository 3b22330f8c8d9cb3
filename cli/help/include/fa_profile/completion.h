#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace fa_profile::help {

/// What a command line's options do not say about their values.
struct KnownValues {
  /// Words to offer for an option that takes any text; empty: none are known. `option`: "--kernel", or the name of a
  /// positional argument.
  std::function<std::vector<std::string>(const CLI::App& command, const std::string& option)> words;
  /// Options whose text is not a file name.
  std::set<std::string, std::less<>> texts;
};

/// What may replace the last of `words`, which follow the program's name. A line "words", "folders", or "files" with
/// the allowed endings (none: all files); then a line for each word, which may have a tab and a description.
std::string Complete(const CLI::App& app, const std::vector<std::string>& words, const KnownValues& values);

/// The script that completes the command lines of the program `name` in a shell ("bash", "zsh", "fish"): it runs
/// `program complete =WORD...` to get Complete()'s output.
std::string CompletionScript(const std::string& name, const std::string& shell, const std::string& program);

}  // namespace fa_profile::help

#pragma once

#include <filesystem>
#include <string>

namespace fa_profile {

/// How a program ended, and what it printed.
struct Outcome {
  int exit_code = -1;  ///< -1: it was killed by a signal
  std::string out;
  std::string err;
};

/// Runs `command` in a shell in `folder`, with an empty stdin.
Outcome RunInShell(const std::filesystem::path& folder, const std::string& command);

/// A command that was refused: exit code 2, nothing on stdout, and one error that contains `what`, with a hint that
/// contains `cure`. `arguments` names the command when the test fails.
void ExpectRefused(const Outcome& outcome, const std::string& arguments, const std::string& what,
                   const std::string& cure);

}  // namespace fa_profile

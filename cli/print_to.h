#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fa_profile::cli {

struct Format;

/// Whether what std::cout prints goes to a terminal.
bool PrintsToTerminal();

/// Throws Error for a format that a terminal cannot show, where std::cout goes to one. `hint`: where else to write.
void RefuseTerminal(const Format& format, const std::string& hint);

/// Where a report goes.
struct ReportTarget {
  std::string file;        ///< empty: stdout
  bool overwrite = false;  ///< replace a file that exists
};

/// --output and --force.
void AddOutput(CLI::App& command, ReportTarget& target);

/// Runs `print` with std::cout going to the target's file, which is there whole or not at all; without a file std::cout
/// is left alone. `inputs` are what the report is of: the target may be none of them. Returns what `print` does. Throws
/// Error.
int PrintTo(const ReportTarget& target, const std::vector<std::string>& inputs, const Format& format,
            const std::function<int()>& print);

}  // namespace fa_profile::cli

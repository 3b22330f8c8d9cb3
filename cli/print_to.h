#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace fa_profile::cli {

struct Format;

/// Where a report goes.
struct ReportTarget {
  std::string file;        ///< empty: stdout
  bool overwrite = false;  ///< replace a file that exists
};

/// Throws Error for a format that a terminal cannot show, where std::cout goes to one. `hint`: where else to write.
void RefuseTerminal(const Format& format, const std::string& hint);

/// --output and --force of a command that prints a report.
void AddOutput(CLI::App& command, ReportTarget& target);

/// Runs `print` with std::cout going to the file of `target`, which is there whole or not at all; without a file
/// std::cout is left alone. `inputs` are what the report is of: none of them can be the file. Returns what `print`
/// does. Throws Error.
int PrintTo(const ReportTarget& target, const std::vector<std::string>& inputs, const Format& format,
            const std::function<int()>& print);

}  // namespace fa_profile::cli

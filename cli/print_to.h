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
  bool overwrite = false;  ///< replace an existing file
};

/// Throws Error for a format that a terminal cannot show, if std::cout goes to one. `hint`: where else to write.
void RefuseTerminal(const Format& format, const std::string& hint);

/// --output and --force of a command that prints a report.
void AddOutput(CLI::App& command, ReportTarget& target);

/// Runs `print` with std::cout going to the target's file, which is written completely or not at all; without a file
/// std::cout is left alone. `inputs` are the report's sources: none of them may be the file. Returns `print`'s result.
/// Throws Error.
int PrintTo(const ReportTarget& target, const std::vector<std::string>& inputs, const Format& format,
            const std::function<int()>& print);

}  // namespace fa_profile::cli

#include "print_to.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/output_path.h"
#include "formats.h"
#include "terminal_options.h"

namespace fa_profile::cli {
namespace {

/// std::cout collects what is printed, until the end of this object.
class CollectedOutput {
 public:
  CollectedOutput() : before_(std::cout.rdbuf(collected_.rdbuf())) {}
  ~CollectedOutput() { std::cout.rdbuf(before_); }
  CollectedOutput(const CollectedOutput&) = delete;
  CollectedOutput& operator=(const CollectedOutput&) = delete;

  std::string Text() && { return std::move(collected_).str(); }

 private:
  std::ostringstream collected_;
  std::streambuf* before_;
};

void CheckTarget(const ReportTarget& target, const std::vector<std::string>& inputs) {
  CheckOutputFiles({{"--output", target.file}}, inputs);
  // Devices and pipes are written to; a file is not overwritten by accident.
  const bool is_dangling = std::filesystem::is_symlink(target.file) && !std::filesystem::exists(target.file);
  if (!target.overwrite && (std::filesystem::is_regular_file(target.file) || is_dangling)) {
    throw Error(target.file + " already exists", "give another path, or allow overwriting (--force)");
  }
}

}  // namespace

void RefuseTerminal(const Format& format, const std::string& hint) {
  if (!format.for_files || !PrintsToTerminal()) return;
  throw Error(std::string("a terminal cannot show the format '") + format.name + "'", hint);
}

void AddOutput(CLI::App& command, ReportTarget& target) {
  command.add_option("-o,--output", target.file, "Write to this file instead of standard output")->type_name("FILE");
  command.add_flag("--force", target.overwrite, "Replace an existing file");
}

int PrintTo(const ReportTarget& target, const std::vector<std::string>& inputs, const Format& format,
            const std::function<int()>& print) {
  if (target.file.empty()) {
    if (target.overwrite) {
      throw Error("--force applies only together with --output", "name a file with -o, or leave it out");
    }
    RefuseTerminal(format,
                   std::string("write it to a file: -o report.") + (format.ending ? format.ending : format.name));
    return print();
  }
  CheckTarget(target, inputs);
  CollectedOutput collected;
  const int code = print();
  WriteWholeFile(target.file, std::move(collected).Text());
  return code;
}

}  // namespace fa_profile::cli

#pragma once

#include <cstddef>
#include <string>

#include "command.h"
#include "formats.h"

namespace fa_profile::cli {

/// Requested views of a recording's code: `report --instructions`, `--source`.
struct CodeViews {
  bool instructions = false;
  bool source = false;
  std::string source_root = ".";         ///< the folder below which source files are read
  std::vector<std::string> source_maps;  ///< "OLD=NEW"
  std::size_t limit = 0;                 ///< instructions or lines per kernel; 0: not given

  bool any() const { return instructions || source; }
};

void AddCodeViews(CLI::App& report, CodeViews& views);

/// Where source files are read. Throws Error: a --source-map that is not OLD=NEW.
load::SourceSearch SourcesOf(const CodeViews& views);

/// The code of the profile's kernels, all of it, with the text of source lines where this machine has the files.
exporters::ReportCode ListCode(const Recording& recording, const Profile& profile, const ReportFilter& filter);

/// Prints a view of the selected kernels. Throws Error.
int RunCodeViews(const std::string& path, const Format& format, const ReportFilter& filter, const CodeViews& views);

}  // namespace fa_profile::cli

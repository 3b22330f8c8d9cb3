#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fa_profile {

/// Of the folder of an output: it must be there, or is made later, with those above it.
enum class OutputFolder { kIsThere, kIsMade };

/// Throws Error with the cure unless a file can be written at `path`: it is "-", a directory or a link to itself, its
/// name is too long, its folder is missing or read-only. A device or a pipe is accepted. Nothing is made or changed.
void CheckOutputPath(const std::string& path, OutputFolder folder = OutputFolder::kIsThere);

/// An option and the file that it names. A path that is empty or "-" is none.
struct OutputFile {
  std::string option;
  std::string path;
};

/// CheckOutputPath() of each. Throws Error also when two are the same file, or one is of `inputs`.
void CheckOutputFiles(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs = {});

/// The same of reports, which replace what is there. Throws Error also when that is a database (a recording, a history
/// of the gate), a program or a library.
void CheckReportFiles(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs = {});

/// `text` as one word of a command line for a shell; in quotes only where it needs them.
std::string ShellWord(std::string_view text);

}  // namespace fa_profile

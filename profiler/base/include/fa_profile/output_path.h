#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fa_profile {

/// For the folder of an output: it must exist, or is made later, with its parents.
enum class OutputFolder { kIsThere, kIsMade };

/// Throws Error with the cure unless a file can be written at `path`: it is "-", a directory or a link to itself, its
/// name is too long, its folder is missing or read-only. A device or a pipe is accepted. Nothing is made or changed.
void CheckOutputPath(const std::string& path, OutputFolder folder = OutputFolder::kIsThere);

/// An option and the file that it names. A path that is empty or "-" is none.
struct OutputFile {
  std::string option;
  std::string path;
};

/// CheckOutputPath() for each. Also throws Error if two are the same file, or one is among `inputs`.
void CheckOutputFiles(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs = {});

/// The same for reports, which replace existing files. Also throws Error if that is a database (a recording, a history
/// of the gate), a program or a library.
void CheckReportFiles(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs = {});

/// `text` as one word of a shell command line; quoted only if necessary.
std::string ShellWord(std::string_view text);

}  // namespace fa_profile

#include "fa_profile/output_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

namespace fs = std::filesystem;

// A file gets its name when it is complete; until then the name is longer: ".part." and two numbers.
constexpr std::size_t kLongestOutputName = 220;

[[noreturn]] void RefuseOutput(const std::string& path, const std::string& why, const std::string& cure) {
  throw Error(path + " cannot be written: " + why, cure);
}

// The folder of `path`, or the nearest existing one above it.
fs::path FolderOf(const fs::path& path, OutputFolder made) {
  fs::path folder = path.parent_path();
  struct stat status {};
  while (made == OutputFolder::kIsMade && !folder.empty() && stat(folder.c_str(), &status) != 0 && errno == ENOENT) {
    folder = folder.parent_path();
  }
  return folder.empty() ? fs::path(".") : folder;
}

void RequireFolder(const std::string& path, const std::string& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) {
    if (errno == ENOENT)
      RefuseOutput(path, "folder " + folder + " not found", "make it: mkdir -p " + ShellWord(folder));
    RefuseOutput(path, folder + ": " + std::strerror(errno), "write into another folder");
  }
  if (status.st_nlink == 0)
    RefuseOutput(path, "folder " + folder + " was deleted", "change to an existing folder with cd");
  if (!S_ISDIR(status.st_mode))
    RefuseOutput(path, folder + " is not a folder", "move it away, or write into another folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    RefuseOutput(path, "folder " + folder + ": " + std::strerror(errno), "write into a folder that you may write to");
  }
}

bool IsNoFile(const std::string& path) { return path.empty() || path == "-"; }

// Several outputs may go to one device or pipe.
bool IsSameFile(const std::string& one, const std::string& other) {
  std::error_code ignored;
  const fs::file_status status = fs::status(one, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) return false;
  return fs::absolute(one, ignored).lexically_normal() == fs::absolute(other, ignored).lexically_normal() ||
         fs::equivalent(one, other, ignored);
}

// The kind of file that a report must not replace. Empty: something else is at `path`, or nothing. A link is replaced,
// not its file.
std::string_view PreciousKind(const std::string& path) {
  constexpr std::string_view kDatabase = "SQLite format 3";
  if (std::error_code ignored; !fs::is_regular_file(fs::symlink_status(path, ignored))) return {};
  std::array<char, kDatabase.size()> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  const std::string_view text(begin.data(), begin.size());
  if (text == kDatabase) return "a recording or another database";
  return text.starts_with(
             "\x7f"
             "ELF")
             ? "a program or a library"
             : std::string_view();
}

}  // namespace

void CheckOutputPath(const std::string& path, OutputFolder folder) {
  const fs::path whole = path;
  const bool too_long =
      std::ranges::any_of(whole, [](const fs::path& part) { return part.native().size() > kLongestOutputName; });
  struct stat status {};
  const bool is_there = !too_long && stat(path.c_str(), &status) == 0;
  if (path == "-") {
    RefuseOutput(path, "it means stdout, and a file is needed here",
                 "give the path of a file; ./- is one of this name");
  }
  if (too_long || (!is_there && errno == ENAMETOOLONG)) {
    RefuseOutput(path, "its name is too long", "give a shorter name");
  }
  if (!is_there && errno == ELOOP) {
    RefuseOutput(path, "it is a symbolic link that leads back to itself", "remove it: rm " + ShellWord(path));
  }
  if (is_there && S_ISDIR(status.st_mode)) RefuseOutput(path, "it is a directory", "give the path of a file in it");
  if (is_there && !S_ISREG(status.st_mode)) return;
  if (!whole.has_filename()) RefuseOutput(path, "it names no file", "give the path of a file");
  RequireFolder(path, FolderOf(whole, folder).string());
}

void CheckOutputFiles(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (IsNoFile(output->path)) continue;
    for (auto other = outputs.begin(); other != output; ++other) {
      if (IsNoFile(other->path) || !IsSameFile(output->path, other->path)) continue;
      throw Error(other->option + " and " + output->option + " are the same file, " + output->path,
                  "give them different files");
    }
    for (const std::string& input : inputs) {
      if (!IsSameFile(input, output->path)) continue;
      throw Error(output->option + " " + output->path + " is an input of this command", "write to another file");
    }
    CheckOutputPath(output->path);
  }
}

void CheckReportFiles(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs) {
  CheckOutputFiles(outputs, inputs);
  for (const auto& [option, path] : outputs) {
    const std::string_view kind = IsNoFile(path) ? std::string_view() : PreciousKind(path);
    if (kind.empty()) continue;
    throw Error(option + " " + path + " would replace " + std::string(kind), "write to another file");
  }
}

std::string ShellWord(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c > '~' ||
           std::string_view("_-./:=@%+,").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace fa_profile

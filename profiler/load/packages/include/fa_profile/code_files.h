#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "fa_profile/code_linter.h"

namespace fa_profile::load {

/// Limits on what is read from a package: nothing in it is trusted.
struct PackageLimits {
  std::uint64_t file_bytes = std::uint64_t{4} << 30U;        ///< per file, unpacked
  std::uint64_t unpacked_bytes = std::uint64_t{32} << 30U;   ///< all files of all archives together
  std::uint64_t archive_entries = std::uint64_t{1} << 20U;   ///< the same
  std::uint64_t directory_bytes = std::uint64_t{64} << 20U;  ///< read from an archive before its first file: its list
                                                             ///< of files
  int folder_depth = 64;
  int archive_depth = 3;  ///< archives in archives in files of the package
  LintLimits lint{};      ///< for LintPackage()
};

/// Receives a file with GPU code: its name in the package, and its path. If the package is an archive, the
/// file is gone after the call.
using TakeCodeFile = std::function<void(const std::string& name, const std::string& path)>;
/// Receives a file or folder that was left out, or "" for the rest of the package, and why.
using TakeSkippedFile = std::function<void(const std::string& name, const std::string& why)>;

/// Finds the files with GPU code of a Python package: a folder, or a wheel (any zip archive). Every regular file is
/// searched, whatever its name and its first bytes. Archives and compressed files among them (zip, tar, gz, xz, zst,
/// bz2, Debian packages) are unpacked, and what is in them is called "package/archive.zip/file.so"; those that cannot
/// be opened are searched as they are.
///
/// Symbolic links are not followed. A wheel's files are unpacked one at a time, into a file without a
/// name, which no signal leaves behind; its names are text only. What is encrypted, damaged, larger than `limits` or
/// named by an absolute path or one with ".." is skipped, and so are folders that cannot be read, and folders and
/// archives that lie too deep.
/// Throws Error: `package` is neither a folder nor a zip archive, or cannot be read.
void ForEachCodeFile(const std::string& package, const TakeCodeFile& take, const TakeSkippedFile& skip,
                     const PackageLimits& limits = {});

/// Whether the file is an archive or a compressed file by its first bytes, or ends with a zip archive. Throws Error: it
/// cannot be read.
bool MayBeArchive(const std::string& path);

/// The same for one file of a package, called `name`: itself, or what is in it. What cannot be read is skipped.
void ForEachCodeInFile(const std::string& name, const std::string& path, const TakeCodeFile& take,
                       const TakeSkippedFile& skip, const PackageLimits& limits = {});

}  // namespace fa_profile::load

#include "fa_profile/source_text.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

#include "fa_profile/error.h"
#include "fa_profile/files.h"

namespace fa_profile::load {
namespace {

constexpr std::size_t kMostSourceBytes = std::size_t{16} << 20U;

bool HasNameOfASource(std::string_view file) {
  constexpr std::string_view kEndings[] = {".cu", ".cuh", ".c",   ".cc",  ".cpp", ".cxx", ".h",
                                           ".hh", ".hpp", ".inl", ".ipp", ".inc", ".py",  ".ptx"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return file.ends_with(ending); });
}

/// Seconds since 1970 of "2026-11-21T07:31:32Z".
std::optional<std::time_t> SecondsOf(const std::string& utc) {
  std::tm time{};
  const char* const end = strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return timegm(&time);
}

bool ChangedAfter(int fd, const std::string& recorded_at) {
  const auto recorded = SecondsOf(recorded_at);
  struct stat status {};
  return recorded && fstat(fd, &status) == 0 && status.st_mtime > *recorded;
}

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void AddTextOf(const SourceText& source, SourceListing& listing) {
  bool used = false;
  for (ListedLine& line : listing.lines) {
    if (line.file != source.file) continue;
    used = true;
    if (line.line < 1 || static_cast<std::size_t>(line.line) > source.lines.size()) continue;
    line.text = source.lines[static_cast<std::size_t>(line.line) - 1];
  }
  if (used && source.unread.empty()) listing.read_files.push_back(source.file);
  if (used && source.changed) listing.changed_files.push_back(source.file);
}

bool IsBelow(const std::filesystem::path& file, const std::filesystem::path& folder) {
  return std::ranges::mismatch(folder, file).in1 == folder.end();
}

}  // namespace

SourceText ReadSource(const std::string& file, const std::string& recorded_at, const std::string& root) {
  SourceText source;
  source.file = file;
  if (file.find('\0') != std::string::npos || !HasNameOfASource(file)) {
    source.unread = "its name is not that of a source file";
    return source;
  }
  std::error_code missing;
  const std::filesystem::path folder = std::filesystem::canonical(root, missing);
  const std::filesystem::path real = missing ? "" : std::filesystem::canonical(folder / file, missing);
  if (missing) {
    source.unread = file + " cannot be read: " + missing.message();
    return source;
  }
  if (!IsBelow(real, folder)) {
    source.outside = true;
    source.unread = "it is not below " + folder.string() + ": --source-root DIR reads files below another folder";
    return source;
  }
  try {
    const Descriptor open = OpenFile(real);
    source.lines = SplitLines(ReadOpenFile(open.get(), real, kMostSourceBytes));
    source.changed = ChangedAfter(open.get(), recorded_at);
  } catch (const Error& error) {
    source.unread = error.message();
  }
  return source;
}

std::vector<std::string> AddSourceText(std::vector<SourceListing>& listings, const std::string& recorded_at,
                                       const std::string& root) {
  std::set<std::string> files;
  for (const SourceListing& listing : listings) {
    for (const ListedLine& line : listing.lines) files.insert(line.file);
  }
  std::vector<std::string> outside;
  for (const std::string& file : files) {  // one at a time: together they may be large
    const SourceText source = ReadSource(file, recorded_at, root);
    if (source.outside) outside.push_back(file);
    for (SourceListing& listing : listings) AddTextOf(source, listing);
  }
  return outside;
}

}  // namespace fa_profile::load

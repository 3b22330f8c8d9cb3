#include "fa_profile/source_text.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/sha256.h"

namespace fa_profile::load {
namespace {

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

/// A possible location of a file: `file` is opened only below `folder`.
struct Place {
  std::string folder;
  std::string file;
};

// The recorded path first, then its ends. Without a recorded hash, the end of a path could name any file.
std::vector<Place> PlacesOf(const std::string& file, const SourceSearch& search) {
  std::vector<Place> places;
  for (const auto& [old, now] : search.moved) {
    const std::string folder = old.ends_with('/') ? old : old + '/';
    if (file.starts_with(folder)) places.push_back({now, file.substr(folder.size())});
  }
  if (places.empty()) places.push_back({search.root, file});
  if (!search.sha256.contains(file)) return places;
  for (std::size_t slash = file.find('/'); slash != std::string::npos; slash = file.find('/', slash + 1)) {
    places.push_back({search.root, file.substr(slash + 1)});
  }
  return places;
}

// `file` is the name in the recording.
SourceText ReadAt(const Place& place, const std::string& file, const SourceSearch& search) {
  SourceText source;
  source.file = file;
  std::error_code missing;
  const std::filesystem::path folder = std::filesystem::canonical(place.folder, missing);
  const std::filesystem::path real = missing ? "" : std::filesystem::canonical(folder / place.file, missing);
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
    const std::string text = ReadOpenFile(open.get(), real, kMostSourceBytes);
    const auto recorded = search.sha256.find(file);
    source.differs = recorded != search.sha256.end() && Sha256(text) != recorded->second;
    if (source.differs) {
      source.unread = "it is not what was recorded: check out the version of the recording";
      return source;
    }
    source.lines = SplitLines(text);
    source.changed = recorded == search.sha256.end() && ChangedAfter(open.get(), search.recorded_at);
  } catch (const Error& error) {
    source.unread = error.message();
  }
  return source;
}

}  // namespace

SourceSearch SearchFor(const Recording& recording, SourceSearch from) {
  from.recorded_at = recording.session.created_at;
  for (const SourceHash& source : recording.source_hashes) from.sha256.insert_or_assign(source.file, source.sha256);
  return from;
}

SourceText ReadSource(const std::string& file, const SourceSearch& search) {
  SourceText best;
  if (file.find('\0') != std::string::npos || !HasNameOfASource(file)) {
    best.file = file;
    best.unread = "its name is not that of a source file";
    return best;
  }
  bool first = true;
  for (const Place& place : PlacesOf(file, search)) {
    SourceText source = ReadAt(place, file, search);
    if (source.unread.empty()) return source;
    if (std::exchange(first, false) || (source.differs && !best.differs)) best = std::move(source);
  }
  return best;
}

UnreadSources AddSourceText(std::vector<SourceListing>& listings, const SourceSearch& search) {
  std::set<std::string> files;
  for (const SourceListing& listing : listings) {
    for (const ListedLine& line : listing.lines) files.insert(line.file);
  }
  UnreadSources unread;
  for (const std::string& file : files) {  // one at a time: together they may be large
    const SourceText source = ReadSource(file, search);
    if (source.outside) unread.outside.push_back(file);
    if (source.differs) unread.differ.push_back(file);
    for (SourceListing& listing : listings) AddTextOf(source, listing);
  }
  return unread;
}

}  // namespace fa_profile::load

#include "code_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "fa_profile/code_report.h"
#include "fa_profile/error.h"
#include "fa_profile/list_code.h"
#include "fa_profile/load_profile.h"
#include "fa_profile/notice.h"
#include "fa_profile/select_entries.h"
#include "fa_profile/source_text.h"
#include "fa_profile/text.h"
#include "terminal_options.h"

namespace fa_profile::cli {
namespace {

constexpr int kWidestCode = 160;
constexpr std::size_t kDefaultLines = 20;
/// Most instructions printed for people without --limit: those of a few kernels.
constexpr std::size_t kMostPrinted = 10000;

void RefuseFormat(const char* view, const Format& format, const std::vector<const Format*>& others,
                  const char* or_else = "") {
  throw Error(fmt::format("{} has no format '{}'", view, format.name),
              fmt::format("use --format {}{}", ListedNames(others), or_else));
}

std::vector<InstructionListing> ListSelected(const Recording& recording, const Profile& profile,
                                             const ReportFilter& filter) {
  std::vector<InstructionListing> listings;
  for (const ProfileEntry& entry : profile.entries) {
    for (InstructionListing& listing :
         analyze::ListInstructions(recording, entry, filter.phase_map, filter.phase_source)) {
      listings.push_back(std::move(listing));
    }
  }
  return listings;
}

void PrintInstructions(std::vector<InstructionListing> listings, const Format& format, std::size_t limit) {
  std::size_t all = 0;
  for (const InstructionListing& listing : listings) all += listing.instructions.size();
  if (format.for_people && limit == 0 && all > kMostPrinted) {
    throw Error(fmt::format("--instructions would print {} instructions of {} kernels", all, listings.size()),
                "choose kernels with --kernel and --shape, or print the hottest of each with --limit N");
  }
  for (InstructionListing& listing : listings) {
    if (limit > 0) analyze::KeepHottest(listing, limit);
  }
  format.instructions(std::cout, listings, TerminalOptions(kWidestCode));
}

/// "a.cu, b.cu and 3 more"
std::string NamesOf(const std::vector<std::string>& files, std::size_t most) {
  const std::size_t shown = std::min(files.size(), most);
  const std::string more = files.size() > shown ? fmt::format(" and {} more", files.size() - shown) : "";
  return Printable(
      fmt::format("{}{}", fmt::join(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(shown), ", "), more));
}

void ReadSources(std::vector<SourceListing>& listings, const load::SourceSearch& search) {
  const load::UnreadSources unread = load::AddSourceText(listings, search);
  if (!unread.differ.empty()) {
    PrintToStderr(
        fmt::format("source that is not shown, because it is not what was recorded: {}", NamesOf(unread.differ, 3)));
    PrintToStderr("  hint: check out the version of the recording, or name its folder with --source-root DIR");
  }
  if (unread.outside.empty()) return;
  PrintToStderr(fmt::format("source that was not read, because it is not below {}: {}",
                            search.root == "." ? "this folder" : Printable(search.root), NamesOf(unread.outside, 3)));
  PrintToStderr("  hint: --source-root DIR reads files below another folder; a recording may name any file");
}

void PrintSource(const std::vector<InstructionListing>& listings, const Format& format, const CodeViews& views,
                 const load::SourceSearch& search) {
  std::vector<SourceListing> sources;
  for (const InstructionListing& listing : listings) {
    analyze::KeepHottest(sources.emplace_back(analyze::ListLines(listing)),
                         views.limit > 0 ? views.limit : kDefaultLines);
  }
  ReadSources(sources, search);
  format.source(std::cout, sources, TerminalOptions(kWidestCode));
}

}  // namespace

void AddCodeViews(CLI::App& report, CodeViews& views) {
  report.add_flag(
      "--instructions", views.instructions,
      "List the machine instructions of the selected kernels instead of the report: phase and why, samples, "
      "stalls, counts, source line");
  report.add_flag("--source", views.source, "List the hottest source lines of each kernel instead of the report");
  report
      .add_option("--source-root", views.source_root,
                  "The folder below which source files are read (default: the current folder)")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  report
      .add_option("--source-map", views.source_maps,
                  "Read source files that the recording names below the folder OLD from the folder NEW; may be given "
                  "several times")
      ->type_name("OLD=NEW");
  report
      .add_option("--limit", views.limit,
                  "With --instructions: only the N hottest of each kernel; with --source: N lines (default 20)")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
}

load::SourceSearch SourcesOf(const CodeViews& views) {
  load::SourceSearch search;
  search.root = views.source_root;
  for (const std::string& map : views.source_maps) {
    const std::size_t end = map.find('=');
    if (end == 0 || end == std::string::npos || !std::filesystem::is_directory(map.substr(end + 1))) {
      throw Error(fmt::format("--source-map must be OLD=NEW with an existing folder NEW, not '{}'", map),
                  "OLD is a folder as the recording names it: --source-map /build/app=.");
    }
    search.moved.emplace_back(map.substr(0, end), map.substr(end + 1));
  }
  return search;
}

exporters::ReportCode ListCode(const Recording& recording, const Profile& profile, const ReportFilter& filter) {
  exporters::ReportCode code{ListSelected(recording, profile, filter), {}};
  for (const InstructionListing& listing : code.instructions) code.lines.push_back(analyze::ListLines(listing));
  ReadSources(code.lines, load::SearchFor(recording, filter.sources));
  std::set<std::string> read;
  for (const SourceListing& listing : code.lines) read.insert(listing.read_files.begin(), listing.read_files.end());
  if (!read.empty()) {
    PrintToStderr(
        fmt::format("source of this machine that is in the page: {}", NamesOf({read.begin(), read.end()}, 100)));
  }
  return code;
}

int RunCodeViews(const std::string& path, const Format& format, const ReportFilter& filter, const CodeViews& views) {
  if (format.instructions == nullptr) {
    RefuseFormat(views.instructions ? "--instructions" : "--source", format, FormatsWith(&Format::instructions),
                 format.report_with_code == nullptr ? "; a page has the code without the option: --format html"
                                                    : ", or leave the option out: the page of a report has the code");
  }
  auto [recording, profile] = load::LoadProfile(path, filter.phase_map, /*cubins=*/false, filter.phase_source);
  (void)load::SelectEntries(path, filter.entries, profile);
  if (views.instructions) {
    PrintInstructions(ListSelected(recording, profile, filter), format, views.limit);
  } else {
    PrintSource(ListSelected(recording, profile, filter), format, views, load::SearchFor(recording, filter.sources));
  }
  CheckOutput();
  return kExitFine;
}

}  // namespace fa_profile::cli

#include "fa_profile/report.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <regex>
#include <set>

#include "commands.h"
#include "fa_profile/analyze.h"
#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"

namespace fa_profile {
namespace {

Profile LoadProfile(const std::string& path) {
  LoadOptions options;
  const std::vector<std::string> inputs = MetricsForAnalysis();
  options.metrics.emplace(inputs.begin(), inputs.end());
  return Analyze(RecordingReader(path).Load(options));
}

ReportOptions TerminalOptions() {
  ReportOptions options;
  winsize size{};
  constexpr int kNarrowest = 60;
  if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = std::clamp<int>(size.ws_col, kNarrowest, options.width);
  }
  options.color = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  return options;
}

}  // namespace

std::vector<std::string> MatchKernels(const std::string& pattern, const std::vector<std::string>& ids) {
  if (pattern.empty()) return ids;
  // The library's matcher recurses once a character: a pattern of tens of thousands would overflow the stack.
  constexpr std::size_t kLongestPattern = 256;
  if (pattern.size() > kLongestPattern) {
    throw Error("--kernel takes a regular expression of at most " + std::to_string(kLongestPattern) +
                    " characters, not " + std::to_string(pattern.size()),
                "for several kernels: --kernel 'wmma|mma'");
  }
  std::regex expression;
  try {
    expression = std::regex(pattern);
  } catch (const std::regex_error& error) {
    throw Error("--kernel '" + pattern + "' is not a regular expression: " + error.what(),
                "for one kernel give its id, for several --kernel 'wmma|mma'");
  }
  std::vector<std::string> matches;
  for (const std::string& id : ids) {
    if (std::regex_search(id, expression)) matches.push_back(id);
  }
  if (matches.empty()) {
    std::string known;
    for (const std::string& id : ids) known += (known.empty() ? "" : ", ") + id;
    throw Error("no kernel matches '" + pattern + "'" + DidYouMean(pattern, ids), "the kernels are " + known);
  }
  return matches;
}

void PrintReport(const std::string& recording_path, Format format, const ReportFilter& filter) {
  Profile profile = LoadProfile(recording_path);
  std::vector<std::string> ids;
  for (const ProfileEntry& entry : profile.entries) {
    if (std::ranges::find(ids, entry.kernel) == ids.end()) ids.push_back(entry.kernel);
  }
  const std::vector<std::string> matches = MatchKernels(filter.kernel_pattern, ids);
  const std::set<std::string> wanted(matches.begin(), matches.end());
  const std::set<AttentionShape> shapes(filter.shapes.begin(), filter.shapes.end());
  for (const AttentionShape& shape : shapes) {
    if (std::ranges::none_of(profile.entries, [&](const ProfileEntry& entry) { return entry.shape == shape; })) {
      throw Error(recording_path + " has no shape " + shape.ToString(), "leave --shape out to see those it has");
    }
  }
  std::erase_if(profile.entries, [&](const ProfileEntry& entry) {
    return wanted.count(entry.kernel) == 0 || (!shapes.empty() && (!entry.shape || shapes.count(*entry.shape) == 0));
  });
  switch (format) {
    case Format::kText: {
      ReportOptions options = TerminalOptions();
      options.details = !filter.summary;
      WriteTextReport(std::cout, profile, options);
      break;
    }
    case Format::kJson:
      WriteJsonReport(std::cout, profile);
      break;
    case Format::kCsv:
      WriteCsvReport(std::cout, profile);
      break;
  }
  std::cout.flush();
  if (!std::cout) throw Error("the report could not be written to standard output", "is the disk full?");
}

int RunReport(const std::string& path, Format format, const ReportFilter& filter) {
  PrintReport(path, format, filter);
  return kExitFine;
}

int RunDiff(const std::string& before, const std::string& after, Format format) {
  const Profile a = LoadProfile(before);
  const Profile b = LoadProfile(after);
  const ProfileDiff diff = Diff(a, b);
  switch (format) {
    case Format::kText:
      WriteTextDiff(std::cout, diff, a, b, TerminalOptions());
      break;
    case Format::kJson:
      WriteJsonDiff(std::cout, diff);
      break;
    case Format::kCsv:
      throw Error("diff has no csv format", "use --format text or json");
  }
  return kExitFine;
}

}  // namespace fa_profile

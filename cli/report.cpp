#include "fa_profile/report.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "commands.h"
#include "explain.h"
#include "fa_profile/analyze.h"
#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"
#include "kernel_pattern.h"
#include "phase_map_file.h"
#include "terminal_options.h"

namespace fa_profile {
namespace {

Profile LoadProfile(const std::string& path, const std::optional<PhaseMap>& map = std::nullopt) {
  LoadOptions options;
  const std::vector<std::string> inputs = MetricsForAnalysis();
  options.metrics.emplace(inputs.begin(), inputs.end());
  const Recording recording = RecordingReader(path).Load(options);
  if (map) {
    for (const std::string& phase : RequirePhases(recording, *map)) {
      std::cerr << "fa-profile: phase '" << phase << "' of the " << map->name << " names no instruction in " << path
                << '\n';
    }
  }
  return Analyze(recording, map);
}

}  // namespace

void PrintReport(const std::string& recording_path, Format format, const ReportFilter& filter) {
  Profile profile = LoadProfile(recording_path, filter.phase_map);
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
  if (!filter.explain.empty()) {
    Explain(std::cout, filter.explain, profile, TerminalOptions().width);
    return;
  }
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

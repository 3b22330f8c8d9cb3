#include "fa_profile/report.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "commands.h"
#include "fa_profile/analyze.h"
#include "fa_profile/error.h"
#include "fa_profile/explain.h"
#include "fa_profile/findings.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/load_profile.h"
#include "terminal_options.h"

namespace fa_profile {
namespace {

/// What is missing from calls that the report does not show: "mma@1,8,512,64/pv" of another kernel or shape. What is
/// not said of one call is missing from all.
bool IsOfAnotherCall(const DataLoss& loss, const std::set<std::string>& kernels,
                     const std::set<AttentionShape>& shapes) {
  const std::size_t at = loss.subject.find('@');
  if (at == std::string::npos) return false;
  const std::string shape = loss.subject.substr(at + 1, loss.subject.find('/', at) - at - 1);
  return !kernels.contains(loss.subject.substr(0, at)) ||
         (!shapes.empty() && std::ranges::none_of(shapes, [&](const auto& s) { return s.ToString() == shape; }));
}

}  // namespace

void PrintReport(const std::string& recording_path, Format format, const ReportFilter& filter) {
  Profile profile = LoadProfile(recording_path, filter.phase_map).second;
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
  if (!filter.kernel_pattern.empty() || !shapes.empty()) {
    std::erase_if(profile.losses, [&](const DataLoss& loss) { return IsOfAnotherCall(loss, wanted, shapes); });
  }
  if (!filter.explain.empty()) {
    WriteExplanation(std::cout, RequireFinding(filter.explain), profile, TerminalOptions());
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
  const Profile a = LoadProfile(before).second;
  const Profile b = LoadProfile(after).second;
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

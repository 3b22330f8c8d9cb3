#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>

#include "command.h"
#include "fa_profile/analyze.h"
#include "fa_profile/error.h"
#include "fa_profile/explain.h"
#include "fa_profile/findings.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/load_profile.h"
#include "formats.h"
#include "terminal_options.h"

namespace fa_profile::cli {
namespace {

/// Whether a loss concerns a call that the report does not show: "mma@1,8,512,64/pv" of another kernel or shape. A
/// subject without '@' concerns all calls.
bool IsOfAnotherCall(const DataLoss& loss, const std::set<std::string>& kernels,
                     const std::set<AttentionShape>& shapes) {
  const std::size_t at = loss.subject.find('@');
  if (at == std::string::npos) return false;
  const std::string shape = loss.subject.substr(at + 1, loss.subject.find('/', at) - at - 1);
  return !kernels.contains(loss.subject.substr(0, at)) ||
         (!shapes.empty() && std::ranges::none_of(shapes, [&](const auto& s) { return s.ToString() == shape; }));
}

/// The ranges that filter.nvtx_pattern finds. Leaves only their kernels in the profile, unless all are wanted. Throws
/// Error: it finds none.
std::set<std::string> FindRanges(const std::string& recording_path, const ReportFilter& filter, Profile& profile) {
  const KernelPattern pattern(filter.nvtx_pattern, "--nvtx");
  std::set<std::string> paths;
  std::set<std::int64_t> cases;
  for (const NvtxUse& use : profile.program ? profile.program->nvtx : std::vector<NvtxUse>()) {
    if (!pattern.Finds(use.path)) continue;
    paths.insert(use.path);
    for (const NvtxKernelUse& kernel : use.kernels) cases.insert(kernel.case_id);
  }
  if (filter.all_kernels) return paths;
  if (paths.empty()) {
    throw Error(recording_path + " has no NVTX range that matches '" + filter.nvtx_pattern + "'",
                profile.program && !profile.program->nvtx.empty() ? "the report without --nvtx lists its ranges"
                                                                  : "it has no NVTX ranges: leave --nvtx out");
  }
  // Recordings before schema 4 do not tell.
  if (!cases.empty()) {
    std::erase_if(profile.entries, [&](const ProfileEntry& entry) { return !cases.contains(entry.case_id); });
  }
  return paths;
}

}  // namespace

void PrintReport(const std::string& recording_path, const Format& format, const ReportFilter& filter) {
  Profile profile = load::LoadProfile(recording_path, filter.phase_map, /*cubins=*/false, filter.phase_source).second;
  exporters::ReportOptions options = TerminalOptions();
  if (!filter.nvtx_pattern.empty()) options.nvtx_ranges = FindRanges(recording_path, filter, profile);
  std::vector<std::string> ids;
  for (const ProfileEntry& entry : profile.entries) {
    if (std::ranges::find(ids, entry.kernel) == ids.end()) ids.push_back(entry.kernel);
  }
  const std::vector<std::string> matches = MatchKernels(filter.kernel_pattern, ids);
  const std::set<std::string> wanted(matches.begin(), matches.end());
  const std::set<AttentionShape> shapes(filter.shapes.begin(), filter.shapes.end());
  for (const AttentionShape& shape : shapes) {
    if (std::ranges::none_of(profile.entries, [&](const ProfileEntry& entry) { return entry.shape == shape; })) {
      std::set<std::string> recorded;
      for (const ProfileEntry& entry : profile.entries) {
        if (entry.shape) recorded.insert(entry.shape->ToString());
      }
      throw Error(
          recording_path + " has no shape " + shape.ToString(),
          recorded.empty() ? "its kernels have no shapes" : fmt::format("it has {}", fmt::join(recorded, "; ")));
    }
  }
  std::erase_if(profile.entries, [&](const ProfileEntry& entry) {
    return wanted.count(entry.kernel) == 0 || (!shapes.empty() && (!entry.shape || shapes.count(*entry.shape) == 0));
  });
  if (!filter.kernel_pattern.empty() || !shapes.empty()) {
    std::erase_if(profile.losses, [&](const DataLoss& loss) { return IsOfAnotherCall(loss, wanted, shapes); });
  }
  if (!filter.explain.empty()) {
    exporters::WriteExplanation(std::cout, analyze::RequireFinding(filter.explain), profile, TerminalOptions());
    return;
  }
  options.details = !filter.summary;
  format.report(std::cout, profile, options);
  std::cout.flush();
  if (!std::cout) throw Error("the report could not be written to standard output", "is the disk full?");
}

int RunReport(const std::string& path, const Format& format, const ReportFilter& filter) {
  PrintReport(path, format, filter);
  return kExitFine;
}

// Recordings of one program's processes, side by side.
int RunRanks(const std::vector<std::string>& paths, const Format& format) {
  if (format.ranks == nullptr) {
    throw Error(std::string("a report of several recordings has no format '") + format.name + "'",
                "use --format text or json, or report each recording by itself");
  }
  std::vector<std::pair<std::string, Profile>> profiles;
  for (const std::string& path : paths) {
    Profile profile = load::LoadProfile(path).second;
    if (!profile.program) {
      throw Error(path + " is not a recording of a program, so it cannot be compared with other ranks",
                  "report it by itself, or compare two recordings with fa-profile diff");
    }
    profiles.emplace_back(std::filesystem::path(path).filename().string(), std::move(profile));
  }
  format.ranks(std::cout, analyze::JoinRanks(profiles), TerminalOptions());
  return kExitFine;
}

int RunDiff(const std::string& before, const std::string& after, const Format& format) {
  const Profile a = load::LoadProfile(before).second;
  const Profile b = load::LoadProfile(after).second;
  format.diff(std::cout, analyze::Diff(a, b), a, b, TerminalOptions());
  return kExitFine;
}

void AddReport(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    std::vector<std::string> paths;
    const Format* format = nullptr;
    ReportFilter filter;
    ShapeArguments shapes;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const report = app.add_subcommand("report", "Print the report of a recording");
  report
      ->add_option("recording", arguments->paths,
                   "A *.fap file, or the *.fap.part of a killed run; several: those of a program's processes, side by "
                   "side")
      ->required();
  AddFormatOption(*report, arguments->format, &Format::report);
  report->add_option("--kernel", arguments->filter.kernel_pattern, "Only kernels that match this regular expression");
  report->add_option("--nvtx", arguments->filter.nvtx_pattern,
                     "Of a program: the kernels in NVTX ranges whose path (\"step / attn\") matches this regular "
                     "expression, and what was found in them");
  AddShapes(*report, arguments->shapes, "Only this shape (repeatable)");
  report->add_flag("--summary", arguments->filter.summary, "Tables only, no block for each kernel");
  report->add_option("--explain", arguments->filter.explain,
                     "Explain a finding and list where it was found, instead of the report");
  AddPhaseMap(*report, invocation);
  report->callback([arguments, report, &invocation] {
    invocation.run = [arguments, report, &invocation] {
      if (arguments->paths.size() > 1) {
        if (!invocation.phase_map.empty()) {
          throw Error("--phase-map has no effect on several recordings", "report one, or leave it out");
        }
        if (!invocation.phase_from.empty()) {
          throw Error("--phase-from has no effect on several recordings", "report one, or leave it out");
        }
        for (const char* const option : {"--kernel", "--nvtx", "--shape", "--causal", "--summary", "--explain"}) {
          if (report->count(option) > 0) {
            throw Error(std::string(option) + " has no effect on several recordings", "report one, or leave it out");
          }
        }
        return RunRanks(arguments->paths, *arguments->format);
      }
      ReportFilter& filter = arguments->filter;
      filter.phase_source = ReadPhaseSource(invocation);
      filter.phase_map = ReadPhaseMap(invocation);
      if (!filter.explain.empty()) (void)analyze::RequireFinding(filter.explain);
      filter.shapes = arguments->shapes.Parse();
      return RunReport(arguments->paths.front(), *arguments->format, filter);
    };
  });
}

void AddDiff(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    std::string before;
    std::string after;
    const Format* format = nullptr;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const diff = app.add_subcommand("diff", "Show what changed between two recordings");
  diff->add_option("before", arguments->before, "Recording before the change (*.fap)")->required();
  diff->add_option("after", arguments->after, "Recording after the change (*.fap)")->required();
  AddFormatOption(*diff, arguments->format, &Format::diff);
  diff->callback([arguments, &invocation] {
    invocation.run = [arguments] { return RunDiff(arguments->before, arguments->after, *arguments->format); };
  });
}

}  // namespace fa_profile::cli

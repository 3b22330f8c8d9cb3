
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>
#include <utility>

#include "code_views.h"
#include "command.h"
#include "fa_profile/analyze.h"
#include "fa_profile/error.h"
#include "fa_profile/explain.h"
#include "fa_profile/findings.h"
#include "fa_profile/load_profile.h"
#include "fa_profile/make_timeline.h"
#include "fa_profile/notice.h"
#include "fa_profile/option_jobs.h"
#include "fa_profile/select_entries.h"
#include "fa_profile/usage_errors.h"
#include "fa_profile/weigh_gpu_time.h"
#include "formats.h"
#include "kernel_options.h"
#include "print_to.h"
#include "terminal_options.h"

namespace fa_profile::cli {
namespace {

constexpr int kWidestReport = 100;

/// A timeline format, which has no report text.
bool IsTrace(const Format& format) { return format.timeline != nullptr || format.gpu_time != nullptr; }

void WriteTimeline(std::ostream& out, const std::string& path, const Format& format, const Timeline& timeline) {
  if (timeline.tracks.empty()) {
    throw Error(path + " holds no launch and no duration of the selected kernels",
                "record again, without --repeats 0, which leaves durations out");
  }
  format.timeline(out, timeline);
}

void WriteGpuTime(std::ostream& out, const std::string& path, const Format& format, const GpuTime& time) {
  if (time.nodes.empty()) {
    throw Error(path + " holds no GPU time of the selected kernels",
                "kernels that are correct and have a duration or a launch count have it; record again, without "
                "--repeats 0, which leaves durations out");
  }
  format.gpu_time(out, time);
}

void WriteTrace(std::ostream& out, const std::string& path, const Format& format, const ReportFilter& filter) {
  auto [recording, profile] = load::LoadProfile(path, filter.phase_map, /*cubins=*/false, filter.phase_source);
  const std::set<std::string> ranges = load::SelectEntries(path, filter.entries, profile);
  if (format.timeline != nullptr) {
    WriteTimeline(out, path, format,
                  analyze::MakeTimeline(recording, profile, filter.phase_map, filter.phase_source, ranges));
  } else {
    WriteGpuTime(out, path, format,
                 analyze::WeighGpuTime(recording, profile, filter.phase_map, filter.phase_source, ranges));
  }
}

/// One kernel at one shape is shown in full.
bool IsOneCall(const Profile& profile) {
  return std::ranges::all_of(profile.entries, [&](const ProfileEntry& entry) {
    return entry.kernel == profile.entries.front().kernel && entry.shape == profile.entries.front().shape;
  });
}

void WriteReport(std::ostream& out, const std::string& path, const Format& format, const ReportFilter& filter) {
  if (IsTrace(format)) return WriteTrace(out, path, format, filter);
  auto [recording, profile] = load::LoadProfile(path, filter.phase_map, /*cubins=*/false, filter.phase_source);
  exporters::ReportOptions options = TerminalOptions(kWidestReport, filter.bars);
  options.nvtx_ranges = load::SelectEntries(path, filter.entries, profile);
  if (!filter.explain.empty()) {
    if (exporters::WriteLosses(out, filter.explain, profile, options)) return;
    exporters::WriteExplanation(out, analyze::RequireFinding(filter.explain), profile, options);
    return;
  }
  options.details = filter.details || (!filter.summary && IsOneCall(profile));
  if (format.report_with_code == nullptr) return format.report(out, profile, options);
  const exporters::ReportCode code = filter.summary ? exporters::ReportCode() : ListCode(recording, profile, filter);
  format.report_with_code(out, profile, code, options);
}

/// Only for `report`: includes the timeline formats.
std::vector<const Format*> FormatsOfReport() {
  std::vector<const Format*> formats = ReportFormats();
  for (const Format& row : Formats()) {
    if (IsTrace(row)) formats.push_back(&row);
  }
  return formats;
}

// A shell's "run-*.fap*" also names what SQLite keeps next to the recording of a killed process.
std::vector<std::string> WithoutJournals(const std::vector<std::string>& paths) {
  std::vector<std::string> recordings;
  for (const std::string& path : paths) {
    constexpr std::string_view kJournal = "-journal";
    const bool is_journal =
        path.ends_with(kJournal) && std::ranges::count(paths, path.substr(0, path.size() - kJournal.size())) > 0;
    if (!is_journal) recordings.push_back(path);
  }
  return recordings;
}

// Recordings of one program's processes, side by side.
int RunRanks(const std::vector<std::string>& paths, const Format& format) {
  if (format.ranks == nullptr) {
    throw Error(std::string("a report of several recordings has no format '") + format.name + "'",
                "use --format " + ListedNames(FormatsWith(&Format::ranks)) + ", or report each recording by itself");
  }
  std::vector<std::pair<std::string, Profile>> profiles;
  std::set<std::string> names;
  for (const std::string& path : paths) names.insert(std::filesystem::path(path).filename().string());
  for (const std::string& path : paths) {
    if (std::ranges::count(paths, path) > 1) throw Error(path + " is given twice", "give each recording once");
    Profile profile = load::LoadProfile(path).second;
    if (!profile.program) {
      throw Error(path + " is not a recording of a program, so it cannot be compared with other ranks",
                  "report it by itself, or compare two recordings with fa-profile diff");
    }
    profiles.emplace_back(names.size() == paths.size() ? std::filesystem::path(path).filename().string() : path,
                          std::move(profile));
  }
  format.ranks(std::cout, analyze::JoinRanks(profiles), TerminalOptions());
  return kExitFine;
}

// What `report` prints; each option's row names what it is for.
constexpr help::Jobs kText = 1;          // a report without source
constexpr help::Jobs kPage = 2;          // one with the code's source: --format html
constexpr help::Jobs kTrace = 4;         // a format with time lines or stacks
constexpr help::Jobs kInstructions = 8;  // --instructions
constexpr help::Jobs kSource = 16;       // --source
constexpr help::Jobs kRanks = 32;        // several recordings
constexpr help::Jobs kReports = kText | kPage;
constexpr help::Jobs kViews = kInstructions | kSource;
constexpr help::Jobs kOneRecording = kReports | kTrace | kViews;

std::vector<help::Job> ReportJobs() {
  return {{.bit = kText, .name = "the text report", .refusal = " has no effect on a report without source"},
          {.bit = kPage, .name = "--format html", .refusal = " has no effect with --format html"},
          {.bit = kTrace, .name = "a trace", .refusal = " has no effect on time lines and stacks"},
          {.bit = kInstructions, .name = "--instructions", .refusal = " has no effect with --instructions"},
          {.bit = kSource, .name = "--source", .refusal = " has no effect with --source"},
          {.bit = kRanks,
           .name = "several recordings",
           .refusal = " has no effect on several recordings",
           .cure = "report one"}};
}

struct ReportArguments {
  explicit ReportArguments(const CLI::App& report) : rows(report, ReportJobs()) {}

  help::OptionJobs rows;
  std::vector<std::string> paths;
  const Format* format = nullptr;
  ReportFilter filter;
  ShapeArguments shapes;
  CodeViews views;
  ReportTarget target;

  help::Jobs job() const {
    if (paths.size() > 1) return kRanks;
    if (views.instructions) return kInstructions;
    if (views.source) return kSource;
    if (IsTrace(*format)) return kTrace;
    return format->report_with_code == nullptr || filter.summary ? kText : kPage;
  }
};

// These may also come before the command.
void RefusePhasesOfRanks(const Invocation& invocation) {
  for (const auto& [option, value] :
       {std::pair("--phase-map", invocation.phase_map), std::pair("--phase-from", invocation.phase_from)}) {
    if (!value.empty()) {
      throw Error(std::string(option) + " has no effect on several recordings", "leave it out; report one");
    }
  }
}

int RunReport(const CLI::App& report, ReportArguments& given, const Invocation& invocation) {
  given.paths = WithoutJournals(given.paths);
  given.rows.Check(given.job());
  CheckTextOptions(report, *given.format);
  if (given.paths.size() > 1) {
    RefusePhasesOfRanks(invocation);
    return RunRanks(given.paths, *given.format);
  }
  ReportFilter& filter = given.filter;
  filter.phase_source = ReadPhaseSource(invocation);
  filter.phase_map = ReadPhaseMap(invocation);
  filter.entries.shapes = given.shapes.Parse();
  filter.sources = SourcesOf(given.views);
  if (given.views.any()) return RunCodeViews(given.paths.front(), *given.format, filter, given.views);
  PrintReport(given.paths.front(), *given.format, filter);
  return kExitFine;
}

int RunDiff(const std::string& before, const std::string& after, const Format& format) {
  const Profile a = load::LoadProfile(before).second;
  const Profile b = load::LoadProfile(after).second;
  format.diff(std::cout, analyze::Diff(a, b), a, b, TerminalOptions());
  return kExitFine;
}

}  // namespace

void PrintReport(const std::string& recording_path, const Format& format, const ReportFilter& filter) {
  WriteReport(std::cout, recording_path, format, filter);
  CheckOutput();
}

void CheckOutput() {
  std::cout.flush();
  if (!std::cout) throw Error("the report could not be written to standard output", "check that the disk is not full");
}

void NameRecording(const std::string& line) {
  PrintToStderr("");
  PrintToStderr(line);
}

void AddReport(CLI::App& app, Invocation& invocation) {
  CLI::App* const report = app.add_subcommand("report", "Print the report of a recording");
  const auto arguments = std::make_shared<ReportArguments>(*report);
  report
      ->add_option("recording", arguments->paths,
                   "A *.fap file, or the *.fap.part of a killed run; several: those of a program's processes, side by "
                   "side")
      ->required();
  AddFormatOption(*report, arguments->format, FormatsOfReport());
  AddOutput(*report, arguments->target);
  report
      ->add_option("--kernel", arguments->filter.entries.kernel_pattern,
                   "Only kernels that match this regular expression")
      ->type_name("REGEX");
  report
      ->add_option("--nvtx", arguments->filter.entries.nvtx_pattern,
                   "Of a program: the NVTX ranges whose path (\"step / attn\") matches this regular expression, their "
                   "kernels, and what was found in them")
      ->type_name("REGEX");
  AddShapes(*report, arguments->shapes, "Only this shape (repeatable)");
  AddLength(*report, arguments->filter);
  report
      ->add_option("--bars", arguments->filter.bars,
                   "Bars next to the phases' shares, and sparklines of the timed calls: auto (on a terminal that shows "
                   "UTF-8), always, never")
      ->check(help::OneOf({"auto", "always", "never"}));
  report->add_option("--explain", arguments->filter.explain,
                     "Explain a finding and list where it was found, or what is missing (two_cupti), instead of the "
                     "report");
  AddCodeViews(*report, arguments->views);
  AddPhaseMap(*report, invocation);
  help::OptionJobs& rows = arguments->rows;
  rows.For(kOneRecording | kRanks, {"--format", "--output", "--force"});
  rows.For(kOneRecording, {"--kernel", "--nvtx", "--shape", "--causal", "--phase-map", "--phase-from"});
  rows.For(kReports | kTrace, {"--details", "--bars", "--explain"});
  rows.For(kReports, {"--summary"});
  rows.For(kInstructions, {"--instructions"});
  rows.For(kViews, {"--source"});
  rows.Exclude({.option = {"--source"}, .with = {"--instructions"}});
  for (const char* const length : {"--summary", "--details"}) {
    rows.Exclude({.option = {length}, .with = {"--explain"}, .cure = "leave it out"});
  }
  rows.For(kPage | kSource, {"--source-root", "--source-map"});
  rows.For(kViews, {"--limit"});
  invocation.When(*report, [arguments, report, &invocation] {
    return PrintTo(arguments->target, arguments->paths, *arguments->format,
                   [&] { return RunReport(*report, *arguments, invocation); });
  });
}

void AddDiff(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    std::string before;
    std::string after;
    const Format* format = nullptr;
    ReportTarget target;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const diff = app.add_subcommand("diff", "Show what changed between two recordings");
  diff->add_option("before", arguments->before, "Recording before the change (*.fap)")->required();
  diff->add_option("after", arguments->after, "Recording after the change (*.fap)")->required();
  AddFormatOption(*diff, arguments->format, &Format::diff);
  AddOutput(*diff, arguments->target);
  invocation.When(*diff, [arguments] {
    return PrintTo(arguments->target, {arguments->before, arguments->after}, *arguments->format,
                   [&] { return RunDiff(arguments->before, arguments->after, *arguments->format); });
  });
}

}  // namespace fa_profile::cli

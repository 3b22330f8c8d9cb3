#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/phase_map.h"
#include "fa_profile/select_entries.h"
#include "fa_profile/source_text.h"

namespace fa_profile::cli {

/// Exit codes of the program (docs/cli.md).
inline constexpr int kExitFine = 0;
inline constexpr int kExitRegression = 1;  ///< a kernel is not correct, or a check of selftest failed
inline constexpr int kExitCannot = 2;
inline constexpr int kExitNoVerdict = 3;

/// For a job that judges kernels.
inline int CodeOf(bool correct) { return correct ? kExitFine : kExitRegression; }

/// What the command line requests. Each Add function below declares a command with its options, and passes the action
/// to When(); main() runs it once everything is parsed.
struct Invocation {
  std::string command_line;          ///< as given, for recordings and reports
  std::vector<std::string> program;  ///< what follows `--`
  std::string phase_map;             ///< --phase-map, before or after the command
  std::string phase_from;            ///< --phase-from, in either place; empty: the best source available
  std::function<int()> run;          ///< returns the exit code; may throw Error

  /// Runs `what` if `command` is given, and no command below it.
  void When(CLI::App& command, std::function<int()> what) {
    command.callback([this, what = std::move(what)] {  // called for the innermost command first
      if (!run) run = what;
    });
  }
};

void AddProfile(CLI::App& app, Invocation& invocation);  ///< the main job: no command
void AddReport(CLI::App& app, Invocation& invocation);
void AddDiff(CLI::App& app, Invocation& invocation);
void AddRedact(CLI::App& app, Invocation& invocation);
void AddVerify(CLI::App& app, Invocation& invocation);
void AddReceipt(CLI::App& app, Invocation& invocation);
void AddKernelLibrary(CLI::App& app, Invocation& invocation);  ///< for child processes: hidden
void AddList(CLI::App& app, Invocation& invocation);
void AddLint(CLI::App& app, Invocation& invocation);
void AddSelftest(CLI::App& app, Invocation& invocation);
void AddDoctor(CLI::App& app, Invocation& invocation);
void AddExporter(CLI::App& app, Invocation& invocation);  ///< serve, textfile, push, top
void AddWatch(CLI::App& app, Invocation& invocation);
void AddNew(CLI::App& app, Invocation& invocation);
void AddMcp(CLI::App& app, Invocation& invocation);
void AddHelp(CLI::App& app, Invocation& invocation);
void AddCompletion(CLI::App& app, Invocation& invocation);
void AddManPages(CLI::App& app, Invocation& invocation);
void AddGate(CLI::App& app, Invocation& invocation);
void AddGateInit(CLI::App& gate, Invocation& invocation);     ///< below gate
void AddGateHistory(CLI::App& gate, Invocation& invocation);  ///< below gate
void AddBaseline(CLI::App& app, Invocation& invocation);
void AddRelease(CLI::App& app, Invocation& invocation);

/// The Add functions of this program's commands: all of them (every_command.cpp), or only the exporter's.
std::vector<void (*)(CLI::App&, Invocation&)> Commands();

/// Throws Error for the first of `options` that was given: "--draws" and `what`, with the cure.
void RefuseOptions(const CLI::App& app, const std::vector<const char*>& options, const std::string& what,
                   const std::string& cure = "leave one of them out");

/// --phase-map and --phase-from.
void AddPhaseMap(CLI::App& app, Invocation& invocation);
/// Absent without --phase-map. Throws Error.
std::optional<PhaseMap> ReadPhaseMap(const Invocation& invocation);
/// The value of --phase-from. Throws Error if --phase-map contradicts it.
PhaseSource ReadPhaseSource(const Invocation& invocation);

struct Format;  // formats.h

/// Which part of a recording a report shows.
struct ReportFilter {
  load::EntrySelection entries;
  bool details = false;               ///< everything about each kernel, even if there are many
  bool summary = false;               ///< only a few lines, even for one kernel at one shape
  std::string bars = "auto";          ///< bars next to phases, and sparklines: "auto", "always", "never"
  std::string explain;                ///< id of a finding: its story and where it was found, instead of the report
  std::optional<PhaseMap> phase_map;  ///< assigns instructions to phases
  PhaseSource phase_source = PhaseSource::kBest;
  load::SourceSearch sources;  ///< where source files are read
};

/// --details and --summary.
void AddLength(CLI::App& app, ReportFilter& filter);
/// Throws Error for an option that only the text report supports, with another format.
void CheckTextOptions(const CLI::App& app, const Format& format);

/// Prints the recording's report to stdout; shared by run, replay and report.
void PrintReport(const std::string& recording_path, const Format& format, const ReportFilter& filter);

/// Throws Error if std::cout could not write the report.
void CheckOutput();

/// Prints "recording: F.fap" on stderr, after an empty line.
void NameRecording(const std::string& line);

}  // namespace fa_profile::cli

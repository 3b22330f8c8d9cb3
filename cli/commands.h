#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/jobs.h"
#include "fa_profile/phase_map.h"
#include "fa_profile/select_entries.h"

namespace fa_profile::cli {

/// Exit codes of the program (docs/cli.md).
inline constexpr int kExitFine = 0;
inline constexpr int kExitRegression = 1;  ///< a kernel is not correct, or a check of selftest failed
inline constexpr int kExitCannot = 2;

/// Of a job that judges kernels.
inline int CodeOf(bool correct) { return correct ? kExitFine : kExitRegression; }

struct Format;  // formats.h

/// What of a recording a report shows.
struct ReportFilter {
  load::EntrySelection entries;
  bool summary = false;               ///< tables only, no block per kernel
  std::string bars = "auto";          ///< bars beside phases, and sparklines: "auto", "always", "never"
  std::string explain;                ///< id of a finding: its story and where it was found, instead of the report
  std::optional<PhaseMap> phase_map;  ///< says which instructions are which phase
  PhaseSource phase_source = PhaseSource::kBest;
};

/// What the main job was asked for, as parsed.
struct RunOptions : jobs::RunOptions {
  const Format* format = nullptr;
  ReportFilter report;
  std::string gpu_only_option;  ///< one that was given and a replay cannot honour; empty: none
};

/// The same report from the bundled recording, and in its first line that it is one.
int ReplayBundled(const RunOptions& options, const std::string& why_no_gpu);

/// Prints the recording's report to stdout; shared by run, replay and report.
void PrintReport(const std::string& recording_path, const Format& format, const ReportFilter& filter);

/// Throws Error where std::cout could not write the report.
void CheckOutput();

/// "recording: F.fap" on stderr, below an empty line.
void NameRecording(const std::string& line);

}  // namespace fa_profile::cli

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/lint_files.h"
#include "fa_profile/phase_map.h"
#include "fa_profile/shape.h"

namespace fa_profile::cli {

/// Exit codes of the program (docs/cli.md).
inline constexpr int kExitFine = 0;
inline constexpr int kExitRegression = 1;  ///< a kernel is not correct, or a check of selftest failed
inline constexpr int kExitCannot = 2;

struct Format;  // formats.h

/// A kernel in Python: --kernel-py and how it is run.
struct PythonOptions {
  std::string kernel;  ///< FILE.py:FUNCTION; empty: none
  std::string python = "python3";
  double timeout_s = 120.0;  ///< to load the file, and for each case
  /// Full names of cases, for processes of fa-profile gate, which knows them; empty: the file is asked.
  std::vector<std::string> cases{};
};

/// What the main job was asked for, as parsed.
struct RunOptions {
  std::string metric_set = "full";
  std::vector<std::string> metrics;  ///< --metrics; replaces the set
  std::string section_folder;
  std::string kernel_pattern;  ///< regular expression; empty: all
  std::vector<std::string> kernel_libraries;
  PythonOptions python;
  std::vector<std::string> tensor_files;  ///< of the libraries' kernels: "TENSOR=FILE"
  std::vector<Shape> shapes;
  std::string output;  ///< empty: a name with the time in it
  std::string spool;   ///< the exporter's folder to write to; empty: the current one
  bool overwrite = false;
  int device = 0;
  bool kernel_replay = false;
  bool flush_cache = false;
  bool timeline = false;        ///< metrics over the time of a call
  std::string phases = "auto";  ///< "on", "off", or "auto": with the sets full, detailed and phases
  int warmup_launches = 5;
  int timed_launches = 100;
  int draws = 10;
  std::string raw = "all";  ///< shapes whose raw counter data is kept: "all", "first", "none"
  const Format* format = nullptr;
  std::vector<std::string> program;       ///< what follows `--`; empty: the ladder
  std::string program_replay = "spread";  ///< how a program's counters are measured: "spread", "kernel", "none"
  int top = 0;                            ///< launch classes of a program whose counters are measured; 0: by share
  std::string nvtx_pattern;               ///< NVTX ranges of a program whose launches are measured; empty: all launches
  std::int64_t launch_skip = 0;           ///< launches of a program before the first that is measured
  std::int64_t launch_count = 0;          ///< measured launches of a program; 0: no limit
  bool from_start = true;                 ///< record a program from its start, not from its cudaProfilerStart
  double delay_s = 0.0;                   ///< of a program's run before anything is recorded
  double duration_s = 0.0;                ///< of it that is recorded; 0: to the end
  double record_all_s = 10.0;             ///< of it in which every launch is recorded, and not a sample of them
  bool children = true;                   ///< record the program's other processes
  bool exit_code_of_report = false;       ///< 0 whatever the program's exit code is
  bool summary = false;                   ///< the report's tables only
  std::string explain;                    ///< --explain: a finding's story instead of the report
  std::optional<PhaseMap> phase_map;
  PhaseSource phase_source = PhaseSource::kBest;
  std::string command_line;
  std::string gpu_only_option;  ///< one that was given and a replay cannot honour; empty: none
};

/// Runs the ladder (and kernel libraries) on a GPU. Builds without CUDA throw Error.
int RunLadder(const RunOptions& options);

/// Runs options.program, records where its GPU time goes and measures counters of its launches, and reports. Its exit
/// code, or 128 and the signal that killed it.
int RunProgram(const RunOptions& options);

/// Verifies, times and measures the function of options.python, and reports. Builds without CUDA throw Error.
int RunPython(const RunOptions& options);

/// "" when this process could profile; otherwise why not ("no NVIDIA driver", "built without CUDA").
std::string WhyNoGpu();

/// The same report from the bundled recording, and in its first line that it is one.
int ReplayBundled(const RunOptions& options, const std::string& why_no_gpu);

struct VerifyOptions {
  std::string kernel_pattern;
  std::vector<std::string> kernel_libraries;
  PythonOptions python;
  std::vector<std::string> tensor_files;  ///< of the libraries' kernels: "TENSOR=FILE"
  std::vector<Shape> shapes;              ///< empty: the correctness suite; of a library with parameters, its own shape
  int draws = 0;                          ///< 0: what the suite says
  std::uint64_t seed = 1;
  int device = 0;
};
int RunVerify(const VerifyOptions& options);

/// The same of the function of options.python, with its own reference; in every build.
int RunPythonVerify(const VerifyOptions& options);

/// The child process that loads one kernel library for its parent (library_child.h), and verifies its kernel at the
/// shape, if there is one. Does not return.
int RunKernelLibrary(const VerifyOptions& options);

struct SelftestOptions {
  std::string kernel_pattern;  ///< regular expression; empty: all
  int device = 0;
  std::string output;  ///< recording to keep; empty: none
  bool overwrite = false;
  const Format* format = nullptr;
  std::string command_line;
};
int RunSelftest(const SelftestOptions& options);

/// What of a recording a report shows.
struct ReportFilter {
  std::string kernel_pattern = {};    ///< regular expression; empty: all
  std::vector<Shape> shapes = {};     ///< empty: all
  std::string nvtx_pattern;           ///< regular expression of NVTX ranges of a program; empty: none is shown apart
  bool all_kernels = false;           ///< with nvtx_pattern: show other kernels too, and no range need match
  bool summary = false;               ///< tables only, no block per kernel
  std::string bars = "auto";          ///< bars beside phases, and sparklines: "auto", "always", "never"
  std::string explain;                ///< id of a finding: its story and where it was found, instead of the report
  std::optional<PhaseMap> phase_map;  ///< says which instructions are which phase
  PhaseSource phase_source = PhaseSource::kBest;
};
int RunReport(const std::string& path, const Format& format, const ReportFilter& filter);
int RunDiff(const std::string& before, const std::string& after, const Format& format);
struct ListOptions {
  std::string what;
  std::string chip = "GH100";
  std::string pattern;
  std::vector<std::string> kernel_libraries;
};
int RunList(const ListOptions& options);
int RunDoctor(int device, const std::string& file);

struct LintCommand : load::LintRequest {
  const Format* format = nullptr;
  std::vector<std::string> fail_on;  ///< ids of findings that make the exit code 1
  std::string explain;               ///< explains this finding instead; empty: lints
  std::string package;               ///< a wheel or a folder, instead of files
};
int RunLint(const LintCommand& command);

/// Prints the recording's report to stdout; shared by run, replay and report.
void PrintReport(const std::string& recording_path, const Format& format, const ReportFilter& filter);

}  // namespace fa_profile::cli

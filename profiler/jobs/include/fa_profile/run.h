#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fa_profile/python_jobs.h"
#include "fa_profile/shape.h"

namespace fa_profile::jobs {

/// What a run measures, and how.
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
  std::string phases = "auto";  ///< "on", "off", or "auto": with the sets full, detailed and phases
  int warmup_launches = 5;
  int timed_launches = 100;
  int draws = 10;
  std::string raw = "all";                ///< shapes whose raw counter data is kept: "all", "first", "none"
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
  std::string command_line;               ///< for the recording
};

/// Reports a finished recording. `name`: the one that it has, or will have once it is reported.
using Report = std::function<void(const std::string& recording, const std::string& name)>;

/// Runs the ladder (and kernel libraries) on a GPU, and reports. False: a kernel is not correct.
bool RunLadder(const RunOptions& options, const Report& report);

/// Runs options.program, records where its GPU time goes and measures counters of its launches, and reports. Its exit
/// code, or 128 and the signal that killed it.
int RunProgram(const RunOptions& options, const Report& report);

/// Verifies, times and measures the function of options.python, and reports. False: a case is not correct.
bool RunPython(const RunOptions& options, const Report& report);

}  // namespace fa_profile::jobs

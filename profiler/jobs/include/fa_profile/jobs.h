#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fa_profile/selftest.h"
#include "fa_profile/shape.h"

// What a command runs on a GPU, from its options to a recording or to what it prints. In a build without CUDA a
// function throws Error, unless it says otherwise.
namespace fa_profile::jobs {

/// A kernel in Python: --kernel-py and how it is run.
struct PythonOptions {
  std::string kernel;  ///< FILE.py:FUNCTION; empty: none
  std::string python = "python3";
  double timeout_s = 120.0;  ///< to load the file, and for each case
  /// Full names of cases, for processes of fa-profile gate, which knows them; empty: the file is asked.
  std::vector<std::string> cases{};
};

/// What a job runs, and where.
struct KernelChoice {
  std::string kernel_pattern;  ///< regular expression; empty: all
  std::vector<std::string> kernel_libraries;
  PythonOptions python;                   ///< with a kernel: it alone, and neither the ladder nor libraries
  std::vector<std::string> tensor_files;  ///< of the libraries' kernels: "TENSOR=FILE"
  std::vector<Shape> shapes;              ///< empty: the default of the job; of a library with parameters, its own
  int device = 0;
};

/// What a run measures, and how.
struct RunOptions : KernelChoice {
  std::string metric_set = "full";
  std::vector<std::string> metrics;  ///< --metrics; replaces the set
  std::string section_folder;
  std::string output;  ///< empty: a name with the time in it
  std::string spool;   ///< the exporter's folder to write to; empty: the current one
  bool overwrite = false;
  bool kernel_replay = false;
  bool flush_cache = false;
  bool timeline = false;        ///< metrics over the time of a call
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

/// Without shapes: the correctness suite.
struct VerifyOptions : KernelChoice {
  int draws = 0;  ///< 0: what the suite says
  std::uint64_t seed = 1;
  std::int64_t calls = 3000;           ///< of a library's kernel that are compared in all
  bool timing = true;                  ///< judge the speed of a library's kernel, too
  bool accept_weak_tolerance = false;  ///< a tolerance that zeros or a mean pass is applied as it is
  std::string receipt;                 ///< file to write, of the one kernel library; empty: none
};

/// Compares every kernel with its reference, and prints a line for each. False: one is not correct.
bool VerifyKernels(const VerifyOptions& options);

struct ReceiptOptions {
  std::string file;
  std::string library;
  std::vector<std::string> tensor_files;  ///< "TENSOR=FILE"
  int device = 0;
};

enum class ReceiptCheck { kAgrees, kDiffers, kNotChecked };

/// Holds a receipt against the library: hashes in every build, and where there is a GPU what the judge finds now.
/// Prints a line for each. Throws Error: the file is not a receipt, or was edited; a file cannot be read.
ReceiptCheck CheckReceipt(const ReceiptOptions& options);

/// The same of the function of options.python, with its own reference; in every build.
bool VerifyPythonKernel(const VerifyOptions& options);

/// The child process that loads one kernel library for its parent (library_child.h), and verifies its kernel at the
/// shape, if there is one.
[[noreturn]] void RunKernelLibrary(const VerifyOptions& options);

/// The child process that runs a kernel library's code for the judge (library_server.h).
[[noreturn]] void ServeKernelLibrary(const VerifyOptions& options);

struct SelftestOptions {
  std::string kernel_pattern;  ///< regular expression; empty: all
  int device = 0;
  std::string output;  ///< recording to keep; empty: none
  bool overwrite = false;
  std::string command_line;
};

/// Measures kernels whose true counts are known, and compares.
SelftestReport RunSelftest(const SelftestOptions& options);

/// Options of a timing process of the gate.
struct GateSampleOptions : KernelChoice {
  int launches = 15;        ///< timed samples per case
  std::uint64_t order = 0;  ///< seed of the order in which the cases are timed
};

/// Times each case and the gate's reference kernel once, in random order, without profiling or verification, and prints
/// one line of JSON (docs/gate-reference.md).
void RunGateSample(const GateSampleOptions& options);

/// A note for the verdict on two kernels in Python that are verified in different ways; empty: in the same way, or
/// `base` or `candidate` is a build of another kind. Throws Error: one cannot be loaded.
std::string PythonPairNote(const std::string& base, const std::string& candidate, const std::string& python,
                           double timeout_s);

}  // namespace fa_profile::jobs

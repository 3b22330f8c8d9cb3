#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fa_profile/selftest.h"
#include "fa_profile/shape.h"

// What a command runs on a GPU, from its options to a recording or printed output. In a build without CUDA a function
// throws Error, unless it says otherwise.
namespace fa_profile::jobs {

// Parts shared by several jobs.

/// Kernels of the ladder and of libraries, at shapes.
struct KernelChoice {
  std::string pattern;  ///< regular expression; empty: all
  std::vector<std::string> libraries;
  std::vector<std::string> tensor_files;  ///< for the libraries' kernels: "TENSOR=FILE"
  std::vector<Shape> shapes;              ///< empty: the job's default; for a library, its own
};

/// A Python kernel, and how it is run.
struct PythonOptions {
  std::string kernel;  ///< FILE.py:FUNCTION; empty: none
  std::string python = "python3";
  double timeout_s = 120.0;  ///< limit for loading the file, and for each case
  /// Full names of cases, for processes of fa-profile gate, which knows them; empty: from the file.
  std::vector<std::string> cases{};
  std::string pattern{};  ///< regular expression for the names of the file's cases; empty: all
};

/// What is measured.
struct MetricChoice {
  std::string set = "full";
  std::vector<std::string> names;  ///< --metrics; replaces the set
  std::string phases = "auto";     ///< "on", "off", or "auto": with the sets full, detailed and phases
};

/// How often a kernel is called.
struct CallCounts {
  int warmup_launches = 5;
  int timed_launches = 100;
  int draws = 10;  ///< inputs to verify it with; 0: it is not verified
};

/// The recording to write.
struct RecordingFile {
  std::string path;  ///< empty: a name that contains the time
  bool overwrite = false;
  std::string command_line;  ///< stored in the recording
};

/// Reports a finished recording. `name`: its name, now or once it is reported.
using Report = std::function<void(const std::string& recording, const std::string& name)>;

/// Measures the ladder, and kernel libraries.
struct LadderJob {
  KernelChoice kernels;
  MetricChoice metrics;
  CallCounts calls;
  RecordingFile file;
  int device = 0;
  bool kernel_replay = false;
  bool flush_cache = false;
  bool timeline = false;    ///< also metrics over the time of a call
  std::string raw = "all";  ///< shapes whose raw counter data is kept: "all", "first", "none"
};

/// Runs the job on a GPU, and reports. False: a kernel is not correct.
bool RunLadder(const LadderJob& job, const Report& report);

/// Measures a Python kernel.
struct PythonJob {
  PythonOptions python;
  MetricChoice metrics;
  CallCounts calls;
  RecordingFile file;
  int device = 0;
};

/// Verifies, times and measures the kernel's cases, and reports. False: a case is not correct.
bool RunPython(const PythonJob& job, const Report& report);

/// Launches of a program whose counters are measured.
struct LaunchChoice {
  std::string kernel_pattern;  ///< regular expression; empty: all
  std::string nvtx_pattern;    ///< NVTX ranges that contain them; empty: all launches
  std::int64_t skip = 0;       ///< matching launches to skip
  std::int64_t count = 0;      ///< 0: no limit
  int top = 0;                 ///< launch classes; 0: by share
};

/// When a program is recorded.
struct RecordedTime {
  bool from_start = true;      ///< from the program's start, not from its cudaProfilerStart
  double delay_s = 0.0;        ///< time before recording begins
  double duration_s = 0.0;     ///< length of the recording; 0: to the end
  double record_all_s = 10.0;  ///< time in which every launch is recorded, not a sample of them
};

/// Measures an unmodified program.
struct ProgramJob {
  std::vector<std::string> program;  ///< with its arguments
  MetricChoice metrics;
  RecordingFile file;
  LaunchChoice launches;
  RecordedTime time;
  std::string replay = "spread";     ///< how counters are measured: "spread", "kernel", "none"
  bool children = true;              ///< also record its other processes
  bool torch_modules = false;        ///< for a Python program: NVTX ranges around the calls of torch.nn.Module
  bool in_spool = false;             ///< the recording gets the name that the exporter looks for only once it is
                                     ///< reported
  bool exit_code_of_report = false;  ///< 0 whatever the program's exit code
};

/// Runs the program, records where its GPU time goes, measures counters of its launches, and reports. Returns the
/// program's exit code, or 128 plus the signal that killed it.
int RunProgram(const ProgramJob& job, const Report& report);

/// How a kernel is judged.
struct Judging {
  int draws = 0;  ///< number of inputs; 0: from the suite
  std::uint64_t seed = 1;
  std::int64_t calls = 3000;           ///< total calls compared, for a library's kernel
  bool timing = true;                  ///< also judge the speed of a library's kernel
  bool accept_weak_tolerance = false;  ///< apply a tolerance unchanged even if zeros or a mean pass it
};

/// Without shapes: the correctness suite.
struct VerifyJob {
  KernelChoice kernels;
  Judging judging;
  int device = 0;
  std::string receipt;  ///< file to write, for the one kernel library; empty: none
};

enum class Correctness {
  kCorrect,
  kNotCorrect,  ///< a result is wrong, or a time is not that of the work
  kNoVerdict,   ///< results are correct, but nothing can be said about a time
};

/// Compares every kernel with its reference and prints a line for each.
Correctness VerifyKernels(const VerifyJob& job);

struct VerifyPythonJob {
  PythonOptions python;
  Judging judging;
  int device = 0;
  std::string receipt;  ///< file to write; empty: none
};

/// The same for a Python function, with its own reference; in every build.
Correctness VerifyPythonKernel(const VerifyPythonJob& job);

/// The child process that loads one kernel library for its parent (library_child.h).
[[noreturn]] void DescribeKernelLibrary(const KernelChoice& kernels);

/// The child process that runs a kernel library's code for the judge (library_server.h).
[[noreturn]] void ServeKernelLibrary(const KernelChoice& kernels);

struct ReceiptJob {
  std::string file;
  std::string library;  ///< empty: `python`
  PythonOptions python;
  std::vector<std::string> tensor_files;  ///< "TENSOR=FILE"
  int device = 0;
};

enum class ReceiptCheck { kAgrees, kDiffers, kNotChecked };

/// Checks a receipt against the library: hashes in every build, and with a GPU what the judge finds now. Prints a line
/// for each. Throws Error: the file is not a receipt, or was edited; a file cannot be read.
ReceiptCheck CheckReceipt(const ReceiptJob& job);

struct SelftestJob {
  std::string kernel_pattern;  ///< regular expression; empty: all
  RecordingFile file;          ///< without a path: not kept
  int device = 0;
};

/// Measures kernels whose true counts are known, and compares.
SelftestReport RunSelftest(const SelftestJob& job);

/// A timing process of the gate.
struct GateSampleJob {
  KernelChoice kernels;
  PythonOptions python;  ///< with a kernel: only that one
  int device = 0;
  int launches = 15;        ///< timed samples per case
  std::uint64_t order = 0;  ///< seed of the order in which the cases are timed
};

/// Times each case and the gate's reference kernel once, in random order, without profiling or verification, and prints
/// one line of JSON (docs/gate-reference.md).
void RunGateSample(const GateSampleJob& job);

/// A note for the verdict on two Python kernels that are verified in different ways; empty: in the same way, or `base`
/// or `candidate` is another kind of build. Throws Error: one cannot be loaded.
std::string PythonPairNote(const std::string& base, const std::string& candidate, const std::string& python,
                           double timeout_s);

}  // namespace fa_profile::jobs

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/arm_order.h"
#include "fa_profile/gate.h"
#include "fa_profile/pair_run.h"
#include "fa_profile/thresholds.h"

namespace fa_profile::gate {

/// A run of pairs (docs/gate-reference.md): two builds measured in turns on one GPU.
struct PairOptions {
  std::string base;                    ///< a program, a folder with one, a kernel library, or FILE.py:FUNCTION
  std::string candidate;               ///< of the same kind
  std::string kernel_pattern;          ///< regular expression; empty: all; ignored for libraries
  std::vector<std::string> shapes;     ///< Shape::ToString(); empty: the default shape
  std::vector<std::string> libraries;  ///< kernel libraries that both programs load in addition
  int device = 0;
  int pairs = 8;                   ///< timing pairs of the first stage
  int second_pairs = 14;           ///< pairs of the second stage
  int phase_pairs = 8;             ///< recording pairs of the first stage, including the first look
  int warmups = 2;                 ///< timing processes that do not count
  int launches = 15;               ///< timed calls per case and process
  int draws = 3;                   ///< random inputs that verify each kernel, once per build
  double timeout_seconds = 120.0;  ///< for one process; for one case of a Python kernel
  bool measure_identical = false;  ///< also time cases with equal machine code
  bool partial = false;            ///< see GateInput::partial
  bool shared = false;             ///< other processes may use the GPU
  std::string tool;                ///< the program that loads kernel libraries and runs Python; empty: this one
  std::string python = "python3";  ///< the interpreter for Python kernels
  std::string candidate_note;      ///< what the verdict must mention about the candidate; empty: nothing
  Thresholds thresholds;
  std::string today;      ///< "2026-11-21"
  std::string reproduce;  ///< command line
  /// Reads one recording: LoadEvidence({path}).
  std::function<Evidence(const std::string& path)> load;
  /// Number of processes with a compute context on the GPU with this UUID. Empty or absent: unknown.
  std::function<std::optional<unsigned>(const std::string& uuid)> compute_processes;
};

/// Measures recordings (correctness, counters, machine code), then pairs of the cases that may have changed, then
/// suspects again. Throws Error if a build is not found, if the base fails (with its command), if the builds ran on
/// different GPUs, if another process uses the GPU, and when interrupted by SIGINT or SIGTERM. A candidate kernel that
/// crashes or hangs is not an error: its case is not correct. Child processes and temporary files do not outlive the
/// call.
PairRun RunPair(const PairOptions& options);

/// Measures one build in `timings` timing and `recordings` recording processes. Throws Error like RunPair().
Evidence MeasureBuild(const PairOptions& options, int timings, int recordings);

/// The verdict on a run.
GateResult JudgePair(const PairRun& run, const Thresholds& thresholds, const std::string& today,
                     const std::string& reproduce, bool partial = false);

}  // namespace fa_profile::gate

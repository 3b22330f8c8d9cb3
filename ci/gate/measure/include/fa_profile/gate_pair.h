#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/gate.h"
#include "fa_profile/pair_run.h"
#include "fa_profile/thresholds.h"

namespace fa_profile {

/// A run of pairs (docs/gate-pair.md): two builds measured in turns on one GPU.
struct PairOptions {
  std::string base;            ///< a program, a folder with one, or a kernel library; the candidate is of the same kind
  std::string candidate;       ///<
  std::string kernel_pattern;  ///< regular expression; empty: all. Not for libraries: those have one kernel
  std::vector<std::string> shapes;     ///< AttentionShape::ToString(); empty: the default shape
  std::vector<std::string> libraries;  ///< kernel libraries that both programs load beside their own kernels
  int device = 0;
  int pairs = 8;                   ///< timing pairs of the first stage
  int second_pairs = 14;           ///< pairs of the second stage
  int phase_pairs = 8;             ///< recording pairs of the first stage, the first look included
  int warmups = 2;                 ///< timing processes that are not counted
  int launches = 15;               ///< timed calls a case in a process
  int draws = 3;                   ///< random inputs each kernel is verified with, once a build
  double timeout_seconds = 120.0;  ///< of one process
  bool measure_identical = false;  ///< cases of equal machine code too
  bool partial = false;            ///< as GateInput::partial
  bool shared = false;             ///< another process may be on the GPU
  std::string tool;                ///< the program that loads kernel libraries; empty: this one
  Thresholds thresholds;
  std::string today;      ///< "2026-11-21"
  std::string reproduce;  ///< command line
  /// Reads what one recording says: LoadEvidence({path}).
  std::function<Evidence(const std::string& path)> load;
  /// Processes with a compute context on the GPU of this UUID. Empty, or absent: it cannot be known.
  std::function<std::optional<unsigned>(const std::string& uuid)> compute_processes;
};

enum class PairArm { kBase, kCandidate, kControl };

/// The order in which the three arms of a pair run. Every two orders that follow each other are mirror images, so in an
/// even number of pairs each arm comes before each other one exactly half of the time; and in six pairs each is in each
/// place, and each is followed by each, equally often.
std::vector<PairArm> ArmOrder(int pair);

/// Measures: recordings first (correctness, counters, machine code), then pairs of the cases that can have changed,
/// then those again that are suspect. Throws Error: no such build, the base fails (with its command), the builds ran on
/// different GPUs, somebody else is on the GPU, interrupted by SIGINT or SIGTERM. A kernel of the candidate that
/// crashes or hangs is no error: its case is not correct. Children and temporary files do not outlive the call.
PairRun RunPair(const PairOptions& options);

/// One build, measured in `timings` timing and `recordings` recording processes, one after the other. Throws Error as
/// RunPair() does.
Evidence MeasureBuild(const PairOptions& options, int timings, int recordings);

/// The verdict on a run.
GateResult JudgePair(const PairRun& run, const Thresholds& thresholds, const std::string& today,
                     const std::string& reproduce, bool partial = false);

}  // namespace fa_profile

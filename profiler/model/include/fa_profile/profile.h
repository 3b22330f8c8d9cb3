#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/attention_shape.h"
#include "fa_profile/recording.h"

namespace fa_profile {

/// Median and spread of unprofiled launches.
struct TimingSummary {
  std::string method;
  std::size_t samples = 0;
  double median_ns = 0.0;
  double p05_ns = 0.0;
  double p95_ns = 0.0;
  double min_ns = 0.0;
  /// Relative spread: (p95 - p05) / median.
  double spread_ratio = 0.0;
};

/// What limits the number of resident warps.
struct Occupancy {
  double theoretical_ratio = 0.0;  ///< resident warps the launch allows / warps an SM can hold
  int blocks_per_sm = 0;
  std::vector<std::string> limiters;  ///< "warps", "blocks", "registers", "shared memory"; those that tie
  double waves = 0.0;                 ///< blocks / (blocks_per_sm * SMs)
};

/// Where warps of a range spent their time, worst first; ratio of all warp-cycles.
struct StallShare {
  std::string reason;  ///< "long_scoreboard"
  double ratio = 0.0;
};

/// One phase of a kernel: what its instructions cost and did.
struct PhaseEntry {
  std::string name;                       ///< "softmax"; kUnattributed: what belongs to none
  std::map<std::string, double> metrics;  ///< id of the phase catalogue -> value; what could not be derived is absent
  std::vector<StallShare> stalls;         ///< of the phase's own samples, worst first; "selected" is not among them
};

inline constexpr const char* kUnattributed = "(unattributed)";

/// A sum over phases held against the same quantity of the whole kernel, from another source.
struct Closure {
  std::string quantity;      ///< "instructions", "shared wavefronts", "samples"
  double phases = 0.0;       ///< summed over all phases, the unattributed part included
  double whole = 0.0;        ///< from the range profiler, or the hardware's own total
  double limit_ratio = 0.0;  ///< difference allowed, of `whole`; 0: must be equal
  bool closes() const;
};

/// The phases of one entry's kernels.
struct PhaseTable {
  std::vector<PhaseEntry> phases;  ///< most time first; the unattributed last, present even when it is 0
  std::string attribution;  ///< "inline functions", "phase map <file>", "opcode classes": how the phases were found
  /// Samples of warps that waited for another warp or an asynchronous copy and could not be charged to the phase they
  /// waited for: no work, and not in any time share. Ratio of all samples.
  double waiting_ratio = 0.0;
  std::uint64_t samples = 0;
  std::uint64_t dropped_samples = 0;
  int period_cycles = 0;
  std::vector<Closure> closures;
};

/// Something worth acting on, from a rule of the findings' table.
struct Finding {
  std::string id;        ///< "serial-softmax"
  std::string phase;     ///< empty: the whole kernel
  std::string evidence;  ///< one line with the numbers
  std::string cure;      ///< one line
  double weight = 0.0;   ///< share of the kernel's time that it is about, for ranking; 0..1
};

/// One measured range with everything concluded about it.
struct ProfileEntry {
  std::int64_t case_id = 0;
  std::string kernel;
  std::string origin;
  std::optional<AttentionShape> shape;
  std::string part;  ///< empty: the whole call
  std::optional<Verification> verification;
  std::optional<TimingSummary> timing;    ///< absent when not timed, and when the kernel is not correct
  std::map<std::string, double> metrics;  ///< catalogue id -> value; what could not be derived is absent
  std::vector<Launch> launches;           ///< the launches of one call (or one part)
  std::optional<Occupancy> occupancy;     ///< of the longest launch
  std::vector<StallShare> stalls;
  std::string bottleneck;  ///< "compute", "memory", "latency"; empty when unknown
  std::optional<PhaseTable> phases;
  std::vector<Finding> findings;  ///< the weightiest first
};

/// What we conclude: a pure function of a recording.
struct Profile {
  Session session;
  Device device;
  std::vector<ClockSample> clocks;
  std::vector<ProfileEntry> entries;  ///< in recording order: a case's whole call, then its parts
  std::vector<DataLoss> losses;
};

}  // namespace fa_profile

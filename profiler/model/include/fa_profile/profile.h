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

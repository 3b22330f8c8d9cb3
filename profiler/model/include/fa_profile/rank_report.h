#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/profile.h"

namespace fa_profile {

/// One of several recordings of a program: a rank, or one of its processes.
struct Rank {
  std::string recording;  ///< file name
  Device device;
  bool complete = false;   ///< false: the process was killed
  std::string created_at;  ///< when it was recorded: UTC, ISO 8601
  std::string next;        ///< the recording of the process that was restarted under this name; empty: none was
  ProgramUse use;          ///< `memory` and `nvtx` are empty: RankReport has them
};

/// A time in every recording, in the order of RankReport::ranks.
struct RankTimes {
  std::string name;                    ///< name of a kernel without its launch configuration, or of an NVTX range
  int level = 0;                       ///< for an NVTX range: number of rows that contain it
  std::vector<std::int64_t> total_ns;  ///< 0: it did not run there
  double mean_ns = 0.0;
  std::size_t least = 0;      ///< index of the rank with the least time
  std::size_t most = 0;       ///< and with the most
  double spread_ratio = 0.0;  ///< (most - least) / mean
};

/// Recordings of one program next to each other. The fastest ranks wait for whatever makes ranks differ.
struct RankReport {
  std::vector<Rank> ranks;
  RankTimes all_kernels;           ///< time of all kernels
  std::vector<RankTimes> kernels;  ///< by full name, most time first
  std::vector<RankTimes> ranges;   ///< by path: a range before those nested in it
};

}  // namespace fa_profile

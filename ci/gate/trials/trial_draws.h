#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/evidence.h"
#include "fa_profile/gate.h"
#include "fa_profile/thresholds.h"

namespace fa_profile::gate {

/// Pairs of the two stages of a run of the gate (docs/gate-reference.md).
inline constexpr std::size_t kFirstPairs = 8;
inline constexpr std::size_t kSecondPairs = 14;

/// Random numbers that are the same with every standard library; its own distributions are not.
class TrialRandom {
 public:
  explicit TrialRandom(std::uint64_t seed) : engine_(seed) {}
  /// From 0 to count - 1. (The bias of the remainder is below 2^-50 here.)
  std::size_t Below(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }
  /// `size` different numbers under `count`, in random order.
  std::vector<std::size_t> Sample(std::size_t count, std::size_t size);

 private:
  std::mt19937_64 engine_;
};

/// Processes that ran close to each other: the base's, the candidate's, and (in a block of three) the base's again.
using DrawnBlock = std::vector<std::size_t>;

/// The blocks of one simulated run of the gate.
struct Draw {
  std::vector<DrawnBlock> first, second;                    ///< timing processes
  std::vector<DrawnBlock> recorded_first, recorded_second;  ///< recording processes, in pairs
};

/// Blocks of `size` successive processes, without the first `skip`.
std::vector<DrawnBlock> Neighbours(const std::vector<std::size_t>& processes, std::size_t size, std::size_t skip);

/// Up to `first` and then `second` of the blocks, in random order; with `shuffle` it is random which process of a block
/// is the base's and which the candidate's.
void DrawBlocks(const std::vector<DrawnBlock>& blocks, std::size_t first, std::size_t second, bool shuffle,
                TrialRandom& random, std::vector<DrawnBlock>& into_first, std::vector<DrawnBlock>& into_second);

/// One side of a simulated run.
struct TrialArm {
  const Evidence* data = nullptr;
  std::vector<std::size_t> cases;
  std::string kernel;  ///< all cases are judged under this name; empty: each under its own
  /// For durations and cycles, one per block of both stages in order; empty: 1.
  std::vector<double> factors;
  bool with_code = true;  ///< false: without machine code and launches: the judge would not time equal code
  /// For durations and cycles, in all blocks.
  double duration_scale = 1.0, cycles_scale = 1.0;
};

/// The gate's verdict on a draw, with a control if its timing blocks have three: Judge() after the first stage and, if
/// there are suspects, after the second.
GateResult JudgeDraw(const TrialArm& base, const TrialArm& candidate, const Draw& draw, const Thresholds& thresholds);

/// Timing or recording processes of a case that were not throttled, in the order in which they ran.
std::vector<std::size_t> ProcessesOf(const Evidence& data, const std::string& kind, std::size_t case_index);

}  // namespace fa_profile::gate

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/gpu_api.h"

namespace fa_profile::collect {

/// Counters of a program's launches without replay: each repetition of a launch class takes the next pass of the plan.
///
/// Nothing is saved, restored or run twice. CUPTI matches the passes of user replay by the names of the ranges, so the
/// classes may come in any order, and one that a pass did not see lacks that pass's metrics alone.
class SpreadSession {
 public:
  /// `wanted`: the classes to measure, at most as many as ranges fit into one image; their names are the ranges' names.
  /// A pass ends when each was measured, or after `patience` launches without one to measure: those missing then are
  /// not waited for until they come back. `plan` and `profiler` outlive this. Throws Error.
  SpreadSession(const MetricPlan& plan, RangeProfiler& profiler, std::vector<std::string> wanted,
                std::int64_t patience);

  /// Whether Open() would measure a launch of `wanted[index]` now. Counts the launch, which has `kernels` kernels;
  /// nullopt: of no wanted class.
  bool Wants(std::optional<std::size_t> index, std::int64_t kernels = 1);
  /// `wanted[index]` was measured in this pass.
  bool IsMeasured(std::size_t index) const { return measured_[index]; }
  /// Before such a launch, with the device idle. Throws Error.
  void Open(std::size_t index);
  /// After the launch. Throws Error: the device reported one. True when all passes were taken.
  bool Close();
  /// The pass has waited long enough: call EndPass().
  bool stalled() const { return started_ && launches_without_ >= patience_; }
  /// Ends an open pass; what it did not measure is missing. True when all passes were taken.
  bool EndPass();

  /// All passes were taken, or more passes than the plan explains.
  bool done() const { return done_; }
  int passes_taken() const { return passes_taken_; }
  /// Passes in which `wanted[index]` was measured.
  int passes_of(std::size_t index) const { return passes_of_[index]; }
  const std::vector<std::string>& wanted() const { return wanted_; }

 private:
  const MetricPlan& plan_;
  RangeProfiler& profiler_;
  std::vector<std::string> wanted_;
  std::int64_t patience_;
  std::vector<bool> measured_;  // in this pass
  std::vector<bool> awaited_;   // the pass goes on until these were measured
  std::vector<int> passes_of_;
  std::int64_t launches_without_ = 0;
  bool started_ = false;
  bool done_ = false;
  int passes_taken_ = 0;
};

}  // namespace fa_profile::collect

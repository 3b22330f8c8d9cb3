#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/infer_phases.h"
#include "fa_profile/phase_comparison.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Weight by the phase that a function names and by the inferred one, where a function names one.
struct PhaseConfusion {
  std::map<std::pair<std::string, std::string>, double> weight;  ///< by named and inferred phase
  double unnamed = 0.0;                                          ///< weight of what no function names

  double All() const;
  /// Of what is named, the share with the same name both ways. 0 where nothing is named, as all ratios here.
  double SameRatio() const;
  double Ratio(const std::string& named, const std::string& inferred) const;
  double NamedRatio(const std::string& phase) const;
  double InferredRatio(const std::string& phase) const;
  /// The phase whose share differs most, and by how much; "" where nothing differs.
  std::pair<std::string, double> LargestError() const;
};

/// Samples of each instruction by warps that wait at no barrier. `sampling` without the branch skid where counts allow.
std::vector<double> WorkingSamples(const DeviceFunction& function, const PcSampling& sampling);

/// `weights`: by instruction. Barriers and padding do not count: no warp works there. An inference that was refused has
/// no confusion.
PhaseConfusion CompareWithNames(const DeviceFunction& function, const InferredPhases& inferred,
                                const std::vector<double>& weights);

/// Named and inferred phases of each function of an entry's kernels. An entry without code has one comparison, which
/// says why; a part of a call that was measured as a whole has none. Reads of `entry`: kernel, shape, case_id, part.
std::vector<PhaseComparison> ComparePhases(const Recording& recording, const ProfileEntry& entry);

}  // namespace fa_profile::analyze

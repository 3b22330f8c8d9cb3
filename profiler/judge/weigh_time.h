#pragma once

#include <limits>
#include <string>
#include <vector>

#include "fa_profile/number_format.h"
#include "floor.h"
#include "witness.h"

namespace fa_profile::judge {

/// Of the SM cycles. Fewer cycles of tensor pipes are noise: kernels without matrix products have some.
inline constexpr double kTensorPart = 0.02;

/// What calls of one kind did, over all rounds.
struct Counted {
  double calls = 0;
  Watched sum;
  DeviceCounts lowest;  ///< of a call, over the rounds
  DeviceCounts highest;

  void Add(const Watched& seen, double more_calls);
  DeviceCounts PerCall() const { return sum.counts / calls; }
};

/// All that tells whether a time is that of the work.
struct TimeEvidence {
  Counted alone;          ///< calls whose results were verified, one by one
  Counted timed;          ///< calls in bursts
  double call_ns = 0.0;   ///< of a timed call
  double apart_ns = 0.0;  ///< of a call in a separate graph: no other can overlap it; 0: not tried
  double apart_instructions = 0.0;
  /// The least, over the bursts, of the time until the worker answers less what the work may take.
  double least_idle_ns = std::numeric_limits<double>::infinity();
  bool in_python = false;
  Work work;                          ///< that the library claims
  std::vector<NumberFormat> formats;  ///< of the tensors
  double tensor_bytes = 0.0;          ///< of a call
  Ceilings ceilings;
};

/// Why the timed calls did not do the work of the verified ones, all of it while they were timed. Empty: they did.
std::string WhyNotTheWork(const TimeEvidence& evidence);

/// Why nothing can be said of the time: something else worked on the GPU. Empty: nothing did.
std::string WhyDisturbed(const TimeEvidence& evidence);

/// "fp16; tensor cores work; 25.2 MB of tensors a call, warm in L2".
std::string ConditionsOf(const TimeEvidence& evidence);

}  // namespace fa_profile::judge

#pragma once

#include <limits>
#include <string>
#include <vector>

#include "fa_profile/number_format.h"
#include "floor.h"
#include "witness.h"

namespace fa_profile::judge {

/// Share of SM cycles. With fewer tensor pipe cycles it is noise: kernels without matrix products have some.
inline constexpr double kTensorPart = 0.02;

/// What calls of one kind did over all rounds.
struct Counted {
  double calls = 0;
  Watched sum;
  DeviceCounts lowest;  ///< per call, over the rounds
  DeviceCounts highest;

  void Add(const Watched& seen, double more_calls);
  DeviceCounts PerCall() const { return sum.counts / calls; }
};

/// Time of the calls of a round, per call.
struct Spent {
  double busy_ns = 0.0;     ///< of the GPU, from the first cycle to the last
  double elapsed_ns = 0.0;  ///< from the question to the worker's answer
};

/// Everything that shows whether a time is that of the work.
struct TimeEvidence {
  Counted alone;          ///< calls whose results were verified, one by one
  Counted timed;          ///< calls in bursts
  double call_ns = 0.0;   ///< per timed call
  double apart_ns = 0.0;  ///< per call in a separate graph, which no other can overlap; 0: not tried
  double apart_instructions = 0.0;
  std::vector<Spent> first;  ///< on new inputs
  std::vector<Spent> again;  ///< the same calls on the same inputs, after many others
  /// Over the bursts, the smallest time until the worker answers minus the time that the work may take.
  double least_idle_ns = std::numeric_limits<double>::infinity();
  bool in_python = false;
  Work work;                          ///< claimed by the library
  std::vector<NumberFormat> formats;  ///< the tensors'
  double tensor_bytes = 0.0;          ///< per call
  Ceilings ceilings;
};

/// Why the timed calls did not do all the work of the verified ones while they were timed. Empty: they did.
std::string WhyNotTheWork(const TimeEvidence& evidence);

/// Why the time means nothing: something else was working on the GPU. Empty: nothing was.
std::string WhyDisturbed(const TimeEvidence& evidence);

/// "fp16; tensor cores work; 25.2 MB of tensors a call, warm in L2".
std::string ConditionsOf(const TimeEvidence& evidence);

}  // namespace fa_profile::judge

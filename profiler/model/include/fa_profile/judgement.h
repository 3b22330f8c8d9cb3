#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fa_profile {

/// What the judge found (profiler/judge): whether a kernel is correct where it is timed, and how long a call takes by
/// counters of the whole device, which the kernel cannot reach.
struct Judgement {
  enum class Verdict {
    kCertified,  ///< correct, and the time is that of the work
    kWrong,      ///< a result is wrong
    kRefused,    ///< results are right, but not the claim: the reason says what does not fit
    kCannotSay,  ///< something was missing or in the way
  };
  std::int64_t case_id = 0;
  Verdict verdict = Verdict::kCannotSay;
  std::string reason;                ///< a sentence; empty: certified
  std::int64_t calls = 0;            ///< compared with the reference, every element
  std::int64_t wrong_calls = 0;      ///< of them
  std::optional<bool> same_bits;     ///< whether equal inputs gave equal bits; absent: not tried
  std::string weak_tolerance;        ///< what the tolerances also accept ("zeros"); empty: nothing that was tried
  std::vector<double> durations_ns;  ///< of a call in the bursts that were timed: busy time of the device over calls
  std::int64_t calls_a_burst = 0;
  int sets = 0;                     ///< tensors of calls that take turns, with other contents each
  double instructions = 0.0;        ///< of a verified call alone: warp instructions of the whole device
  double timed_instructions = 0.0;  ///< of a call in the bursts
  double tensor_cycles = 0.0;       ///< likewise: cycles of tensor pipes, summed over SMs
  double timed_tensor_cycles = 0.0;
  double sm_cycles = 0.0;  ///< likewise: cycles in which an SM held a warp, summed over SMs
  double timed_sm_cycles = 0.0;
};

}  // namespace fa_profile

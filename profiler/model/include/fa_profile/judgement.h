#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fa_profile {

/// What a whole GPU did, of all processes and streams; or the part of it that falls to one call.
struct DeviceCounts {
  double instructions = 0.0;   ///< warp instructions
  double tensor_cycles = 0.0;  ///< of tensor pipes, summed over SMs
  double sm_cycles = 0.0;      ///< in which an SM held a warp, summed over SMs
  double fp64_cycles = 0.0;    ///< of pipes for double precision, summed over SMs
  double l2_sectors = 0.0;     ///< of 32 bytes, that SMs read from L2 or wrote to it; 0 where the chip does not tell
  double dram_sectors = 0.0;   ///< of 32 bytes, read from DRAM; 0 where the chip does not tell
};

/// A field of DeviceCounts and its name in files.
struct DeviceCount {
  using Field = double DeviceCounts::*;
  const char* name;
  Field value;
};
std::span<const DeviceCount> AllDeviceCounts();

DeviceCounts& operator+=(DeviceCounts& sum, const DeviceCounts& more);
DeviceCounts operator/(DeviceCounts counts, double calls);

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
  double largest_difference = 0.0;   ///< between two results for equal inputs
  std::string weak_tolerance;        ///< what the tolerances also accept ("zeros"); empty: nothing that was tried
  std::vector<double> durations_ns;  ///< of a call in the bursts that were timed: busy time of the device over calls
  std::int64_t calls_a_burst = 0;
  int calls_a_graph = 0;  ///< in the bursts; 0: the launches were not captured
  int sets = 0;           ///< tensors of calls that take turns, with other contents each
  DeviceCounts verified;  ///< of a verified call alone
  DeviceCounts timed;     ///< of a call in the bursts
  /// What the numbers are of: element types, pipes that worked, whether L2 holds what a call reads and writes.
  std::string conditions;

  bool refused() const { return verdict == Verdict::kRefused; }
};

/// "certified", "wrong", "refused", "cannot say".
std::string ToString(Judgement::Verdict verdict);
/// Absent: no verdict has this name.
std::optional<Judgement::Verdict> VerdictOf(const std::string& name);

/// Median of the timed bursts; absent: the witness timed none.
std::optional<double> CallNs(const Judgement& judgement);

/// "certified: 12.3 us a call, 0 of 3,000 calls wrong (95 %: under 0.1 %)", or the verdict with its reason.
std::string Describe(const Judgement& judgement);

/// The profiler's counter of the instructions that a judge counts from outside.
inline constexpr const char* kInstructionCounter = "smsp__inst_executed.sum";

/// Measurements of the process that loads the library, and what they must be by a certificate.
struct MeasuredCall {
  std::optional<double> median_ns;     ///< of the whole call, without the profiler
  std::optional<double> instructions;  ///< warp instructions of a call, by the profiler's counters
};

/// A call was faster than the certified one by more than a tenth and the gap between two graphs, or executed less than
/// half of its instructions: the library behaves otherwise where it is measured. Empty: it fits, or is not certified.
std::string WhyNotAsCertified(const Judgement& judgement, const MeasuredCall& measured);

}  // namespace fa_profile

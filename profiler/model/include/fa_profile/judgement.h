#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fa_profile {

/// What a whole GPU did, over all processes and streams; or one call's part of it.
struct DeviceCounts {
  double instructions = 0.0;   ///< warp instructions
  double tensor_cycles = 0.0;  ///< cycles of tensor pipes, summed over SMs
  double sm_cycles = 0.0;      ///< cycles in which an SM held a warp, summed over SMs
  double fp64_cycles = 0.0;    ///< cycles of double-precision pipes, summed over SMs
  double l2_sectors = 0.0;     ///< sectors of 32 bytes that SMs read from or wrote to L2; 0 if the chip does not say
  double dram_sectors = 0.0;   ///< sectors of 32 bytes read from DRAM; 0 if the chip does not say
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

/// The judge's findings (profiler/judge): whether a kernel is correct where it is timed, and how long a call takes by
/// counters of the whole device, which the kernel cannot influence.
struct Judgement {
  enum class Verdict {
    kCertified,  ///< correct, and the time is that of the work
    kWrong,      ///< a result is wrong
    kRefused,    ///< results are correct, but the claim is not: the reason says what does not fit
    kCannotSay,  ///< something was missing or interfered
  };
  std::int64_t case_id = 0;
  Verdict verdict = Verdict::kCannotSay;
  std::string reason;                ///< a sentence; empty: certified
  std::int64_t calls = 0;            ///< calls compared with the reference, every element
  std::int64_t wrong_calls = 0;      ///< those that were wrong
  std::optional<bool> same_bits;     ///< whether equal inputs gave equal bits; absent: not tried
  double largest_difference = 0.0;   ///< between two results for equal inputs
  std::string weak_tolerance;        ///< what else the tolerances accept ("zeros"); empty: nothing that was tried
  std::vector<double> durations_ns;  ///< per call in the timed bursts: busy time of the device over calls
  std::int64_t calls_a_burst = 0;
  int calls_a_graph = 0;  ///< in the bursts; 0: the launches were not captured
  int sets = 0;           ///< sets of tensors that calls take in turn, each with other contents
  DeviceCounts verified;  ///< for a verified call alone
  DeviceCounts timed;     ///< for a call in the bursts
  /// Conditions of the numbers: element types, pipes that worked, whether L2 holds what a call reads and writes.
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

/// The warp instructions among the profiler's counters, whichever metric set was measured; a judge counts them from
/// outside. Absent: not measured.
std::optional<double> ExecutedInstructions(const std::map<std::string, double>& counters);

/// Measurements in the process that loads the library, and what they must be according to a certificate.
struct MeasuredCall {
  std::optional<double> median_ns;     ///< for the whole call, without the profiler
  std::optional<double> instructions;  ///< warp instructions per call, by the profiler's counters
};

/// A call was faster than the certified one by more than a tenth and the gap between two graphs, where the time may
/// fall with the square of the instructions, or executed less than half of them: the library behaves differently where
/// it is measured. Empty: it agrees, or is not certified.
std::string WhyNotAsCertified(const Judgement& judgement, const MeasuredCall& measured);

}  // namespace fa_profile

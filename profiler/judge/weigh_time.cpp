#include "weigh_time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace fa_profile::judge {
namespace {

// Share of a verified call's instructions that a timed one may lack: waiting loops differ from run to run.
constexpr double kInstructionSlack = 0.02;
constexpr double kTensorSlack = 0.10;
// Share of L2 or DRAM sectors. Neighbouring blocks share L1's contents by chance.
constexpr double kSectorSlack = 0.10;
constexpr double kSectorBytes = 32.0;
// Share of a call's instructions: the most that they may differ from round to round and still explain a difference.
constexpr double kMostSpread = 0.1;
// At this multiple of a verified call's instructions it is not only waiting loops: those of 33 honest kernels differ by
// 3 % at most (H100).
constexpr double kMostMore = 1.25;
// A call in a chain may be faster than one alone, by the gap between graphs and by what dependent launch hides.
constexpr double kGapNs = 3000.0;
constexpr double kPythonGapNs = 40000.0;  // as long as Python may take to launch a graph
constexpr double kChainPart = 0.65;
// By how much a call on new inputs may take longer: part of a timed call, and the error of both times. The witness
// reads the GPU's counters every 20 us. Of 16 honest kernels none took more than 3 us longer on the GPU, or 125 us in
// all (H200).
constexpr double kFirstPart = 0.3;
constexpr double kFirstBusyNs = 20e3;
constexpr double kFirstElapsedNs = 300e3;
// Between question and first work, and between last work and answer.
constexpr double kMostIdleNs = 1.5e6;

// The least that a timed call must have of a count that varies by chance, and from round to round.
double Least(const TimeEvidence& evidence, DeviceCount::Field count, double slack) {
  const double lowest = evidence.alone.lowest.*count;
  const double spread = std::min(evidence.alone.highest.*count - lowest, kMostSpread * lowest);
  return lowest * (1.0 - slack) - spread;
}

bool UsesTensorCores(const DeviceCounts& counts) { return counts.tensor_cycles > kTensorPart * counts.sm_cycles; }

std::string WhyOfCounts(const TimeEvidence& evidence) {
  const DeviceCounts verified = evidence.alone.PerCall();
  const DeviceCounts timed = evidence.timed.PerCall();
  const double instructions = evidence.timed.lowest.instructions;
  if (instructions < Least(evidence, &DeviceCounts::instructions, kInstructionSlack)) {
    return fmt::format("a timed call executes {:.4g} instructions, a verified one {:.4g}: timed calls do less",
                       instructions, evidence.alone.lowest.instructions);
  }
  if (UsesTensorCores(verified) && timed.tensor_cycles < verified.tensor_cycles * (1.0 - kTensorSlack)) {
    return fmt::format("a timed call keeps tensor cores busy for {:.4g} cycles, a verified one for {:.4g}",
                       timed.tensor_cycles, verified.tensor_cycles);
  }
  if (evidence.timed.lowest.l2_sectors < Least(evidence, &DeviceCounts::l2_sectors, kSectorSlack)) {
    return fmt::format("a timed call moves {:.4g} sectors between SMs and L2, a verified one {:.4g}",
                       evidence.timed.lowest.l2_sectors, evidence.alone.lowest.l2_sectors);
  }
  // From one call to the next on the same tensors, L2 may keep up to its size.
  const double kept = evidence.ceilings.l2_bytes / kSectorBytes;
  if (kept > 0 &&
      evidence.timed.lowest.dram_sectors < Least(evidence, &DeviceCounts::dram_sectors, kSectorSlack) - kept) {
    return fmt::format("a timed call reads {:.4g} MB from DRAM, a verified one {:.4g} MB, and L2 holds {:.4g} MB",
                       evidence.timed.lowest.dram_sectors * kSectorBytes / 1e6,
                       evidence.alone.lowest.dram_sectors * kSectorBytes / 1e6, evidence.ceilings.l2_bytes / 1e6);
  }
  return {};
}

std::string WhyOfOrder(const TimeEvidence& evidence) {
  if (!evidence.alone.sum.quiet_before || !evidence.timed.sum.quiet_before) {
    return "the GPU works for the library before a call is asked for";
  }
  if (!evidence.alone.sum.quiet_after || !evidence.timed.sum.quiet_after) {
    return "the GPU still works when the calls' stream is done: work is on another stream, or comes later";
  }
  if (std::isfinite(evidence.least_idle_ns) && evidence.least_idle_ns > kMostIdleNs) {
    return fmt::format(
        "in each burst the calls take {:.3g} ms more than the GPU works: results may come from elsewhere",
        evidence.least_idle_ns / 1e6);
  }
  if (evidence.apart_ns > 0 && evidence.apart_instructions < evidence.timed.lowest.instructions * (1.0 - kMostSpread)) {
    return "calls in separate graphs execute fewer instructions than those in a chain, so that overlap cannot be seen";
  }
  if (evidence.call_ns < kChainPart * (evidence.apart_ns - (evidence.in_python ? kPythonGapNs : kGapNs))) {
    return fmt::format("a call takes {:.4g} us in a chain of calls, and {:.4g} us in a separate graph: calls overlap",
                       evidence.call_ns / 1e3, evidence.apart_ns / 1e3);
  }
  return {};
}

// How much longer a call on new inputs takes than the same call again. A busy CPU or GPU makes some calls longer: that
// lengthens neither the shortest of the first ones, nor shortens the median of the others.
double Longer(const TimeEvidence& evidence, double Spent::*time) {
  const auto of = [time](const Spent& spent) { return spent.*time; };
  const double first = of(*std::ranges::min_element(evidence.first, {}, of));
  std::vector<Spent> again = evidence.again;
  const auto middle = again.begin() + static_cast<std::ptrdiff_t>(again.size() / 2);
  std::ranges::nth_element(again, middle, {}, of);
  return first - of(*middle);
}

// A library that keeps results needs time for those that it does not have yet.
std::string WhyOfFirstCalls(const TimeEvidence& evidence) {
  if (evidence.first.empty() || evidence.again.empty()) return {};
  const Ceilings& ceilings = evidence.ceilings;
  const double from_dram = std::min(evidence.tensor_bytes, ceilings.l2_bytes);  // repeated calls may find it in L2
  const double fill_ns = ceilings.dram_bytes_per_second > 0 ? 1e9 * from_dram / ceilings.dram_bytes_per_second : 0.0;
  const double allowed_ns = kFirstPart * evidence.call_ns + fill_ns;
  const double on_gpu = Longer(evidence, &Spent::busy_ns);
  const double in_all = Longer(evidence, &Spent::elapsed_ns);
  if (on_gpu <= allowed_ns + kFirstBusyNs && in_all <= allowed_ns + kFirstElapsedNs) return {};
  return fmt::format("a call on new inputs takes {:.4g} us longer than on the same inputs again: results may be kept",
                     std::max(on_gpu, in_all) / 1e3);
}

}  // namespace

void Counted::Add(const Watched& seen, double more_calls) {
  const DeviceCounts of_call = seen.counts / more_calls;
  for (const DeviceCount& count : AllDeviceCounts()) {
    double& low = lowest.*count.value;
    low = calls == 0 ? of_call.*count.value : std::min(low, of_call.*count.value);
    highest.*count.value = std::max(highest.*count.value, of_call.*count.value);
  }
  calls += more_calls;
  sum += seen;
}

std::string WhyNotTheWork(const TimeEvidence& evidence) {
  if (std::string why = WhyOfOrder(evidence); !why.empty()) return why;
  if (std::string why = WhyOfCounts(evidence); !why.empty()) return why;
  if (std::string why = WhyOfFirstCalls(evidence); !why.empty()) return why;
  return WhyBelowFloor(evidence.call_ns, evidence.work, evidence.formats, evidence.tensor_bytes, evidence.ceilings);
}

std::string WhyDisturbed(const TimeEvidence& evidence) {
  if (!evidence.alone.sum.complete || !evidence.timed.sum.complete) return "readings of the GPU's counters were lost";
  if (evidence.timed.highest.instructions > kMostMore * evidence.alone.highest.instructions) {
    return fmt::format(
        "a timed call executes {:.4g} instructions, a verified one {:.4g}: something else may work on this GPU",
        evidence.timed.highest.instructions, evidence.alone.highest.instructions);
  }
  return {};
}

std::string ConditionsOf(const TimeEvidence& evidence) {
  std::vector<std::string> types;
  for (const NumberFormat format : evidence.formats) {
    const std::string name(NameOf(format));
    if (std::ranges::find(types, name) == types.end()) types.push_back(name);
  }
  const DeviceCounts timed = evidence.timed.PerCall();
  std::string text = fmt::format("{}", fmt::join(types, ", "));
  text += UsesTensorCores(timed) ? "; tensor cores work" : "; no tensor cores";
  if (timed.fp64_cycles > kTensorPart * timed.sm_cycles) text += ", pipes for fp64 work";
  if (evidence.tensor_bytes <= 0) return text;
  text += fmt::format("; {:.3g} MB of tensors a call", evidence.tensor_bytes / 1e6);
  if (evidence.ceilings.l2_bytes <= 0) return text;
  return text + (evidence.tensor_bytes <= evidence.ceilings.l2_bytes ? ", warm in L2" : ", more than L2 holds");
}

}  // namespace fa_profile::judge

#include "fa_profile/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <sstream>

#include "fa_profile/phase_map.h"
#include "fa_profile/units.h"
#include "finding_rules.h"
#include "finding_texts.h"
#include "finding_thresholds.h"
#include "machine_calls.h"

namespace fa_profile::analyze {
namespace {

std::string Count(double value) { return FormatValue(value, "count"); }

std::vector<std::string> Words(const char* text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

/// Phases for which a rule can name a cure: not unattributed code.
auto NamedPhases(const Subject& subject) {
  return PhaseList(subject) | std::views::filter([](const PhaseEntry& phase) { return phase.name != kUnattributed; });
}

double SumOverPhases(const Subject& subject, const char* id) {
  double sum = 0.0;
  for (const PhaseEntry& phase : PhaseList(subject)) sum += OrZero(phase.metrics, id);
  return sum;
}

const PhaseEntry* TopPhase(const Subject& subject) {
  const PhaseEntry* top = nullptr;
  for (const PhaseEntry& phase : PhaseList(subject)) {
    if (phase.metrics.contains("phase_time_ratio") && (top == nullptr || ShareOf(phase) > ShareOf(*top))) top = &phase;
  }
  return top;
}

double StallOf(const std::vector<StallShare>& stalls, std::string_view reason) {
  const auto found = std::ranges::find(stalls, reason, &StallShare::reason);
  return found == stalls.end() ? 0.0 : found->ratio;
}

/// In Nsight Compute's sense: some unit works near its limit. Counts as busy if one of the two speeds of light is
/// unknown, so that no rule calls the units idle.
bool SomePipeIsBusy(const Metrics& metrics) {
  if (!metrics.contains("compute_sol_ratio") || !metrics.contains("memory_sol_ratio")) return true;
  constexpr const char* kPipes[] = {"compute_sol_ratio", "memory_sol_ratio", "tensor_core_utilization_ratio",
                                    "dram_sol_ratio"};
  return std::ranges::any_of(kPipes, [&](const char* id) { return AtLeast(metrics, id, kBusyPipe); });
}

/// What helps against a stall reason in this phase. Two reasons are of shared memory and of other units: where accesses
/// were counted and there were none, it is the other units.
std::string CureOfStall(const std::string& reason, const PhaseEntry& phase) {
  const std::map<std::string, std::string>& cures = RequireFinding("bottleneck-phase").cure_of_stall;
  const bool none = Find(phase.metrics, "phase_shared_wavefronts") == 0.0;
  const auto without = none ? cures.find(reason + ", no shared memory") : cures.end();
  const auto found = without != cures.end() ? without : cures.find(reason);
  return found == cures.end() ? cures.at("other") : found->second;
}

void NotCorrect(const Subject& subject, Findings& findings) {
  const auto& v = subject.entry.verification;
  if (!v || v->correct()) return;
  std::string evidence = v->error.empty()
                             ? fmt::format("{} of {} draws fit the reference, worst error {:.3g} of the tolerance",
                                           v->draws_passed, v->draws, v->max_error_ratio)
                             : fmt::format("a launch failed: {}", v->error);
  if (v->nonfinite > 0) evidence += fmt::format(", {} NaN or infinite", v->nonfinite);
  if (v->unwritten > 0) evidence += fmt::format(", {} never written", v->unwritten);
  findings.push_back(Found({}, evidence, 1.0));
}

void BottleneckPhase(const Subject& subject, Findings& findings) {
  const PhaseEntry* top = TopPhase(subject);
  if (top == nullptr) return;
  Finding finding = Found(top->name, Takes(*top), ShareOf(*top));
  const auto& stalls = top->stalls;
  if (!stalls.empty()) {
    finding.evidence += fmt::format(": {} {}", stalls[0].reason, Share(stalls[0].ratio));
    if (stalls.size() > 1) finding.evidence += fmt::format(", {} {}", stalls[1].reason, Share(stalls[1].ratio));
    finding.evidence += " of its samples";
  }
  finding.cure = top->name == kUnattributed
                     ? "this code belongs to no known phase: build with -lineinfo, or name its phases (--phase-map)"
                     : CureOfStall(stalls.empty() ? "other" : stalls[0].reason, *top);
  findings.push_back(std::move(finding));
}

/// In the softmax, or in the other phases.
template <bool kSoftmax>
void SerialPhase(const Subject& subject, Findings& findings) {
  for (const PhaseEntry& phase : NamedPhases(subject)) {
    if ((phase.name == "softmax") != kSoftmax) continue;
    if (!AtMost(phase.metrics, "phase_threads_per_instruction", kSerialThreads)) continue;
    if (!AtLeast(phase.metrics, "phase_time_ratio", kSerialTime)) continue;
    std::string evidence =
        fmt::format("{} with {:.1f} of {} threads per instruction", Takes(phase),
                    OrZero(phase.metrics, "phase_threads_per_instruction"), subject.device.warp_size);
    if (const double barrier = StallOf(subject.entry.stalls, "barrier"); barrier > 0.0) {
      evidence += fmt::format("; {} of all warp-cycles wait at a barrier", Share(barrier));
    }
    findings.push_back(Found(phase.name, evidence, ShareOf(phase)));
  }
}

void TensorIdle(const Subject& subject, Findings& findings) {
  const PhaseEntry* top = TopPhase(subject);
  const Metrics& metrics = subject.entry.metrics;
  const double instructions = SumOverPhases(subject, "phase_tensor_instructions");
  if (top == nullptr || instructions == 0.0 || OrZero(top->metrics, "phase_tensor_instructions") > 0.0) return;
  const auto active = Find(metrics, "tensor_core_utilization_ratio");
  if (!active || *active >= kTensorIdle) return;
  double without = 0.0;
  for (const PhaseEntry& phase : PhaseList(subject)) {
    if (OrZero(phase.metrics, "phase_tensor_instructions") == 0.0) without += ShareOf(phase);
  }
  if (without < kMostTime) return;
  findings.push_back(Found(top->name,
                           fmt::format("{} tensor instructions keep the tensor pipe active {} of the time, while "
                                       "phases without any take {}, {} the most",
                                       Count(instructions), Share(*active), Share(without), top->name),
                           ShareOf(*top)));
}

void TensorAbsent(const Subject& subject, Findings& findings) {
  const ProfileEntry& entry = subject.entry;
  // For other kernels it is not known whether their operations are products.
  if (!entry.shape || entry.shape->attention() == nullptr || subject.device.compute_capability_major < 7) return;
  const double flops = OrZero(entry.metrics, "shape_flops");
  if (flops < kTensorWork) return;
  std::optional<double> instructions;
  if (const auto hmma = Find(entry.metrics, "hmma_instructions")) {
    instructions = *hmma + OrZero(entry.metrics, "gmma_instructions");
  }
  for (const PhaseEntry& phase : PhaseList(subject)) {
    if (const auto here = Find(phase.metrics, "phase_tensor_instructions"))
      instructions = instructions.value_or(0) + *here;
  }
  if (instructions != 0.0) return;
  double products = 0.0;
  for (const PhaseEntry& phase : PhaseList(subject)) {
    if (phase.name == "qk" || phase.name == "pv") products += ShareOf(phase);
  }
  std::string evidence = fmt::format("{} of matrix products and no tensor instruction", FormatValue(flops, "flops"));
  if (const auto peak = Find(entry.metrics, "peak_tensor_flops_per_second")) {
    evidence += fmt::format("; the tensor cores could do {}", FormatValue(peak, "flops_per_second"));
  }
  if (products > 0.0) evidence += fmt::format("; qk and pv take {} of the time", Share(products));
  findings.push_back(Found({}, evidence, products > 0.0 ? products : 1.0));
}

void BankConflicts(const Subject& subject, Findings& findings) {
  for (const PhaseEntry& phase : NamedPhases(subject)) {
    if (!AtLeast(phase.metrics, "phase_bank_conflict_ratio", kConflicts)) continue;
    if (!AtLeast(phase.metrics, "phase_time_ratio", kSmallPhase)) continue;
    const double ratio = OrZero(phase.metrics, "phase_bank_conflict_ratio");
    findings.push_back(Found(
        phase.name,
        fmt::format("{} of {} shared-memory wavefronts in {} repeat an access ({}); {}",
                    Count(OrZero(phase.metrics, "phase_bank_conflicts")),
                    Count(OrZero(phase.metrics, "phase_shared_wavefronts")), phase.name, Share(ratio), Takes(phase)),
        ratio * ShareOf(phase)));
  }
}

void Uncoalesced(const Subject& subject, Findings& findings) {
  if (!PhaseList(subject).empty()) {
    const double all = SumOverPhases(subject, "phase_global_sectors");
    for (const PhaseEntry& phase : NamedPhases(subject)) {
      const double sectors = OrZero(phase.metrics, "phase_global_sectors");
      if (sectors <= 0.0 || sectors < kConflicts * all || !AtLeast(phase.metrics, "phase_time_ratio", kSmallPhase))
        continue;
      if (!AtMost(phase.metrics, "phase_coalescing_ratio", kCoalescing)) continue;
      const double useful = OrZero(phase.metrics, "phase_coalescing_ratio");
      findings.push_back(
          Found(phase.name,
                fmt::format("{} asks for {} global sectors where {} would do ({} useful); {}", phase.name,
                            Count(sectors), Count(useful * sectors), Share(useful), Takes(phase)),
                (1.0 - useful) * ShareOf(phase)));
    }
    return;
  }
  const auto sectors = Find(subject.entry.metrics, "global_load_sectors_per_request");
  if (!sectors || *sectors < kSectorsPerLoad) return;
  const double waits = StallOf(subject.entry.stalls, "long_scoreboard") + StallOf(subject.entry.stalls, "lg_throttle");
  findings.push_back(Found({},
                           fmt::format("a warp's global load takes {:.1f} sectors; 4-byte loads side by side take 4, "
                                       "16-byte loads 16; {} of warp-cycles wait for loads",
                                       *sectors, Share(waits)),
                           waits));
}

void LocalMemory(const Subject& subject, Findings& findings) {
  const double sectors = SumOverPhases(subject, "phase_local_sectors");
  const double bytes = sectors > 0.0 ? 32.0 * sectors : OrZero(subject.entry.metrics, "local_memory_bytes");
  double global = 32.0 * SumOverPhases(subject, "phase_global_sectors");
  if (global == 0.0) global = OrZero(subject.entry.metrics, "l1_global_bytes");
  if (bytes <= 0.0 || bytes < kLocalTraffic * (bytes + global)) return;
  std::int64_t per_thread = 0;
  for (const Launch& launch : subject.entry.launches) {
    per_thread = std::max(per_thread, launch.local_memory_per_thread_bytes);
  }
  const PhaseEntry* most = nullptr;
  double time = 0.0;
  double of_phases = 0.0;
  for (const PhaseEntry& phase : NamedPhases(subject)) {
    const double here = OrZero(phase.metrics, "phase_local_sectors");
    if (here <= 0.0) continue;
    time += ShareOf(phase);
    of_phases += here;
    if (most == nullptr || here > OrZero(most->metrics, "phase_local_sectors")) most = &phase;
  }
  const double share = bytes / (bytes + global);
  std::string evidence =
      fmt::format("{} of local memory traffic, {} of what L1 is asked for", FormatValue(bytes, "bytes"), Share(share));
  if (per_thread > 0) evidence += fmt::format("; {} B a thread", per_thread);
  if (most != nullptr) {
    const double here = OrZero(most->metrics, "phase_local_sectors");
    evidence += fmt::format("; {} of it, {} sectors, in {}", Share(here / of_phases), Count(here), most->name);
  }
  findings.push_back(most == nullptr ? Found({}, evidence, share) : Found(most->name, evidence, share * time));
}

void LowOccupancy(const Subject& subject, Findings& findings) {
  const ProfileEntry& entry = subject.entry;
  const auto achieved = Find(entry.metrics, "achieved_occupancy_ratio");
  const auto issue = Find(entry.metrics, "issue_slot_utilization_ratio");
  if (!achieved || *achieved > kFewWarps || !issue || 1.0 - *issue < kIdleIssueSlots || !entry.occupancy) return;
  // A grid that does not even fill what the launch allows is another finding, with another cure.
  if (entry.occupancy->waves < 1.0 || SomePipeIsBusy(entry.metrics)) return;
  const double latency = StallOf(entry.stalls, "long_scoreboard") + StallOf(entry.stalls, "short_scoreboard");
  if (latency < kLatencyStalls) return;
  const int blocks = entry.occupancy->blocks_per_sm;
  findings.push_back(Found({},
                           fmt::format("{} of the warps an SM can hold are resident ({}: {} block{} per SM), {} of "
                                       "warp-cycles wait for memory and {} of issue slots stay empty",
                                       Share(*achieved), fmt::join(entry.occupancy->limiters, " and "), blocks,
                                       blocks == 1 ? "" : "s", Share(latency), Share(1.0 - *issue)),
                           latency));
}

void SmallGrid(const Subject& subject, Findings& findings) {
  const ProfileEntry& entry = subject.entry;
  if (!entry.occupancy || entry.occupancy->waves >= kSmallGrid || subject.device.sm_count <= 0) return;
  if (SomePipeIsBusy(entry.metrics)) return;
  const Occupancy& o = *entry.occupancy;
  const double blocks = std::round(o.waves * o.blocks_per_sm * subject.device.sm_count);
  const double idle = std::max(0.0, 1.0 - blocks / subject.device.sm_count);
  std::string evidence = fmt::format("{:.0f} blocks are {:.2f} waves: the GPU could hold {} at once", blocks, o.waves,
                                     o.blocks_per_sm * subject.device.sm_count);
  if (idle > 0.0) {
    evidence +=
        fmt::format(", and {:.0f} of its {} SMs get none", idle * subject.device.sm_count, subject.device.sm_count);
  }
  findings.push_back(Found({}, evidence, idle));
}

void ExponentialBound(const Subject& subject, Findings& findings) {
  // Phases of different warps overlap, so a unit's work in a phase's share of the time may be spread over more of it.
  // It is only a bound if the unit is also busy for about that share of the whole kernel.
  const auto whole = Find(subject.entry.metrics, "xu_pipe_ratio");
  for (const PhaseEntry& phase : NamedPhases(subject)) {
    if (whole && *whole < kExponentials * ShareOf(phase)) continue;
    if (!AtLeast(phase.metrics, "phase_mufu_utilization_ratio", kExponentials)) continue;
    if (!AtLeast(phase.metrics, "phase_time_ratio", kSmallPhase)) continue;
    const double busy = OrZero(phase.metrics, "phase_mufu_utilization_ratio");
    findings.push_back(
        Found(phase.name,
              fmt::format("{} runs the special-function units at {} of their peak ({} exponentials); {}", phase.name,
                          Share(std::min(busy, 1.0)), Count(OrZero(phase.metrics, "phase_exponentials")), Takes(phase)),
              ShareOf(phase)));
  }
  if (!PhaseList(subject).empty()) return;
  if (const auto busy = Find(subject.entry.metrics, "xu_pipe_ratio"); busy && *busy >= kExponentials) {
    findings.push_back(
        Found({}, fmt::format("the special-function pipe is {} busy over the whole kernel", Share(*busy)), *busy));
  }
}

void ReducedClock(const Subject& subject, Findings& findings) {
  const auto highest = static_cast<double>(subject.device.sm_clock_max_hz);
  if (!subject.entry.timing || !subject.entry.timing->sm_clock_hz || highest <= 0.0) return;
  const double clock = *subject.entry.timing->sm_clock_hz;
  const double below = 1.0 - clock / highest;
  if (below < kReducedClock) return;
  findings.push_back(Found({},
                           fmt::format("the SM clock was {} on average while the kernel was timed, {} below the {} "
                                       "that this GPU can have",
                                       FormatValue(clock, "hertz"), Share(below), FormatValue(highest, "hertz")),
                           below));
}

void LaunchGaps(const Subject& subject, Findings& findings) {
  const Metrics& metrics = subject.entry.metrics;
  const auto duration = Find(metrics, "duration_seconds");
  const auto gaps = Find(metrics, "gap_timing_seconds");
  if (!duration || !gaps || *gaps < kGaps * *duration) return;
  const double share = *gaps / *duration;
  findings.push_back(
      Found({},
            fmt::format("the {} kernels of the call leave {} of its {} unused ({})", subject.entry.launches.size(),
                        FormatValue(gaps, "seconds"), FormatValue(duration, "seconds"), Share(share)),
            share));
}

// Most calls of a release build are the failure paths of assertions.
bool NeverRan(const SassCounting* counting, std::int64_t function, std::uint32_t offset) {
  if (counting == nullptr) return false;
  bool counted = false;
  for (const SassCount& count : counting->counts) {
    if (count.function_id != function) continue;
    counted = true;
    const auto executed = count.values.find("smsp__sass_inst_executed");
    if (count.offset == offset && executed != count.values.end() && executed->second > 0) return false;
  }
  return counted;
}

void DevicePrintf(const Subject& subject, Findings& findings) {
  std::vector<MachineCall> calls;
  for (const DeviceFunction* function : subject.functions) {
    for (MachineCall& call : RuntimeCalls(*function)) {
      if (!NeverRan(subject.counting, function->id, call.offset)) calls.push_back(std::move(call));
    }
  }
  if (calls.empty()) return;
  const MachineCall& first = calls.front();
  std::string evidence =
      fmt::format("{} call{} into the device runtime ({}), the first at {}", calls.size(), calls.size() == 1 ? "" : "s",
                  first.callee.empty() ? "printf, assert or malloc" : first.callee, first.where);
  std::int64_t stack = 0;
  for (const Launch& launch : subject.entry.launches) stack = std::max(stack, launch.local_memory_per_thread_bytes);
  if (stack > 0) evidence += fmt::format("; {} B of stack a thread", stack);
  findings.push_back(Found({}, evidence, 0.0));
  findings.back().place = first.where;
}

/// "what an mbarrier announces"; "the copies of load_kv (schedule.h:81, schedule.h:83)", if they are known.
std::string WaitedFor(const AsyncWait& wait) {
  if (wait.copies.empty()) return "what an mbarrier announces";
  constexpr std::size_t kMostCopies = 2;
  std::map<std::string, std::vector<std::string>> places;
  for (std::size_t i = 0; i < std::min(wait.copies.size(), kMostCopies); ++i) {
    places[wait.copies[i].phase].push_back(wait.copies[i].place);
  }
  std::vector<std::string> phases;
  for (const auto& [phase, lines] : places) phases.push_back(fmt::format("{} ({})", phase, fmt::join(lines, ", ")));
  return fmt::format("the copies of {}{}", fmt::join(phases, " and "), wait.copies.size() > kMostCopies ? " ..." : "");
}

/// Places where many warps wait long for an mbarrier: whatever completes it comes late. A producer that waits for room
/// in its buffers is one thread, and early. Opcode classes do not show who waits.
void AddLateCopies(const Subject& subject, Findings& findings) {
  const auto warp_cycles = Find(subject.entry.metrics, "warps_active_cycles");
  if (!subject.entry.phases || !warp_cycles || *warp_cycles <= 0.0) return;
  if (subject.entry.phases->attribution == kOpcodePhasesName) return;
  for (const AsyncWait& wait : subject.entry.phases->async_waits) {
    const double share = wait.waits * wait.waited_cycles / *warp_cycles;
    const auto phase = std::ranges::find(PhaseList(subject), wait.phase, &PhaseEntry::name);
    if (wait.kind != "mbarrier" || share < kLateCopy || wait.phase == kUnattributed ||
        phase == PhaseList(subject).end() || AtMost(phase->metrics, "phase_threads_per_instruction", kSerialThreads)) {
      continue;
    }
    findings.push_back(
        Found(wait.phase,
              fmt::format("{} waits {} cycles for {}, {} times, at {}: {} of the time of all warps", wait.phase,
                          Count(wait.waited_cycles), WaitedFor(wait), Count(wait.waits), wait.place, Share(share)),
              share));
    findings.back().place = wait.place;
  }
}

void WaitForCopy(const Subject& subject, Findings& findings) {
  // At the memory's bandwidth limit the wait is the transfer.
  const auto memory = Find(subject.entry.metrics, "memory_sol_ratio");
  if (memory && *memory >= kBusyPipe) return;
  AddLateCopies(subject, findings);
  if (!memory) return;
  for (const PhaseEntry& phase : NamedPhases(subject)) {
    const double wait = StallOf(phase.stalls, "long_scoreboard");
    if (wait < kCopyWait || !AtLeast(phase.metrics, "phase_time_ratio", kSerialTime)) continue;
    findings.push_back(
        Found(phase.name, fmt::format("{}, and {} of its samples wait for loads or copies", Takes(phase), Share(wait)),
              wait * ShareOf(phase)));
  }
}

struct Rule {
  const char* id;
  void (*find)(const Subject&, Findings&);
  const char* metrics;  ///< Finding::metrics, separated by spaces
};

// The findings of a report. To add one:
//  1. write its rule above, with the thresholds in finding_thresholds.h, and add a row here, with the metrics that its
//     evidence quotes;
//  2. write findings/report/<id>.md (its thresholds as {names}, which finding_texts.cpp lists);
//  3. test it: a row in tests/findings_test.cpp, one per threshold in tests/finding_thresholds_test.cpp, and, where a
//     rung has it, tests/bundled_recording_test.cpp. CONTRIBUTING.md names the golden files that hold findings.
// Findings of equal weight keep this order, and the first other finding in the longest phase explains that phase: so a
// cause comes before its effect.
constexpr Rule kRules[] = {
    {"not-correct", NotCorrect, ""},
    {"bottleneck-phase", BottleneckPhase, "phase_time_ratio phase_time_seconds"},
    {"serial-softmax", SerialPhase<true>, "phase_time_ratio phase_time_seconds phase_threads_per_instruction"},
    {"serial-phase", SerialPhase<false>, "phase_time_ratio phase_time_seconds phase_threads_per_instruction"},
    {"tensor-idle", TensorIdle, "phase_time_ratio tensor_core_utilization_ratio"},
    {"bank-conflicts", BankConflicts,
     "phase_time_ratio phase_time_seconds phase_bank_conflict_ratio phase_bank_conflicts phase_shared_wavefronts"},
    {"uncoalesced", Uncoalesced,
     "phase_time_ratio phase_time_seconds phase_coalescing_ratio phase_global_sectors global_load_sectors_per_request"},
    {"local-memory", LocalMemory, "local_memory_bytes phase_local_sectors"},
    {"exponentials-again", ExponentialsAgain, "phase_time_ratio phase_time_seconds phase_exponentials"},
    {"exp-bound", ExponentialBound,
     "phase_time_ratio phase_time_seconds phase_mufu_utilization_ratio phase_exponentials xu_pipe_ratio"},
    {"no-overlap", NoOverlap, "phase_time_ratio phase_time_seconds tensor_core_utilization_ratio"},
    {"softmax-bound", SoftmaxBound, "phase_time_ratio phase_time_seconds"},
    {"rescale-every-tile", RescaleEveryTile, "phase_time_ratio phase_time_seconds"},
    {"setup-bound", SetupBound, "phase_time_ratio phase_time_seconds"},
    {"wait-for-copy", WaitForCopy, "phase_time_ratio phase_time_seconds"},
    {"tensor-absent", TensorAbsent, "shape_flops peak_tensor_flops_per_second"},
    {"low-occupancy", LowOccupancy, "achieved_occupancy_ratio issue_slot_utilization_ratio"},
    {"small-grid", SmallGrid, "waves"},
    {"reduced-clock", ReducedClock, "duration_seconds"},
    {"launch-gaps", LaunchGaps, "gap_timing_seconds duration_seconds"},
    {"device-printf", DevicePrintf, "local_memory_per_thread_bytes"},
};

}  // namespace

const std::vector<FindingRule>& FindingRules() {
  static const std::vector<FindingRule> rules = [] {
    std::vector<FindingRule> all;
    for (const Rule& rule : kRules) all.push_back(ReadFindingText(rule.id));
    return all;
  }();
  return rules;
}

std::vector<Finding> FindProblems(const ProfileEntry& entry, const Device& device,
                                  std::span<const DeviceFunction* const> functions, const SassCounting* counting) {
  const Subject subject{entry, device, functions, counting};
  Findings findings;
  for (std::size_t i = 0; i < std::size(kRules); ++i) {
    const std::size_t before = findings.size();
    kRules[i].find(subject, findings);
    for (Finding& finding : findings | std::views::drop(before)) {
      finding.id = kRules[i].id;
      finding.metrics = Words(kRules[i].metrics);
      if (finding.cure.empty()) finding.cure = FindingRules()[i].cure;
    }
    if (kRules[i].find == NotCorrect && !findings.empty()) return findings;
  }
  // A rule that knows what is wrong with the longest phase gives a better cure than the phase's stalls.
  const auto is_symptom = [](const Finding& finding) {
    return finding.id == "bottleneck-phase" || finding.id == "tensor-idle";
  };
  for (Finding& finding : findings | std::views::filter(is_symptom)) {
    const auto cause = std::ranges::find_if(
        findings, [&](const Finding& other) { return other.phase == finding.phase && !is_symptom(other); });
    if (cause == findings.end()) continue;
    finding.cause = cause->id;
    if (finding.id != "bottleneck-phase") continue;
    finding.cure = "see " + cause->id + ", which is found in this phase too";
  }
  if (entry.phases && entry.phases->attribution == kInferredPhasesName) {
    for (Finding& finding : findings) {
      if (!finding.phase.empty()) finding.evidence += "; the phase is inferred from machine code";
    }
  }
  std::ranges::stable_sort(findings, std::greater<>(), &Finding::weight);
  return findings;
}

}  // namespace fa_profile::analyze

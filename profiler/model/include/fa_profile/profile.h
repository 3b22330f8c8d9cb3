#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/recording.h"
#include "fa_profile/shape.h"

namespace fa_profile {

/// Median and spread of unprofiled launches.
struct TimingSummary {
  std::string method;
  std::size_t samples = 0;
  double median_ns = 0.0;
  double p05_ns = 0.0;
  double p95_ns = 0.0;
  double min_ns = 0.0;
  /// Relative spread: (p95 - p05) / median.
  double spread_ratio = 0.0;
  /// Mean SM clock of the series that have one, and the median in its cycles. Absent: the clock was not read.
  std::optional<double> sm_clock_hz{};
  std::optional<double> median_cycles{};
  /// The durations in the order taken, as medians of at most 24 stretches, all but one of equal length.
  std::vector<double> trend_ns{};
};

/// What limits the number of resident warps.
struct Occupancy {
  double theoretical_ratio = 0.0;  ///< resident warps the launch allows / warps an SM can hold
  int blocks_per_sm = 0;
  std::vector<std::string> limiters;  ///< "warps", "blocks", "registers", "shared memory"; those that tie
  double waves = 0.0;                 ///< blocks / (blocks_per_sm * SMs)
};

/// Where warps of a range spent their time, worst first; ratio of all warp-cycles.
struct StallShare {
  std::string reason;  ///< "long_scoreboard"
  double ratio = 0.0;
};

/// One phase of a kernel: what its instructions cost and did.
struct PhaseEntry {
  std::string name;                       ///< "softmax"; kUnattributed: code in no phase
  std::map<std::string, double> metrics;  ///< id of the phase catalogue -> value; what could not be derived is absent
  std::vector<StallShare> stalls;         ///< shares of the phase's own samples, worst first; without "selected"
  std::vector<std::string> contradictory{};  ///< ids of ratios left out of `metrics`: more work than its time allows
};

inline constexpr const char* kUnattributed = "(unattributed)";

/// A sum over phases compared with the same quantity of the whole kernel from another source.
struct Closure {
  std::string quantity;      ///< "instructions", "shared load/store wavefronts", "samples"
  double phases = 0.0;       ///< summed over all phases, the unattributed part included
  double whole = 0.0;        ///< from the range profiler, or the hardware's own total
  double limit_ratio = 0.0;  ///< allowed difference, relative to `whole`; 0: must be equal
  bool closes() const;
};

/// One round of the loop over keys, a tile, in the code of a kernel whose phases were inferred. If there are several
/// such loops (with and without a mask), the one with the least softmax.
struct KeyTile {
  int softmax_instructions = 0;  ///< per warp
  double exponentials = 0.0;     ///< per thread
  std::string rescale;           ///< how often the output is rescaled: "every tile", "some tiles", "never"
  bool rounds_known = true;      ///< false: loops inside the tile count as one round, so the numbers are lower bounds
  std::optional<bool> overlaps_exponentials;  ///< asynchronous products run while exponentials are computed; absent if
                                              ///< products are not asynchronous
};

/// How certain the phases inferred from machine code are, or why they were not inferred. Ratios are of all samples (if
/// nothing was sampled, of executed instructions; if nothing was counted, of the code's instructions); code in no phase
/// is in none of them.
struct PhaseInference {
  std::string refusal;         ///< the check that failed: the phases are opcode classes; empty: they were inferred
  std::string refusal_word;    ///< the same in a word, as in RefusalWord: "backward", "gemm"; empty: they were inferred
  double direct_ratio = 0.0;   ///< the phase follows from what the instruction computes
  double derived_ratio = 0.0;  ///< from what uses its result, or where its operands come from
  double guess_ratio = 0.0;    ///< from its neighbours
  std::string weighed_by;      ///< "samples", "executed instructions", "instructions"
  std::optional<double> qk_to_pv_ratio;                 ///< multiply-adds of QK over those of PV
  std::optional<double> multiply_adds_per_exponential;  ///< for QK; head_dim if none is computed twice
  bool counted = false;  ///< the two ratios come from executed instructions; false: from instructions in the code
  std::optional<double> exponentials_per_score;  ///< 1 if each is computed once; absent if the code hides it
  std::optional<KeyTile> tile;                   ///< present if the phases were inferred
};

/// A line in a phase.
struct PhasePlace {
  std::string phase;
  std::string place;  ///< "schedule.h:126", where the phase's function is called; without lines the address, "0x3a40"
  auto operator<=>(const PhasePlace&) const = default;
};

/// A place where warps wait for asynchronous work: how late it is, and what they did meanwhile. Cycles are means of one
/// wait, from PC samples: a share of all samples is that share of the cycles of all warps.
struct AsyncWait {
  std::string kind;    ///< "mbarrier"; "matrix" (a group of WGMMA); "copy" (of cp.async); "store" (of TMA)
  std::string phase;   ///< the wait's phase
  std::string place;   ///< "schedule.h:126", where the phase's function is called; without lines the address, "0x3a40"
  double waits = 0.0;  ///< by warps, in one call
  double waited_cycles = 0.0;
  /// From the group's last instruction to the wait, along the most executed path. Absent for an mbarrier, which other
  /// warps or copies complete.
  std::optional<double> issued_before_cycles;
  std::map<std::string, double> beside_cycles;  ///< cycles spent working in this time, by phase; without waits
  /// For an mbarrier: where the copies that complete it are issued, in source order; the first 16. Empty: other warps
  /// complete it, or it is not known.
  std::vector<PhasePlace> copies;

  /// Share of the cycles from issue to result in which the warp did other work. Where nothing is waited for, the result
  /// may have been there long before.
  std::optional<double> hidden_ratio() const;
};

/// What warps do from the issue of a warpgroup's products to the end of the wait for them, all such waits together.
struct ProductOverlap {
  double work_ratio = 0.0;                    ///< share of the cycles with other work
  std::map<std::string, double> phase_ratio;  ///< the same by phase
};

/// The phases of one entry's kernels.
struct PhaseTable {
  std::vector<PhaseEntry> phases;  ///< most time first; the unattributed last, present even if it is 0
  std::string attribution;  ///< "inline functions", "phase map <file>", "opcode classes": how the phases were found
  std::optional<PhaseInference> inference;  ///< present if inference from machine code was tried
  /// Samples of warps that waited for another warp or an asynchronous copy and could not be charged to the phase they
  /// waited for: no work, and not in any time share. Ratio of all samples.
  double waiting_ratio = 0.0;
  std::uint64_t samples = 0;
  std::uint64_t dropped_samples = 0;
  int period_cycles = 0;
  std::vector<AsyncWait> async_waits;     ///< most waiting first; requires samples, counts per instruction and counters
  std::optional<ProductOverlap> overlap;  ///< absent: no products that are waited for
  std::vector<Closure> closures;
};

/// Something worth acting on, from a rule of the findings' table.
struct Finding {
  std::string id;          ///< "serial-softmax"
  std::string phase;       ///< empty: the whole kernel
  std::string evidence;    ///< one line with the numbers
  std::string cure;        ///< one line
  double weight = 0.0;     ///< share of the kernel's time that it concerns, for ranking; 0..1
  std::string cause = {};  ///< id of a finding in the same phase that explains this one and has the cure; else empty
  std::string place = {};  ///< "schedule.h:126", where the rule knows one; without lines an address; else empty
  /// Ids of the metrics in `evidence`: of the phase catalogue or, for the whole kernel, of the metric catalogue. A
  /// recording may lack some.
  std::vector<std::string> metrics = {};
};

/// The launches of one launch class of a program, in all its watch windows. Median and p95 are in the entry's timing.
struct KernelUse {
  std::int64_t launches = 0;
  std::int64_t graph_launches = 0;  ///< those of them that a CUDA graph launched
  std::int64_t total_ns = 0;        ///< launches that overlap count in full
  std::int64_t min_ns = 0;
  std::int64_t max_ns = 0;
  std::optional<double> share_ratio;  ///< share of all kernels' time; absent if they took none
};

/// Copies or sets of one kind.
struct MemoryUse {
  std::string kind;  ///< "copy host to device"
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  std::int64_t total_ns = 0;
  std::optional<double> share_ratio;  ///< share of the time of all kernels, copies and sets; absent if they took none
};

/// The launches of one launch class inside an NVTX range, including nested ranges.
struct NvtxKernelUse {
  std::int64_t case_id = 0;
  std::string kernel;  ///< as in its ProfileEntry
  std::int64_t launches = 0;
  std::int64_t gpu_ns = 0;
  std::optional<double> share_ratio;  ///< share of the range's GPU time; absent if it has none
};

/// An NVTX range, or several with the same path, and the GPU work launched inside, including nested ranges.
struct NvtxUse {
  std::string path;   ///< as in NvtxWork
  std::string layer;  ///< as in LayerUse: the path without its numbers
  std::string name;   ///< the path below the row that contains it: "attn" for "step / attn"
  int level = 0;      ///< number of rows in the list that contain it
  std::int64_t ranges = 0;
  std::int64_t host_ns = 0;
  std::int64_t launches = 0;
  std::int64_t gpu_ns = 0;
  std::optional<double> share_ratio;  ///< share of all kernels' time; absent if they took none
  /// Most time first. Kernels below a thousandth of the time in all ranges may be missing.
  std::vector<NvtxKernelUse> kernels;
};

/// A launch class in the NVTX ranges whose paths differ only in numbers, "net / layers.3 / mlp" and "net / layers.4 /
/// mlp", without ranges nested in them.
struct LayerUse {
  std::string layer;  ///< "net / layers.* / mlp"
  std::int64_t case_id = 0;
  std::string kernel;  ///< as in its ProfileEntry
  std::int64_t launches = 0;
  std::int64_t gpu_ns = 0;
  std::optional<double> share_ratio;  ///< share of all kernels' time; absent if they took none
};

/// Where the GPU time of a watched program went. Sums over its watch windows.
struct ProgramUse {
  std::int64_t windows = 0;
  std::int64_t watched_ns = 0;       ///< excludes the time in which counters were measured
  std::int64_t measuring_ns = 0;     ///< time in which counters were measured
  std::int64_t unrecorded_ns = 0;    ///< part of watched_ns in which launches were only counted and their time is
                                     ///< estimated
  std::int64_t busy_ns = 0;          ///< at most watched_ns
  std::optional<double> busy_ratio;  ///< share of watched_ns; absent if nothing was watched
  std::optional<double> idle_ratio;  ///< 1 - busy_ratio
  std::int64_t classes = 0;          ///< launch classes that were launched
  std::int64_t launches = 0;
  std::int64_t graph_launches = 0;
  std::int64_t kernel_ns = 0;        ///< time of all kernels; may exceed busy_ns, because kernels overlap
  std::int64_t memory_ns = 0;        ///< time of all copies and sets
  std::vector<MemoryUse> memory;     ///< most time first
  std::vector<NvtxUse> nvtx;         ///< a range before those nested in it; siblings by GPU time
  std::optional<double> nvtx_ratio;  ///< share of the kernels' time that is inside a range; absent without ranges
  std::vector<LayerUse> layers;      ///< most time first
};

/// What a metric read over a short time inside a call.
struct CallSample {
  std::int64_t start_ns = 0;  ///< from the first activity in the launch
  std::int64_t duration_ns = 0;
  double ratio = 0.0;  ///< relative to what the unit can do in the time
};

/// A metric over the time of a call. Metrics of one group come from one launch (timeline_metrics.h).
struct CallSeries {
  std::string metric;               ///< id of a TimelineMetric: "tensor"
  std::vector<CallSample> samples;  ///< in order of time
  double mean_ratio = 0.0;          ///< weighted by time, while its launch was active
  double largest_ratio = 0.0;
};

/// The end of a call in which the SMs' activity stays below a fraction of its largest value.
struct CallTail {
  double below_ratio = 0.0;   ///< that fraction
  std::int64_t start_ns = 0;  ///< as in CallSample
  std::int64_t duration_ns = 0;
  double share_ratio = 0.0;  ///< share of the time in which the launch was active
  std::int64_t samples = 0;  ///< including the one in which the call ended: a single sample is just that one
};

/// Metrics over the time of a call, by PM sampling. A launch is active until the end of the last sample in which one
/// of its metrics is above 1 % of its largest value.
struct CallTimeline {
  std::int64_t active_ns = 0;      ///< for the launch that was active longest
  std::vector<CallSeries> series;  ///< in the order of TimelineMetrics()
  std::vector<CallTail> tails;     ///< below 0.9 and below 0.5; empty if the SMs' activity was not sampled
};

/// One measured range with everything concluded about it.
struct ProfileEntry {
  std::int64_t case_id = 0;
  /// The case's name. If several launch classes of a program share it, a distinguishing text follows:
  /// "elementwise_kernel<<<64, 128>>> {AddFunctor}".
  std::string kernel;
  std::string origin;
  std::optional<Shape> shape;
  Work work;         ///< as in Case
  std::string part;  ///< empty: the whole call
  std::optional<Verification> verification;
  std::optional<Judgement> judgement{};    ///< for a library's kernel that was judged
  std::string not_as_certified{};          ///< WhyNotAsCertified()
  std::optional<KernelUse> use;            ///< for a launch class of a watched program
  std::optional<TimingSummary> timing;     ///< absent if not timed, or if the kernel is not correct
  bool has_counters = false;               ///< counters were measured
  std::map<std::string, double> metrics;   ///< catalogue id -> value; what could not be derived is absent
  std::vector<std::string> contradictory;  ///< ids of ratios left out of `metrics`: their counters disagree
  std::vector<Launch> launches;            ///< the launches of one call (or one part)
  std::optional<Occupancy> occupancy;      ///< for the longest launch
  std::vector<StallShare> stalls;
  std::string bottleneck;           ///< "compute", "memory", "latency"; empty when unknown
  std::string bottleneck_evidence;  ///< "DRAM 71 % of peak: the nearest limit"; empty without a bottleneck
  std::optional<PhaseTable> phases;
  std::optional<CallTimeline> timeline;  ///< for a whole call, if it was sampled and the kernel is correct
  std::vector<Finding> findings;         ///< by weight, largest first

  /// False: a result is wrong, or the judge does not certify the speed. Absent: not verified.
  std::optional<bool> correct() const {
    if ((judgement && judgement->refused()) || !not_as_certified.empty()) return false;
    return verification ? std::optional(verification->correct()) : std::nullopt;
  }
};

/// What we conclude: a pure function of a recording.
struct Profile {
  Session session;
  Device device;
  std::vector<ClockSample> clocks;
  std::optional<ProgramUse> program;  ///< for a watched program
  std::vector<ProfileEntry> entries;  ///< in recording order: a case's whole call, then its parts
  std::vector<DataLoss> losses;
};

}  // namespace fa_profile

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "fa_profile/judgement.h"
#include "fa_profile/shape.h"

namespace fa_profile {

/// Version of the recording's schema (docs/recording.md). A reader takes its own version and older ones.
inline constexpr int kRecordingSchemaVersion = 8;

/// How a run was started. One per recording.
struct Session {
  std::string tool_version;
  std::string tool_commit;  ///< git commit the tool was built from; "-dirty" appended when it was not clean
  std::string created_at;   ///< UTC, ISO 8601
  std::string command_line;
  std::string metric_set;  ///< "full", or "custom" for --metrics
  /// "user" (user ranges, user replay), "spread" (the same, each pass on another launch of a program), "kernel" (auto
  /// ranges, kernel replay) or "none" (no counters).
  std::string replay_mode;
  std::string cache_policy;  ///< "warm", or "flush" (L2 overwritten before every launch)
  int warmup_launches = 0;   ///< unprofiled launches before anything is measured
  int timed_launches = 0;    ///< launches timed, without the profiler, per case
  int draws = 0;             ///< random inputs each case was verified with
  bool complete = false;     ///< false: the run was killed; the rest is valid
};

/// The GPU and its software.
struct Device {
  int ordinal = 0;
  std::string name;  ///< "NVIDIA H200"
  std::string chip;  ///< CUPTI's chip name, "GH100"
  std::string uuid;  ///< "GPU-..."
  int compute_capability_major = 0;
  int compute_capability_minor = 0;
  int sm_count = 0;
  int warp_size = 32;
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  int registers_per_sm = 0;
  std::int64_t shared_memory_per_sm_bytes = 0;
  std::int64_t shared_memory_per_block_optin_bytes = 0;
  std::int64_t reserved_shared_memory_per_block_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t sm_clock_max_hz = 0;
  std::int64_t memory_clock_max_hz = 0;
  int memory_bus_width_bits = 0;
  std::string driver_version;        ///< "580.159.04"; empty when NVML is absent
  std::string cuda_driver_version;   ///< "13.0"
  std::string cuda_runtime_version;  ///< "13.0"
  std::string cupti_version;         ///< CUPTI_API_VERSION as "130001"
};

/// The device's clocks and state at one moment, from NVML. A value that NVML does not give is absent.
struct ClockSample {
  std::string when;  ///< "before" or "after"
  std::optional<std::int64_t> sm_hz;
  std::optional<std::int64_t> memory_hz;
  std::optional<double> temperature_celsius;
  std::optional<double> power_watts;
  std::optional<std::uint64_t> throttle_reasons;  ///< NVML clocks event reasons bit mask
};

/// Start of the case name for a program's CUDA graph. CUPTI's number of the graph follows, which may belong to another
/// graph in another run.
inline constexpr std::string_view kGraphCase = "CUDA graph ";

/// One kernel at one shape: what is verified, timed and measured. In a recording with watch windows, a case of origin
/// "program" is a launch class: all launches of one kernel with one launch configuration. Its `kernel` is the function
/// name without namespaces and template arguments, and the configuration as CUDA writes it; its one Launch has the full
/// name, the configuration and the resources; it may have several Timings, whose durations belong together.
struct Case {
  std::int64_t id = 0;
  std::string kernel;          ///< "mma"; for a launch class "flash_fwd_kernel<<<(32, 16, 4), 128>>>"
  std::string origin;          ///< "ladder", "program", a kernel library's path, "FILE.py:FUNCTION"
  std::optional<Shape> shape;  ///< absent for a program
  Work work{};                 ///< as counted by its library; for an attention shape AttentionShape::Flops()
};

/// Result of the comparison with the float64 reference.
struct Verification {
  std::int64_t case_id = 0;
  int draws = 0;
  int draws_passed = 0;
  double max_abs_error = 0.0;    ///< over finite outputs of all draws
  double max_error_ratio = 0.0;  ///< max of |error| / tolerance, for attention 1e-3 + 1e-3*|reference|; at most 1
  std::int64_t nonfinite = 0;    ///< NaN or infinite outputs
  std::int64_t unwritten = 0;    ///< outputs that still held the poison
  std::string error;             ///< set when a launch failed; the counts then stop there
  std::string where{};           ///< an element that is wrong, and how: "c[3,17]: 0.5, expected 1.25"; else empty
  /// A number of passed draws is not believed if the other values contradict it.
  bool correct() const {
    return error.empty() && draws > 0 && draws_passed == draws && nonfinite == 0 && unwritten == 0 &&
           max_error_ratio <= 1.0;
  }
};

/// Durations of unprofiled launches.
struct Timing {
  std::int64_t case_id = 0;
  std::string part;                  ///< empty: the whole call
  std::string method;                ///< "graph replay" or "events"; "activity" for a program's launches: a sample
  std::vector<double> durations_ns;  ///< one per timed launch, in the order taken
  /// The SM clock during replays between the samples, read on the SMs. Absent: not read (a flushed cache, a program's
  /// launches, files of schema 2 and older).
  std::optional<double> sm_clock_hz{};
};

/// One kernel launch as seen by the activity API.
struct Launch {
  std::int64_t id = 0;
  std::int64_t case_id = 0;
  std::string part;         ///< the part that launched it; empty when unknown
  std::string kernel_name;  ///< demangled function name
  std::array<int, 3> grid{};
  std::array<int, 3> block{};
  std::array<int, 3> cluster{};  ///< 0 when launched without clusters
  int registers_per_thread = 0;
  std::int64_t static_shared_memory_bytes = 0;
  std::int64_t dynamic_shared_memory_bytes = 0;
  std::int64_t local_memory_per_thread_bytes = 0;
  std::int64_t shared_memory_config_bytes = 0;  ///< shared memory carve-out of the SM while it ran
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;
  std::int64_t start_ns = 0;  ///< activity clock
  std::int64_t end_ns = 0;
  std::uint32_t graph = 0;  ///< CUPTI's number of the CUDA graph that launched it; 0: none, or unknown
};

/// Nanoseconds from `start` to `end`, two times of one clock. Subtracted as whole numbers: times of day need more bits
/// than a double has, and any two of them are allowed in a recording.
inline double ElapsedNs(std::int64_t start, std::int64_t end) {
  const auto from = static_cast<std::uint64_t>(start);
  const auto to = static_cast<std::uint64_t>(end);
  return end >= start ? static_cast<double>(to - from) : -static_cast<double>(from - to);
}

/// An NVTX push/pop range seen while the launches were recorded.
struct NvtxRange {
  std::int64_t case_id = 0;
  std::string domain;
  std::string name;
  int depth = 0;  ///< 0 is outermost on its thread
  std::uint32_t thread = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// A stretch of a program's run that was watched through the activity API. A run writes several, one after the other,
/// so that a killed program keeps what was counted; its rows of KernelWork, MemoryWork, NvtxWork and NvtxKernelWork add
/// up.
struct WatchWindow {
  std::int64_t id = 0;
  std::int64_t start_ns = 0;       ///< activity clock
  std::int64_t end_ns = 0;         ///< activity clock; a window may be empty
  std::int64_t busy_ns = 0;        ///< time in which at least one kernel, copy or set ran on the recording's GPU
  std::int64_t measuring_ns = 0;   ///< time within it in which fa-profile measured counters and nothing was watched
  std::int64_t unrecorded_ns = 0;  ///< time within it in which launches were counted but not recorded
};

/// Launches of one launch class (a Case of origin "program") in one window. A class that was not launched in a window
/// has no row for it.
struct KernelWork {
  std::int64_t window_id = 0;
  std::int64_t case_id = 0;
  std::int64_t launches = 0;
  std::int64_t graph_launches = 0;  ///< those of them that a CUDA graph launched
  std::int64_t total_ns = 0;        ///< their time on the GPU, summed; launches that overlap count in full
  std::int64_t min_ns = 0;          ///< the shortest launch
  std::int64_t max_ns = 0;          ///< the longest launch
};

/// Copies or sets of one kind in one window.
struct MemoryWork {
  std::int64_t window_id = 0;
  std::string kind;  ///< "copy host to device", "copy device to device", "set", ...
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  std::int64_t total_ns = 0;  ///< their time on the GPU, summed
};

/// One NVTX range in one window: the ranges that ended in it, and the GPU work launched inside, including nested
/// ranges.
struct NvtxWork {
  std::int64_t window_id = 0;
  /// Names from the outermost range inwards, joined by " / "; a domain other than the default precedes its range's name
  /// as "domain: ".
  std::string path;
  int depth = 0;              ///< 0: outermost
  std::int64_t ranges = 0;    ///< ranges that ended
  std::int64_t host_ns = 0;   ///< time between push and pop, summed
  std::int64_t launches = 0;  ///< kernels launched inside
  std::int64_t gpu_ns = 0;    ///< their time on the GPU, summed
};

/// Launches of one launch class in one window, inside an NVTX range but not in a nested one. Rows below a thousandth of
/// the time in all ranges of the window are left out.
struct NvtxKernelWork {
  std::int64_t window_id = 0;
  std::int64_t case_id = 0;
  std::string path;  ///< as in NvtxWork
  std::int64_t launches = 0;
  std::int64_t gpu_ns = 0;  ///< their time on the GPU, summed
};

/// One metric configuration: the metrics requested from CUPTI in one call.
struct CounterConfig {
  std::int64_t id = 0;
  std::string chip;
  int passes = 0;
  std::vector<std::string> metrics;  ///< in the order given to CUPTI
};

/// A decoded CUPTI counter data image, from which the values of its ranges can be evaluated again.
struct CounterImage {
  std::int64_t id = 0;
  std::int64_t config_id = 0;
  std::vector<std::uint8_t> bytes;
};

/// A measured range: a case, or one part of it, and the metrics evaluated for it.
struct Range {
  std::int64_t id = 0;
  std::int64_t case_id = 0;
  std::string part;                       ///< empty: the whole call
  std::string name;                       ///< the name CUPTI knew it by
  std::int64_t image_id = 0;              ///< 0: the raw counter data was not kept
  int image_index = 0;                    ///< index of the range in its image
  std::map<std::string, double> metrics;  ///< by CUPTI name; a metric that gave no value is not in it
};

/// Machine code as it was loaded onto the device.
struct Cubin {
  std::int64_t id = 0;
  std::uint64_t crc = 0;  ///< CUPTI's, used by samples to name it
  std::vector<std::uint8_t> bytes;
};

/// One level of inlining above an instruction.
struct InlineFrame {
  std::string function;  ///< demangled, with its scope and template arguments
  std::string file;  ///< relative to its git work tree, if it had one on the measuring machine; else as written by the
                     ///< compiler
  int line = 0;
};

/// One machine instruction, disassembled. Without line information `frames` is empty.
struct Instruction {
  std::uint32_t offset = 0;         ///< bytes from the start of its function
  std::string predicate;            ///< "@!P0"; empty: unconditional
  std::string opcode;               ///< "HMMA.16816.F32"
  std::string operands;             ///< "R4, R8, R12, R4"; for a branch the target's offset, "0x2b0"; for an indirect
                                    ///< branch every target, if the cubin has them: "R2, -0x150, {0x1b0, 0x150}"
  std::vector<InlineFrame> frames;  ///< innermost first; the last is the function that holds the instruction
};

/// A device function, usually a kernel, whose instructions were sampled or counted.
struct DeviceFunction {
  std::int64_t id = 0;
  std::uint64_t cubin_crc = 0;
  std::string name;                       ///< as in the cubin: mangled
  std::vector<Instruction> instructions;  ///< all of them, by offset; empty if it could not be disassembled
};

/// Samples of one instruction: how often a warp was found at it, by stall reason. The names are CUPTI's without their
/// prefix ("long_scoreboard"; "selected" means that it issued). "<reason>_not_issued" counts the samples of <reason> in
/// cycles in which the scheduler issued nothing.
struct PcSample {
  std::int64_t function_id = 0;
  std::uint32_t offset = 0;
  std::map<std::string, std::uint64_t> samples;
};

/// PC sampling of a case or one part of it, in a separate run.
struct PcSampling {
  std::int64_t id = 0;
  std::int64_t case_id = 0;
  std::string part;                 ///< empty: the whole call
  int period_cycles = 0;            ///< each SM sub-partition samples one warp every this many cycles
  int launches = 0;                 ///< calls sampled
  std::uint64_t total_samples = 0;  ///< counted by the hardware, including dropped samples and those of other code
  std::uint64_t dropped_samples = 0;
  std::optional<double> call_ns;  ///< median duration of a sampled call
  std::vector<PcSample> samples;
};

/// Counts of one instruction: CUPTI's SASS metrics by name ("smsp__sass_inst_executed"), summed over the device.
struct SassCount {
  std::int64_t function_id = 0;
  std::uint32_t offset = 0;
  std::map<std::string, std::uint64_t> values;
};

/// SASS metrics of one call of a case, or of one part, from runs of patched code: exact, and not timed.
struct SassCounting {
  std::int64_t id = 0;
  std::int64_t case_id = 0;
  std::string part;  ///< empty: the whole call
  std::vector<SassCount> counts;
};

/// A metric's reading over a short time inside a call, from CUPTI's PM sampling. The metrics of a group come from one
/// launch, other groups from other launches (timeline_metrics.h).
struct PmSample {
  std::int64_t case_id = 0;
  std::string metric;         ///< id of a TimelineMetric: "tensor"
  std::int64_t start_ns = 0;  ///< from the first activity in the launch
  std::int64_t duration_ns = 0;
  double value = 0.0;  ///< in percent of what the unit can do in the time
};

/// Hash of a source file's contents when its code was recorded: the file of an InlineFrame.
struct SourceHash {
  std::string file;
  std::string sha256;  ///< 64 hexadecimal digits
};

/// Something that could not be measured: dropped ranges, metrics that the chip lacks, an unknown clock.
struct DataLoss {
  std::string kind;     ///< "metric_unavailable", "metric_not_collected", "range_dropped", "nvml", ...
  std::string subject;  ///< the metric, range or API
  std::string reason;   ///< in words
  std::int64_t count = 1;
};

/// Everything that one run measured. Code that takes this value needs no GPU.
struct Recording {
  int schema_version = kRecordingSchemaVersion;
  Session session;
  Device device;
  std::vector<ClockSample> clocks;
  std::vector<Case> cases;
  std::vector<Verification> verifications;
  std::vector<Judgement> judgements;  ///< for kernels of libraries
  std::vector<Timing> timings;
  std::vector<Launch> launches;
  std::vector<NvtxRange> nvtx_ranges;
  std::vector<WatchWindow> watch_windows;  ///< empty: nothing was watched
  std::vector<KernelWork> kernel_work;
  std::vector<MemoryWork> memory_work;
  std::vector<NvtxWork> nvtx_work;
  std::vector<NvtxKernelWork> nvtx_kernel_work;
  std::vector<CounterConfig> configs;
  std::vector<Range> ranges;
  std::vector<Cubin> cubins;  ///< loaded on request
  std::vector<DeviceFunction> functions;
  std::vector<PcSampling> samplings;
  std::vector<SassCounting> countings;
  std::vector<PmSample> pm_samples;
  std::vector<SourceHash> source_hashes;  ///< for files that the measuring machine could read
  std::vector<DataLoss> losses;
};

/// Every kind of record that a recording has a list of, each after the kinds that it refers to. A new kind is one line
/// here: code that reads, writes and copies recordings goes through this list. profiler/store/tables.cpp says what else
/// a new kind takes.
inline constexpr auto kRecordLists = std::make_tuple(
    &Recording::clocks, &Recording::cases, &Recording::verifications, &Recording::judgements, &Recording::timings,
    &Recording::launches, &Recording::nvtx_ranges, &Recording::watch_windows, &Recording::kernel_work,
    &Recording::memory_work, &Recording::nvtx_work, &Recording::nvtx_kernel_work, &Recording::configs,
    &Recording::ranges, &Recording::cubins, &Recording::functions, &Recording::samplings, &Recording::countings,
    &Recording::pm_samples, &Recording::source_hashes, &Recording::losses);

/// Calls `take(list)` for each list of `recording`, in the order of kRecordLists.
template <typename AnyRecording, typename Take>
void ForEachList(AnyRecording& recording, const Take& take) {
  std::apply([&](auto... list) { (take(recording.*list), ...); }, kRecordLists);
}

/// The list of one kind of record: ListOf<Case>(recording) is recording.cases.
template <typename Record, typename AnyRecording>
auto& ListOf(AnyRecording& recording) {
  return recording.*std::get<std::vector<Record> Recording::*>(kRecordLists);
}

/// One piece of a recording: the session, the device, a counter data image, or a record of a list.
template <typename... Record>
std::variant<const Session*, const Device*, const CounterImage*, const Record*...> PieceOf(
    std::tuple<std::vector<Record> Recording::*...>);
using RecordingPiece = decltype(PieceOf(kRecordLists));

/// Takes a recording piece by piece, as it is measured. The store implements it with a file; tests with a value. The
/// caller assigns ids, unique per kind and above 0. A piece that refers to another comes after it.
class RecordingSink {
 public:
  virtual ~RecordingSink() = default;
  /// A Session and a Device may be written again: the last one counts.
  template <typename Piece>
  void Write(const Piece& piece) {
    Take(&piece);
  }
  /// Everything written since the last Commit() becomes durable together.
  virtual void Commit() = 0;

 private:
  virtual void Take(const RecordingPiece& piece) = 0;
};

}  // namespace fa_profile

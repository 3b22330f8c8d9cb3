#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile {

/// Version of evidence as JSON (docs/evidence.schema.json). A reader takes its own version and older ones.
inline constexpr int kEvidenceVersion = 1;

/// A value's name in evidence: the phase it is of (empty: the whole kernel) and an id of MetricCatalogue() or, with a
/// phase, of PhaseCatalogue(); or one of the two below.
struct MetricKey {
  std::string phase;
  std::string metric;
  auto operator<=>(const MetricKey&) const = default;
};

/// Median duration of a call in a process, in seconds; the catalogue's.
inline constexpr const char* kDuration = "duration_seconds";
/// The same in cycles of the SM clock as it ran meanwhile: what a change of the clock does not move.
inline constexpr const char* kCycles = "duration_cycles";
/// A phase's share of the kernel's time; the phase catalogue's.
inline constexpr const char* kPhaseTime = "phase_time_ratio";

/// The case whose code never changes, in every timing process of a pair: when it moves, the machine did.
inline constexpr const char* kReferenceKernel = "gate_reference";

/// Where a measurement was taken, and by what. Empty: not known.
struct Environment {
  std::string gpu_name;  ///< "NVIDIA H200"
  std::string gpu_uuid;
  std::string chip;  ///< "GH100"
  std::string driver_version;
  std::string cuda_driver_version;
  std::string cuda_runtime_version;
  std::string cupti_version;
  std::int64_t sm_clock_max_hz = 0;
  std::int64_t memory_clock_max_hz = 0;
  std::string tool_version;
  std::string tool_commit;
  std::string taken_at;  ///< UTC, ISO 8601
};

/// A line of source.
struct SourcePlace {
  std::string file;  ///< relative to the repository's root where it lies under it
  int line = 0;
};

/// Machine code of one kernel function and what the compiler fixed for it. Absent: the cubin does not say.
struct CodeFacts {
  std::string symbol;        ///< mangled
  std::string name;          ///< demangled
  std::string architecture;  ///< "sm_90a"
  std::string code_hash;     ///< 16 hexadecimal digits; equal for equal instructions
  std::optional<int> registers_per_thread;
  std::optional<std::int64_t> stack_frame_bytes;  ///< per thread
  std::int64_t spill_bytes = 0;                   ///< stored and loaded per thread, as ptxas counts them
  std::int64_t local_array_bytes = 0;             ///< other accesses of the stack, stored and loaded
  std::int64_t static_shared_memory_bytes = 0;
  std::optional<int> threads_per_block;
  std::optional<int> blocks_per_sm;    ///< resident, with the dynamic shared memory it was looked at with
  std::vector<std::string> externals;  ///< functions it calls that are in no cubin: "vprintf"
  std::map<std::string, std::map<std::string, int>> counts;  ///< by phase: "instructions" and kLintCounts
};

/// How one kernel function was launched.
struct LaunchFacts {
  std::string kernel_name;  ///< demangled
  std::array<int, 3> grid{};
  std::array<int, 3> block{};
  std::int64_t dynamic_shared_memory_bytes = 0;
  int registers_per_thread = 0;
  std::optional<int> blocks_per_sm;
  bool operator==(const LaunchFacts&) const = default;
};

/// What is known of one kernel at one shape beside its samples.
struct CaseFacts {
  std::string kernel;                        ///< "mma"
  std::string shape;                         ///< AttentionShape::ToString(); empty: not of one shape (static evidence)
  std::optional<Verification> verification;  ///< absent: it was not verified in this run
  std::vector<CodeFacts> code;               ///< the functions it launches, by symbol; empty: not known
  std::vector<LaunchFacts> launches;         ///< of one call, in order; empty: not known
  std::vector<std::string> compiler_warnings;
  std::map<std::string, SourcePlace> places;    ///< by phase (empty: the kernel), the line with most of its time
  std::map<std::string, std::string> findings;  ///< by id of a finding: its evidence, one line
};

/// What one process measured: the unit of every test. Variance inside a process says nothing of the next one.
struct ProcessSample {
  std::string kind;        ///< "timing", or "recording" (counters and phases; never in the process of timings)
  int stage = 1;           ///< 2: measured again because of a suspicion
  int pair = -1;           ///< the processes of a pair ran next to each other; -1: of no pair
  bool throttled = false;  ///< the driver said that the clock was held down while it ran
  std::optional<double> sm_clock_hz;
  std::optional<double> temperature_celsius;
  std::vector<std::map<MetricKey, double>> values;  ///< by case; empty where a case was not measured
};

/// Everything the gate knows of one build. A value: recordings, baselines and runs of pairs become this.
struct Evidence {
  std::string origin;  ///< what it was made from: a path, "baseline nvidia-h200", ...
  Environment environment;
  std::vector<CaseFacts> cases;  ///< unique by kernel and shape
  std::vector<ProcessSample> processes;
  std::vector<std::string> losses;  ///< what is missing from it, one line each
};

/// "mma 1,8,512,64"; the kernel alone when there is no shape.
std::string CaseName(const CaseFacts& facts);

/// Index of a case, by kernel and shape.
std::optional<std::size_t> FindCase(const Evidence& evidence, const std::string& kernel, const std::string& shape);

/// The value of each process of `kind` that has it, with the process's index.
std::vector<std::pair<std::size_t, double>> Values(const Evidence& evidence, std::size_t case_index,
                                                   const std::string& kind, const MetricKey& key);

/// JSON, the same bytes for the same value: one process a line, so that a diff can be reviewed.
std::string ToJson(const Evidence& evidence);

/// Reads what ToJson() wrote. Hostile input: throws Error that says where and what for anything that is no evidence,
/// has a value that is not finite, names a case that is not there, is over its limits (docs/baselines.md), or is of a
/// newer version.
Evidence EvidenceFromJson(const std::string& text, const std::string& name);

}  // namespace fa_profile

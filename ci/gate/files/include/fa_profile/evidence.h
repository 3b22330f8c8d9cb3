#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::gate {

/// Version of evidence as JSON (docs/evidence.schema.json). A reader takes its own version and older ones.
inline constexpr int kEvidenceVersion = 4;

/// Names a value: a phase (empty: the whole kernel) and an id of MetricCatalogue() or, with a phase, of
/// PhaseCatalogue(), or kCycles.
struct MetricKey {
  std::string phase;
  std::string metric;
  auto operator<=>(const MetricKey&) const = default;
};

/// Median duration of a call in a process, in seconds; in the catalogue.
inline constexpr const char* kDuration = "duration_seconds";
/// The same in cycles of the SM clock: a change of the clock does not affect it.
inline constexpr const char* kCycles = "duration_cycles";
/// A phase's share of the kernel's time; in the phase catalogue.
inline constexpr const char* kPhaseTime = "phase_time_ratio";

/// A case whose code never changes, in every timing process of a pair: if its time changes, the machine changed.
inline constexpr const char* kReferenceKernel = "gate_reference";

/// Machine and tool used for a measurement. Empty: unknown.
struct Environment {
  std::string gpu_name;  ///< "NVIDIA H200"
  std::string gpu_uuid;  ///< empty: unknown, or several cards, and each process names its own
  std::string chip;      ///< "GH100"
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

/// One field of Environment, and where it comes from in a recording: `text` or `hertz` is set, and one of the last
/// three. Drives JSON, merging, reports and EnvironmentOf().
struct EnvironmentField {
  const char* key;    ///< in JSON
  const char* label;  ///< in reports
  std::string Environment::*text = nullptr;
  std::int64_t Environment::*hertz = nullptr;
  std::string Device::*device_text = nullptr;
  std::int64_t Device::*device_hertz = nullptr;
  std::string Session::*session_text = nullptr;
};
constexpr EnvironmentField OfDevice(const char* key, const char* label, std::string Environment::*to,
                                    std::string Device::*from) {
  return {.key = key, .label = label, .text = to, .device_text = from};
}
constexpr EnvironmentField OfDevice(const char* key, const char* label, std::int64_t Environment::*to,
                                    std::int64_t Device::*from) {
  return {.key = key, .label = label, .hertz = to, .device_hertz = from};
}
constexpr EnvironmentField OfSession(const char* key, const char* label, std::string Environment::*to,
                                     std::string Session::*from) {
  return {.key = key, .label = label, .text = to, .session_text = from};
}
inline constexpr std::array kEnvironmentFields = {
    OfDevice("gpu_name", "GPU", &Environment::gpu_name, &Device::name),
    OfDevice("gpu_uuid", "UUID", &Environment::gpu_uuid, &Device::uuid),
    OfDevice("chip", "chip", &Environment::chip, &Device::chip),
    OfDevice("driver_version", "driver", &Environment::driver_version, &Device::driver_version),
    OfDevice("cuda_driver_version", "CUDA of the driver", &Environment::cuda_driver_version,
             &Device::cuda_driver_version),
    OfDevice("cuda_runtime_version", "CUDA runtime", &Environment::cuda_runtime_version, &Device::cuda_runtime_version),
    OfDevice("cupti_version", "CUPTI", &Environment::cupti_version, &Device::cupti_version),
    OfDevice("sm_clock_max_hz", "highest SM clock", &Environment::sm_clock_max_hz, &Device::sm_clock_max_hz),
    OfDevice("memory_clock_max_hz", "highest memory clock", &Environment::memory_clock_max_hz,
             &Device::memory_clock_max_hz),
    OfSession("tool_version", "fa-profile", &Environment::tool_version, &Session::tool_version),
    OfSession("tool_commit", "commit", &Environment::tool_commit, &Session::tool_commit),
    OfSession("taken_at", "date", &Environment::taken_at, &Session::created_at),
};

/// The environment of a recording with this device and session.
Environment EnvironmentOf(const Device& device, const Session& session);

/// A line of source.
struct SourcePlace {
  std::string file;  ///< relative to the repository's root if it is below it
  int line = 0;
};

/// Machine code of one kernel function. Absent: the cubin does not contain it.
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
  std::optional<int>
      blocks_per_sm;  ///< resident, with the dynamic shared memory of its launch; without a launch: with none
  std::vector<std::string> externals;                        ///< functions it calls that no cubin contains: "vprintf"
  std::map<std::string, std::map<std::string, int>> counts;  ///< by phase: "instructions" and kLintCounts
};

/// How one kernel function was launched.
struct LaunchFacts {
  std::string kernel_name;  ///< demangled
  std::array<int, 3> grid{};
  std::array<int, 3> block{};
  std::array<int, 3> cluster{};  ///< 0: without clusters, or of version 1
  std::int64_t dynamic_shared_memory_bytes = 0;
  /// Shared memory carve-out of the SM; 0: unknown, as in version 1.
  std::int64_t shared_memory_config_bytes = 0;
  int registers_per_thread = 0;
  std::optional<int> blocks_per_sm;
  bool operator==(const LaunchFacts&) const = default;
};

/// How a member of Evidence::losses begins that names code which was not compared.
inline constexpr std::string_view kNotCompared = "not compared";

/// How names in CaseFacts::architectures begin that are not of machine code: "PTX compute_90".
inline constexpr std::string_view kPtxPrefix = "PTX ";
inline constexpr std::string_view kLtoIrPrefix = "LTO-IR ";

/// One kernel at one shape, without its samples.
struct CaseFacts {
  std::string kernel;                        ///< "mma"
  std::string shape;                         ///< Shape::ToString(); empty: no shape (static evidence)
  std::optional<Verification> verification;  ///< absent: not verified in this run
  std::string refused{};        ///< why the judge does not certify its speed; empty: it does, or was not asked
  std::string untimed{};        ///< why the judge cannot say how fast it is; empty: it can, or was not asked
  std::vector<CodeFacts> code;  ///< the functions it launches, by symbol; empty: unknown
  /// By architecture, the hash of the functions' code that is not in `code`, because there is newer code for them. Has
  /// all architectures of a build that was read for all of them; empty: unknown. Also of PTX and of the file's LTO-IR,
  /// which a driver or a linker compiles.
  std::map<std::string, std::string> architectures{};
  std::string host_code_hash;         ///< of the library or Python file that launches it; empty: unknown
  std::string phase_model;            ///< PhaseModelOf() its phases; empty: unknown, or it has none
  std::vector<LaunchFacts> launches;  ///< of one call, in order; empty: unknown
  std::vector<std::string> compiler_warnings;
  std::map<std::string, SourcePlace> places;    ///< by phase (empty: the kernel), the line with most of its time
  std::map<std::string, std::string> findings;  ///< by id of a finding: its evidence, one line

  /// False: its speed means nothing.
  bool works() const { return refused.empty() && untimed.empty() && (!verification || verification->correct()); }
};

/// The values from one process, the unit of every test: the variance inside a process does not predict the next one.
struct ProcessSample {
  std::string kind;        ///< "timing", or "recording" (counters and phases)
  int stage = 1;           ///< 2: measured again, because stage 1 was suspect
  int pair = -1;           ///< processes of a pair ran next to each other; -1: no pair
  bool throttled = false;  ///< the driver reported a throttled clock
  std::string gpu_uuid;    ///< the card it ran on; empty: the environment's
  std::optional<double> sm_clock_hz;
  std::optional<double> temperature_celsius;
  std::vector<std::map<MetricKey, double>> values;  ///< by case; empty: not measured
};

/// Everything the gate knows about one build, from recordings, baselines, runs of pairs or machine code.
struct Evidence {
  std::string origin;  ///< its source: a path, "baseline nvidia-h200", ...
  Environment environment;
  std::vector<CaseFacts> cases;  ///< unique by kernel and shape
  std::vector<ProcessSample> processes;
  std::vector<std::string> losses;  ///< missing parts, one line each
  /// Machine code of the build that was found but not read, with the reason, one line each: whether it changed is
  /// unknown, and no run passes with it.
  std::vector<std::string> unread_code;
  std::int64_t unread_more = 0;  ///< the number of those that are not named there
  /// By file, the hash of GPU code that no case has: of files that are neither libraries nor cubins, and of PTX without
  /// machine code. Without the code that cases have, which may have been linked from it. Absent: unknown.
  std::optional<std::map<std::string, std::string>> other_code;
};

/// "mma 1,8,512,64"; only the kernel without a shape.
std::string CaseName(const CaseFacts& facts);

/// UUID of the card that a process ran on; empty: unknown.
const std::string& CardOf(const Evidence& evidence, const ProcessSample& process);

/// UUIDs of the cards that the processes ran on, sorted. Without processes that of the environment.
std::vector<std::string> CardsOf(const Evidence& evidence);

/// Index of a case, by kernel and shape.
std::optional<std::size_t> FindCase(const Evidence& evidence, const std::string& kernel, const std::string& shape);

/// The values in processes of `kind`, each with the process's index.
std::vector<std::pair<std::size_t, double>> Values(const Evidence& evidence, std::size_t case_index,
                                                   const std::string& kind, const MetricKey& key);

/// JSON, the same bytes for the same value: one process a line, so that a diff can be reviewed.
std::string ToJson(const Evidence& evidence);

/// Reads what ToJson() wrote. Hostile input: throws Error, with the place, for anything that is not evidence, has a
/// value that is not finite, names an unknown case, exceeds a limit (docs/gate-reference.md), or has a newer version.
Evidence EvidenceFromJson(const std::string& text, const std::string& name);

}  // namespace fa_profile::gate

#include "fa_profile/recording_evidence.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "code_facts.h"
#include "fa_profile/call_name.h"
#include "fa_profile/cubin.h"
#include "fa_profile/demangle.h"
#include "fa_profile/error.h"
#include "fa_profile/kernel_code.h"
#include "fa_profile/lint.h"
#include "fa_profile/measured_code.h"
#include "fa_profile/occupancy.h"
#include "fa_profile/phase_map.h"
#include "hot_lines.h"

namespace fa_profile::gate {
namespace {

// NVML's clock event reasons that count as throttling: HW slowdown 0x8, SW thermal 0x20, HW thermal 0x40, HW power
// brake 0x80. Not idle, and not the software power cap, which a kernel that draws the board's power reaches in every
// run.
constexpr std::uint64_t kThrottleReasons = 0x8 | 0x20 | 0x40 | 0x80;

// The state after the run: before it the GPU may have been idle.
ProcessSample ProcessOf(const std::vector<ClockSample>& clocks) {
  ProcessSample process;
  process.kind = "recording";
  for (const ClockSample& sample : clocks) {
    process.throttled |= (sample.throttle_reasons.value_or(0) & kThrottleReasons) != 0;
    if (sample.sm_hz) process.sm_clock_hz = static_cast<double>(*sample.sm_hz);
    if (sample.temperature_celsius) process.temperature_celsius = sample.temperature_celsius;
  }
  return process;
}

/// Machine code of a recording, linted once per launch configuration.
class RecordedCode {
 public:
  RecordedCode(const Recording& recording, std::vector<std::string>& losses) : recording_(recording), losses_(losses) {}

  /// The kernels of a case, by name.
  std::vector<CodeFacts> Of(const ProfileEntry& entry) {
    std::vector<CodeFacts> code;
    // Facts about some functions of a call do not describe the call: redact may have removed the code of others.
    const auto has_no_code = [&](const DeviceFunction* function) {
      return function->instructions.empty() && InfoOf(function->cubin_crc) == nullptr;
    };
    const std::vector<const DeviceFunction*> functions = analyze::MeasuredFunctions(recording_, entry.case_id);
    if (std::ranges::any_of(functions, has_no_code)) {
      if (lacking_.insert(entry.kernel).second) {
        losses_.push_back("no machine code of " + entry.kernel +
                          " in the recording: code removed, so none is compared");
      }
      return code;
    }
    for (const DeviceFunction* const function : functions) {
      if (auto facts = FactsOf(*function, entry.launches)) code.push_back(std::move(*facts));
    }
    std::ranges::sort(code, {}, [](const CodeFacts& facts) { return std::pair(facts.name, facts.symbol); });
    return code;
  }

 private:
  std::optional<CodeFacts> FactsOf(const DeviceFunction& function, const std::vector<Launch>& launches) {
    const std::string name = Demangle(function.name.c_str());
    const auto launch = std::ranges::find(launches, name, &Launch::kernel_name);
    // A part of a program runs only some of the functions sampled in it.
    if (launch == launches.end() && !launches.empty()) return std::nullopt;
    analyze::LintOptions options;
    options.dynamic_shared_memory_bytes = 0;
    if (launch != launches.end()) {
      options.threads = analyze::ThreadsOf(launch->block);
      options.dynamic_shared_memory_bytes = launch->dynamic_shared_memory_bytes;
    }
    const auto [found, is_new] = facts_.try_emplace(
        {function.id, options.threads.value_or(0), *options.dynamic_shared_memory_bytes}, std::nullopt);
    if (!is_new) return found->second;
    const sass::CubinInfo* info = InfoOf(function.cubin_crc);
    if (info == nullptr) return std::nullopt;
    const auto described = std::ranges::find(info->functions, function.name, &sass::CubinFunction::name);
    if (described == info->functions.end() || !described->is_kernel) return std::nullopt;
    if (function.instructions.empty()) {  // its spills are unknown, so it must not pass as a kernel without spills
      losses_.push_back("the machine code of " + FunctionName(name) + " was not disassembled: it is not compared");
      return std::nullopt;
    }
    if (info->is_device_debug) {
      losses_.push_back(FunctionName(name) + " is device debug code (nvcc -G), which is not optimised: build it " +
                        "without -G; -lineinfo keeps the source lines");
    }
    analyze::KernelCode code = load::ToKernelCode({}, "sm_" + std::to_string(info->sm), *info, *described);
    code.function = function;
    found->second = ToCodeFacts(analyze::Lint(code, options));
    return found->second;
  }

  // A cubin that does not parse is one loss.
  const sass::CubinInfo* InfoOf(std::uint64_t crc) {
    const auto [found, is_new] = infos_.try_emplace(crc, std::nullopt);
    if (is_new) {
      const auto cubin = std::ranges::find(recording_.cubins, crc, &Cubin::crc);
      if (cubin == recording_.cubins.end()) return nullptr;
      try {
        found->second = sass::ReadCubin(cubin->bytes);
      } catch (const Error& problem) {
        losses_.push_back("machine code in the recording cannot be read: " + problem.message());
      }
    }
    return found->second ? &*found->second : nullptr;
  }

  const Recording& recording_;
  std::vector<std::string>& losses_;
  std::set<std::string> lacking_;  // kernels whose missing code is among the losses
  std::map<std::uint64_t, std::optional<sass::CubinInfo>> infos_;
  std::map<std::tuple<std::int64_t, int, std::int64_t>, std::optional<CodeFacts>> facts_;
};

std::vector<LaunchFacts> LaunchesOf(const ProfileEntry& entry, const Device& device) {
  std::vector<LaunchFacts> facts;
  for (const Launch& launch : entry.launches) {
    LaunchFacts one;
    one.kernel_name = launch.kernel_name;
    one.grid = launch.grid;
    one.block = launch.block;
    one.cluster = launch.cluster;
    one.shared_memory_config_bytes = launch.shared_memory_config_bytes;
    one.dynamic_shared_memory_bytes = launch.dynamic_shared_memory_bytes;
    one.registers_per_thread = launch.registers_per_thread;
    if (const auto occupancy = analyze::TheoreticalOccupancy(device, launch))
      one.blocks_per_sm = occupancy->blocks_per_sm;
    facts.push_back(std::move(one));
  }
  return facts;
}

std::map<MetricKey, double> ValuesOf(const ProfileEntry& entry) {
  std::map<MetricKey, double> values;
  for (const auto& [id, value] : entry.metrics) values[{{}, id}] = value;
  if (entry.timing) {
    constexpr double kSecondsPerNs = 1e-9;
    values[{{}, kDuration}] = entry.timing->median_ns * kSecondsPerNs;
  }
  if (!entry.phases) return values;
  for (const PhaseEntry& phase : entry.phases->phases) {
    for (const auto& [id, value] : phase.metrics) values[{phase.name, id}] = value;
  }
  return values;
}

// Whether part of the recording is missing. That excludes counters that the chip lacks, kernels that do not support a
// shape, and remarks on the quality of phases.
bool IsLoss(const DataLoss& loss) {
  static const std::set<std::string> kRemarks{
      "kernel_skipped",      "metric_contradictory", "metric_not_a_counter", "metric_not_derived", "metric_unavailable",
      "phase_contradictory", "phase_map_overlap",    "phase_sums_open",      "phase_unattributed", "sampling_disturbs"};
  return !kRemarks.contains(loss.kind);
}

// Whole calls; or kernels, if a program was measured kernel by kernel. Not CUDA graphs: their kernels are cases, and
// which graph has which number differs from run to run.
std::vector<const ProfileEntry*> CasesOf(const Profile& profile) {
  std::set<std::int64_t> whole;
  for (const ProfileEntry& entry : profile.entries) {
    if (entry.part.empty()) whole.insert(entry.case_id);
  }
  std::vector<const ProfileEntry*> cases;
  for (const ProfileEntry& entry : profile.entries) {
    if (entry.kernel.starts_with(kGraphCase)) continue;
    if (entry.part.empty() || !whole.contains(entry.case_id)) cases.push_back(&entry);
  }
  return cases;
}

}  // namespace

Evidence EvidenceOf(const Recording& recording, const Profile& profile, const std::string& origin,
                    const std::string& repository) {
  Evidence evidence;
  evidence.origin = origin;
  evidence.environment = EnvironmentOf(recording.device, recording.session);
  for (const DataLoss& loss : profile.losses) {
    if (IsLoss(loss)) evidence.losses.push_back(loss.kind + ": " + loss.subject + ": " + loss.reason);
  }
  ProcessSample process = ProcessOf(recording.clocks);
  RecordedCode code(recording, evidence.losses);
  HotLines lines(recording, repository);
  std::set<std::pair<std::string, std::string>> seen;
  for (const ProfileEntry* entry : CasesOf(profile)) {
    CaseFacts facts;
    facts.kernel = entry->part.empty() ? entry->kernel : entry->kernel + "/" + entry->part;
    if (entry->shape) facts.shape = entry->shape->ToString();
    if (!seen.emplace(facts.kernel, facts.shape).second) {
      throw Error(origin + " contains " + CallName(entry->kernel, entry->shape, entry->part) + " twice",
                  "record each kernel once at each shape");
    }
    facts.verification = entry->verification;
    if (facts.verification) facts.verification->case_id = 0;  // its index in that file
    facts.refused = entry->not_as_certified;
    if (entry->judgement && entry->judgement->refused()) facts.refused = entry->judgement->reason;
    if (entry->judgement && entry->judgement->verdict == Judgement::Verdict::kCannotSay) {
      facts.untimed = entry->judgement->reason;
    }
    facts.code = code.Of(*entry);
    facts.launches = LaunchesOf(*entry, recording.device);
    if (entry->phases) facts.phase_model = PhaseModelOf(entry->phases->attribution);
    facts.places = lines.Of(*entry);
    for (const Finding& finding : entry->findings) facts.findings.emplace(finding.id, finding.evidence);
    evidence.cases.push_back(std::move(facts));
    process.values.push_back(ValuesOf(*entry));
  }
  evidence.processes.push_back(std::move(process));
  return evidence;
}

}  // namespace fa_profile::gate

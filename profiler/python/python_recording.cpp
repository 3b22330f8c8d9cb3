#include "fa_profile/python_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

namespace fa_profile::python {
namespace {

// Most launches of a part in a recording: they show configurations and their number.
constexpr std::int64_t kMostLaunches = 1000;

/// A kernel in a call: a launch class of the process that made the calls.
struct CallKernel {
  std::int64_t case_id = 0;   // in the program's recording
  std::string part;           // empty: the only launch of the call
  std::int64_t launches = 0;  // per call
};

struct CallKernels {
  std::vector<CallKernel> kernels;
  bool estimated = false;  // a call does not always launch the same
};

template <typename Work>
std::map<std::int64_t, std::int64_t> LaunchesByCase(const std::vector<Work>& list, const char* path) {
  std::map<std::int64_t, std::int64_t> launches;
  for (const Work& work : list) {
    if constexpr (std::is_same_v<Work, NvtxKernelWork>) {
      if (work.path != path) continue;
    }
    launches[work.case_id] += work.launches;
  }
  return launches;
}

// How often a call launches each kernel.
CallKernels KernelsOf(const Recording& program, const PythonCalls& calls) {
  const auto watched = LaunchesByCase(program.kernel_work, nullptr);
  const auto counted = LaunchesByCase(program.nvtx_kernel_work, kCountRange);
  CallKernels found;
  for (const Case& one : program.cases) {
    if (one.kernel.starts_with(kGraphCase)) continue;
    const auto in_range = counted.find(one.id);
    const auto all = watched.find(one.id);
    std::int64_t launches = 0;
    if (in_range != counted.end() && in_range->second % calls.counted_calls == 0) {
      launches = in_range->second / calls.counted_calls;
    } else if (all != watched.end()) {  // too short for a row of the range, or a call does not always launch the same
      launches = std::llround(static_cast<double>(all->second) / static_cast<double>(calls.calls));
      if (in_range != counted.end() || counted.empty()) {
        launches = std::max<std::int64_t>(launches, 1);
        found.estimated = true;
      }
    }
    if (launches > 0) found.kernels.push_back({one.id, one.kernel, launches});
  }
  if (found.kernels.size() == 1 && found.kernels.front().launches == 1) {
    found.kernels.front().part.clear();
    return found;
  }
  // Kernels that differ in template arguments alone have one name.
  std::map<std::string, int> named;
  for (CallKernel& kernel : found.kernels) {
    if (const int number = ++named[kernel.part]; number > 1) kernel.part += fmt::format(" #{}", number);
    if (kernel.launches > 1) kernel.part += fmt::format(" x{}", kernel.launches);
  }
  return found;
}

// Whether a metric of two launches is the sum of theirs.
bool Adds(std::string_view metric) {
  return std::ranges::any_of(std::array<std::string_view, 4>{".sum", ".avg", ".min", ".max"},
                             [&](std::string_view rollup) { return metric.ends_with(rollup); });
}

// Losses of a program that do not apply to a recording of calls: it is not about every launch in a process.
bool IsOfWatching(const DataLoss& loss) {
  return loss.kind == "launch_not_watched" || loss.kind == "activity_without_times" ||
         loss.kind == "nvtx_range_not_recorded";
}

bool IsOfTheDevice(const DataLoss& loss) { return loss.kind.starts_with("metric_") || loss.kind == "nvml"; }

using PcKey = std::pair<std::int64_t, std::uint32_t>;  // function and offset

template <typename Row>
void AddTo(std::map<std::string, std::uint64_t>& sums, const Row& values, std::uint64_t factor) {
  for (const auto& [name, value] : values) sums[name] += factor * value;
}

/// Builds the recording.
class KernelRecording {
 public:
  KernelRecording(Recording base, std::string origin) : result_(std::move(base)), origin_(std::move(origin)) {}

  void Add(MeasuredCase measured);
  Recording Take() { return std::move(result_); }

 private:
  std::int64_t NewId() { return ++last_id_; }
  void AddProgram(std::int64_t id, const MeasuredCase& measured);
  void AddLaunches(std::int64_t id, const Recording& program, const CallKernel& kernel);
  void AddPartTiming(std::int64_t id, const Recording& program, const CallKernel& kernel);
  void AddCounters(std::int64_t id, const std::string& name, const Recording& program, const CallKernels& call);
  void AddSamples(std::int64_t id, const Recording& program, const CallKernels& call, std::int64_t calls);
  void AddCounts(std::int64_t id, const Recording& program, const CallKernels& call);
  void AddCode(const Recording& program);
  void AddConfigs(const Recording& program);
  void AddClocks(const Recording& program);
  void AddLosses(const std::string& name, const Recording& program);
  void AddLoss(DataLoss loss);

  Recording result_;
  std::string origin_;
  std::int64_t last_id_ = 0;
  std::map<std::pair<std::uint64_t, std::string>, std::int64_t> functions_;  // new ids, by cubin and name
  std::map<std::int64_t, std::int64_t> function_ids_;                        // new ids, by those in the current program
};

void KernelRecording::Add(MeasuredCase measured) {
  const std::int64_t id = NewId();
  result_.cases.push_back({id, measured.name, origin_, std::nullopt});
  if (measured.verification) {
    measured.verification->case_id = id;
    result_.verifications.push_back(std::move(*measured.verification));
  }
  if (measured.judgement) {
    measured.judgement->case_id = id;
    result_.judgements.push_back(std::move(*measured.judgement));
  }
  if (measured.timing) {
    measured.timing->case_id = id;
    measured.timing->part.clear();
    result_.timings.push_back(std::move(*measured.timing));
  }
  if (measured.program) AddProgram(id, measured);
}

void KernelRecording::AddProgram(std::int64_t id, const MeasuredCase& measured) {
  const Recording& program = *measured.program;
  const CallKernels call = KernelsOf(program, measured.calls);
  AddCode(program);
  AddConfigs(program);
  AddClocks(program);
  for (const CallKernel& kernel : call.kernels) {
    AddLaunches(id, program, kernel);
    if (!kernel.part.empty()) AddPartTiming(id, program, kernel);
  }
  AddCounters(id, measured.name, program, call);
  AddSamples(id, program, call, measured.calls.calls);
  AddCounts(id, program, call);
  AddLosses(measured.name, program);
  if (call.kernels.empty()) AddLoss({"launch_not_seen", measured.name, "a call launches no kernel", 1});
  if (call.estimated) {
    AddLoss({"launches_estimated", measured.name,
             "calls do not always launch the same kernels: launches and counts of a call are a mean", 1});
  }
}

void KernelRecording::AddLaunches(std::int64_t id, const Recording& program, const CallKernel& kernel) {
  const auto found = std::ranges::find(program.launches, kernel.case_id, &Launch::case_id);
  if (found == program.launches.end()) return;
  for (std::int64_t i = 0; i < std::min(kernel.launches, kMostLaunches); ++i) {
    Launch launch = *found;
    launch.id = NewId();
    launch.case_id = id;
    launch.part = kernel.part;
    result_.launches.push_back(std::move(launch));
  }
}

void KernelRecording::AddPartTiming(std::int64_t id, const Recording& program, const CallKernel& kernel) {
  Timing all{id, kernel.part, "activity", {}};
  for (const Timing& timing : program.timings) {
    if (timing.case_id != kernel.case_id) continue;
    for (const double duration : timing.durations_ns)
      all.durations_ns.push_back(duration * static_cast<double>(kernel.launches));
  }
  if (!all.durations_ns.empty()) result_.timings.push_back(std::move(all));
}

void KernelRecording::AddCounters(std::int64_t id, const std::string& name, const Recording& program,
                                  const CallKernels& call) {
  Range whole{NewId(), id, "", name, 0, 0, {}};
  std::string lacks;  // the part without counters
  bool any = false;
  for (const CallKernel& kernel : call.kernels) {
    const auto found = std::ranges::find(program.ranges, kernel.case_id, &Range::case_id);
    if (found == program.ranges.end()) {
      lacks = kernel.part;
      continue;
    }
    any = true;
    Range range{NewId(), id, kernel.part, found->name, 0, 0, found->metrics};
    for (auto& [metric, value] : range.metrics) {
      if (Adds(metric)) value *= static_cast<double>(kernel.launches);
      if (metric.ends_with(".sum")) whole.metrics[metric] += value;
    }
    result_.ranges.push_back(std::move(range));
  }
  if (call.kernels.size() == 1 && call.kernels.front().part.empty()) return;
  if (any && !lacks.empty()) {
    AddLoss({"counters_not_measured", name, "its kernel " + lacks + " has no counters, so the call has no sums", 1});
  } else if (!whole.metrics.empty()) {
    result_.ranges.push_back(std::move(whole));
  }
}

void KernelRecording::AddSamples(std::int64_t id, const Recording& program, const CallKernels& call,
                                 std::int64_t calls) {
  PcSampling all;
  std::map<PcKey, std::map<std::string, std::uint64_t>> sums;
  for (const PcSampling& sampling : program.samplings) {
    if (std::ranges::find(call.kernels, sampling.case_id, &CallKernel::case_id) == call.kernels.end()) continue;
    all.period_cycles = sampling.period_cycles;  // the same within a process
    all.total_samples += sampling.total_samples;
    all.dropped_samples += sampling.dropped_samples;
    for (const PcSample& sample : sampling.samples)
      AddTo(sums[{function_ids_.at(sample.function_id), sample.offset}], sample.samples, 1);
  }
  if (sums.empty()) return;
  all.id = NewId();
  all.case_id = id;
  all.launches = static_cast<int>(std::min<std::int64_t>(calls, std::numeric_limits<int>::max()));
  for (auto& [key, samples] : sums) all.samples.push_back({key.first, key.second, std::move(samples)});
  result_.samplings.push_back(std::move(all));
}

void KernelRecording::AddCounts(std::int64_t id, const Recording& program, const CallKernels& call) {
  std::map<PcKey, std::map<std::string, std::uint64_t>> sums;
  for (const SassCounting& counting : program.countings) {
    const auto kernel = std::ranges::find(call.kernels, counting.case_id, &CallKernel::case_id);
    if (kernel == call.kernels.end()) continue;
    for (const SassCount& count : counting.counts) {
      AddTo(sums[{function_ids_.at(count.function_id), count.offset}], count.values,
            static_cast<std::uint64_t>(kernel->launches));
    }
  }
  if (sums.empty()) return;
  SassCounting all{NewId(), id, "", {}};
  for (auto& [key, values] : sums) all.counts.push_back({key.first, key.second, std::move(values)});
  result_.countings.push_back(std::move(all));
}

// Processes load the same code: it is kept once.
void KernelRecording::AddCode(const Recording& program) {
  function_ids_.clear();
  for (const Cubin& cubin : program.cubins) {
    if (std::ranges::find(result_.cubins, cubin.crc, &Cubin::crc) != result_.cubins.end()) continue;
    result_.cubins.push_back(cubin);
    result_.cubins.back().id = NewId();
  }
  for (const SourceHash& source : program.source_hashes) {
    if (std::ranges::find(result_.source_hashes, source.file, &SourceHash::file) != result_.source_hashes.end())
      continue;
    result_.source_hashes.push_back(source);
  }
  for (const DeviceFunction& function : program.functions) {
    const auto [known, is_new] = functions_.try_emplace({function.cubin_crc, function.name}, 0);
    if (is_new) {
      known->second = NewId();
      result_.functions.push_back(function);
      result_.functions.back().id = known->second;
    }
    function_ids_[function.id] = known->second;
  }
}

void KernelRecording::AddConfigs(const Recording& program) {
  for (const CounterConfig& config : program.configs) {
    const bool known = std::ranges::any_of(result_.configs, [&](const CounterConfig& other) {
      return other.chip == config.chip && other.passes == config.passes && other.metrics == config.metrics;
    });
    if (known) continue;
    result_.configs.push_back(config);
    result_.configs.back().id = NewId();
  }
}

// Before the first process, after the last one.
void KernelRecording::AddClocks(const Recording& program) {
  for (const ClockSample& clock : program.clocks) {
    const auto known = std::ranges::find(result_.clocks, clock.when, &ClockSample::when);
    if (known == result_.clocks.end()) {
      result_.clocks.push_back(clock);
    } else if (clock.when == "after") {
      const std::uint64_t before = known->throttle_reasons.value_or(0);
      *known = clock;
      if (before != 0) known->throttle_reasons = clock.throttle_reasons.value_or(0) | before;
    }
  }
}

void KernelRecording::AddLosses(const std::string& name, const Recording& program) {
  for (DataLoss loss : program.losses) {
    if (IsOfWatching(loss)) continue;
    if (!IsOfTheDevice(loss)) loss.subject = loss.subject.empty() ? name : name + ": " + loss.subject;
    AddLoss(std::move(loss));
  }
}

void KernelRecording::AddLoss(DataLoss loss) {
  const bool known = std::ranges::any_of(result_.losses, [&](const DataLoss& other) {
    return other.kind == loss.kind && other.subject == loss.subject && other.reason == loss.reason;
  });
  if (!known) result_.losses.push_back(std::move(loss));
}

}  // namespace

Recording ToKernelRecording(Recording base, const std::string& origin, std::vector<MeasuredCase> cases) {
  KernelRecording recording(std::move(base), origin);
  for (MeasuredCase& measured : cases) recording.Add(std::move(measured));
  return recording.Take();
}

}  // namespace fa_profile::python

#include "fa_profile/phase_collector.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cuda_api.h"
#include "fa_profile/error.h"
#include "module_capture.h"
#include "pc_sampler.h"
#include "sass_counter.h"
#include "timing.h"

namespace fa_profile {
namespace {

// What is counted per instruction; requests and operations follow from the opcode and the executions.
constexpr std::array kSassMetrics = {
    "smsp__sass_inst_executed",
    "smsp__sass_thread_inst_executed",
    "smsp__sass_thread_inst_executed_pred_on",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal",
    "smsp__sass_l1tex_tags_mem_global",
    "smsp__sass_sectors_mem_global",
    "smsp__sass_sectors_mem_global_ideal",
    "smsp__sass_sectors_mem_local",
};

// The sampler takes one warp of an SM each period. 400,000 samples put the standard error of a share below a tenth of a
// point, and take CUPTI some 10 ms to decode. Below 256 cycles the H200's hardware begins to drop.
constexpr double kSamplesWanted = 400e3;
constexpr std::uint32_t kShortestPeriod = 256;
constexpr std::uint32_t kLongestPeriod = 1U << 20;
constexpr int kSampledReplays = 7;
constexpr int kMostAttempts = 4;
// A kernel under the sampler takes as long as without, or its phases are those of another kernel.
constexpr double kMostSlowdown = 0.02;

std::uint32_t ChoosePeriod(double sampled_ns, const Device& device) {
  const double cycles = sampled_ns * 1e-9 * static_cast<double>(device.sm_clock_max_hz) * device.sm_count;
  const double period = std::clamp(cycles / kSamplesWanted, double{kShortestPeriod}, double{kLongestPeriod});
  return std::bit_floor(static_cast<std::uint32_t>(period));
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

struct PhaseCollector::Impl {
  Impl(const Device& device, PhaseCollectOptions options, RecordingSink& sink, std::int64_t& next_id,
       std::function<void(const Progress&)> progress, std::function<bool()> cancelled)
      : device_(device),
        options_(std::move(options)),
        sink_(sink),
        next_id_(next_id),
        progress_(std::move(progress)),
        cancelled_(std::move(cancelled)),
        flusher_(options_.flush_cache, static_cast<std::size_t>(device.l2_bytes)) {
    sampler_.emplace(CurrentContext(), kShortestPeriod);
    period_ = kShortestPeriod;
  }

  void Collect(const std::vector<CollectJob>& jobs, bool sample);

 private:
  void Report(const char* stage, const std::string& subject, std::size_t done, std::size_t total) const {
    if (progress_) progress_({stage, subject, static_cast<int>(done), static_cast<int>(total)});
    if (cancelled_ && cancelled_()) throw Error("interrupted", "what was finished is in the .part file");
  }
  void Sample(const CollectJob& job);
  void Count(const CollectJob& job);
  std::int64_t FunctionId(std::uint64_t crc, const std::string& name);
  void StartDisassembling();
  void Write();

  const Device& device_;
  PhaseCollectOptions options_;
  RecordingSink& sink_;
  std::int64_t& next_id_;
  std::function<void(const Progress&)> progress_;
  std::function<bool()> cancelled_;
  CacheFlusher flusher_;
  CudaStream stream_;
  ModuleCapture modules_;
  std::optional<PcSampler> sampler_;
  std::uint32_t period_ = 0;
  std::optional<SassCounter> counter_;
  std::map<std::pair<std::uint64_t, std::string>, std::int64_t> functions_;  // id by CRC and name
  // New functions of one cubin, being disassembled while the device is busy.
  struct Code {
    std::uint64_t crc = 0;
    std::optional<Cubin> cubin;  // absent: it was not seen being loaded
    bool cubin_is_new = false;
    std::vector<std::pair<std::string, std::int64_t>> functions;  // name and id
    std::future<std::vector<DeviceFunction>> disassembled;
  };
  std::vector<Code> code_;
  std::set<std::int64_t> known_functions_;
  std::set<std::uint64_t> known_cubins_;
  // What was measured and waits for its functions to be written.
  std::vector<PcSampling> samplings_;
  std::vector<SassCounting> countings_;
};

std::int64_t PhaseCollector::Impl::FunctionId(std::uint64_t crc, const std::string& name) {
  const auto [place, added] = functions_.try_emplace({crc, name}, next_id_);
  if (added) ++next_id_;
  return place->second;
}

void PhaseCollector::Impl::Sample(const CollectJob& job) {
  const auto enqueue = [&job](cudaStream_t stream) { job.workload->Launch(stream); };
  double call_ns = Median(TimeLaunches(enqueue, kSampledReplays, flusher_, cancelled_).durations_ns);
  PcSampling sampling;
  sampling.case_id = job.case_id;
  // A replay of the timing graph lasts 0.2 ms or one call, and there are some for warming up.
  std::uint32_t period = ChoosePeriod((kSampledReplays + 3) * std::max(call_ns, 200e3), device_);
  PcSamples samples;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt, period *= 4) {
    if (!sampler_ || period_ != period) {
      sampler_.reset();
      sampler_.emplace(CurrentContext(), period);
      period_ = period;
    }
    TimedLaunches timed;
    samples = sampler_->Sample([&] { timed = TimeLaunches(enqueue, kSampledReplays, flusher_, cancelled_); });
    sampling.period_cycles = static_cast<int>(period);
    sampling.launches = static_cast<int>(timed.durations_ns.size());
    sampling.call_ns = Median(timed.durations_ns);
    if (samples.dropped == 0 && !samples.buffer_full) break;
  }
  sampling.id = next_id_++;
  sampling.total_samples = samples.total;
  sampling.dropped_samples = samples.dropped;
  for (const SampledPc& pc : samples.pcs) {
    sampling.samples.push_back({FunctionId(pc.cubin_crc, pc.function), pc.offset, pc.samples});
  }
  if (*sampling.call_ns > call_ns * (1 + kMostSlowdown)) {
    // Clocks and neighbours move too: the slower of before and after is what it takes without.
    sampler_.reset();
    call_ns = std::max(call_ns, Median(TimeLaunches(enqueue, kSampledReplays, flusher_, cancelled_).durations_ns));
  }
  if (*sampling.call_ns > call_ns * (1 + kMostSlowdown)) {
    sink_.Write(DataLoss{"sampling_disturbs", JobName(job),
                         "a call took " + std::to_string(std::lround(*sampling.call_ns)) +
                             " ns under PC sampling and " + std::to_string(std::lround(call_ns)) +
                             " ns without it just before and after",
                         1});
  }
  if (samples.dropped > 0) {
    sink_.Write(DataLoss{"samples_dropped", JobName(job), "the hardware dropped PC samples at the longest period tried",
                         static_cast<std::int64_t>(samples.dropped)});
  }
  if (samples.buffer_full) {
    sink_.Write(
        DataLoss{"samples_dropped", JobName(job), "CUPTI's PC sampling buffer was full: samples are missing", 1});
  }
  if (samples.pcs.empty()) {
    sink_.Write(DataLoss{"samples_missing", JobName(job), "CUPTI gave no PC sample with a place in the code", 1});
  }
  if (samples.other > 0) {
    sink_.Write(DataLoss{"samples_unnamed", JobName(job),
                         "PC samples of code that was loaded before sampling was enabled (is CUDA_MODULE_LOADING=EAGER "
                         "set?) or that belongs to the driver",
                         static_cast<std::int64_t>(samples.other)});
  }
  samplings_.push_back(std::move(sampling));
}

void PhaseCollector::Impl::Count(const CollectJob& job) {
  if (!counter_) {
    const std::vector<std::string> known = SassMetrics(device_.chip);
    std::vector<std::string> wanted;
    for (const char* const metric : kSassMetrics) {
      if (std::binary_search(known.begin(), known.end(), metric)) {
        wanted.emplace_back(metric);
      } else {
        sink_.Write(DataLoss{"metric_unavailable", metric, "CUPTI has no such SASS metric on " + device_.chip, 1});
      }
    }
    counter_.emplace(device_.chip, device_.ordinal, CurrentContext(), wanted);
  }
  job.workload->Launch(stream_.get());  // lazy work of a first launch is not the kernel's
  stream_.Synchronize();
  const SassCounts counts = counter_->Count([&] {
    job.workload->Launch(stream_.get());
    stream_.Synchronize();
  });
  SassCounting counting;
  counting.id = next_id_++;
  counting.case_id = job.case_id;
  for (const CountedPc& pc : counts.pcs) {
    SassCount count{0, pc.offset, {}};
    for (const auto& [metric, value] : pc.values) {
      if (value > 0) count.values.emplace(metric, value);
    }
    if (count.values.empty()) continue;  // never executed
    count.function_id = FunctionId(pc.cubin_crc, pc.function);
    counting.counts.push_back(std::move(count));
  }
  if (counts.dropped > 0) {
    sink_.Write(DataLoss{"counts_dropped", JobName(job), "CUPTI dropped SASS metric records",
                         static_cast<std::int64_t>(counts.dropped)});
  }
  if (counting.counts.empty()) {
    sink_.Write(DataLoss{"counts_missing", JobName(job), "CUPTI gave no SASS metrics: the code was not patched", 1});
  }
  countings_.push_back(std::move(counting));
}

// nvdisasm takes some tenths of a second a cubin: it runs beside the counting.
void PhaseCollector::Impl::StartDisassembling() {
  std::map<std::uint64_t, Code> by_cubin;
  for (const auto& [key, id] : functions_) {
    if (known_functions_.insert(id).second) by_cubin[key.first].functions.emplace_back(key.second, id);
  }
  for (auto& [crc, code] : by_cubin) {
    code.crc = crc;
    if (const std::vector<std::uint8_t>* const bytes = modules_.Find(crc)) {
      code.cubin_is_new = known_cubins_.insert(crc).second;
      code.cubin = Cubin{code.cubin_is_new ? next_id_++ : 0, crc, *bytes};
      if (options_.disassembler) {
        std::vector<std::string> names;
        for (const auto& [name, id] : code.functions) names.push_back(name);
        code.disassembled = std::async(std::launch::async, options_.disassembler, *code.cubin, std::move(names));
      }
    }
    code_.push_back(std::move(code));
  }
}

// A piece that refers to another comes after it: cubins, functions, then samples and counts.
void PhaseCollector::Impl::Write() {
  for (Code& code : code_) {
    const std::string& first = code.functions.front().first;
    std::vector<DeviceFunction> disassembled;
    if (!code.cubin) {
      sink_.Write(DataLoss{"cubin_unknown", first, "its machine code was not seen being loaded", 1});
    } else if (code.cubin_is_new) {
      sink_.Write(*code.cubin);
    }
    try {
      if (code.disassembled.valid()) disassembled = code.disassembled.get();
    } catch (const Error& error) {
      sink_.Write(DataLoss{"not_disassembled", first,
                           std::string(error.what()) + (error.hint().empty() ? "" : "; " + error.hint()), 1});
    }
    for (const auto& [name, id] : code.functions) {
      const auto found = std::find_if(disassembled.begin(), disassembled.end(),
                                      [&name = name](const DeviceFunction& function) { return function.name == name; });
      DeviceFunction function;
      if (found != disassembled.end()) function = std::move(*found);
      function.id = id;
      function.cubin_crc = code.crc;
      function.name = name;
      sink_.Write(function);
    }
  }
  for (const PcSampling& sampling : samplings_) sink_.Write(sampling);
  for (const SassCounting& counting : countings_) sink_.Write(counting);
  code_.clear();
  samplings_.clear();
  countings_.clear();
  sink_.Commit();
}

void PhaseCollector::Impl::Collect(const std::vector<CollectJob>& jobs, bool sample) {
  for (std::size_t i = 0; sample && i < jobs.size(); ++i) {
    Report("samples", JobName(jobs[i]), i, jobs.size());
    Sample(jobs[i]);
  }
  sampler_.reset();
  StartDisassembling();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Report("instructions", JobName(jobs[i]), i, jobs.size());
    Count(jobs[i]);
  }
  StartDisassembling();  // what was counted and never sampled
  Write();
  Report("instructions", "", jobs.size(), jobs.size());
}

PhaseCollector::PhaseCollector(const Device& device, PhaseCollectOptions options, RecordingSink& sink,
                               std::int64_t& next_id, std::function<void(const Progress&)> progress,
                               std::function<bool()> cancelled)
    : impl_(std::make_unique<Impl>(device, std::move(options), sink, next_id, std::move(progress),
                                   std::move(cancelled))) {}

PhaseCollector::~PhaseCollector() = default;

void PhaseCollector::Collect(const std::vector<CollectJob>& jobs, bool sample) {
  if (!jobs.empty()) impl_->Collect(jobs, sample);
}

}  // namespace fa_profile

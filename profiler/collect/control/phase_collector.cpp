#include "fa_profile/phase_collector.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "fa_profile/error.h"
#include "fa_profile/instruction_counts.h"
#include "fa_profile/units.h"

namespace fa_profile::collect {
namespace {

// The sampler takes one warp of an SM each period. 400,000 samples put the standard error of a share below a tenth of a
// point, and take CUPTI some 10 ms to decode. Below 256 cycles the H200's hardware begins to drop.
constexpr double kSamplesWanted = 400e3;
constexpr std::uint32_t kShortestPeriod = 256;
constexpr std::uint32_t kLongestPeriod = 1U << 20;
constexpr int kSampledReplays = 7;
constexpr int kMostAttempts = 4;
// A kernel must take as long with the sampler as without, or its phases are those of another kernel.
constexpr double kMostSlowdown = 0.02;

std::uint32_t ChoosePeriod(double call_ns, const Device& device) {
  // A replay lasts 0.2 ms or one call, and there are three to warm up.
  const double sampled_ns = (kSampledReplays + 3) * std::max(call_ns, kTimingReplayNs);
  const double cycles = sampled_ns * 1e-9 * static_cast<double>(device.sm_clock_max_hz) * device.sm_count;
  const double period = std::clamp(cycles / kSamplesWanted, double{kShortestPeriod}, double{kLongestPeriod});
  return std::bit_floor(static_cast<std::uint32_t>(period));
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Runs `body` between Start() and Stop(), and returns the result of Stop(). Where `body` throws, the instrument is
// stopped too, and its own error does not hide the first.
template <typename Instrument>
auto RunUnder(Instrument& instrument, const std::function<void()>& body) {
  instrument.Start();
  try {
    body();
  } catch (...) {
    try {
      instrument.Stop();
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the error of `body` is reported
    }
    throw;
  }
  return instrument.Stop();
}

}  // namespace

PhaseCollector::PhaseCollector(CollectRun& run, Disassembler disassembler)
    : run_(run),
      disassembler_(std::move(disassembler)),
      modules_(run.gpu.CaptureModules()),
      sampler_(run.gpu.OpenPcSampler(kShortestPeriod)),
      period_(kShortestPeriod) {}

std::int64_t PhaseCollector::FunctionId(std::uint64_t crc, const std::string& name) {
  const auto [place, added] = functions_.try_emplace({crc, name}, run_.next_id);
  if (added) ++run_.next_id;
  return place->second;
}

CallTiming PhaseCollector::Time(const CollectJob& job) {
  return run_.gpu.Time([&job](StreamHandle stream) { job.workload->Launch(stream); }, kSampledReplays,
                       [this] { run_.ThrowIfCancelled(); }, /*read_clock=*/false);
}

void PhaseCollector::Sample(const CollectJob& job) {
  double call_ns = Median(Time(job).durations_ns);
  PcSampling sampling;
  sampling.case_id = job.case_id;
  std::uint32_t period = ChoosePeriod(call_ns, run_.device);
  if (sampler_ && period == 2 * period_) period = period_;  // twice the samples, and 0.1 s less for another period
  PcSamples samples;
  double sampled_ns = 0.0;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (!sampler_) {
      sampler_ = run_.gpu.OpenPcSampler(period);
    } else if (period_ != period) {
      sampler_->SetPeriod(period);
    }
    period_ = period;
    CallTiming timed;
    RunUnder(*sampler_, [&] { timed = Time(job); });
    samples = sampler_->Take();
    sampling.period_cycles = static_cast<int>(period);
    sampling.launches = static_cast<int>(timed.durations_ns.size());
    sampled_ns = Median(timed.durations_ns);
    if (samples.pcs.empty()) {
      sampler_.reset();  // seen on an H100: a sampler that gives nothing; the next one does
      continue;
    }
    if (samples.buffer_full) sampler_.reset();  // what CUPTI still holds has this period
    if (samples.dropped == 0 && !samples.buffer_full) break;
    period *= 4;
  }
  sampling.id = run_.next_id++;
  sampling.call_ns = sampled_ns;
  sampling.total_samples = samples.total;
  sampling.dropped_samples = samples.dropped;
  for (const SampledPc& pc : samples.pcs) {
    sampling.samples.push_back({FunctionId(pc.cubin_crc, pc.function), pc.offset, pc.samples});
  }
  if (sampled_ns > call_ns * (1 + kMostSlowdown)) {
    // Clocks and other work vary too: compare with the slower of the calls before and after.
    sampler_.reset();
    call_ns = std::max(call_ns, Median(Time(job).durations_ns));
  }
  const auto lose = [&](const char* kind, std::string reason, std::uint64_t count = 1) {
    run_.sink.Write(DataLoss{kind, JobName(job), std::move(reason), static_cast<std::int64_t>(count)});
  };
  if (sampled_ns > call_ns * (1 + kMostSlowdown)) {
    lose("sampling_disturbs", "a call took " + FormatValue(sampled_ns * 1e-9, "seconds") + " under PC sampling and " +
                                  FormatValue(call_ns * 1e-9, "seconds") + " without it just before and after");
  }
  if (samples.dropped > 0) {
    lose("samples_dropped", "the hardware dropped PC samples at the longest period tried", samples.dropped);
  }
  if (samples.buffer_full) lose("samples_dropped", "CUPTI's PC sampling buffer was full: samples are missing");
  if (samples.pcs.empty()) lose("samples_missing", "CUPTI returned no PC sample with a code address");
  if (samples.other > 0) {
    lose("samples_unnamed",
         "PC samples of code that was loaded before sampling was enabled (is CUDA_MODULE_LOADING=EAGER set?) or that "
         "belongs to the driver",
         samples.other);
  }
  samplings_.push_back(std::move(sampling));
}

void PhaseCollector::Count(const CollectJob& job) {
  if (!counter_) counter_ = OpenInstructionCounter(run_);
  const auto launch = [&] {
    job.workload->Launch(run_.gpu.stream());
    run_.gpu.Synchronize();
  };
  launch();  // one-time work in a first launch is not the kernel's
  std::vector<CountedPc> pcs;
  const std::uint64_t dropped = RunUnder(*counter_, [&] {
    launch();
    pcs = counter_->Take();
  });
  SassCounting counting;
  counting.id = run_.next_id++;
  counting.case_id = job.case_id;
  counting.counts =
      CountsOf(pcs, [this](std::uint64_t crc, const std::string& function) { return FunctionId(crc, function); });
  if (dropped > 0) {
    run_.sink.Write(DataLoss{"counts_dropped", JobName(job), "CUPTI dropped SASS metric records",
                             static_cast<std::int64_t>(dropped)});
  }
  if (counting.counts.empty()) {
    run_.sink.Write(
        DataLoss{"counts_missing", JobName(job), "CUPTI returned no SASS metrics: the code was not patched", 1});
  }
  countings_.push_back(std::move(counting));
}

// nvdisasm takes some tenths of a second a cubin: it runs while the next case is measured.
void PhaseCollector::StartDisassembling() {
  std::map<std::uint64_t, Code> by_cubin;
  for (const auto& [key, id] : functions_) {
    if (known_functions_.insert(id).second) by_cubin[key.first].functions.emplace_back(key.second, id);
  }
  for (auto& [crc, code] : by_cubin) {
    code.crc = crc;
    if (const std::vector<std::uint8_t>* const bytes = modules_->Find(crc)) {
      code.cubin_is_new = known_cubins_.insert(crc).second;
      code.cubin = Cubin{code.cubin_is_new ? run_.next_id++ : 0, crc, *bytes};
      if (disassembler_) {
        std::vector<std::string> names;
        for (const auto& [name, id] : code.functions) names.push_back(name);
        code.disassembled = std::async(std::launch::async, disassembler_, *code.cubin, std::move(names));
      }
    }
    code_.push_back(std::move(code));
  }
}

void PhaseCollector::WriteCode(Code& code) {
  const std::string& first = code.functions.front().first;
  if (!code.cubin) {
    run_.sink.Write(DataLoss{"cubin_unknown", first, "CUPTI did not report its machine code when it was loaded", 1});
  } else if (code.cubin_is_new) {
    run_.sink.Write(*code.cubin);
  }
  std::vector<DeviceFunction> disassembled;
  try {
    if (code.disassembled.valid()) disassembled = code.disassembled.get();
  } catch (const Error& error) {
    run_.sink.Write(DataLoss{"not_disassembled", first,
                             std::string(error.what()) + (error.hint().empty() ? "" : "; " + error.hint()), 1});
  }
  for (const auto& [name, id] : code.functions) {
    const auto found = std::ranges::find(disassembled, name, &DeviceFunction::name);
    DeviceFunction function;
    if (found != disassembled.end()) function = std::move(*found);
    function.id = id;
    function.cubin_crc = code.crc;
    function.name = name;
    run_.sink.Write(function);
  }
}

// A piece that refers to another comes after it: cubins, functions, then samples and counts.
void PhaseCollector::Write() {
  for (Code& code : code_) WriteCode(code);
  for (const PcSampling& sampling : samplings_) run_.sink.Write(sampling);
  for (const SassCounting& counting : countings_) run_.sink.Write(counting);
  code_.clear();
  samplings_.clear();
  countings_.clear();
  run_.sink.Commit();
}

void PhaseCollector::Collect(const std::vector<CollectJob>& jobs, bool sample) {
  Measure(jobs, sample);
  Write();
}

void PhaseCollector::Close() {
  if (modules_) StartDisassembling();  // what was measured before an error
  sampler_.reset();
  counter_.reset();
  modules_.reset();
}

void PhaseCollector::Measure(const std::vector<CollectJob>& jobs, bool sample) {
  if (jobs.empty()) return;
  if (!samplings_.empty() || !countings_.empty()) Write();  // so that no later failure loses measurements
  for (std::size_t i = 0; sample && i < jobs.size(); ++i) {
    run_.Report("samples", JobName(jobs[i]), i, jobs.size());
    Sample(jobs[i]);
  }
  sampler_.reset();
  StartDisassembling();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    run_.Report("instructions", JobName(jobs[i]), i, jobs.size());
    Count(jobs[i]);
  }
  StartDisassembling();  // counted and never sampled
  run_.Report("instructions", "", jobs.size(), jobs.size());
}

}  // namespace fa_profile::collect

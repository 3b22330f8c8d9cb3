#include "fa_profile/collector.h"

#include <algorithm>
#include <future>
#include <optional>
#include <span>
#include <utility>

#include "fa_profile/counter_session.h"

namespace fa_profile::collect {

// One range to measure: the whole call (part empty) or one part of a case.
struct Collector::PlannedRange {
  CollectJob job;
  std::optional<std::size_t> part;
  std::string PartName() const { return part ? job.workload->parts()[*part] : std::string(); }
  std::string Name() const { return part ? JobName(job) + "/" + PartName() : JobName(job); }
  // The name that CUPTI gets; `number` distinguishes names that begin alike.
  std::string CuptiName(std::size_t number) const {
    std::string name = Name();
    const std::string end = "#" + std::to_string(number);
    if (name.size() <= RangeProfiler::kLongestName) return name;
    return name.substr(0, RangeProfiler::kLongestName - end.size()) + end;
  }
  void Enqueue(StreamHandle stream) const {
    if (part) {
      job.workload->LaunchPart(*part, stream);
    } else {
      job.workload->Launch(stream);
    }
  }
};

std::vector<Collector::PlannedRange> Collector::PlanRanges(const std::vector<CollectJob>& jobs) {
  std::vector<PlannedRange> ranges;
  for (const CollectJob& job : jobs) {
    ranges.push_back({job, std::nullopt});
    const std::size_t parts = job.workload->parts().size();
    for (std::size_t part = 0; parts > 1 && part < parts; ++part) ranges.push_back({job, part});
  }
  return ranges;
}

Collector::Collector(CollectRun& run, CollectOptions options)
    : run_(run), gpu_(run.gpu), options_(std::move(options)) {}

Collector::~Collector() = default;

void Collector::Collect(const std::vector<CollectJob>& jobs, bool keep_images) {
  if (jobs.empty()) return;
  const std::vector<PlannedRange> ranges = PlanRanges(jobs);
  Time(ranges);
  TraceLaunches(jobs);
  if (options_.metrics.empty()) return;
  if (!counters_) counters_ = std::make_unique<CounterSession>(run_, options_.metrics);
  if (options_.kernel_replay) {
    CollectKernelRanges(jobs, keep_images);
  } else {
    CollectUserRanges(ranges, keep_images);
  }
}

void Collector::Time(const std::vector<PlannedRange>& ranges) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const PlannedRange& range = ranges[i];
    run_.Report("timing", range.Name(), i, ranges.size());
    for (int k = 0; k < options_.warmup_launches; ++k) range.Enqueue(gpu_.stream());
    gpu_.Synchronize();
    if (options_.timed_launches == 0) continue;
    CallTiming timed = gpu_.Time([&range](StreamHandle stream) { range.Enqueue(stream); }, options_.timed_launches,
                                 [this] { run_.ThrowIfCancelled(); }, /*read_clock=*/true);
    run_.sink.Write(Timing{range.job.case_id, range.PartName(), std::move(timed.method), std::move(timed.durations_ns),
                           timed.sm_clock_hz});
    run_.sink.Commit();
  }
}

// The activity API does not say which part launched a kernel; the number of kernels in each part does. One name per
// launch of a call, empty when the workload has a single part.
std::vector<std::string> Collector::PartsOfLaunches(const CollectJob& job) {
  const std::vector<std::string>& parts = job.workload->parts();
  std::vector<std::string> names;
  if (parts.size() == 1 && !options_.kernel_replay) return names;  // every launch belongs to the call
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const ActivityTrace trace = gpu_.Trace([&] {
      job.workload->LaunchPart(part, gpu_.stream());
      gpu_.Synchronize();
    });
    names.insert(names.end(), trace.launches.size(), parts.size() > 1 ? parts[part] : "");
  }
  return names;
}

void Collector::TraceLaunches(const std::vector<CollectJob>& jobs) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const CollectJob& job = jobs[i];
    const std::string name = JobName(job);
    run_.Report("launches", name, i, jobs.size());
    const std::vector<std::string> part_of_launch = PartsOfLaunches(job);
    // A flush is a memset: the activity API does not record it as a kernel launch.
    gpu_.FlushCache();
    gpu_.Synchronize();
    ActivityTrace trace = gpu_.Trace([&] {
      job.workload->Launch(gpu_.stream());
      gpu_.Synchronize();
    });
    for (std::size_t k = 0; k < trace.launches.size(); ++k) {
      Launch& launch = trace.launches[k];
      launch.id = run_.next_id++;
      launch.case_id = job.case_id;
      launch.part = k < part_of_launch.size() ? part_of_launch[k] : "";
      run_.sink.Write(launch);
    }
    for (NvtxRange& range : trace.nvtx_ranges) {
      range.case_id = job.case_id;
      run_.sink.Write(range);
    }
    if (trace.records_dropped > 0) {
      run_.sink.Write(DataLoss{"activity_dropped", name, "CUPTI dropped activity records", trace.records_dropped});
    }
    if (trace.launches.empty()) {
      run_.sink.Write(DataLoss{"launch_not_seen", name, "the activity API recorded no kernel launch", 1});
    }
    run_.sink.Commit();
  }
}

void Collector::CollectUserRanges(const std::vector<PlannedRange>& ranges, bool keep_images) {
  const std::unique_ptr<RangeProfiler> profiler = gpu_.OpenRangeProfiler();
  const auto batch_size = static_cast<std::size_t>(std::max(1, options_.ranges_per_batch));
  // Batches bound the memory: one counter data image holds a batch. The host evaluates, writes and frees it while the
  // device measures the next batch. The sink belongs to that thread until it is joined.
  std::future<void> written;
  for (std::size_t first = 0; first < ranges.size(); first += batch_size) {
    run_.Report("counters", ranges[first].Name(), first, ranges.size());
    const std::span<const PlannedRange> batch(&ranges[first], std::min(batch_size, ranges.size() - first));
    std::vector<UserRange> user_ranges;
    std::vector<MeasuredRange> measured;
    for (const PlannedRange& range : batch) {
      const auto enqueue = [this, &range] { range.Enqueue(gpu_.stream()); };
      const auto prepare = [this, enqueue] {
        run_.ThrowIfCancelled();
        if (!gpu_.FlushCache()) enqueue();  // its own tensors in the cache, not its neighbour's
      };
      const std::string name = range.CuptiName(user_ranges.size());
      user_ranges.push_back({name, prepare, enqueue});
      measured.push_back({range.job.case_id, range.PartName(), name});
    }
    CounterData data = RunPasses(*profiler, counters_->plan(), user_ranges);
    if (written.valid()) written.get();
    written = std::async(std::launch::async,
                         [this, keep_images, data = std::move(data), measured = std::move(measured)]() mutable {
                           counters_->Write(std::move(data), measured, keep_images);
                         });
  }
  if (written.valid()) written.get();
  run_.Report("counters", "", ranges.size(), ranges.size());
}

void Collector::CollectKernelRanges(const std::vector<CollectJob>& jobs, bool keep_images) {
  // The kernels of each part are counted before the profiler is on: the activity API is off then.
  std::vector<std::vector<std::string>> parts_of_jobs;
  for (const CollectJob& job : jobs) parts_of_jobs.push_back(PartsOfLaunches(job));
  const std::unique_ptr<RangeProfiler> profiler = gpu_.OpenRangeProfiler();
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    run_.Report("counters", JobName(jobs[j]), j, jobs.size());
    std::vector<MeasuredRange> measured;
    for (const std::string& part : parts_of_jobs[j]) measured.push_back({jobs[j].case_id, part, ""});
    if (measured.empty()) continue;
    gpu_.FlushCache();
    gpu_.Synchronize();
    counters_->StartKernelRanges(*profiler, measured.size());
    jobs[j].workload->Launch(gpu_.stream());
    gpu_.Synchronize();
    counters_->WriteKernelRanges(*profiler, measured, keep_images);
  }
  run_.Report("counters", "", jobs.size(), jobs.size());
}

}  // namespace fa_profile::collect

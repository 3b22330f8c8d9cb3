#include "fa_profile/collector.h"

#include <cupti_activity.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <optional>
#include <span>
#include <utility>

#include "activity.h"
#include "counter_session.h"
#include "cuda_api.h"
#include "fa_profile/call_name.h"
#include "fa_profile/error.h"
#include "range_profiler.h"
#include "timing.h"

namespace fa_profile {
namespace {

// One range to measure: the whole call (part empty) or one part of a case.
struct PlannedRange {
  CollectJob job;
  std::optional<std::size_t> part;
  std::string PartName() const { return part ? job.workload->parts()[*part] : std::string(); }
  std::string Name() const {
    const std::string name = JobName(job);
    return part ? name + "/" + PartName() : name;
  }
  void Enqueue(cudaStream_t stream) const {
    if (part) {
      job.workload->LaunchPart(*part, stream);
    } else {
      job.workload->Launch(stream);
    }
  }
};

std::vector<PlannedRange> PlanRanges(const std::vector<CollectJob>& jobs) {
  std::vector<PlannedRange> ranges;
  for (const CollectJob& job : jobs) {
    ranges.push_back({job, std::nullopt});
    const std::size_t parts = job.workload->parts().size();
    for (std::size_t part = 0; parts > 1 && part < parts; ++part) ranges.push_back({job, part});
  }
  return ranges;
}

}  // namespace

struct Collector::Impl {
  Impl(const Device& device, CollectOptions options, RecordingSink& sink, std::int64_t& next_id,
       std::function<void(const Progress&)> progress, std::function<bool()> cancelled)
      : device_(device),
        options_(std::move(options)),
        sink_(sink),
        next_id_(next_id),
        progress_(std::move(progress)),
        cancelled_(std::move(cancelled)),
        flusher_(options_.flush_cache, static_cast<std::size_t>(device.l2_bytes)) {}

  void Time(const std::vector<PlannedRange>& ranges);
  void TraceLaunches(const std::vector<CollectJob>& jobs);
  void CollectCounters(const std::vector<CollectJob>& jobs, const std::vector<PlannedRange>& ranges, bool keep_images) {
    keep_images_ = keep_images;
    if (options_.metrics.empty()) return;
    if (!counters_) {
      counters_ = std::make_unique<CounterSession>(device_, options_.metrics, options_.cache_dir, sink_, next_id_);
    }
    if (options_.kernel_replay) {
      CollectKernelRanges(jobs);
    } else {
      CollectUserRanges(ranges);
    }
  }

 private:
  void CollectUserRanges(const std::vector<PlannedRange>& ranges);
  void CollectKernelRanges(const std::vector<CollectJob>& jobs);
  void ThrowIfCancelled() const {
    if (cancelled_ && cancelled_()) throw Error("interrupted", "what was finished is in the .part file");
  }
  void Report(const char* stage, const std::string& subject, std::size_t done, std::size_t total) const {
    if (progress_) progress_({stage, subject, static_cast<int>(done), static_cast<int>(total)});
    ThrowIfCancelled();
  }
  std::vector<std::string> PartsOfLaunches(const CollectJob& job);

  const Device& device_;
  CollectOptions options_;
  RecordingSink& sink_;
  std::int64_t& next_id_;
  std::function<void(const Progress&)> progress_;
  std::function<bool()> cancelled_;
  CacheFlusher flusher_;
  CudaStream stream_;
  bool keep_images_ = true;
  std::unique_ptr<CounterSession> counters_;  // made at the first range
};

void Collector::Impl::Time(const std::vector<PlannedRange>& ranges) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const PlannedRange& range = ranges[i];
    Report("timing", range.Name(), i, ranges.size());
    for (int k = 0; k < options_.warmup_launches; ++k) range.Enqueue(stream_.get());
    stream_.Synchronize();
    if (options_.timed_launches == 0) continue;
    TimedLaunches timed = TimeLaunches([&range](cudaStream_t stream) { range.Enqueue(stream); },
                                       options_.timed_launches, flusher_, cancelled_);
    sink_.Write(Timing{range.job.case_id, range.PartName(), std::move(timed.method), std::move(timed.durations_ns)});
    sink_.Commit();
  }
}

// The activity API does not say which part launched a kernel; the number of kernels of each part does. One name per
// launch of a call, empty when the workload has a single part.
std::vector<std::string> Collector::Impl::PartsOfLaunches(const CollectJob& job) {
  const std::vector<std::string>& parts = job.workload->parts();
  std::vector<std::string> names;
  if (parts.size() == 1 && !options_.kernel_replay) return names;  // every launch is of the call
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::size_t launches = TraceActivity([&] {
                                   job.workload->LaunchPart(part, stream_.get());
                                   stream_.Synchronize();
                                 }).launches.size();
    names.insert(names.end(), launches, parts.size() > 1 ? parts[part] : "");
  }
  return names;
}

void Collector::Impl::TraceLaunches(const std::vector<CollectJob>& jobs) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const CollectJob& job = jobs[i];
    const PlannedRange whole{job, std::nullopt};
    Report("launches", whole.Name(), i, jobs.size());
    const std::vector<std::string> part_of_launch = PartsOfLaunches(job);
    // The flush would be a memset node, which is no kernel launch and does not show here.
    flusher_.Flush(stream_.get());
    stream_.Synchronize();
    ActivityTrace trace = TraceActivity([&] {
      whole.Enqueue(stream_.get());
      stream_.Synchronize();
    });
    for (std::size_t k = 0; k < trace.launches.size(); ++k) {
      Launch& launch = trace.launches[k];
      launch.id = next_id_++;
      launch.case_id = job.case_id;
      launch.part = k < part_of_launch.size() ? part_of_launch[k] : "";
      sink_.Write(launch);
    }
    for (NvtxRange& range : trace.nvtx_ranges) {
      range.case_id = job.case_id;
      sink_.Write(range);
    }
    if (trace.records_dropped > 0) {
      sink_.Write(DataLoss{"activity_dropped", whole.Name(), "CUPTI dropped activity records", trace.records_dropped});
    }
    if (trace.launches.empty()) {
      sink_.Write(DataLoss{"launch_not_seen", whole.Name(), "the activity API recorded no kernel launch", 1});
    }
    sink_.Commit();
  }
}

void Collector::Impl::CollectUserRanges(const std::vector<PlannedRange>& ranges) {
  RangeProfiler profiler(CurrentContext());
  const auto batch_size = static_cast<std::size_t>(std::max(1, options_.ranges_per_batch));
  // Batches bound the memory: one counter data image holds a batch. It is evaluated and written by the host while the
  // device measures the next batch, and freed. The sink is that thread's until it is joined.
  std::future<void> written;
  for (std::size_t first = 0; first < ranges.size(); first += batch_size) {
    Report("counters", ranges[first].Name(), first, ranges.size());
    const std::span<const PlannedRange> batch(&ranges[first], std::min(batch_size, ranges.size() - first));
    std::vector<UserRange> user_ranges;
    std::vector<MeasuredRange> measured;
    for (const PlannedRange& range : batch) {
      user_ranges.push_back({range.Name(),
                             [this, &range] {
                               ThrowIfCancelled();
                               if (flusher_.enabled()) {
                                 flusher_.Flush(stream_.get());
                               } else {
                                 range.Enqueue(stream_.get());  // its own tensors in the cache, not its neighbour's
                               }
                             },
                             [this, &range] { range.Enqueue(stream_.get()); }});
      measured.push_back({range.job.case_id, range.PartName(), range.Name()});
    }
    CounterData data = profiler.CollectUserRanges(counters_->plan(), user_ranges);
    if (written.valid()) written.get();
    written = std::async(std::launch::async, [this, data = std::move(data), measured = std::move(measured)]() mutable {
      counters_->Write(std::move(data), measured, keep_images_);
    });
  }
  if (written.valid()) written.get();
  Report("counters", "", ranges.size(), ranges.size());
}

void Collector::Impl::CollectKernelRanges(const std::vector<CollectJob>& jobs) {
  // Which part launched which kernel is counted before the profiler is on: the activity API is off beside it.
  std::vector<std::vector<std::string>> parts_of_jobs;
  for (const CollectJob& job : jobs) parts_of_jobs.push_back(PartsOfLaunches(job));
  RangeProfiler profiler(CurrentContext());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const PlannedRange whole{jobs[j], std::nullopt};
    Report("counters", whole.Name(), j, jobs.size());
    std::vector<MeasuredRange> measured;
    for (const std::string& part : parts_of_jobs[j]) measured.push_back({jobs[j].case_id, part, ""});
    if (measured.empty()) continue;
    flusher_.Flush(stream_.get());
    stream_.Synchronize();
    profiler.StartKernelRanges(counters_->plan(), measured.size());
    whole.Enqueue(stream_.get());
    stream_.Synchronize();
    counters_->Write(profiler.StopKernelRanges(), measured, keep_images_);
  }
  Report("counters", "", jobs.size(), jobs.size());
}

std::string JobName(const CollectJob& job) { return CallName(job.workload->kernel(), job.workload->shape()); }

void PrepareProcessForNvtx() {
  Dl_info info{};
  // NVTX loads its injection library by path, once, at its first call; CUPTI's own file is that library.
  if (dladdr(reinterpret_cast<const void*>(&cuptiActivityFlushAll), &info) != 0 && info.dli_fname != nullptr) {
    setenv("NVTX_INJECTION64_PATH", info.dli_fname, /*overwrite=*/0);
  }
}

Collector::Collector(const Device& device, CollectOptions options, RecordingSink& sink, std::int64_t& next_id,
                     std::function<void(const Progress&)> progress, std::function<bool()> cancelled)
    : impl_(std::make_unique<Impl>(device, std::move(options), sink, next_id, std::move(progress),
                                   std::move(cancelled))) {}

Collector::~Collector() = default;

void Collector::Collect(const std::vector<CollectJob>& jobs, bool keep_images) {
  if (jobs.empty()) return;
  const std::vector<PlannedRange> ranges = PlanRanges(jobs);
  impl_->Time(ranges);
  impl_->TraceLaunches(jobs);
  impl_->CollectCounters(jobs, ranges, keep_images);
}

}  // namespace fa_profile

#include "fa_profile/collect_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fa_profile/call_name.h"
#include "fa_profile/error.h"
#include "fa_profile/utc_time.h"
#include "fa_profile/version.h"

namespace fa_profile::collect {

std::string JobName(const CollectJob& job) { return CallName(job.workload->kernel(), job.workload->shape()); }

void CollectRun::ThrowIfCancelled() const {
  if (cancelled && cancelled()) throw Error("interrupted", "what was finished is in the .part file");
}

void CollectRun::Report(const char* stage, const std::string& subject, std::size_t done, std::size_t total) const {
  if (progress) progress({stage, subject, static_cast<int>(done), static_cast<int>(total)});
  ThrowIfCancelled();
}

int RepeatsPerReplay(double call_ns) {
  constexpr int kMostRepeats = 64;
  return std::clamp(static_cast<int>(std::ceil(kTimingReplayNs / std::max(call_ns, 1.0))), 1, kMostRepeats);
}

Session NewSession(std::string command_line, std::string metric_set) {
  Session session;
  session.tool_version = Version();
  session.tool_commit = Commit();
  session.created_at = UtcNow("%Y-%m-%dT%H:%M:%SZ");
  session.command_line = std::move(command_line);
  session.metric_set = std::move(metric_set);
  return session;
}

void CollectTogether(GpuApi& gpu, const std::vector<PendingCase>& cases, const std::string& raw,
                     const std::function<void(const std::vector<CollectJob>&, bool keep_images)>& collect) {
  std::vector<std::unique_ptr<Workload>> workloads;
  std::vector<CollectJob> jobs;
  const auto collect_jobs = [&](bool keep_images) {
    if (!jobs.empty()) collect(jobs, keep_images);
    jobs.clear();
    workloads.clear();
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool of_first_shape = cases[i].shape == cases.front().shape;
    const bool keep = raw == "all" || (raw == "first" && of_first_shape);
    try {
      workloads.push_back(cases[i].make());
    } catch (const Error& error) {
      if (jobs.empty() || error.code() != "cudaErrorMemoryAllocation") throw;
      collect_jobs(keep);  // does not fit with the others, but may fit alone
      workloads.push_back(cases[i].make());
    }
    jobs.push_back({cases[i].case_id, workloads.back().get()});
    const bool shape_ends = i + 1 == cases.size() || cases[i + 1].shape != cases[i].shape;
    constexpr double kLeastFree = 0.5;
    if (shape_ends && (gpu.FreeMemoryShare() < kLeastFree || (raw == "first" && of_first_shape))) collect_jobs(keep);
  }
  collect_jobs(raw == "all");
}

}  // namespace fa_profile::collect

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fa_profile/gpu_api.h"

namespace fa_profile::collect {

/// How far a run has got, for a progress bar.
struct Progress {
  std::string stage;  ///< "timing", "launches", "counters", "samples", "instructions"
  std::string subject;
  int done = 0;
  int total = 0;
};

/// A case to measure: its id in the recording and the workload, which the caller owns.
struct CollectJob {
  std::int64_t case_id = 0;
  Workload* workload = nullptr;
};

/// CallName() of the whole call.
std::string JobName(const CollectJob& job);

/// Shared by the collectors of one run. It must outlive them, and its references must outlive it.
struct CollectRun {
  const Device& device;
  GpuApi& gpu;
  RecordingSink& sink;
  std::int64_t next_id = 1;                            ///< the first free id
  std::function<void(const Progress&)> progress = {};  ///< may be empty
  std::function<bool()> cancelled = {};                ///< returning true ends the run with an Error, between two
                                                       ///< launches

  void ThrowIfCancelled() const;
  /// Reports progress, then calls ThrowIfCancelled().
  void Report(const char* stage, const std::string& subject, std::size_t done, std::size_t total) const;
};

/// GpuApi::Time() repeats a short call in a CUDA graph until a replay lasts about this long.
inline constexpr double kTimingReplayNs = 200e3;

/// How often a call of this duration is repeated in a replay: 1 to 64 times.
int RepeatsPerReplay(double call_ns);

/// A session of this program, starting now. The caller fills in how the run measures.
Session NewSession(std::string command_line, std::string metric_set);

/// A case whose workload is made when its turn comes and freed once it has been measured.
struct PendingCase {
  std::int64_t case_id = 0;
  Shape shape;
  std::function<std::unique_ptr<Workload>()> make;
};

/// Measures cases together as long as their tensors leave half of the GPU's memory free: the passes of the range
/// profiler cost about as much for fifty ranges as for one. A case that does not fit with the others is tried alone.
/// `raw`: the shapes whose raw counter data is kept, "all", "first" or "none". `collect` measures jobs; its second
/// argument tells whether their raw counter data is kept.
void CollectTogether(GpuApi& gpu, const std::vector<PendingCase>& cases, const std::string& raw,
                     const std::function<void(const std::vector<CollectJob>&, bool keep_images)>& collect);

}  // namespace fa_profile::collect

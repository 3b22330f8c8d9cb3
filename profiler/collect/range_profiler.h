#pragma once

#include <cuda.h>
#include <cupti_range_profiler.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fa_profile/metric_host.h"

namespace fa_profile {

/// What one user range holds: `prepare` runs before the range opens in every pass, `body` inside it. Both leave the
/// device idle or in-order on one stream; the profiler synchronises between them.
struct UserRange {
  std::string name;
  std::function<void()> prepare;
  std::function<void()> body;
};

/// A decoded counter data image and how much it lost.
struct CounterData {
  std::vector<std::uint8_t> image;
  std::size_t ranges_dropped = 0;
  int passes = 0;  ///< passes really submitted
};

/// CUPTI's range profiler on one context. Move-only owner; one at a time per context. Its destructor disables the
/// profiler and never throws.
class RangeProfiler {
 public:
  explicit RangeProfiler(CUcontext context);
  ~RangeProfiler();
  RangeProfiler(RangeProfiler&& other) noexcept;
  RangeProfiler& operator=(RangeProfiler&&) = delete;
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  /// User ranges, user replay: all `ranges` run once in every pass.
  CounterData CollectUserRanges(const MetricPlan& plan, const std::vector<UserRange>& ranges);

  /// Auto ranges, kernel replay: every kernel launched between Start and Stop is a range and CUPTI replays it, saving
  /// and restoring device memory. Kernels beyond `max_ranges` are counted as dropped.
  void StartKernelRanges(const MetricPlan& plan, std::size_t max_ranges);
  CounterData StopKernelRanges();

 private:
  void Configure(const MetricPlan& plan, std::size_t max_ranges, CUpti_ProfilerRange range,
                 CUpti_ProfilerReplayMode replay);
  void Start();
  bool Stop();  // true when all passes were submitted
  std::size_t Decode();

  CUpti_RangeProfiler_Object* object_ = nullptr;
  std::vector<std::uint8_t> image_;
  std::vector<std::uint8_t> config_;  // CUPTI reads it until the data is decoded
};

/// CUPTI's device side, once a process: cuptiDeviceGetChipName crashes without it. Needs a driver.
void InitializeProfiler();

/// The device's counter availability image, by which a plan leaves out what this driver and machine do not allow.
std::vector<std::uint8_t> CounterAvailability(CUcontext context);

}  // namespace fa_profile

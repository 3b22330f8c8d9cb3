#include "fa_profile/cupti_api.h"

#include <cupti_activity.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "cuda_api.h"
#include "cupti_library.h"
#include "cupti_objects.h"
#include "fa_profile/metric_host.h"
#include "sm_clock.h"
#include "timing.h"

namespace fa_profile::collect {
namespace {

class CuptiApi final : public GpuApi {
 public:
  CuptiApi(const Device& device, bool flush_cache, const std::string& cache_dir)
      : device_(device), cache_dir_(cache_dir), flusher_(flush_cache, static_cast<std::size_t>(device.l2_bytes)) {}

  StreamHandle stream() override {
    if (!stream_) stream_.emplace();
    return stream_->get();
  }
  void Synchronize() override {
    if (stream_) stream_->Synchronize();
  }
  bool FlushCache() override {
    if (flusher_.enabled()) flusher_.Flush(static_cast<cudaStream_t>(stream()));
    return flusher_.enabled();
  }
  double FreeMemoryShare() override {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    CheckCuda(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    return total_bytes == 0 ? 0.0 : static_cast<double>(free_bytes) / static_cast<double>(total_bytes);
  }

  CallTiming Time(const std::function<void(StreamHandle)>& call, int samples, const std::function<void()>& between,
                  bool read_clock) override {
    std::optional<SmClock> clock;
    if (read_clock && !flusher_.enabled()) clock.emplace();
    return TimeLaunches(call, samples, flusher_, between, clock ? &*clock : nullptr);
  }
  ActivityTrace Trace(const std::function<void()>& body) override { return TraceActivity(body); }

  MetricPlan Plan(std::span<const std::string> metrics) override {
    MetricPlan plan = PlanMetrics(device_.chip, metrics, CounterAvailability(CurrentContext()), cache_dir_);
    if (!evaluator_) evaluator_.emplace(device_.chip);  // here: Evaluate() runs while a range profiler is open
    return plan;
  }
  std::vector<RangeValues> Evaluate(const MetricPlan& plan, std::span<const std::uint8_t> image,
                                    std::size_t most) override {
    std::vector<RangeValues> ranges(std::min(MetricEvaluator::NumRanges(image), most));
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      ranges[i] = {MetricEvaluator::RangeName(image, i), evaluator_->Evaluate(image, i, plan.metrics)};
    }
    return ranges;
  }
  std::unique_ptr<RangeProfiler> OpenRangeProfiler() override {
    return fa_profile::collect::OpenRangeProfiler(CurrentContext());
  }

  std::unique_ptr<PcSampler> OpenPcSampler(std::uint32_t period_cycles) override {
    return fa_profile::collect::OpenPcSampler(CurrentContext(), period_cycles);
  }
  std::vector<std::string> SassMetrics() override { return fa_profile::collect::SassMetrics(device_.chip); }
  std::unique_ptr<SassCounter> OpenSassCounter(const std::vector<std::string>& metrics) override {
    return fa_profile::collect::OpenSassCounter(device_, CurrentContext(), metrics);
  }
  std::unique_ptr<ModuleCapture> CaptureModules() override { return fa_profile::collect::CaptureModules(); }
  std::unique_ptr<PmSampler> OpenPmSampler(std::span<const std::string> metrics, std::int64_t interval_ns) override {
    return fa_profile::collect::OpenPmSampler(device_, CurrentContext(), metrics, interval_ns);
  }

 private:
  const Device& device_;
  std::string cache_dir_;
  CacheFlusher flusher_;
  std::optional<CudaStream> stream_;          // programs run by the user get none
  std::optional<MetricEvaluator> evaluator_;  // created with the first plan
};

}  // namespace

std::unique_ptr<GpuApi> OpenGpuApi(const Device& device, bool flush_cache, const std::string& cache_dir) {
  return std::make_unique<CuptiApi>(device, flush_cache, cache_dir);
}

void PrepareProcessForNvtx() {
  // NVTX loads its injection library by path, once, at its first call; CUPTI's own file is that library.
  const std::string cupti = CuptiPath();
  if (!cupti.empty()) setenv("NVTX_INJECTION64_PATH", cupti.c_str(), /*overwrite=*/0);
}

}  // namespace fa_profile::collect

#include "host_object.h"

#include <cmath>
#include <limits>

#include "check_cupti.h"

namespace fa_profile::collect {

std::vector<const char*> Pointers(std::span<const std::string> names) {
  std::vector<const char*> pointers;
  pointers.reserve(names.size());
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

HostObject::HostObject(const std::string& chip, std::span<const std::uint8_t> availability, CUpti_ProfilerType type) {
  const auto params = CallCupti(cuptiProfilerHostInitialize, "cuptiProfilerHostInitialize",
                                {.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
                                 .profilerType = type,
                                 .pChipName = chip.c_str(),
                                 .pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data()});
  object_.reset(params.pHostObject);
}

void HostObject::Deinitialize::operator()(CUpti_Profiler_Host_Object* object) const noexcept {
  CUpti_Profiler_Host_Deinitialize_Params params = {};
  params.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE;
  params.pHostObject = object;
  (void)cuptiProfilerHostDeinitialize(&params);
}

std::vector<const char*> HostObject::BaseMetrics(CUpti_MetricType type) const {
  const auto params = CallCupti(
      cuptiProfilerHostGetBaseMetrics, "cuptiProfilerHostGetBaseMetrics",
      {.structSize = CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE, .pHostObject = get(), .metricType = type});
  return {params.ppMetricNames, params.ppMetricNames + params.numMetrics};
}

std::vector<std::string> HostObject::SubMetrics(CUpti_MetricType type, const std::string& base) const {
  const auto params = CallCupti(cuptiProfilerHostGetSubMetrics, "cuptiProfilerHostGetSubMetrics",
                                {.structSize = CUpti_Profiler_Host_GetSubMetrics_Params_STRUCT_SIZE,
                                 .pHostObject = get(),
                                 .metricType = type,
                                 .pMetricName = base.c_str()});
  return {params.ppSubMetrics, params.ppSubMetrics + params.numOfSubmetrics};
}

bool HostObject::AddMetrics(std::span<const std::string> metrics) {
  std::vector<const char*> names = Pointers(metrics);
  CUpti_Profiler_Host_ConfigAddMetrics_Params params = {};
  params.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE;
  params.pHostObject = get();
  params.ppMetricNames = names.data();
  params.numMetrics = names.size();
  const CUptiResult result = cuptiProfilerHostConfigAddMetrics(&params);
  // The only failure that is not about the metrics; retrying with fewer would refuse good metrics.
  if (result == CUPTI_ERROR_OUT_OF_MEMORY) CheckCupti(result, "cuptiProfilerHostConfigAddMetrics");
  return result == CUPTI_SUCCESS;
}

std::vector<std::uint8_t> HostObject::ConfigImage() const {
  const auto size =
      CallCupti(cuptiProfilerHostGetConfigImageSize, "cuptiProfilerHostGetConfigImageSize",
                {.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE, .pHostObject = get()});
  std::vector<std::uint8_t> image(size.configImageSize);
  CallCupti(cuptiProfilerHostGetConfigImage, "cuptiProfilerHostGetConfigImage",
            {.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE,
             .pHostObject = get(),
             .configImageSize = image.size(),
             .pConfigImage = image.data()});
  return image;
}

std::map<std::string, double> HostObject::Evaluate(std::span<const std::uint8_t> image, std::size_t index,
                                                   std::span<const std::string> metrics) const {
  std::vector<const char*> names = Pointers(metrics);
  // Prefill with NaN, so that a value that CUPTI does not write is absent, not 0.
  std::vector<double> values(metrics.size(), std::numeric_limits<double>::quiet_NaN());
  CallCupti(cuptiProfilerHostEvaluateToGpuValues, "cuptiProfilerHostEvaluateToGpuValues",
            {.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE,
             .pHostObject = get(),
             .pCounterDataImage = image.data(),
             .counterDataImageSize = image.size(),
             .rangeIndex = index,
             .ppMetricNames = names.data(),
             .numMetrics = names.size(),
             .pMetricValues = values.data()});
  std::map<std::string, double> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) result.emplace(metrics[i], values[i]);
  }
  return result;
}

int NumPasses(std::span<const std::uint8_t> config_image) {
  // CUPTI takes a pointer to non-const here, and only reads.
  std::vector<std::uint8_t> image(config_image.begin(), config_image.end());
  const auto params = CallCupti(cuptiProfilerHostGetNumOfPasses, "cuptiProfilerHostGetNumOfPasses",
                                {.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE,
                                 .configImageSize = image.size(),
                                 .pConfigImage = image.data()});
  return static_cast<int>(params.numOfPasses);
}

}  // namespace fa_profile::collect

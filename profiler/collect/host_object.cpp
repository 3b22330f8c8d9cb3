#include "host_object.h"

#include <utility>

#include "check_cupti.h"

namespace fa_profile {

std::vector<const char*> Pointers(std::span<const std::string> names) {
  std::vector<const char*> pointers;
  pointers.reserve(names.size());
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

HostObject::HostObject(const std::string& chip, std::span<const std::uint8_t> availability) {
  CUpti_Profiler_Host_Initialize_Params params = {};
  params.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE;
  params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  params.pChipName = chip.c_str();
  params.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
  CheckCupti(cuptiProfilerHostInitialize(&params), "cuptiProfilerHostInitialize");
  object_ = params.pHostObject;
}

HostObject::~HostObject() {
  if (object_ == nullptr) return;
  CUpti_Profiler_Host_Deinitialize_Params params = {};
  params.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE;
  params.pHostObject = object_;
  (void)cuptiProfilerHostDeinitialize(&params);
}

HostObject::HostObject(HostObject&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}

HostObject& HostObject::operator=(HostObject&& other) noexcept {
  std::swap(object_, other.object_);
  return *this;
}

std::vector<const char*> HostObject::BaseMetrics(CUpti_MetricType type) const {
  CUpti_Profiler_Host_GetBaseMetrics_Params params = {};
  params.structSize = CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE;
  params.pHostObject = object_;
  params.metricType = type;
  CheckCupti(cuptiProfilerHostGetBaseMetrics(&params), "cuptiProfilerHostGetBaseMetrics");
  return {params.ppMetricNames, params.ppMetricNames + params.numMetrics};
}

std::vector<std::string> HostObject::SubMetrics(CUpti_MetricType type, const std::string& base) const {
  CUpti_Profiler_Host_GetSubMetrics_Params params = {};
  params.structSize = CUpti_Profiler_Host_GetSubMetrics_Params_STRUCT_SIZE;
  params.pHostObject = object_;
  params.metricType = type;
  params.pMetricName = base.c_str();
  CheckCupti(cuptiProfilerHostGetSubMetrics(&params), "cuptiProfilerHostGetSubMetrics");
  return {params.ppSubMetrics, params.ppSubMetrics + params.numOfSubmetrics};
}

bool HostObject::AddMetrics(std::span<const std::string> metrics) {
  std::vector<const char*> names = Pointers(metrics);
  CUpti_Profiler_Host_ConfigAddMetrics_Params params = {};
  params.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE;
  params.pHostObject = object_;
  params.ppMetricNames = names.data();
  params.numMetrics = names.size();
  const CUptiResult result = cuptiProfilerHostConfigAddMetrics(&params);
  // The only failure that is not about the metrics; retrying with fewer of them would blame the innocent.
  if (result == CUPTI_ERROR_OUT_OF_MEMORY) CheckCupti(result, "cuptiProfilerHostConfigAddMetrics");
  return result == CUPTI_SUCCESS;
}

std::vector<std::uint8_t> HostObject::ConfigImage() const {
  CUpti_Profiler_Host_GetConfigImageSize_Params size = {};
  size.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE;
  size.pHostObject = object_;
  CheckCupti(cuptiProfilerHostGetConfigImageSize(&size), "cuptiProfilerHostGetConfigImageSize");
  std::vector<std::uint8_t> image(size.configImageSize);
  CUpti_Profiler_Host_GetConfigImage_Params params = {};
  params.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE;
  params.pHostObject = object_;
  params.configImageSize = image.size();
  params.pConfigImage = image.data();
  CheckCupti(cuptiProfilerHostGetConfigImage(&params), "cuptiProfilerHostGetConfigImage");
  return image;
}

int NumPasses(std::span<const std::uint8_t> config_image) {
  // CUPTI takes a pointer to non-const here, and only reads.
  std::vector<std::uint8_t> image(config_image.begin(), config_image.end());
  CUpti_Profiler_Host_GetNumOfPasses_Params params = {};
  params.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE;
  params.configImageSize = image.size();
  params.pConfigImage = image.data();
  CheckCupti(cuptiProfilerHostGetNumOfPasses(&params), "cuptiProfilerHostGetNumOfPasses");
  return static_cast<int>(params.numOfPasses);
}

}  // namespace fa_profile

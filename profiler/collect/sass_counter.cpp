#include <cupti_profiler_target.h>
#include <cupti_sass_metrics.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "check_cupti.h"
#include "cupti_objects.h"
#include "fa_profile/profiler_use.h"

namespace fa_profile::collect {

std::vector<std::string> SassMetrics(const std::string& chip) {
  const ProfilerUse use;
  const auto number =
      CallCupti(cuptiSassMetricsGetNumOfMetrics, "cuptiSassMetricsGetNumOfMetrics",
                {.structSize = CUpti_SassMetrics_GetNumOfMetrics_Params_STRUCT_SIZE, .pChipName = chip.c_str()});
  std::vector<CUpti_SassMetrics_MetricDetails> details(number.numOfMetrics);
  CallCupti(cuptiSassMetricsGetMetrics, "cuptiSassMetricsGetMetrics",
            {.structSize = CUpti_SassMetrics_GetMetrics_Params_STRUCT_SIZE,
             .pChipName = chip.c_str(),
             .numOfMetrics = details.size(),
             .pMetricsList = details.data()});
  std::vector<std::string> names;
  names.reserve(details.size());
  for (const CUpti_SassMetrics_MetricDetails& metric : details) names.emplace_back(metric.pMetricName);
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

class CuptiSassCounter final : public SassCounter {
 public:
  CuptiSassCounter(const Device& device, CUcontext context, const std::vector<std::string>& metrics);
  ~CuptiSassCounter() override {
    CUpti_SassMetricsUnsetConfig_Params unset = {};
    unset.structSize = CUpti_SassMetricsUnsetConfig_Params_STRUCT_SIZE;
    unset.deviceIndex = device_;
    (void)cuptiSassMetricsUnsetConfig(&unset);
  }
  CuptiSassCounter(const CuptiSassCounter&) = delete;
  CuptiSassCounter& operator=(const CuptiSassCounter&) = delete;

  void Start() override {
    use_.emplace();
    CallCupti(cuptiSassMetricsEnable, "cuptiSassMetricsEnable",
              {.structSize = CUpti_SassMetricsEnable_Params_STRUCT_SIZE, .ctx = context_, .enableLazyPatching = 1});
  }
  std::vector<CountedPc> Take() override;
  std::uint64_t Stop() override {
    const auto disable = CallCupti(cuptiSassMetricsDisable, "cuptiSassMetricsDisable",
                                   {.structSize = CUpti_SassMetricsDisable_Params_STRUCT_SIZE, .ctx = context_});
    use_.reset();
    return disable.numOfDroppedRecords;
  }

 private:
  std::uint32_t device_;
  CUcontext context_;
  std::optional<ProfilerUse> use_;
  std::map<std::uint64_t, std::string> names_;  // by CUPTI's id
};

CuptiSassCounter::CuptiSassCounter(const Device& device, CUcontext context, const std::vector<std::string>& metrics)
    : device_(static_cast<std::uint32_t>(device.ordinal)), context_(context) {
  const ProfilerUse use;
  std::vector<CUpti_SassMetrics_Config> configs;
  for (const std::string& metric : metrics) {
    const auto properties = CallCupti(cuptiSassMetricsGetProperties, "cuptiSassMetricsGetProperties",
                                      {.structSize = CUpti_SassMetrics_GetProperties_Params_STRUCT_SIZE,
                                       .pChipName = device.chip.c_str(),
                                       .pMetricName = metric.c_str()});
    names_[properties.metric.metricId] = metric;
    CUpti_SassMetrics_Config config = {};
    config.metricId = properties.metric.metricId;
    config.outputGranularity = CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU;
    configs.push_back(config);
  }
  CallCupti(cuptiSassMetricsSetConfig, "cuptiSassMetricsSetConfig",
            {.structSize = CUpti_SassMetricsSetConfig_Params_STRUCT_SIZE,
             .numOfMetricConfig = configs.size(),
             .pConfigs = configs.data(),
             .deviceIndex = device_});
}

std::vector<CountedPc> CuptiSassCounter::Take() {
  const auto properties =
      CallCupti(cuptiSassMetricsGetDataProperties, "cuptiSassMetricsGetDataProperties",
                {.structSize = CUpti_SassMetricsGetDataProperties_Params_STRUCT_SIZE, .ctx = context_});
  const std::size_t records = properties.numOfPatchedInstructionRecords;
  const std::size_t instances = properties.numOfInstances;
  if (records == 0 || instances == 0) return {};
  std::vector<CUpti_SassMetrics_InstanceValue> values(records * instances);
  std::vector<CUpti_SassMetrics_Data> data(records);
  for (std::size_t i = 0; i < records; ++i) {
    data[i].structSize = sizeof(CUpti_SassMetrics_Data);
    data[i].pInstanceValues = &values[i * instances];
  }
  CallCupti(cuptiSassMetricsFlushData, "cuptiSassMetricsFlushData",
            {.structSize = CUpti_SassMetricsFlushData_Params_STRUCT_SIZE,
             .ctx = context_,
             .numOfPatchedInstructionRecords = records,
             .numOfInstances = instances,
             .pMetricsData = data.data()});
  // A record holds one metric of an instruction; the function's index is 0 in all of them.
  std::map<std::tuple<std::uint64_t, std::string, std::uint32_t>, CountedPc> merged;
  for (const CUpti_SassMetrics_Data& record : data) {
    const std::string function = record.functionName == nullptr ? "" : record.functionName;
    CountedPc& pc = merged[{record.cubinCrc, function, record.pcOffset}];
    for (std::size_t i = 0; i < instances; ++i) {
      const auto name = names_.find(record.pInstanceValues[i].metricId);
      if (name != names_.end()) pc.values[name->second] += record.pInstanceValues[i].value;
    }
  }
  std::vector<CountedPc> pcs;
  for (auto& [key, pc] : merged) {
    std::tie(pc.cubin_crc, pc.function, pc.offset) = key;
    pcs.push_back(std::move(pc));
  }
  return pcs;
}

}  // namespace

std::unique_ptr<SassCounter> OpenSassCounter(const Device& device, CUcontext context,
                                             const std::vector<std::string>& metrics) {
  return std::make_unique<CuptiSassCounter>(device, context, metrics);
}

}  // namespace fa_profile::collect

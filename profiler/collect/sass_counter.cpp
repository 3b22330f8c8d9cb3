#include "sass_counter.h"

#include <cupti_profiler_target.h>
#include <cupti_sass_metrics.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "check_cupti.h"
#include "fa_profile/error.h"
#include "range_profiler.h"

namespace fa_profile {

std::vector<std::string> SassMetrics(const std::string& chip) {
  InitializeProfiler();
  CUpti_SassMetrics_GetNumOfMetrics_Params number = {};
  number.structSize = CUpti_SassMetrics_GetNumOfMetrics_Params_STRUCT_SIZE;
  number.pChipName = chip.c_str();
  CheckCupti(cuptiSassMetricsGetNumOfMetrics(&number), "cuptiSassMetricsGetNumOfMetrics");
  std::vector<CUpti_SassMetrics_MetricDetails> details(number.numOfMetrics);
  CUpti_SassMetrics_GetMetrics_Params list = {};
  list.structSize = CUpti_SassMetrics_GetMetrics_Params_STRUCT_SIZE;
  list.pChipName = chip.c_str();
  list.numOfMetrics = details.size();
  list.pMetricsList = details.data();
  CheckCupti(cuptiSassMetricsGetMetrics(&list), "cuptiSassMetricsGetMetrics");
  std::vector<std::string> names;
  names.reserve(details.size());
  for (const CUpti_SassMetrics_MetricDetails& metric : details) names.emplace_back(metric.pMetricName);
  std::sort(names.begin(), names.end());
  return names;
}

SassCounter::SassCounter(const std::string& chip, int device, CUcontext context,
                         const std::vector<std::string>& metrics)
    : device_(device), context_(context) {
  InitializeProfiler();
  std::vector<CUpti_SassMetrics_Config> configs;
  for (const std::string& metric : metrics) {
    CUpti_SassMetrics_GetProperties_Params properties = {};
    properties.structSize = CUpti_SassMetrics_GetProperties_Params_STRUCT_SIZE;
    properties.pChipName = chip.c_str();
    properties.pMetricName = metric.c_str();
    CheckCupti(cuptiSassMetricsGetProperties(&properties), "cuptiSassMetricsGetProperties");
    names_[properties.metric.metricId] = metric;
    CUpti_SassMetrics_Config config = {};
    config.metricId = properties.metric.metricId;
    config.outputGranularity = CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU;
    configs.push_back(config);
  }
  CUpti_SassMetricsSetConfig_Params set = {};
  set.structSize = CUpti_SassMetricsSetConfig_Params_STRUCT_SIZE;
  set.numOfMetricConfig = configs.size();
  set.pConfigs = configs.data();
  set.deviceIndex = static_cast<std::uint32_t>(device_);
  CheckCupti(cuptiSassMetricsSetConfig(&set), "cuptiSassMetricsSetConfig");
}

SassCounter::~SassCounter() {
  CUpti_SassMetricsUnsetConfig_Params unset = {};
  unset.structSize = CUpti_SassMetricsUnsetConfig_Params_STRUCT_SIZE;
  unset.deviceIndex = static_cast<std::uint32_t>(device_);
  (void)cuptiSassMetricsUnsetConfig(&unset);
}

SassCounts SassCounter::Count(const std::function<void()>& body) {
  CUpti_SassMetricsEnable_Params enable = {};
  enable.structSize = CUpti_SassMetricsEnable_Params_STRUCT_SIZE;
  enable.ctx = context_;
  enable.enableLazyPatching = 1;
  CheckCupti(cuptiSassMetricsEnable(&enable), "cuptiSassMetricsEnable");
  CUpti_SassMetricsDisable_Params disable = {};
  disable.structSize = CUpti_SassMetricsDisable_Params_STRUCT_SIZE;
  disable.ctx = context_;
  SassCounts counts;
  try {
    body();
    counts = Flush();
  } catch (...) {
    (void)cuptiSassMetricsDisable(&disable);
    throw;
  }
  CheckCupti(cuptiSassMetricsDisable(&disable), "cuptiSassMetricsDisable");
  counts.dropped = disable.numOfDroppedRecords;
  return counts;
}

SassCounts SassCounter::Flush() {
  CUpti_SassMetricsGetDataProperties_Params properties = {};
  properties.structSize = CUpti_SassMetricsGetDataProperties_Params_STRUCT_SIZE;
  properties.ctx = context_;
  CheckCupti(cuptiSassMetricsGetDataProperties(&properties), "cuptiSassMetricsGetDataProperties");
  const std::size_t records = properties.numOfPatchedInstructionRecords;
  const std::size_t instances = properties.numOfInstances;
  SassCounts counts;
  if (records == 0 || instances == 0) return counts;
  std::vector<CUpti_SassMetrics_InstanceValue> values(records * instances);
  std::vector<CUpti_SassMetrics_Data> data(records);
  for (std::size_t i = 0; i < records; ++i) {
    data[i].structSize = sizeof(CUpti_SassMetrics_Data);
    data[i].pInstanceValues = &values[i * instances];
  }
  CUpti_SassMetricsFlushData_Params flush = {};
  flush.structSize = CUpti_SassMetricsFlushData_Params_STRUCT_SIZE;
  flush.ctx = context_;
  flush.numOfPatchedInstructionRecords = records;
  flush.numOfInstances = instances;
  flush.pMetricsData = data.data();
  CheckCupti(cuptiSassMetricsFlushData(&flush), "cuptiSassMetricsFlushData");
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
  for (auto& [key, pc] : merged) {
    std::tie(pc.cubin_crc, pc.function, pc.offset) = key;
    counts.pcs.push_back(std::move(pc));
  }
  return counts;
}

}  // namespace fa_profile

#include "range_profiler.h"

#include <cuda_runtime_api.h>
#include <cupti_profiler_target.h>

#include <utility>

#include "check_cupti.h"
#include "cuda_api.h"
#include "fa_profile/error.h"

namespace fa_profile {
void InitializeProfiler() {
  // Initialising twice is allowed, but takes 70-100 ms each time.
  static const bool initialized = [] {
    CUpti_Profiler_Initialize_Params params = {};
    params.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE;
    CheckCupti(cuptiProfilerInitialize(&params), "cuptiProfilerInitialize");
    return true;
  }();
  (void)initialized;
}

RangeProfiler::RangeProfiler(CUcontext context) {
  InitializeProfiler();
  CUpti_RangeProfiler_Enable_Params params = {};
  params.structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE;
  params.ctx = context;
  CheckCupti(cuptiRangeProfilerEnable(&params), "cuptiRangeProfilerEnable");
  object_ = params.pRangeProfilerObject;
}

RangeProfiler::~RangeProfiler() {
  if (object_ == nullptr) return;
  CUpti_RangeProfiler_Disable_Params params = {};
  params.structSize = CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE;
  params.pRangeProfilerObject = object_;
  (void)cuptiRangeProfilerDisable(&params);
}

RangeProfiler::RangeProfiler(RangeProfiler&& other) noexcept
    : object_(std::exchange(other.object_, nullptr)),
      image_(std::move(other.image_)),
      config_(std::move(other.config_)) {}

void RangeProfiler::Configure(const MetricPlan& plan, std::size_t max_ranges, CUpti_ProfilerRange range,
                              CUpti_ProfilerReplayMode replay) {
  std::vector<const char*> names;
  names.reserve(plan.metrics.size());
  for (const std::string& metric : plan.metrics) names.push_back(metric.c_str());

  CUpti_RangeProfiler_GetCounterDataSize_Params size = {};
  size.structSize = CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE;
  size.pRangeProfilerObject = object_;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = max_ranges;
  size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(max_ranges);
  CheckCupti(cuptiRangeProfilerGetCounterDataSize(&size), "cuptiRangeProfilerGetCounterDataSize");
  image_.assign(size.counterDataSize, 0);

  CUpti_RangeProfiler_CounterDataImage_Initialize_Params init = {};
  init.structSize = CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE;
  init.pRangeProfilerObject = object_;
  init.counterDataSize = image_.size();
  init.pCounterData = image_.data();
  CheckCupti(cuptiRangeProfilerCounterDataImageInitialize(&init), "cuptiRangeProfilerCounterDataImageInitialize");

  config_ = plan.config_image;
  CUpti_RangeProfiler_SetConfig_Params config = {};
  config.structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE;
  config.pRangeProfilerObject = object_;
  config.configSize = config_.size();
  config.pConfig = config_.data();
  config.counterDataImageSize = image_.size();
  config.pCounterDataImage = image_.data();
  config.range = range;
  config.replayMode = replay;
  config.maxRangesPerPass = max_ranges;
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  config.passIndex = 0;
  config.targetNestingLevel = 0;
  CheckCupti(cuptiRangeProfilerSetConfig(&config), "cuptiRangeProfilerSetConfig");
}

void RangeProfiler::Start() {
  CUpti_RangeProfiler_Start_Params params = {};
  params.structSize = CUpti_RangeProfiler_Start_Params_STRUCT_SIZE;
  params.pRangeProfilerObject = object_;
  CheckCupti(cuptiRangeProfilerStart(&params), "cuptiRangeProfilerStart");
}

bool RangeProfiler::Stop() {
  CUpti_RangeProfiler_Stop_Params params = {};
  params.structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE;
  params.pRangeProfilerObject = object_;
  CheckCupti(cuptiRangeProfilerStop(&params), "cuptiRangeProfilerStop");
  return params.isAllPassSubmitted != 0;
}

std::size_t RangeProfiler::Decode() {
  CUpti_RangeProfiler_DecodeData_Params params = {};
  params.structSize = CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE;
  params.pRangeProfilerObject = object_;
  CheckCupti(cuptiRangeProfilerDecodeData(&params), "cuptiRangeProfilerDecodeData");
  return params.numOfRangeDropped;
}

CounterData RangeProfiler::CollectUserRanges(const MetricPlan& plan, const std::vector<UserRange>& ranges) {
  Configure(plan, ranges.size(), CUPTI_UserRange, CUPTI_UserReplay);
  // A plan states its passes; more than a few beyond them means that CUPTI will never be satisfied.
  const int limit = plan.passes + 8;
  CounterData data;
  for (bool done = false; !done;) {
    if (data.passes == limit) {
      throw Error("cuptiRangeProfilerStop", "", "CUPTI asked for more than " + std::to_string(limit) + " passes",
                  "collect a smaller metric set");
    }
    Start();
    for (const UserRange& range : ranges) {
      range.prepare();
      CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      CUpti_RangeProfiler_PushRange_Params push = {};
      push.structSize = CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE;
      push.pRangeProfilerObject = object_;
      push.pRangeName = range.name.c_str();
      CheckCupti(cuptiRangeProfilerPushRange(&push), "cuptiRangeProfilerPushRange");
      range.body();
      CUpti_RangeProfiler_PopRange_Params pop = {};
      pop.structSize = CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE;
      pop.pRangeProfilerObject = object_;
      CheckCupti(cuptiRangeProfilerPopRange(&pop), "cuptiRangeProfilerPopRange");
      // A crashed kernel shows here, named after its range, and not as a CUPTI error later.
      CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    done = Stop();
    ++data.passes;
  }
  data.ranges_dropped = Decode();
  data.image = std::move(image_);
  return data;
}

void RangeProfiler::StartKernelRanges(const MetricPlan& plan, std::size_t max_ranges) {
  Configure(plan, max_ranges, CUPTI_AutoRange, CUPTI_KernelReplay);
  Start();
}

CounterData RangeProfiler::StopKernelRanges() {
  CounterData data;
  Stop();
  data.passes = 1;
  data.ranges_dropped = Decode();
  data.image = std::move(image_);
  return data;
}

std::vector<std::uint8_t> CounterAvailability(CUcontext context) {
  InitializeProfiler();
  CUpti_Profiler_GetCounterAvailability_Params params = {};
  params.structSize = CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE;
  params.ctx = context;
  CheckCupti(cuptiProfilerGetCounterAvailability(&params), "cuptiProfilerGetCounterAvailability");
  std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  CheckCupti(cuptiProfilerGetCounterAvailability(&params), "cuptiProfilerGetCounterAvailability");
  image.resize(params.counterAvailabilityImageSize);
  return image;
}

}  // namespace fa_profile

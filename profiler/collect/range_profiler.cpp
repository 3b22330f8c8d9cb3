#include <cuda_runtime_api.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>

#include <string>
#include <utility>

#include "check_cupti.h"
#include "cuda_api.h"
#include "cupti_objects.h"
#include "fa_profile/error.h"
#include "fa_profile/profiler_use.h"
#include "host_object.h"

namespace fa_profile::collect {

namespace {

class CuptiRangeProfiler final : public RangeProfiler {
 public:
  explicit CuptiRangeProfiler(CUcontext context) {
    const auto params = CallCupti(cuptiRangeProfilerEnable, "cuptiRangeProfilerEnable",
                                  {.structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE, .ctx = context});
    object_ = params.pRangeProfilerObject;
  }

  ~CuptiRangeProfiler() override {
    CUpti_RangeProfiler_Disable_Params params = {};
    params.structSize = CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE;
    params.pRangeProfilerObject = object_;
    (void)cuptiRangeProfilerDisable(&params);
  }
  CuptiRangeProfiler(const CuptiRangeProfiler&) = delete;
  CuptiRangeProfiler& operator=(const CuptiRangeProfiler&) = delete;

  void Configure(const MetricPlan& plan, std::size_t most_ranges, Replay replay) override;

  void Start() override {
    CallCupti(cuptiRangeProfilerStart, "cuptiRangeProfilerStart",
              {.structSize = CUpti_RangeProfiler_Start_Params_STRUCT_SIZE, .pRangeProfilerObject = object_});
  }

  void PushRange(const std::string& name) override {
    if (name.size() > kLongestName) throw Error("CUPTI takes no name as long as '" + name + "' for a range");
    CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    CallCupti(cuptiRangeProfilerPushRange, "cuptiRangeProfilerPushRange",
              {.structSize = CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE,
               .pRangeProfilerObject = object_,
               .pRangeName = name.c_str()});
  }

  void PopRange() override {
    CallCupti(cuptiRangeProfilerPopRange, "cuptiRangeProfilerPopRange",
              {.structSize = CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE, .pRangeProfilerObject = object_});
    CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  bool Stop() override {
    const auto params =
        CallCupti(cuptiRangeProfilerStop, "cuptiRangeProfilerStop",
                  {.structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE, .pRangeProfilerObject = object_});
    return params.isAllPassSubmitted != 0;
  }

  CounterData Decode() override {
    const auto params =
        CallCupti(cuptiRangeProfilerDecodeData, "cuptiRangeProfilerDecodeData",
                  {.structSize = CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE, .pRangeProfilerObject = object_});
    return {std::move(image_), params.numOfRangeDropped};
  }

 private:
  ProfilerUse use_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  std::vector<std::uint8_t> image_;
  std::vector<std::uint8_t> config_;  // CUPTI reads it until the data is decoded
};

void CuptiRangeProfiler::Configure(const MetricPlan& plan, std::size_t most_ranges, Replay replay) {
  std::vector<const char*> names = Pointers(plan.metrics);
  const auto size = CallCupti(cuptiRangeProfilerGetCounterDataSize, "cuptiRangeProfilerGetCounterDataSize",
                              {.structSize = CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE,
                               .pRangeProfilerObject = object_,
                               .pMetricNames = names.data(),
                               .numMetrics = names.size(),
                               .maxNumOfRanges = most_ranges,
                               .maxNumRangeTreeNodes = static_cast<std::uint32_t>(most_ranges)});
  image_.assign(size.counterDataSize, 0);

  CallCupti(cuptiRangeProfilerCounterDataImageInitialize, "cuptiRangeProfilerCounterDataImageInitialize",
            {.structSize = CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE,
             .pRangeProfilerObject = object_,
             .counterDataSize = image_.size(),
             .pCounterData = image_.data()});

  config_ = plan.config_image;
  CallCupti(cuptiRangeProfilerSetConfig, "cuptiRangeProfilerSetConfig",
            {.structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE,
             .pRangeProfilerObject = object_,
             .configSize = config_.size(),
             .pConfig = config_.data(),
             .counterDataImageSize = image_.size(),
             .pCounterDataImage = image_.data(),
             .range = replay == Replay::kUser ? CUPTI_UserRange : CUPTI_AutoRange,
             .replayMode = replay == Replay::kUser ? CUPTI_UserReplay : CUPTI_KernelReplay,
             .maxRangesPerPass = most_ranges,
             .numNestingLevels = 1,
             .minNestingLevel = 1,
             .passIndex = 0,
             .targetNestingLevel = 0});
}

}  // namespace

std::unique_ptr<RangeProfiler> OpenRangeProfiler(CUcontext context) {
  return std::make_unique<CuptiRangeProfiler>(context);
}

std::vector<std::uint8_t> CounterAvailability(CUcontext context) {
  const ProfilerUse use;
  auto params = CallCupti(cuptiProfilerGetCounterAvailability, "cuptiProfilerGetCounterAvailability",
                          {.structSize = CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE, .ctx = context});
  std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  CheckCupti(cuptiProfilerGetCounterAvailability(&params), "cuptiProfilerGetCounterAvailability");
  image.resize(params.counterAvailabilityImageSize);
  return image;
}

}  // namespace fa_profile::collect

#include <cupti.h>
#include <cupti_pmsampling.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "check_cupti.h"
#include "cupti_objects.h"
#include "fa_profile/counter_lock.h"
#include "fa_profile/error.h"
#include "fa_profile/profiler_use.h"
#include "host_object.h"

namespace fa_profile::collect {
namespace {

/// For raw records between Start() and Stop(), in the host's memory.
constexpr std::size_t kPmBufferBytes = std::size_t{64} << 20;
/// Samples per round of decoding. (512: CUPTI_ERROR_OUT_OF_MEMORY where 1,000 and more are to be read.)
constexpr std::uint32_t kReadingsPerRound = 4096;

std::size_t DeviceIndex(CUcontext context) {
  std::uint32_t ordinal = 0;
  CheckCupti(cuptiGetDeviceId(context, &ordinal), "cuptiGetDeviceId");
  return ordinal;
}

std::vector<std::uint8_t> PmAvailability(std::size_t device) {
  auto params =
      CallCupti(cuptiPmSamplingGetCounterAvailability, "cuptiPmSamplingGetCounterAvailability",
                {.structSize = CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE, .deviceIndex = device});
  std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  CheckCupti(cuptiPmSamplingGetCounterAvailability(&params), "cuptiPmSamplingGetCounterAvailability");
  image.resize(params.counterAvailabilityImageSize);
  return image;
}

/// The metrics, configured for PM sampling, for which CUPTI reads `availability` as long as the object lives.
HostObject Configured(const std::string& chip, std::span<const std::uint8_t> availability,
                      std::span<const std::string> metrics) {
  HostObject host(chip, availability, CUPTI_PROFILER_TYPE_PM_SAMPLING);
  if (!host.AddMetrics(metrics)) {
    throw Error("CUPTI cannot sample these metrics together on " + chip, "sample fewer metrics at once");
  }
  return host;
}

std::vector<std::uint8_t> OnePass(std::vector<std::uint8_t> config_image) {
  const int passes = NumPasses(config_image);
  if (passes == 1) return config_image;
  throw Error("PM sampling needs metrics that fit in one pass; these need " + std::to_string(passes) + " passes",
              "sample fewer metrics at once");
}

class CuptiPmSampler final : public PmSampler {
 public:
  CuptiPmSampler(const std::string& chip, std::size_t device, std::span<const std::string> metrics,
                 std::int64_t interval_ns)
      : availability_(PmAvailability(device)),
        host_(Configured(chip, availability_, metrics)),
        config_image_(OnePass(host_.ConfigImage())),
        metrics_(metrics.begin(), metrics.end()),
        device_(device),
        interval_ns_(interval_ns) {
    Enable();
  }
  ~CuptiPmSampler() override { Disable(); }
  CuptiPmSampler(const CuptiPmSampler&) = delete;
  CuptiPmSampler& operator=(const CuptiPmSampler&) = delete;

  void Start() override {
    CallCupti(cuptiPmSamplingStart, "cuptiPmSamplingStart",
              {.structSize = CUpti_PmSampling_Start_Params_STRUCT_SIZE, .pPmSamplingObject = object_});
  }
  void Stop() override {
    CallCupti(cuptiPmSamplingStop, "cuptiPmSamplingStop",
              {.structSize = CUpti_PmSampling_Stop_Params_STRUCT_SIZE, .pPmSamplingObject = object_});
  }
  PmReadings Take() override;

 private:
  void Enable() {
    const auto params = CallCupti(cuptiPmSamplingEnable, "cuptiPmSamplingEnable",
                                  {.structSize = CUpti_PmSampling_Enable_Params_STRUCT_SIZE, .deviceIndex = device_});
    object_ = params.pPmSamplingObject;
    try {
      Configure();
    } catch (...) {
      Disable();
      throw;
    }
  }
  void Disable() noexcept {
    if (object_ == nullptr) return;
    CUpti_PmSampling_Disable_Params params = {};
    params.structSize = CUpti_PmSampling_Disable_Params_STRUCT_SIZE;
    params.pPmSamplingObject = object_;
    (void)cuptiPmSamplingDisable(&params);
    object_ = nullptr;
  }
  void Configure();
  void ClearImage();
  void AddReadings(std::vector<PmReading>& readings) const;

  ProfilerUse use_;
  std::vector<std::uint8_t> availability_;
  HostObject host_;
  std::vector<std::uint8_t> config_image_;  // CUPTI reads it while it samples
  std::vector<std::string> metrics_;
  std::size_t device_;
  std::int64_t interval_ns_;
  CUpti_PmSampling_Object* object_ = nullptr;
  std::vector<std::uint8_t> image_;
};

void CuptiPmSampler::Configure() {
  CallCupti(cuptiPmSamplingSetConfig, "cuptiPmSamplingSetConfig",
            {.structSize = CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE,
             .pPmSamplingObject = object_,
             .configSize = config_image_.size(),
             .pConfig = config_image_.data(),
             .hardwareBufferSize = kPmBufferBytes,
             .samplingInterval = static_cast<std::uint64_t>(interval_ns_),
             .triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL,
             .hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST});
  std::vector<const char*> names = Pointers(metrics_);
  const auto size = CallCupti(cuptiPmSamplingGetCounterDataSize, "cuptiPmSamplingGetCounterDataSize",
                              {.structSize = CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE,
                               .pPmSamplingObject = object_,
                               .pMetricNames = names.data(),
                               .numMetrics = names.size(),
                               .maxSamples = kReadingsPerRound});
  image_.assign(size.counterDataSize, 0);
  ClearImage();
}

void CuptiPmSampler::ClearImage() {
  CallCupti(cuptiPmSamplingCounterDataImageInitialize, "cuptiPmSamplingCounterDataImageInitialize",
            {.structSize = CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE,
             .pPmSamplingObject = object_,
             .counterDataSize = image_.size(),
             .pCounterData = image_.data()});
}

void CuptiPmSampler::AddReadings(std::vector<PmReading>& readings) const {
  const auto info = CallCupti(cuptiPmSamplingGetCounterDataInfo, "cuptiPmSamplingGetCounterDataInfo",
                              {.structSize = CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE,
                               .pCounterDataImage = image_.data(),
                               .counterDataImageSize = image_.size()});
  for (std::size_t i = 0; i < info.numCompletedSamples; ++i) {
    const auto sample = CallCupti(cuptiPmSamplingCounterDataGetSampleInfo, "cuptiPmSamplingCounterDataGetSampleInfo",
                                  {.structSize = CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE,
                                   .pPmSamplingObject = object_,
                                   .pCounterDataImage = image_.data(),
                                   .counterDataImageSize = image_.size(),
                                   .sampleIndex = i});
    readings.push_back({static_cast<std::int64_t>(sample.startTimestamp),
                        static_cast<std::int64_t>(sample.endTimestamp), host_.Evaluate(image_, i, metrics_)});
  }
}

PmReadings CuptiPmSampler::Take() {
  PmReadings taken;
  for (bool more = true; more;) {
    CUpti_PmSampling_DecodeData_Params decoded = {};
    decoded.structSize = CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE;
    decoded.pPmSamplingObject = object_;
    decoded.pCounterDataImage = image_.data();
    decoded.counterDataImageSize = image_.size();
    const CUptiResult result = cuptiPmSamplingDecodeData(&decoded);
    // CUPTI 13.0's result for a buffer that ran over; the object cannot be started again.
    if (result == CUPTI_ERROR_OUT_OF_MEMORY) {
      taken.buffer_full = true;
      Disable();
      Enable();
      break;
    }
    CheckCupti(result, "cuptiPmSamplingDecodeData");
    const std::size_t before = taken.readings.size();
    AddReadings(taken.readings);
    taken.buffer_full = taken.buffer_full || decoded.overflow != 0;
    more = decoded.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL &&
           taken.readings.size() > before;
    ClearImage();  // also prepares the next Start()
  }
  return taken;
}

}  // namespace

std::unique_ptr<PmSampler> OpenPmSampler(const Device& device, CUcontext context, std::span<const std::string> metrics,
                                         std::int64_t interval_ns) {
  RequireCounters(context);
  return std::make_unique<CuptiPmSampler>(device.chip, DeviceIndex(context), metrics, interval_ns);
}

}  // namespace fa_profile::collect

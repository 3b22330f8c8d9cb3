#include <cupti.h>
#include <cupti_pcsampling.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <span>
#include <string_view>

#include "check_cupti.h"
#include "cupti_objects.h"
#include "fa_profile/context_sampler.h"
#include "fa_profile/counter_lock.h"

namespace fa_profile::collect {
namespace {

// More instructions than a large kernel has; the rest is fetched in another round.
constexpr std::size_t kPcsPerRound = 8192;

struct Setup {
  std::uint32_t period_cycles;
  std::size_t hardware_buffer_bytes;  // 16 bytes a sample; in the host's memory
  std::size_t scratch_buffer_bytes;
  std::uint32_t worker_sleep_ms;  // CUPTI's workers wake up this often to decode; by default every 100 ms
  bool start_stop;                // only take samples between Start() and Stop()
};

// Room for 2 million samples, five times what a call is sampled for. CUPTI's time grows with the size: on an H100 512
// MB instead of 16 add 0.5 s to a run. Each drain waits for the workers.
Setup OfCalls(std::uint32_t period_cycles) {
  return {period_cycles, std::size_t{32} << 20, std::size_t{16} << 20, 1, true};
}

// An H200 takes 0.2 million samples, 3.5 MB, per second of busy time at this period. With more, CUPTI's workers use a
// good part of a CPU.
constexpr Setup kOfContext{ContextSampler::kPeriodCycles, std::size_t{32} << 20, std::size_t{16} << 20, 20, false};

std::string ReasonName(std::string_view name) {
  constexpr std::string_view kPrefix = "smsp__pcsamp_warps_issue_stalled_";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  return std::string(name);
}

class CuptiPcSampler final : public PcSampler {
 public:
  CuptiPcSampler(CUcontext context, const Setup& setup);
  ~CuptiPcSampler() override {
    if (Disable()) return;
    (void)configured_.release();  // CUPTI may still write
    (void)fetched_.release();
  }
  CuptiPcSampler(const CuptiPcSampler&) = delete;
  CuptiPcSampler& operator=(const CuptiPcSampler&) = delete;

  void Start() override {
    CallCupti(cuptiPCSamplingStart, "cuptiPCSamplingStart", {.size = CUpti_PCSamplingStartParamsSize, .ctx = context_});
  }
  void Stop() override {
    CallCupti(cuptiPCSamplingStop, "cuptiPCSamplingStop", {.size = CUpti_PCSamplingStopParamsSize, .ctx = context_});
  }
  PcSamples Take() override;
  void SetPeriod(std::uint32_t cycles) override {
    setup_.period_cycles = cycles;
    Configure();
  }

 private:
  bool Disable() const noexcept {
    CUpti_PCSamplingDisableParams disable = {};
    disable.size = CUpti_PCSamplingDisableParamsSize;
    disable.ctx = context_;
    return cuptiPCSamplingDisable(&disable) == CUPTI_SUCCESS;
  }
  void Configure();
  void ReadStallReasons();
  void Add(const CUpti_PCSamplingData& data, PcSamples& samples) const;

  CUcontext context_;
  Setup setup_;
  std::vector<std::string> reasons_;  // by CUPTI's index
  // Where CUPTI writes samples. It keeps the pointer.
  struct Buffer {
    std::vector<CUpti_PCSamplingStallReason> reasons;
    std::vector<CUpti_PCSamplingPCData> pcs;
    CUpti_PCSamplingData data{};
    void Prepare(std::size_t reason_count);
  };
  std::unique_ptr<Buffer> configured_ = std::make_unique<Buffer>();  // the one in CUPTI's configuration:
                                                                     // cuptiPCSamplingGetData empties it into the other
  std::unique_ptr<Buffer> fetched_ = std::make_unique<Buffer>();
};

CuptiPcSampler::CuptiPcSampler(CUcontext context, const Setup& setup) : context_(context), setup_(setup) {
  RequireCounters(context);
  CallCupti(cuptiPCSamplingEnable, "cuptiPCSamplingEnable",
            {.size = CUpti_PCSamplingEnableParamsSize, .ctx = context_});
  try {
    ReadStallReasons();
    Configure();
  } catch (...) {
    if (!Disable()) {
      (void)configured_.release();
      (void)fetched_.release();
    }
    throw;
  }
}

void CuptiPcSampler::ReadStallReasons() {
  std::size_t count = 0;
  CallCupti(cuptiPCSamplingGetNumStallReasons, "cuptiPCSamplingGetNumStallReasons",
            {.size = CUpti_PCSamplingGetNumStallReasonsParamsSize, .ctx = context_, .numStallReasons = &count});

  std::vector<std::uint32_t> indices(count);
  std::vector<std::array<char, CUPTI_STALL_REASON_STRING_SIZE>> names(count);
  std::vector<char*> pointers;
  for (auto& name : names) pointers.push_back(name.data());
  CallCupti(cuptiPCSamplingGetStallReasons, "cuptiPCSamplingGetStallReasons",
            {.size = CUpti_PCSamplingGetStallReasonsParamsSize,
             .ctx = context_,
             .numStallReasons = count,
             .stallReasonIndex = indices.data(),
             .stallReasons = pointers.data()});
  for (std::size_t i = 0; i < count; ++i) {
    reasons_.resize(std::max<std::size_t>(reasons_.size(), indices[i] + 1));
    reasons_[indices[i]] = ReasonName(names[i].data());
  }

  configured_->Prepare(count);
  fetched_->Prepare(count);
}

void CuptiPcSampler::Buffer::Prepare(std::size_t reason_count) {
  reasons.resize(kPcsPerRound * reason_count);
  pcs.resize(kPcsPerRound);
  for (std::size_t i = 0; i < kPcsPerRound; ++i) {
    pcs[i].size = sizeof(CUpti_PCSamplingPCData);
    pcs[i].stallReason = &reasons[i * reason_count];
  }
  data.size = sizeof(CUpti_PCSamplingData);
  data.collectNumPcs = kPcsPerRound;
  data.pPcData = pcs.data();
}

void CuptiPcSampler::Configure() {
  std::array<CUpti_PCSamplingConfigurationInfo, 7> attributes = {};
  attributes[0].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE;
  attributes[0].attributeData.collectionModeData.collectionMode = CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
  attributes[1].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
  attributes[1].attributeData.samplingPeriodData.samplingPeriod =
      static_cast<std::uint32_t>(std::bit_width(setup_.period_cycles) - 1);
  attributes[2].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL;
  attributes[2].attributeData.enableStartStopControlData.enableStartStopControl = setup_.start_stop ? 1 : 0;
  attributes[3].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER;
  attributes[3].attributeData.samplingDataBufferData.samplingDataBuffer = &configured_->data;
  attributes[4].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE;
  attributes[4].attributeData.hardwareBufferSizeData.hardwareBufferSize = setup_.hardware_buffer_bytes;
  attributes[5].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE;
  attributes[5].attributeData.scratchBufferSizeData.scratchBufferSize = setup_.scratch_buffer_bytes;
  attributes[6].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN;
  attributes[6].attributeData.workerThreadPeriodicSleepSpanData.workerThreadPeriodicSleepSpan = setup_.worker_sleep_ms;
  CallCupti(cuptiPCSamplingSetConfigurationAttribute, "cuptiPCSamplingSetConfigurationAttribute",
            {.size = CUpti_PCSamplingConfigurationInfoParamsSize,
             .ctx = context_,
             .numAttributes = attributes.size(),
             .pPCSamplingConfigurationInfo = attributes.data()});
}

void CuptiPcSampler::Add(const CUpti_PCSamplingData& data, PcSamples& samples) const {
  samples.total += data.totalSamples;
  samples.dropped += data.droppedSamples;
  samples.other += data.nonUsrKernelsTotalSamples;
  samples.buffer_full = samples.buffer_full || data.hardwareBufferFull != 0;
  for (const CUpti_PCSamplingPCData& pc : std::span(data.pPcData, data.totalNumPcs)) {
    SampledPc sampled;
    sampled.cubin_crc = pc.cubinCrc;
    sampled.function = pc.functionName == nullptr ? "" : pc.functionName;
    sampled.offset = static_cast<std::uint32_t>(pc.pcOffset);
    for (const CUpti_PCSamplingStallReason& stall : std::span(pc.stallReason, pc.stallReasonCount)) {
      if (stall.samples > 0 && stall.pcSamplingStallReasonIndex < reasons_.size()) {
        sampled.samples[reasons_[stall.pcSamplingStallReasonIndex]] += stall.samples;
      }
    }
    // pc.functionName is one string for all records of the function, and CUPTI goes on using it, so it is not freed.
    samples.pcs.push_back(std::move(sampled));
  }
}

PcSamples CuptiPcSampler::Take() {
  PcSamples samples;
  do {
    CUpti_PCSamplingGetDataParams get = {};
    get.size = CUpti_PCSamplingGetDataParamsSize;
    get.ctx = context_;
    get.pcSamplingData = &fetched_->data;
    const CUptiResult result = cuptiPCSamplingGetData(&get);
    if (result == CUPTI_ERROR_OUT_OF_MEMORY) {
      samples.buffer_full = true;
      break;
    }
    CheckCupti(result, "cuptiPCSamplingGetData");
    Add(fetched_->data, samples);
  } while (fetched_->data.remainingNumPcs > 0);
  return samples;
}

}  // namespace

std::unique_ptr<PcSampler> OpenPcSampler(CUcontext context, std::uint32_t period_cycles) {
  return std::make_unique<CuptiPcSampler>(context, OfCalls(period_cycles));
}

ContextSampler::ContextSampler(const void* context) {
  auto* const cu_context = static_cast<CUcontext>(const_cast<void*>(context));
  sampler_ = std::make_unique<CuptiPcSampler>(cu_context, kOfContext);
}

PcSamples ContextSampler::Take() { return sampler_->Take(); }

// Not destroyed: CUPTI may still refer to its buffers.
void ContextSampler::Abandon() noexcept { (void)sampler_.release(); }

}  // namespace fa_profile::collect

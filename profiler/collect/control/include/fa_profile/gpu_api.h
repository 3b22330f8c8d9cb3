#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/recording.h"
#include "fa_profile/workload.h"

/// What the collectors need from CUPTI and the CUDA runtime. profiler/collect implements it on a GPU; tests fake it.
/// Every function may throw Error, destructors never do. One thread, unless a function says otherwise.
namespace fa_profile::collect {

/// A set of metrics ready for collection: CUPTI's config image and how many passes it takes.
struct MetricPlan {
  std::string chip;
  std::vector<std::string> metrics;  ///< accepted, in the order the config image was built with
  std::vector<std::uint8_t> config_image;
  int passes = 0;
  std::vector<DataLoss> refused;  ///< kind "metric_unavailable": what the chip or CUPTI refused, and why
  bool from_cache = false;
};

/// A decoded counter data image and how much it lost.
struct CounterData {
  std::vector<std::uint8_t> image;
  std::size_t ranges_dropped = 0;
};

/// One range of a counter data image.
struct RangeValues {
  std::string name;
  std::map<std::string, double> metrics;  ///< by CUPTI name; a metric that evaluates to NaN or infinity is left out
};

enum class Replay {
  kUser,   ///< ranges are pushed and popped, and the caller runs them again in every pass
  kKernel  ///< every launch is a range, which CUPTI replays, saving and restoring device memory
};

/// CUPTI's range profiler, switched on. One at a time; the destructor switches it off, started or not.
class RangeProfiler {
 public:
  virtual ~RangeProfiler() = default;
  /// Ranges beyond `most_ranges` are counted as dropped. `plan` outlives the measurement.
  virtual void Configure(const MetricPlan& plan, std::size_t most_ranges, Replay replay) = 0;
  virtual void Start() = 0;
  /// Bytes in a range's name. CUPTI 13.0 accepts longer ones, then ends the process with SIGSEGV when it decodes the
  /// counters.
  static constexpr std::size_t kLongestName = 59;
  /// Waits for the device, then opens a range. Throws Error: the name is longer than kLongestName.
  virtual void PushRange(const std::string& name) = 0;
  /// Closes the range and waits for the device: a kernel that crashed in it is reported here.
  virtual void PopRange() = 0;
  /// True when all passes were submitted.
  virtual bool Stop() = 0;
  virtual CounterData Decode() = 0;
};

/// Samples of one instruction, as CUPTI names it.
struct SampledPc {
  std::uint64_t cubin_crc = 0;
  std::string function;
  std::uint32_t offset = 0;
  std::map<std::string, std::uint64_t> samples;  ///< by stall reason, without CUPTI's prefix
};

struct PcSamples {
  std::vector<SampledPc> pcs;
  std::uint64_t total = 0;    ///< as counted by the hardware
  std::uint64_t dropped = 0;  ///< of these, lost between the hardware and CUPTI
  std::uint64_t other = 0;    ///< of these, in code that CUPTI does not name
  bool buffer_full = false;   ///< an unknown number of samples was lost
};

/// CUPTI's PC sampling, continuous mode. While one exists, no range profiler may.
///
/// CUPTI names code only if its module was loaded while a sampler existed (this one or an earlier one). For other code
/// it gives only the number of samples. So open one before the first kernel is loaded.
class PcSampler {
 public:
  virtual ~PcSampler() = default;
  virtual void Start() = 0;
  virtual void Stop() = 0;
  /// After Stop().
  virtual PcSamples Take() = 0;
  /// Period of the next samples, before Start(): a power of two, 32 or more. That Start() takes 0.1 s, like a new
  /// sampler's; closing this one and opening another takes 40 ms more (H100).
  virtual void SetPeriod(std::uint32_t cycles) = 0;
};

/// Counts of one instruction, as CUPTI names it.
struct CountedPc {
  std::uint64_t cubin_crc = 0;
  std::string function;
  std::uint32_t offset = 0;
  std::map<std::string, std::uint64_t> values;  ///< by SASS metric, summed over the device
};

/// CUPTI's SASS metrics: code that runs between Start() and Stop() is patched to count itself. Patched code is slow:
/// never time it.
///
/// One per process: CUPTI takes no second configuration (CUPTI_ERROR_OUT_OF_MEMORY, even after the first was unset).
/// And like the PC sampler it sees only code whose module was loaded after a PcSampler was opened: without one, CUPTI
/// patches the first kernel and no other.
class SassCounter {
 public:
  virtual ~SassCounter() = default;
  virtual void Start() = 0;
  /// Before Stop(), with the device idle.
  virtual std::vector<CountedPc> Take() = 0;
  /// The number of records that CUPTI dropped.
  virtual std::uint64_t Stop() = 0;
};

/// Keeps the machine code of every module that the process loads from now on. One per process: it takes CUPTI's only
/// subscriber. Code that was loaded earlier is not seen.
class ModuleCapture {
 public:
  virtual ~ModuleCapture() = default;
  /// The cubin with CUPTI's CRC; nullptr when it was loaded before the capture began. Valid as long as the capture.
  virtual const std::vector<std::uint8_t>* Find(std::uint64_t crc) = 0;
};

/// Metrics of the device over a short time. Times are on the GPU's clock and compare only with those of other readings.
struct PmReading {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::map<std::string, double> metrics;  ///< by CUPTI name
};

struct PmReadings {
  std::vector<PmReading> readings;
  bool buffer_full = false;  ///< later ones were lost
};

/// CUPTI's PM sampling of the device at a fixed interval. While one exists, nothing else may profile.
class PmSampler {
 public:
  virtual ~PmSampler() = default;
  virtual void Start() = 0;
  /// With the device idle.
  virtual void Stop() = 0;
  /// After Stop().
  virtual PmReadings Take() = 0;
};

/// Durations of calls, taken without a profiler.
struct CallTiming {
  std::string method;                 ///< as Timing::method
  std::vector<double> durations_ns;   ///< one per sample
  std::optional<double> sm_clock_hz;  ///< during replays between the samples; absent when it was not asked for or not
                                      ///< read
};

/// What the activity API saw while something ran.
struct ActivityTrace {
  std::vector<Launch> launches;        ///< by start time; case_id, part and id are not set
  std::vector<NvtxRange> nvtx_ranges;  ///< by start time; case_id not set
  std::int64_t records_dropped = 0;
};

class GpuApi {
 public:
  virtual ~GpuApi() = default;

  /// The stream on which calls are measured.
  virtual StreamHandle stream() = 0;
  /// Waits for the stream.
  virtual void Synchronize() = 0;
  /// Overwrites the L2 on the stream. False, and nothing is done: the cache policy is "warm".
  virtual bool FlushCache() = 0;
  /// Share of the device's memory that is free, 0 to 1.
  virtual double FreeMemoryShare() = 0;

  /// Times `call`, which enqueues one call on the stream it is given. `between` runs before each sample and may throw.
  /// `read_clock`: also read the SM clock, which adds launches of the call and of a small kernel between the samples;
  /// it is not read where the cache is flushed.
  virtual CallTiming Time(const std::function<void(StreamHandle)>& call, int samples,
                          const std::function<void()>& between, bool read_clock) = 0;
  /// Runs `body` with kernel and NVTX activity recorded. The device is idle before; `body` leaves it idle.
  virtual ActivityTrace Trace(const std::function<void()>& body) = 0;

  /// Plans `metrics` for this device. Not while a range profiler exists.
  virtual MetricPlan Plan(std::span<const std::string> metrics) = 0;
  /// The first `most` ranges of an image measured with `plan`. On any thread, one at a time.
  virtual std::vector<RangeValues> Evaluate(const MetricPlan& plan, std::span<const std::uint8_t> image,
                                            std::size_t most) = 0;
  virtual std::unique_ptr<RangeProfiler> OpenRangeProfiler() = 0;

  /// Samples one warp of each SM sub-partition every `period_cycles` (a power of two, 32 or more).
  virtual std::unique_ptr<PcSampler> OpenPcSampler(std::uint32_t period_cycles) = 0;
  /// Names of the SASS metrics that the device has, sorted.
  virtual std::vector<std::string> SassMetrics() = 0;
  virtual std::unique_ptr<SassCounter> OpenSassCounter(const std::vector<std::string>& metrics) = 0;
  virtual std::unique_ptr<ModuleCapture> CaptureModules() = 0;
  /// Samples metrics that share a pass. Throws Error: the chip has none of them, they need several passes, or it cannot
  /// trigger by time.
  virtual std::unique_ptr<PmSampler> OpenPmSampler(std::span<const std::string> metrics, std::int64_t interval_ns) = 0;
};

}  // namespace fa_profile::collect

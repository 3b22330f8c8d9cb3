#include "fa_profile/gpu_monitor.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "gpm_sampler.h"
#include "nvml.h"

namespace fa_profile::collect {
namespace {

constexpr double kMillijoulesPerJoule = 1000.0;

/// The Xid errors of one GPU, as NVML's events. Each GPU has its own event set, because a registration that fails
/// may leave its set in an undefined state.
class XidListener {
 public:
  /// `nvml` outlives this.
  explicit XidListener(const Nvml& nvml) : nvml_(nvml) {}
  ~XidListener() { Stop(); }
  XidListener(const XidListener&) = delete;
  XidListener& operator=(const XidListener&) = delete;

  /// Does nothing if already listening; a GPU that cannot report errors is asked again each time.
  void Listen(NvmlGpu& gpu) {
    if (events_ != nullptr || nvml_.Call(nvml::kEventSetCreate, &events_) != nvml::kSuccess) return;
    if (gpu.Note(nvml_.Call(nvml::kRegisterEvents, gpu.device(), nvml::kEventXid, events_)) != nvml::kSuccess) Stop();
  }

  void Drain(std::map<std::uint64_t, std::uint64_t>& seen) const {
    constexpr int kMost = 1000;  // a GPU that never stops reporting must not hold up the reading
    nvml::EventData event{};
    for (int i = 0; i < kMost && events_ != nullptr; ++i) {
      if (nvml_.Call(nvml::kEventSetWait, events_, &event, /*milliseconds=*/0) != nvml::kSuccess) return;
      if (event.type == nvml::kEventXid) ++seen[event.data];
    }
  }

 private:
  void Stop() {
    if (events_ != nullptr) (void)nvml_.Call(nvml::kEventSetFree, events_);
    events_ = nullptr;
  }

  const Nvml& nvml_;
  nvml::EventSet events_ = nullptr;
};

std::map<std::string, bool> Throttled(std::optional<std::uint64_t> reasons) {
  std::map<std::string, bool> throttled;
  if (!reasons) return throttled;
  for (const nvml::Throttle& throttle : nvml::kThrottles) throttled[throttle.id] = (*reasons & throttle.bit) != 0;
  return throttled;
}

void ReadValues(NvmlGpu& gpu, GpuReading& reading) {
  reading.sm_clock_hz = gpu.ClockHz(nvml::kClock, nvml::kClockSm);
  reading.sm_clock_max_hz = gpu.ClockHz(nvml::kMaxClock, nvml::kClockSm);
  reading.memory_clock_hz = gpu.ClockHz(nvml::kClock, nvml::kClockMemory);
  reading.power_watts = gpu.PowerWatts(nvml::kPower);
  reading.power_limit_watts = gpu.PowerWatts(nvml::kPowerLimit);
  if (const auto millijoules = gpu.Get<unsigned long long>(nvml::kEnergy)) {
    reading.energy_joules = static_cast<double>(*millijoules) / kMillijoulesPerJoule;
  }
  reading.temperature_celsius = gpu.TemperatureCelsius();
  if (const auto memory = gpu.Get<nvml::Memory>(nvml::kMemory)) {
    reading.memory_used_bytes = static_cast<double>(memory->used);
    reading.memory_total_bytes = static_cast<double>(memory->total);
  }
  if (const auto busy = gpu.Get<nvml::Utilization>(nvml::kUtilization)) reading.busy_ratio = busy->gpu / 100.0;
  reading.throttled = Throttled(gpu.ThrottleReasons());
  reading.ecc_corrected = gpu.Get<unsigned long long>(nvml::kEccErrors, nvml::kEccCorrected, nvml::kEccVolatile);
  reading.ecc_uncorrected = gpu.Get<unsigned long long>(nvml::kEccErrors, nvml::kEccUncorrected, nvml::kEccVolatile);
}

}  // namespace

class GpuMonitor::Impl {
 public:
  explicit Impl(std::string library) : library_(std::move(library)) {}

  HostReading Read() {
    HostReading host;
    const unsigned count = Open(host).value_or(0);
    std::map<std::string, std::string> without_gpm;  // reason -> the GPUs, "0, 1"
    for (unsigned index = 0; index < count; ++index) {
      std::string why_not;
      host.gpus.push_back(ReadGpu(index, why_not));
      host.gpm = host.gpm || why_not.empty();
      if (why_not.empty()) continue;
      std::string& gpus = without_gpm[why_not];
      gpus += (gpus.empty() ? "" : ", ") + std::to_string(index);
    }
    for (const auto& [why_not, gpus] : without_gpm) {
      host.gpm_error += (host.gpm_error.empty() ? "GPU " : "; GPU ") + gpus + ": " + why_not;
    }
    if (count == 0) host.gpm_error = host.nvml ? "NVML lists no GPU" : "NVML is not available";
    // GPUs seen before stay listed.
    for (auto index = static_cast<int>(count); index < static_cast<int>(gpus_.size()); ++index) {
      GpuReading gone;
      gone.index = index;
      gpus_[static_cast<std::size_t>(index)].watch.reset();
      gone.error = host.nvml ? "NVML does not list it any more" : host.nvml_error;
      host.gpus.push_back(Identified(std::move(gone)));
    }
    return host;
  }

 private:
  struct Watch {
    explicit Watch(const Nvml& nvml) : xids(nvml), gpm(nvml) {}
    XidListener xids;
    GpmSampler gpm;
  };

  // What is known about a GPU whether or not it answers.
  struct Gpu {
    std::string uuid;
    std::string name;
    std::string compute_capability;
    std::map<std::uint64_t, std::uint64_t> xid_errors;
    std::unique_ptr<Watch> watch;  // only while NVML is open and the GPU answers
  };

  // How many GPUs NVML lists; absent, with the reason in `host`, if it does not say.
  std::optional<unsigned> Open(HostReading& host) {
    if (nvml_ == nullptr) nvml_ = std::make_unique<Nvml>(library_);
    unsigned count = 0;
    host.nvml_error = nvml_->why_not();
    if (nvml_->available()) {
      const nvml::Result result = nvml_->Call(nvml::kDeviceCount, &count);
      host.nvml = result == nvml::kSuccess;
      if (!host.nvml) host.nvml_error = nvml_->Explain(nvml::kDeviceCount.name, result);
    }
    if (!host.nvml) {  // another driver may be present next time
      for (Gpu& gpu : gpus_) gpu.watch.reset();
      nvml_.reset();
      return std::nullopt;
    }
    host.driver_version = nvml_->DriverVersion().value_or("");
    if (gpus_.size() < count) gpus_.resize(count);
    return count;
  }

  GpuReading Identified(GpuReading reading) const {
    const Gpu& gpu = gpus_[static_cast<std::size_t>(reading.index)];
    reading.uuid = gpu.uuid;
    reading.name = gpu.name;
    reading.compute_capability = gpu.compute_capability;
    reading.xid_errors = gpu.xid_errors;
    return reading;
  }

  GpuReading ReadGpu(unsigned index, std::string& why_no_gpm) {
    GpuReading reading;
    reading.index = static_cast<int>(index);
    Gpu& known = gpus_[index];
    // First: the last events of a lost GPU report the loss.
    if (known.watch != nullptr) known.watch->xids.Drain(known.xid_errors);
    nvml::Device device = nullptr;
    const nvml::Result result = nvml_->Call(nvml::kHandleByIndex, index, &device);
    if (result != nvml::kSuccess) {
      known.watch.reset();
      reading.error = nvml_->Explain(nvml::kHandleByIndex.name, result);
      why_no_gpm = "it does not answer";
      return Identified(std::move(reading));
    }
    NvmlGpu gpu(*nvml_, device);
    Identify(gpu, known);
    if (known.watch == nullptr) known.watch = std::make_unique<Watch>(*nvml_);
    known.watch->xids.Listen(gpu);
    ReadValues(gpu, reading);
    why_no_gpm = known.watch->gpm.Read(gpu, reading);
    reading.up = gpu.trouble() == nvml::kSuccess;
    if (!reading.up) {
      known.watch.reset();
      reading.error = nvml_->Explain("it does not answer", gpu.trouble());
      why_no_gpm = "it does not answer";
    }
    return Identified(std::move(reading));
  }

  static void Identify(NvmlGpu& gpu, Gpu& known) {
    const std::optional<std::string> uuid = gpu.GetText(nvml::kUuid);
    if (uuid && !known.uuid.empty() && *uuid != known.uuid) known = Gpu{};  // a different GPU under this number
    if (uuid) known.uuid = *uuid;
    if (known.name.empty()) known.name = gpu.GetText(nvml::kName).value_or("");
    if (!known.compute_capability.empty()) return;
    int major = 0;
    int minor = 0;
    if (gpu.Note(gpu.nvml().Call(nvml::kComputeCapability, gpu.device(), &major, &minor)) == nvml::kSuccess) {
      known.compute_capability = std::to_string(major) + "." + std::to_string(minor);
    }
  }

  std::string library_;
  std::unique_ptr<Nvml> nvml_;
  std::vector<Gpu> gpus_;  // by index; declared after nvml_, because its watches must go first
};

GpuMonitor::GpuMonitor(std::string library) : impl_(std::make_unique<Impl>(std::move(library))) {}
GpuMonitor::~GpuMonitor() = default;
HostReading GpuMonitor::Read() { return impl_->Read(); }

}  // namespace fa_profile::collect

#pragma once

#include <cuda.h>
#include <cupti_profiler_host.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fa_profile::collect {

/// Owns a CUPTI profiler host object: one chip's tables of metrics, one configuration under construction. Needs no GPU.
/// Move-only; one thread at a time.
///
/// Once AddMetrics() was refused the object is poisoned: CUPTI refuses every later AddMetrics() on it. Take a new one.
class HostObject {
 public:
  /// `availability`: the device's counter availability image, or empty. For the range profiler CUPTI reads it only
  /// during this call; for PM sampling for as long as the object lives: it crashes if it evaluates without it (CUPTI
  /// 13.0). `type`: an image is evaluated by an object of the profiler that filled it. Throws Error when CUPTI does not
  /// know the chip.
  explicit HostObject(const std::string& chip, std::span<const std::uint8_t> availability = {},
                      CUpti_ProfilerType type = CUPTI_PROFILER_TYPE_RANGE_PROFILER);

  /// Names without rollup or submetric. Valid as long as the object.
  std::vector<const char*> BaseMetrics(CUpti_MetricType type) const;
  /// What may follow a base name, with the leading dot: ".sum.per_second", ".ratio".
  std::vector<std::string> SubMetrics(CUpti_MetricType type, const std::string& base) const;

  /// False: CUPTI cannot configure these metrics together, and the object is poisoned. Metrics added by separate calls
  /// get separate passes, so add all of them at once.
  [[nodiscard]] bool AddMetrics(std::span<const std::string> metrics);
  std::vector<std::uint8_t> ConfigImage() const;

  /// Values of `metrics` for a range or a sample of a counter data image, which must contain it; what CUPTI does not
  /// write is absent.
  std::map<std::string, double> Evaluate(std::span<const std::uint8_t> image, std::size_t index,
                                         std::span<const std::string> metrics) const;

  CUpti_Profiler_Host_Object* get() const { return object_.get(); }

 private:
  struct Deinitialize {
    void operator()(CUpti_Profiler_Host_Object* object) const noexcept;
  };
  std::unique_ptr<CUpti_Profiler_Host_Object, Deinitialize> object_;
};

/// How often a range runs to collect what `config_image` configures.
int NumPasses(std::span<const std::uint8_t> config_image);

/// The names in the form that CUPTI takes; valid as long as `names`.
std::vector<const char*> Pointers(std::span<const std::string> names);

}  // namespace fa_profile::collect

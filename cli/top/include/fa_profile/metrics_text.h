#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace fa_profile::top {

/// One line of a page of metrics: faprof_kernel_launches_total{gpu="0",kernel="mma",shape="le_512"} 100
struct MetricSample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0.0;  ///< may be infinite, or not a number

  /// The value of a label; empty without it.
  const std::string& Label(const std::string& label) const;
};

/// Reads a page in Prometheus's text format 0.0.4 and hands each sample to `take`, in order. Comments, HELP and TYPE
/// are passed over, as OpenMetrics' "# EOF" is. Throws Error that names the line: not a sample, a label twice, not
/// UTF-8.
void ReadMetricsText(std::string_view text, const std::function<void(const MetricSample&)>& take);

}  // namespace fa_profile::top

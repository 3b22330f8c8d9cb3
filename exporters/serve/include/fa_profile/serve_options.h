#pragma once

#include <cstdint>
#include <string>

namespace fa_profile::serve {

struct ServeOptions {
  std::string spool;  ///< folder; empty: none
  std::string state;  ///< folder; empty: DefaultStateFolder()
  std::string listen = "127.0.0.1:9407";
  std::string web_config;
  double interval_seconds = 15;
  double recording_interval_seconds = 3600;
  std::string baseline;  ///< recording; empty: none
  bool nvml = true;
  std::string nvml_library = "libnvidia-ml.so.1";
  int simulated_hosts = 0;
  double simulate_interval_seconds = 10;
  std::uint64_t max_recording_bytes = std::uint64_t{1} << 30U;
  int keep = 100;
  std::uint64_t keep_bytes = std::uint64_t{4} << 30U;

  /// A kernel without a recording for this long loses its gauges, and may be hidden.
  double gauges_for_seconds() const { return 3 * recording_interval_seconds; }
};

}  // namespace fa_profile::serve

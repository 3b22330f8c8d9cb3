#pragma once

#include <optional>
#include <string>

#include "fa_profile/page.h"
#include "fa_profile/totals.h"

namespace fa_profile::prom {

inline constexpr int kSimulatedGpusPerHost = 8;
/// The planted outlier: every call on this GPU of this host takes longer by this factor.
inline constexpr int kOutlierHost = 1;
inline constexpr int kOutlierGpu = 5;
inline constexpr double kOutlierSlowdown = 1.25;
/// The planted change: on this GPU one phase of a kernel takes longer by this factor from the 13th recording on.
inline constexpr int kChangedHost = 0;
inline constexpr int kChangedGpu = 2;
inline constexpr const char* kChangedKernel = "mma";
inline constexpr const char* kChangedPhase = "softmax";
inline constexpr double kChangedSlowdown = 1.45;
inline constexpr double kRecordingsBeforeChange = 12;

/// Simulated hosts: every GPU keeps repeating one recording, with its own noise. A page is a pure function of the time,
/// so that a restart changes nothing and no host needs memory.
class SimulatedFleet {
 public:
  /// `measured`: Contribution() of a real recording (its first GPU is used). `reading`: what such a device reports,
  /// from the recording's clocks. `interval_seconds`: between two simulated recordings of a GPU.
  SimulatedFleet(int hosts, Totals measured, HostReading reading, std::string recording, double interval_seconds,
                 double started);

  /// "sim-host-007".
  static std::string HostName(int host);
  /// The host with this name, if there is one.
  std::optional<int> FindHost(const std::string& name) const;

  /// A host's page at `now`, Unix time. Throws std::out_of_range for an unknown host.
  Families At(int host, double now, const Baseline* baseline) const;

  /// Prometheus's HTTP service discovery: one target group per host; `address` is host:port of this exporter.
  std::string Targets(const std::string& address) const;

 private:
  int hosts_;
  Totals measured_;
  HostReading reading_;
  std::string recording_;
  double interval_seconds_;
  double started_;
};

}  // namespace fa_profile::prom

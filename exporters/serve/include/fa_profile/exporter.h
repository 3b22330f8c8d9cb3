#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "fa_profile/background_gpu_reader.h"
#include "fa_profile/exporter_state.h"
#include "fa_profile/gpu_reading.h"
#include "fa_profile/page.h"
#include "fa_profile/simulated_fleet.h"
#include "fa_profile/spool.h"
#include "fa_profile/web_server.h"

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
};

/// The baseline that a recording file is. Throws Error.
prom::Baseline LoadBaseline(const std::string& path);

/// What `serve` does between requests: counts the spool's recordings, reads the GPUs, and makes the page that the next
/// scrapes get. Collect() is called from one thread; Answer() from any.
class Exporter {
 public:
  /// Reads the baseline and the state. `read_gpus`: reads this host's GPUs, called in a separate thread; empty with
  /// options.nvml off. `bundled_recording`: path of the recording that simulated hosts repeat. Throws Error when an
  /// option cannot be honoured.
  Exporter(const ServeOptions& options, std::function<HostReading()> read_gpus,
           const std::function<std::string()>& bundled_recording);

  /// One collection. Problems of the host, the spool or a recording are counted and logged, not thrown.
  void Collect();

  /// `cancelled`: asked between two recordings.
  void set_cancelled(std::function<bool()> cancelled) { cancelled_ = std::move(cancelled); }

  web::WebReply Answer(const web::WebRequest& request) const;

  /// Requests answered and connections open, for the next page.
  void set_web_counts(std::function<web::WebCounts()> counts) { web_counts_ = std::move(counts); }
  /// Where Prometheus finds simulated hosts: "127.0.0.1:9407".
  void set_address(std::string address) { address_ = std::move(address); }

 private:
  using Clock = std::chrono::steady_clock;  // one that is not set: ages and waits survive a jump of the time of day

  /// Files that may leave the spool once the state is saved, by name.
  struct Target {
    std::string subfolder;  ///< "done" or "bad"
    std::string identity;   ///< of the file that was looked at
    std::string log;        ///< what became of it: not true before the state is saved
  };
  using Leaving = std::map<std::string, Target>;
  void CountSpool();
  void ShowHeld();
  void CountFiles();
  void CountRecording(const std::string& name, ExporterState& next, Leaving& leaving);
  void CountFailure(const std::string& name, ExporterState& next, Leaving& leaving);
  void Leave(const Leaving& leaving);
  void Move(const Leaving& leaving);
  void SaveState(ExporterState next);
  void ReadGpus();
  void Say(const std::string& collector, bool up, const std::string& why);
  void Publish(Clock::time_point started);
  web::WebReply Ready() const;
  web::WebReply Simulated(const web::WebRequest& request) const;

  ServeOptions options_;
  std::optional<StateFolder> state_folder_;
  ExporterState state_;
  std::optional<Spool> spool_;
  std::optional<BackgroundGpuReader> gpus_;
  HostReading host_;
  std::string gpm_error_;  ///< as last logged
  std::optional<prom::Baseline> baseline_;
  std::optional<prom::SimulatedFleet> fleet_;
  prom::CollectorState collector_;
  Leaving stuck_;                              ///< looked at, and could not be moved out of the spool
  std::set<std::string> waiting_;              ///< files that could not be read at the newest collection
  std::string not_now_;                        ///< why a file of this collection could not be read or moved
  std::size_t dropped_ = 0;                    ///< series left out of the newest page
  Clock::time_point aged_;                     ///< until when the kernels' idle time is counted
  std::optional<Clock::time_point> recorded_;  ///< when a recording was counted
  std::function<web::WebCounts()> web_counts_;
  std::function<bool()> cancelled_;
  std::string address_;

  mutable std::mutex mutex_;
  std::shared_ptr<const prom::Page> page_;           ///< under mutex_
  Clock::time_point last_collection_;                ///< under mutex_
  std::optional<Clock::time_point> last_recording_;  ///< under mutex_
  std::string cannot_count_;                         ///< why nothing can be counted; under mutex_
};

}  // namespace fa_profile::serve

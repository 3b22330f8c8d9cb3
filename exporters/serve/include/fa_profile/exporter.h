#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/page.h"
#include "fa_profile/serve_options.h"
#include "fa_profile/simulated_fleet.h"
#include "fa_profile/source.h"
#include "fa_profile/web_server.h"

namespace fa_profile::serve {

/// The baseline from a recording file. Throws Error.
prom::Baseline LoadBaseline(const std::string& path);

/// The work of `serve` between requests: collects from its sources, and makes the page for the next scrapes. Collect()
/// is called from one thread; Answer() from any.
class Exporter {
 public:
  /// Reads the baseline. `sources`: collected in this order. `sums`: where they add. `bundled_recording`: path of the
  /// recording that simulated hosts repeat. Throws Error when an option cannot be honoured.
  Exporter(const ServeOptions& options, std::vector<Source> sources, Ledger sums,
           const std::function<std::string()>& bundled_recording);

  /// One collection. A source that fails is reported on the page and in the log, and affects nothing else.
  void Collect();

  /// `cancelled`: called by sources between two steps.
  void set_cancelled(std::function<bool()> cancelled) { collection_.cancelled = std::move(cancelled); }

  web::WebReply Answer(const web::WebRequest& request) const;

  /// Requests answered and connections open, for the next page.
  void set_web_counts(std::function<web::WebCounts()> counts) { web_counts_ = std::move(counts); }
  /// Where Prometheus finds simulated hosts: "127.0.0.1:9407".
  void set_address(std::string address) { address_ = std::move(address); }

 private:
  using Clock = std::chrono::steady_clock;  // never set by users: ages and waits survive a jump of the time of day

  void AgeSums();
  void CollectFrom(const Source& source);
  void Publish(Clock::time_point started);
  web::WebReply Ready() const;
  web::WebReply Simulated(const web::WebRequest& request) const;

  ServeOptions options_;
  std::vector<Source> sources_;
  Collection collection_;
  std::optional<prom::Baseline> baseline_;
  std::optional<prom::SimulatedFleet> fleet_;
  std::size_t dropped_ = 0;  ///< series left out of the newest page
  std::function<web::WebCounts()> web_counts_;
  std::string address_;

  mutable std::mutex mutex_;
  std::shared_ptr<const prom::Page> page_;  ///< under mutex_
  Clock::time_point last_collection_;       ///< under mutex_
  std::string failing_;                     ///< what fails, and why; under mutex_
};

}  // namespace fa_profile::serve

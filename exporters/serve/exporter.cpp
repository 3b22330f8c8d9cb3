#include "fa_profile/exporter.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <filesystem>
#include <utility>

#include "about_file.h"
#include "fa_profile/contribution.h"
#include "fa_profile/error.h"
#include "fa_profile/load_profile.h"
#include "fa_profile/text.h"
#include "fa_profile/utc_time.h"

namespace fa_profile::serve {
namespace {

// Intervals without a collection after which the exporter is not ready.
constexpr double kMissed = 3;
// Number of collections in which the page shows a new or formerly hidden series with its old value: each must be
// scraped once.
constexpr double kHeldCollections = 4;

double Seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

web::WebReply Rendered(const prom::Page& page, const web::WebRequest& request) {
  prom::Page::Body body = page.Render(request.accept, request.accept_encoding);
  return {200, std::move(body.content_type), std::move(body.content_encoding), std::move(body.bytes)};
}

HostReading ReadingOf(const Recording& recording) {
  HostReading host;
  host.driver_version = recording.device.driver_version;
  GpuReading& gpu = host.gpus.emplace_back();
  gpu.name = recording.device.name;
  gpu.compute_capability =
      fmt::format("{}.{}", recording.device.compute_capability_major, recording.device.compute_capability_minor);
  gpu.sm_clock_max_hz = static_cast<double>(recording.device.sm_clock_max_hz);
  gpu.memory_total_bytes = static_cast<double>(recording.device.memory_bytes);
  if (!recording.clocks.empty()) {
    const ClockSample& clocks = recording.clocks.back();
    if (clocks.sm_hz) gpu.sm_clock_hz = static_cast<double>(*clocks.sm_hz);
    if (clocks.memory_hz) gpu.memory_clock_hz = static_cast<double>(*clocks.memory_hz);
    gpu.power_watts = clocks.power_watts;
    gpu.temperature_celsius = clocks.temperature_celsius;
  }
  return host;
}

}  // namespace

prom::Baseline LoadBaseline(const std::string& path) {
  const auto [recording, profile] = load::LoadProfile(path);
  return AboutFile(path, [&recording = recording, &profile = profile] { return prom::BaselineOf(recording, profile); });
}

Exporter::Exporter(const ServeOptions& options, std::vector<Source> sources, Ledger sums,
                   const std::function<std::string()>& bundled_recording)
    : options_(options), sources_(std::move(sources)), collection_(std::move(sums)) {
  collection_.own.started = UnixNow();
  collection_.own.refused_states = collection_.sums.refused_states();
  if (!options_.baseline.empty()) baseline_ = LoadBaseline(options_.baseline);
  if (options_.simulated_hosts > 0) {
    const std::string path = bundled_recording();
    const auto [recording, profile] = load::LoadProfile(path);
    if (!baseline_) baseline_ = prom::BaselineOf(recording, profile);
    fleet_.emplace(options_.simulated_hosts, prom::Contribution(recording, profile), ReadingOf(recording),
                   std::filesystem::path(path).filename().string(), options_.simulate_interval_seconds, UnixNow());
    spdlog::warn("SIMULATED: {} hosts of {} GPUs that repeat {}; their series have simulated=\"true\"",
                 options_.simulated_hosts, prom::kSimulatedGpusPerHost, path);
  }
}

void Exporter::AgeSums() {
  try {
    collection_.sums.Age((kHeldCollections - 0.5) * options_.interval_seconds);
    if (collection_.sums.has_folder()) collection_.Works("state");
  } catch (const StateError& error) {
    collection_.Fails("state", InOneLine(error));
  }
}

void Exporter::CollectFrom(const Source& source) {
  try {
    const std::string lacking = source.collect(collection_);
    if (lacking.empty()) {
      collection_.Works(source.name);
    } else {
      collection_.Lacks(source.name, lacking);
    }
  } catch (const StateError& error) {
    collection_.Fails("state", InOneLine(error));
  } catch (const Error& error) {
    collection_.Fails(source.name, InOneLine(error));
  } catch (const std::exception& error) {
    collection_.Fails(source.name, error.what());
  }
}

void Exporter::Collect() {
  const Clock::time_point started = Clock::now();
  AgeSums();
  for (const Source& source : sources_) CollectFrom(source);
  Publish(started);
}

void Exporter::Publish(Clock::time_point started) {
  const ExporterState& state = collection_.sums.state();
  prom::CollectorState& own = collection_.own;
  own.last_recording = state.last_recording;
  own.recordings = {
      {"counted", state.recordings_counted}, {"duplicate", state.recordings_duplicate}, {"bad", state.recordings_bad}};
  own.perfmon_conflicts = state.perfmon_conflicts;
  own.failed_runs = state.failed_runs;
  if (web_counts_) {
    const web::WebCounts counts = web_counts_();
    own.http_requests = counts.by_status;
    own.http_connections = counts.connections;
  }
  own.last_collection = UnixNow();
  own.collection_seconds = Seconds(Clock::now() - started);
  prom::PageInput input;
  input.totals = &state.totals;
  input.held = &state.held;
  input.gauges_for = options_.gauges_for_seconds();
  input.host = collection_.host.nvml ? &collection_.host : nullptr;
  input.baseline = baseline_ ? &*baseline_ : nullptr;
  input.collector = &own;
  prom::Families families = prom::MakeFamilies(input);
  while (families.dropped > 0 && collection_.sums.HideOldest(input.gauges_for)) {
    families = prom::MakeFamilies(input);
  }
  const auto page = std::make_shared<const prom::Page>(families);
  own.series_dropped += static_cast<double>(page->dropped());
  if (page->dropped() != dropped_) {
    dropped_ = page->dropped();
    spdlog::warn("{} series are over the page's limit and left out, stall cycles first", dropped_);
  }
  const std::lock_guard lock(mutex_);
  page_ = page;
  last_collection_ = Clock::now();
  failing_ = collection_.WhatFails();
}

web::WebReply Exporter::Ready() const {
  const std::lock_guard lock(mutex_);
  if (!page_) return web::TextReply(503, "not ready: nothing was collected yet\n");
  const double age = Seconds(Clock::now() - last_collection_);
  if (age > kMissed * options_.interval_seconds) {
    return web::TextReply(503, fmt::format("not ready: the newest collection is {:.0f} s old\n", age));
  }
  if (!failing_.empty()) return web::TextReply(503, "not ready: " + Printable(failing_) + "\n");
  return web::TextReply(200, "ready\n");
}

web::WebReply Exporter::Simulated(const web::WebRequest& request) const {
  constexpr std::string_view kPrefix = "/simulated/";
  constexpr std::string_view kSuffix = "/metrics";
  if (request.path == "/simulated/targets") return web::TextReply(200, fleet_->Targets(address_), "application/json");
  std::string_view name = std::string_view(request.path).substr(kPrefix.size());
  if (!name.ends_with(kSuffix)) return web::TextReply(404, "page not found\n");
  name.remove_suffix(kSuffix.size());
  const std::optional<int> host = fleet_->FindHost(std::string(name));
  if (!host) return web::TextReply(404, "simulated host not found\n");
  return Rendered(prom::Page(fleet_->At(*host, UnixNow(), baseline_ ? &*baseline_ : nullptr)), request);
}

web::WebReply Exporter::Answer(const web::WebRequest& request) const {
  if (request.path == "/metrics") {
    std::shared_ptr<const prom::Page> page;
    {
      const std::lock_guard lock(mutex_);
      page = page_;
    }
    return page ? Rendered(*page, request) : web::TextReply(503, "nothing was collected yet\n");
  }
  if (request.path == "/healthz") return web::TextReply(200, "alive\n");
  if (request.path == "/readyz") return Ready();
  if (fleet_ && request.path.starts_with("/simulated/")) return Simulated(request);
  if (request.path == "/") {
    return web::TextReply(200, fleet_ ? "fa-profile serve: /metrics, /healthz, /readyz, /simulated/targets\n"
                                      : "fa-profile serve: /metrics, /healthz, /readyz\n");
  }
  return web::TextReply(404, "page not found; the pages are /metrics, /healthz and /readyz\n");
}

}  // namespace fa_profile::serve

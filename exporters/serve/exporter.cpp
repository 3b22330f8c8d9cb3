#include "fa_profile/exporter.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "about_file.h"
#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/load_profile.h"
#include "fa_profile/text.h"

namespace fa_profile::serve {
namespace {

using Json = nlohmann::json;

// Intervals without a collection or a recording after which the exporter is not ready.
constexpr double kMissed = 3;
// Collections in which the page shows a series that is new or was hidden with its old value: each must be scraped once.
constexpr double kHeldCollections = 4;
// How long counting may take: a share of the interval, because a full spool must not delay the page, and at most this.
constexpr double kCountingShare = 0.5;
constexpr double kMostCountingSeconds = 60;
// Works also after an upgrade has replaced the file.
constexpr const char* kThisProgram = "/proc/self/exe";
constexpr std::size_t kMostFailureBytes = std::size_t{64} << 10U;

double Now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// For the log: the hint after what is wrong.
std::string InOneLine(const Error& error) {
  return error.hint().empty() ? error.Headline() : error.Headline() + "; " + error.hint();
}

double Seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

web::WebReply Rendered(const prom::Page& page, const web::WebRequest& request) {
  prom::Page::Body body = page.Render(request.accept, request.accept_encoding);
  return {200, std::move(body.content_type), std::move(body.content_encoding), std::move(body.bytes)};
}

// What a recording adds, read by a separate process. Throws Error with the reason when it cannot be read.
Json Contributed(const Descriptor& file) {
  // Without a process for each: many files of another kind must not hold back a recording.
  constexpr std::string_view kDatabase("SQLite format 3\0", 16);
  std::array<char, kDatabase.size()> start{};
  const ssize_t bytes = pread(file.get(), start.data(), start.size(), 0);
  if (bytes >= 0 && std::string_view(start.data(), static_cast<std::size_t>(bytes)) != kDatabase) {
    throw Error("it is not a recording");
  }
  ChildOutput output;
  try {
    output = CaptureChild(kThisProgram, {"fa-profile", "contribute"}, file.get());
  } catch (const Error& error) {
    throw NotNow(error.message());  // no process or no memory: the recording may be fine
  }
  if (WIFSIGNALED(output.status)) {
    if (WTERMSIG(output.status) == SIGKILL) throw NotNow("the process that read it was killed: check the memory");
    throw Error(fmt::format("the process that read it ended with signal {} ({})", WTERMSIG(output.status),
                            strsignal(WTERMSIG(output.status))));
  }
  try {
    Json answer = Json::parse(output.text);
    if (answer.contains("error")) throw Error(answer.at("error").get<std::string>());
    return answer;
  } catch (const Json::exception&) {
    throw Error("the process that read it did not answer");
  }
}

// A process may see other device numbers than the host; NVML's are the host's.
prom::Totals ByHostIndex(const prom::Totals& totals, const HostReading& host) {
  prom::Totals result;
  result.folded = totals.folded;
  result.merged = totals.merged;
  for (const auto& [index, gpu] : totals.gpus) {
    const auto same = std::ranges::find(host.gpus, gpu.uuid, &GpuReading::uuid);
    result.gpus[same == host.gpus.end() || gpu.uuid.empty() ? index : same->index] = gpu;
  }
  return result;
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

Exporter::Exporter(const ServeOptions& options, std::function<HostReading()> read_gpus,
                   const std::function<std::string()>& bundled_recording)
    : options_(options) {
  collector_.started = Now();
  if (!options_.baseline.empty()) baseline_ = LoadBaseline(options_.baseline);
  if (!options_.spool.empty()) {
    // A spool that vanishes later is waited for: it may be on another machine's disk.
    if (!std::filesystem::is_directory(options_.spool)) {
      throw Error("the spool " + options_.spool + " is not a folder",
                  "create it; serve moves what it counted to its done/");
    }
    state_folder_.emplace(options_.state.empty() ? DefaultStateFolder() : options_.state);
    state_ = state_folder_->Load();
    collector_.refused_states = state_folder_->CountRefused();
    collector_.up["state"] = true;
    aged_ = Clock::now();
    if (state_.last_recording) {
      const std::chrono::duration<double> age(std::max(0.0, Now() - *state_.last_recording));
      recorded_ = aged_ - std::chrono::duration_cast<Clock::duration>(age);
    }
    spool_.emplace(options_.spool, SpoolLimits{options_.max_recording_bytes, options_.keep, options_.keep_bytes});
  }
  if (options_.nvml) gpus_.emplace(std::move(read_gpus), options_.interval_seconds);
  if (options_.simulated_hosts > 0) {
    const std::string path = bundled_recording();
    const auto [recording, profile] = load::LoadProfile(path);
    if (!baseline_) baseline_ = prom::BaselineOf(recording, profile);
    fleet_.emplace(options_.simulated_hosts, prom::Contribution(recording, profile), ReadingOf(recording),
                   std::filesystem::path(path).filename().string(), options_.simulate_interval_seconds, Now());
    spdlog::warn("SIMULATED: {} hosts of {} GPUs that repeat {}; their series have simulated=\"true\"",
                 options_.simulated_hosts, prom::kSimulatedGpusPerHost, path);
  }
}

// Logs a change, not every collection.
void Exporter::Say(const std::string& collector, bool up, const std::string& why) {
  const auto before = collector_.up.find(collector);
  const bool changed = before == collector_.up.end() ? !up : before->second != up;
  collector_.up[collector] = up;
  if (!changed) return;
  if (up) {
    spdlog::info("{}: works again", collector);
  } else {
    spdlog::error("{}: {}", collector, why);
  }
}

void Exporter::CountRecording(const std::string& name, ExporterState& next, Leaving& leaving) {
  const std::string identity = spool_->Identity(name);
  try {
    const Json answer = Contributed(spool_->Open(name));
    const auto hash = answer.at("sha256").get<std::string>();
    if (std::ranges::find(next.counted, hash) != next.counted.end()) {
      next.recordings_duplicate += 1;
      leaving[name] = {"done", identity, name + " was counted before"};
    } else {
      prom::Merge(next.totals, ByHostIndex(prom::TotalsFromJson(answer.at("totals").dump()), host_),
                  {&next.held, kMissed * options_.recording_interval_seconds});
      next.counted.push_back(hash);
      if (next.counted.size() > kMostRemembered) next.counted.pop_front();
      next.recordings_counted += 1;
      next.last_recording = Now();
      leaving[name] = {"done", identity, name + " is counted"};
    }
  } catch (const NotNow& error) {
    not_now_ = name + ": " + error.message();
    waiting_.insert(name);
  } catch (const Error& error) {
    next.recordings_bad += 1;
    leaving[name] = {"bad", identity, name + " is moved to bad/: " + error.message()};
  }
}

void Exporter::CountFailure(const std::string& name, ExporterState& next, Leaving& leaving) {
  const std::string identity = spool_->Identity(name);
  try {
    const Json note = Json::parse(ReadOpenFile(spool_->Open(name).get(), name, kMostFailureBytes));
    const auto kind = note.at("kind").get<std::string>();
    const auto why = note.at("error").get<std::string>();
    next.failed_runs += 1;
    if (kind == "perfmon_conflict") next.perfmon_conflicts += 1;
    leaving[name] = {"done", identity, fmt::format("a run failed: {} ({})", why, name)};
  } catch (const NotNow&) {
  } catch (const std::exception& error) {
    leaving[name] = {"bad", identity,
                     fmt::format("{} is moved to bad/: it is not a failure note ({})", name, error.what())};
  }
}

// What became of the files is true once the state is saved: it is logged then, and they leave.
void Exporter::Leave(const Leaving& leaving) {
  for (const auto& [name, target] : leaving) {
    const bool counted = target.subfolder == "done" && name.ends_with(".fap");
    spdlog::log(counted ? spdlog::level::info : spdlog::level::warn, "{}", target.log);
  }
  Move(leaving);
}

void Exporter::SaveState(ExporterState next) {
  state_folder_->Save(next);
  if (next.recordings_counted > state_.recordings_counted) recorded_ = Clock::now();
  state_ = std::move(next);
}

// Another file that has the name by now stays: it was not counted.
void Exporter::Move(const Leaving& leaving) {
  for (const auto& [name, target] : leaving) {
    try {
      if (spool_->Identity(name) == target.identity) spool_->MoveTo(target.subfolder, name);
      stuck_.erase(name);
    } catch (const Error& error) {
      stuck_[name] = target;
      not_now_ = error.message();
    }
  }
  if (!leaving.empty()) spool_->Prune();
}

// The state is saved first: after a crash a counter must not fall back to its old value.
void Exporter::ShowHeld() {
  const Clock::time_point now = Clock::now();
  const double passed = Seconds(now - std::exchange(aged_, now));
  prom::AgeKernels(state_.totals, passed);
  prom::AgeKernels(state_.held, passed);
  prom::Totals held = state_.held;
  prom::AgeKernels(held, 0, (kHeldCollections - 0.5) * options_.interval_seconds);
  // What cannot be saved is not read again and again.
  if (held == state_.held && collector_.up.at("state")) return;
  ExporterState next = state_;
  next.held = std::move(held);
  SaveState(std::move(next));
}

// The state is saved before a file leaves the spool, and a file that is still there after a crash is known by its hash:
// nothing is counted twice, and nothing is lost.
void Exporter::CountFiles() {
  not_now_.clear();
  Spool::Listing listing = spool_->List();
  Move(Leaving(stuck_));
  collector_.spool_files = static_cast<double>(listing.recordings.size());
  // Files that could not be read at the last collection come last, so that they do not block the others.
  std::ranges::stable_partition(listing.recordings, [this](const auto& name) { return !waiting_.contains(name); });
  waiting_.clear();
  const Clock::time_point began = Clock::now();
  const double most_seconds = std::min(kCountingShare * options_.interval_seconds, kMostCountingSeconds);
  const auto is_over = [&](double share) {
    return Seconds(Clock::now() - began) > share * most_seconds || (cancelled_ && cancelled_());
  };
  ExporterState next = state_;
  Leaving leaving;
  for (const std::string& name : listing.failures) {
    if (is_over(0.5)) break;
    if (!stuck_.contains(name)) CountFailure(name, next, leaving);
  }
  for (const std::string& name : listing.recordings) {
    if (is_over(1)) break;
    if (!stuck_.contains(name)) CountRecording(name, next, leaving);
  }
  if (!leaving.empty()) {
    spool_->RequireOwned();
    SaveState(std::move(next));
  }
  Leave(leaving);
  const auto waits = [this](const std::string& name) { return !spool_->Identity(name).empty(); };
  collector_.spool_files = static_cast<double>(std::ranges::count_if(listing.recordings, waits));
}

void Exporter::CountSpool() {
  std::string cannot_count;
  try {
    ShowHeld();
    Say("state", true, "");
    CountFiles();
    Say("spool", not_now_.empty(), not_now_);
    if (!stuck_.empty()) cannot_count = not_now_;
  } catch (const StateError& error) {
    Say("state", false, InOneLine(error));
    cannot_count = error.message();
  } catch (const Error& error) {
    Say("spool", false, InOneLine(error));
    cannot_count = error.message();
  }
  const std::lock_guard lock(mutex_);
  cannot_count_ = cannot_count;
}

void Exporter::ReadGpus() {
  host_ = gpus_->Latest();
  Say("nvml", host_.nvml, host_.nvml_error + "; on a host without NVIDIA GPUs use serve --no-nvml");
  // A GPU that never gave GPM may not have it: that is logged once, and the collector is not down.
  if (host_.gpm || collector_.up.contains("gpm")) {
    Say("gpm", host_.gpm, host_.gpm_error);
  } else if (host_.nvml && gpm_error_ != host_.gpm_error) {
    gpm_error_ = host_.gpm_error;
    spdlog::info("gpm: {}", gpm_error_);
  }
}

void Exporter::Collect() {
  const Clock::time_point started = Clock::now();
  if (gpus_) ReadGpus();
  if (spool_) CountSpool();
  Publish(started);
}

void Exporter::Publish(Clock::time_point started) {
  collector_.last_recording = state_.last_recording;
  collector_.recordings = {{"counted", state_.recordings_counted},
                           {"duplicate", state_.recordings_duplicate},
                           {"bad", state_.recordings_bad}};
  collector_.perfmon_conflicts = state_.perfmon_conflicts;
  collector_.failed_runs = state_.failed_runs;
  if (web_counts_) {
    const web::WebCounts counts = web_counts_();
    collector_.http_requests = counts.by_status;
    collector_.http_connections = counts.connections;
  }
  collector_.last_collection = Now();
  collector_.collection_seconds = Seconds(Clock::now() - started);
  prom::PageInput input;
  input.totals = &state_.totals;
  input.held = &state_.held;
  input.gauges_for = kMissed * options_.recording_interval_seconds;
  input.host = host_.nvml ? &host_ : nullptr;
  input.baseline = baseline_ ? &*baseline_ : nullptr;
  input.collector = &collector_;
  prom::Families families = prom::MakeFamilies(input);
  while (families.dropped > 0 && prom::HideOldest(state_.totals, {&state_.held, input.gauges_for})) {
    families = prom::MakeFamilies(input);
  }
  const auto page = std::make_shared<const prom::Page>(families);
  collector_.series_dropped += static_cast<double>(page->dropped());
  if (page->dropped() != dropped_) {
    dropped_ = page->dropped();
    spdlog::warn("{} series are over the page's limit and left out, stall cycles first", dropped_);
  }
  const std::lock_guard lock(mutex_);
  page_ = page;
  last_collection_ = Clock::now();
  last_recording_ = recorded_;
}

web::WebReply Exporter::Ready() const {
  const std::lock_guard lock(mutex_);
  if (!page_) return web::TextReply(503, "not ready: nothing was collected yet\n");
  const double since_collection = Seconds(Clock::now() - last_collection_);
  if (since_collection > kMissed * options_.interval_seconds) {
    return web::TextReply(503, fmt::format("not ready: the newest collection is {:.0f} s old\n", since_collection));
  }
  if (!cannot_count_.empty()) return web::TextReply(503, "not ready: " + Printable(cannot_count_) + "\n");
  const double since_recording = last_recording_ ? Seconds(Clock::now() - *last_recording_) : 0;
  if (since_recording > kMissed * options_.recording_interval_seconds) {
    return web::TextReply(503,
                          fmt::format("not ready: the newest recording was counted {:.0f} s ago\n", since_recording));
  }
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
  return Rendered(prom::Page(fleet_->At(*host, Now(), baseline_ ? &*baseline_ : nullptr)), request);
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

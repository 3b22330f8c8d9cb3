#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/sources.h"
#include "fa_profile/spool.h"
#include "fa_profile/totals_json.h"
#include "fa_profile/utc_time.h"

namespace fa_profile::serve {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

// Time limit for counting: a share of the interval, because a full spool must not delay the page, and at most this.
constexpr double kCountingShare = 0.5;
constexpr double kMostCountingSeconds = 60;
// Works also after an upgrade has replaced the file.
constexpr const char* kThisProgram = "/proc/self/exe";
constexpr std::size_t kMostFailureBytes = std::size_t{64} << 10U;
// After so many broken recordings in a row, the newest ones are read in turn with the oldest.
constexpr int kManyBroken = 8;

double SecondsSince(Clock::time_point when) { return std::chrono::duration<double>(Clock::now() - when).count(); }

// What a recording adds, read by a separate process. Throws Error with the reason when it cannot be read.
Json Contributed(const Descriptor& file) {
  // Starts no process for other files: many of them must not hold back a recording.
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
Totals ByHostIndex(const Totals& totals, const HostReading& host) {
  Totals result;
  result.folded = totals.folded;
  result.merged = totals.merged;
  for (const auto& [index, gpu] : totals.gpus) {
    const auto same = std::ranges::find(host.gpus, gpu.uuid, &GpuReading::uuid);
    result.gpus[same == host.gpus.end() || gpu.uuid.empty() ? index : same->index] = gpu;
  }
  return result;
}

/// Counts the recordings and failure notes of a spool.
class SpoolCounter {
 public:
  explicit SpoolCounter(const ServeOptions& options)
      : options_(options), spool_(options.spool, {options.max_recording_bytes, options.keep, options.keep_bytes}) {}

  std::string Collect(Collection& collection);

 private:
  /// Files that may leave the spool once the state is saved, by name.
  struct Target {
    std::string subfolder;  ///< "done" or "bad"
    std::string identity;   ///< identity of the file that was read
    std::string log;        ///< what happened to it: only true once the state is saved
  };
  using Leaving = std::map<std::string, Target>;
  void CountFiles(Spool::Listing& listing, Collection& collection);
  bool IsNewestNext() const { return broken_in_a_row_ >= kManyBroken && broken_in_a_row_ % 2 == 0; }
  void CountRecording(const std::string& name, const HostReading& host, ExporterState& next, Leaving& leaving);
  void CountFailure(const std::string& name, ExporterState& next, Leaving& leaving);
  void Leave(const Leaving& leaving);
  void Move(const Leaving& leaving);

  ServeOptions options_;
  Spool spool_;
  Leaving stuck_;                  ///< processed, but could not be moved out of the spool
  std::set<std::string> waiting_;  ///< files that could not be read at the latest collection
  int broken_in_a_row_ = 0;        ///< recordings read since the last good one, also in earlier collections
  std::string not_now_;            ///< why a file in this collection could not be read or moved
};

void SpoolCounter::CountRecording(const std::string& name, const HostReading& host, ExporterState& next,
                                  Leaving& leaving) {
  const std::string identity = spool_.Identity(name);
  try {
    broken_in_a_row_ += 1;  // unless it turns out to be good
    const Json answer = Contributed(spool_.Open(name));
    const auto hash = answer.at("sha256").get<std::string>();
    if (std::ranges::find(next.counted, hash) != next.counted.end()) {
      next.recordings_duplicate += 1;
      leaving[name] = {"done", identity, name + " was counted before"};
    } else {
      Merge(next.totals, ByHostIndex(prom::TotalsFromJson(answer.at("totals").dump()), host),
            {&next.held, options_.gauges_for_seconds()});
      next.counted.push_back(hash);
      if (next.counted.size() > kMostRemembered) next.counted.pop_front();
      next.recordings_counted += 1;
      next.last_recording = UnixNow();
      leaving[name] = {"done", identity, name + " is counted"};
    }
    broken_in_a_row_ = 0;
  } catch (const NotNow& error) {
    not_now_ = name + ": " + error.message();
    waiting_.insert(name);
  } catch (const Error& error) {
    next.recordings_bad += 1;
    leaving[name] = {"bad", identity, name + " is moved to bad/: " + error.message()};
  }
}

void SpoolCounter::CountFailure(const std::string& name, ExporterState& next, Leaving& leaving) {
  const std::string identity = spool_.Identity(name);
  try {
    const Json note = Json::parse(ReadOpenFile(spool_.Open(name).get(), name, kMostFailureBytes));
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

// What happened to the files is true once the state is saved: only then is it logged, and the files moved.
void SpoolCounter::Leave(const Leaving& leaving) {
  for (const auto& [name, target] : leaving) {
    const bool counted = target.subfolder == "done" && name.ends_with(".fap");
    spdlog::log(counted ? spdlog::level::info : spdlog::level::warn, "{}", target.log);
  }
  Move(leaving);
}

// Another file that now has the name stays: it was not counted.
void SpoolCounter::Move(const Leaving& leaving) {
  for (const auto& [name, target] : leaving) {
    try {
      if (spool_.Identity(name) == target.identity) spool_.MoveTo(target.subfolder, name);
      stuck_.erase(name);
    } catch (const Error& error) {
      stuck_[name] = target;
      not_now_ = error.message();
    }
  }
  if (!leaving.empty()) spool_.Prune();
}

// The state is saved before a file leaves the spool, and a file still there after a crash is recognised by its hash:
// nothing is counted twice, and nothing is lost.
void SpoolCounter::CountFiles(Spool::Listing& listing, Collection& collection) {
  // Files that could not be read at the last collection come last, so that they do not block the others.
  const auto later =
      std::ranges::stable_partition(listing.recordings, [this](const auto& name) { return !waiting_.contains(name); });
  std::deque<std::string> unread(listing.recordings.begin(), later.begin());
  waiting_.clear();
  const Clock::time_point began = Clock::now();
  const double most_seconds = std::min(kCountingShare * options_.interval_seconds, kMostCountingSeconds);
  const auto is_over = [&](double share) {
    return SecondsSince(began) > share * most_seconds || (collection.cancelled && collection.cancelled());
  };
  ExporterState next = collection.sums.state();
  Leaving leaving;
  for (const std::string& name : listing.failures) {
    if (is_over(0.5)) break;
    if (!stuck_.contains(name)) CountFailure(name, next, leaving);
  }
  const auto count = [&](const std::string& name) {
    if (!stuck_.contains(name)) CountRecording(name, collection.host, next, leaving);
  };
  // Oldest first: the page's gauges are from the recording read last. But thousands of broken files must not take the
  // time of the good ones behind them.
  while (!unread.empty() && !is_over(1)) {
    const bool newest = IsNewestNext();
    const std::string name = newest ? unread.back() : unread.front();
    newest ? unread.pop_back() : unread.pop_front();
    count(name);
  }
  for (const std::string& name : later) {
    if (is_over(1)) break;
    count(name);
  }
  if (!leaving.empty()) {
    spool_.RequireOwned();
    collection.sums.Commit(std::move(next));
  }
  Leave(leaving);
  const auto waits = [this](const std::string& name) { return !spool_.Identity(name).empty(); };
  collection.own.spool_files = static_cast<double>(std::ranges::count_if(listing.recordings, waits));
}

std::string SpoolCounter::Collect(Collection& collection) {
  not_now_.clear();
  Spool::Listing listing = spool_.List();
  Move(Leaving(stuck_));
  collection.own.spool_files = static_cast<double>(listing.recordings.size());
  if (collection.sums.can_save()) CountFiles(listing, collection);
  if (!stuck_.empty()) throw Error(not_now_);
  return not_now_;
}

}  // namespace

Source SpoolSource(const ServeOptions& options) {
  // If the spool vanishes later, wait for it: it may be on another machine's disk.
  if (!std::filesystem::is_directory(options.spool)) {
    throw Error("the spool " + options.spool + " is not a folder",
                "create it; serve moves what it counted to its done/");
  }
  const auto counter = std::make_shared<SpoolCounter>(options);
  return {"spool", [counter](Collection& collection) { return counter->Collect(collection); }};
}

}  // namespace fa_profile::serve

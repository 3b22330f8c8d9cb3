#include "fa_profile/exporter_state.h"

#include <spdlog/spdlog.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/strict_json.h"
#include "fa_profile/totals_json.h"

namespace fa_profile::serve {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kStateVersion = 3;  // 2: gauges faprof_collector_*; 1: without phase_ratios

constexpr int kMostAside = 10;  // refused states that are kept

// Far more than needed for 20,000 hashes and the kernels of 64 GPUs.
constexpr std::size_t kMostStateBytes = kLargestJson;

// The file is intact, but this version cannot read it.
struct NewerState {};

constexpr std::pair<const char*, double ExporterState::*> kNumbers[] = {
    {"recordings_counted", &ExporterState::recordings_counted},
    {"recordings_bad", &ExporterState::recordings_bad},
    {"recordings_duplicate", &ExporterState::recordings_duplicate},
    {"perfmon_conflicts", &ExporterState::perfmon_conflicts},
    {"failed_runs", &ExporterState::failed_runs},
};

std::string Text(const ExporterState& state) {
  Json json{{"version", kStateVersion},
            {"totals", Json::parse(prom::ToJson(state.totals))},
            {"held", Json::parse(prom::ToJson(state.held))},
            {"counted", state.counted}};
  for (const auto& [name, number] : kNumbers) json[name] = state.*number;
  if (state.last_recording) json["last_recording"] = *state.last_recording;
  return json.dump();
}

double Count(const JsonNode& json, const char* name) {
  const JsonNode node = json.At(name);
  const double number = node.Number();
  if (!(number >= 0 && number <= kMostCalls && std::floor(number) == number)) {
    node.Fail("must be a whole number, 0 or greater");
  }
  return number;
}

// A Unix time up to the year 9999; 0 in states of version 0.1.0: none yet.
std::optional<double> Time(const JsonNode& json, const char* name) {
  const std::optional<JsonNode> node = json.Find(name);
  if (!node) return std::nullopt;
  const double time = node->Number();
  if (!(time >= 0 && time < 253402300800.0)) node->Fail("must be a Unix time");
  return time > 0 ? std::optional(time) : std::nullopt;
}

std::deque<std::string> Hashes(const JsonNode& json) {
  const std::vector<std::string> hashes = json.Texts(kMostRemembered);
  std::unordered_set<std::string> seen;
  for (const std::string& hash : hashes) {
    if (hash.size() != 64 || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
      json.Fail("must be SHA-256 in hexadecimal digits");
    }
    if (!seen.insert(hash).second) json.Fail("has " + hash + " twice");
  }
  return {hashes.begin(), hashes.end()};
}

ExporterState FromText(const std::string& path, const std::string& text) {
  const JsonFile file{path, ""};
  const Json json = ParseStrictJson(text, file);
  const JsonNode root(json, file);
  if (const auto version = root.Find("version");
      version && version->Integer(1, std::numeric_limits<int>::max()) > kStateVersion) {
    throw NewerState{};
  }
  ExporterState state;
  state.totals = prom::TotalsFromJson(root.At("totals").value().dump());
  if (const auto held = root.Find("held")) state.held = prom::TotalsFromJson(held->value().dump());
  state.counted = Hashes(root.At("counted"));
  for (const auto& [name, number] : kNumbers) state.*number = Count(root, name);
  state.last_recording = Time(root, "last_recording");
  return state;
}

}  // namespace

StateFolder::StateFolder(const std::string& folder)
    : folder_(folder), path_(folder + "/exporter.json"), lock_(folder, "state folder", "--state") {
  std::error_code error;
  fs::create_directories(folder, error);
  lock_.Hold();
  // Left by an exporter that was killed while saving.
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().filename().string().starts_with("exporter.json.part")) fs::remove(entry->path(), ignored);
  }
}

ExporterState StateFolder::Load() const {
  std::error_code unknown;
  if (!fs::exists(fs::symlink_status(path_, unknown))) return {};
  std::string text;
  try {
    text = ReadFile(path_, kMostStateBytes);
  } catch (const Error& failure) {
    throw Error("the state cannot be read: " + failure.message(),
                "make it readable for the user that runs the exporter; without it counters would start from zero");
  }
  try {
    return FromText(path_, text);
  } catch (const NewerState&) {
    throw Error("the state " + path_ + " was written by a newer fa-profile",
                "run that version, or give this one another folder with --state");
  } catch (const std::exception& error) {
    std::string aside = path_ + ".damaged";
    std::error_code failed;
    for (int i = 1; i < kMostAside && fs::exists(aside, failed); ++i) aside = path_ + ".damaged." + std::to_string(i);
    fs::rename(path_, aside, failed);
    spdlog::error("the state {} is damaged ({}): it is kept as {}, and counters start from zero", path_, error.what(),
                  aside);
    return {};
  }
}

int StateFolder::CountRefused() const {
  int count = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with("exporter.json.damaged")) ++count;
  }
  return count;
}

void StateFolder::Save(const ExporterState& state) {
  std::error_code error;
  fs::create_directories(folder_, error);  // it may have been removed
  try {
    lock_.Hold();
  } catch (const Error& failure) {
    throw StateError(failure.message(), failure.hint());
  }
  try {
    WriteWholeFile(path_, Text(state), 0600);
  } catch (const Error& failure) {
    throw StateError("the state " + failure.message(),
                     "make room or fix its permissions; recordings wait in the spool until it can be written");
  }
}

std::string DefaultStateFolder() {
  for (const auto& [variable, suffix] :
       {std::pair{"STATE_DIRECTORY", ""}, {"XDG_STATE_HOME", "/fa-profile"}, {"HOME", "/.local/state/fa-profile"}}) {
    const char* const value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return std::string(value) + suffix;
  }
  throw Error("the exporter has no folder for its state: HOME is not set", "give one with --state");
}

}  // namespace fa_profile::serve

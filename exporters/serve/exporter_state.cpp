#include "fa_profile/exporter_state.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/files.h"

namespace fa_profile::serve {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kStateVersion = 2;  // 1: without phase_ratios

// Far more than 20,000 hashes and the kernels of 64 GPUs take.
constexpr std::size_t kMostStateBytes = std::size_t{256} << 20U;

// The file is whole, but this version cannot read it.
struct NewerState {};

constexpr std::pair<const char*, double ExporterState::*> kNumbers[] = {
    {"recordings_counted", &ExporterState::recordings_counted},
    {"recordings_bad", &ExporterState::recordings_bad},
    {"recordings_duplicate", &ExporterState::recordings_duplicate},
    {"perfmon_conflicts", &ExporterState::perfmon_conflicts},
    {"failed_runs", &ExporterState::failed_runs},
};

std::string Text(const ExporterState& state) {
  Json json{
      {"version", kStateVersion}, {"totals", Json::parse(prom::ToJson(state.totals))}, {"counted", state.counted}};
  for (const auto& [name, number] : kNumbers) json[name] = state.*number;
  if (state.last_recording) json["last_recording"] = *state.last_recording;
  return json.dump();
}

ExporterState FromText(const std::string& text) {
  const Json json = Json::parse(text);
  if (json.value("version", kStateVersion) > kStateVersion) throw NewerState{};
  ExporterState state;
  state.totals = prom::TotalsFromJson(json.at("totals").dump());
  state.counted = json.at("counted").get<std::deque<std::string>>();
  for (const auto& [name, number] : kNumbers) state.*number = json.at(name).get<double>();
  // 0 in states of version 0.1.0: none yet.
  if (const double time = json.value("last_recording", 0.0); time > 0) state.last_recording = time;
  return state;
}

}  // namespace

StateFolder::StateFolder(const std::string& folder) : path_(folder + "/exporter.json") {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string lock = folder + "/exporter.lock";
  lock_ = Descriptor(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_) {
    throw Error("the state folder " + folder + " cannot be written to: " + std::strerror(errno),
                "give another one with --state");
  }
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw Error("another exporter keeps its state in " + folder,
                "stop it, or give this one another folder with --state");
  }
  // What an exporter that was killed while it saved has left.
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
    return FromText(text);
  } catch (const NewerState&) {
    throw Error("the state " + path_ + " was written by a newer fa-profile",
                "run that version, or give this one another folder with --state");
  } catch (const std::exception& error) {
    std::string aside = path_ + ".damaged";
    std::error_code failed;
    for (int i = 1; fs::exists(aside, failed); ++i) aside = path_ + ".damaged." + std::to_string(i);
    fs::rename(path_, aside, failed);
    spdlog::error("the state {} is damaged ({}): it is kept as {}, and counters start from zero", path_, error.what(),
                  aside);
    return {};
  }
}

void StateFolder::Save(const ExporterState& state) const {
  std::error_code error;
  fs::create_directories(fs::path(path_).parent_path(), error);  // it may have been removed
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

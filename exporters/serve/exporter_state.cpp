#include "fa_profile/exporter_state.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fa_profile/error.h"
#include "fa_profile/files.h"

namespace fa_profile {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kStateVersion = 1;

// Not damage, and not to be thrown away.
struct NewerState {};

std::string Text(const ExporterState& state) {
  return Json{{"version", kStateVersion},
              {"totals", Json::parse(ToJson(state.totals))},
              {"counted", state.counted},
              {"last_recording", state.last_recording},
              {"recordings_counted", state.recordings_counted},
              {"recordings_bad", state.recordings_bad},
              {"recordings_duplicate", state.recordings_duplicate},
              {"perfmon_conflicts", state.perfmon_conflicts},
              {"failed_runs", state.failed_runs}}
      .dump();
}

ExporterState FromText(const std::string& text) {
  const Json json = Json::parse(text);
  if (json.value("version", kStateVersion) > kStateVersion) throw NewerState{};
  ExporterState state;
  state.totals = TotalsFromJson(json.at("totals").dump());
  state.counted = json.at("counted").get<std::deque<std::string>>();
  state.last_recording = json.at("last_recording").get<double>();
  state.recordings_counted = json.at("recordings_counted").get<double>();
  state.recordings_bad = json.at("recordings_bad").get<double>();
  state.recordings_duplicate = json.at("recordings_duplicate").get<double>();
  state.perfmon_conflicts = json.at("perfmon_conflicts").get<double>();
  state.failed_runs = json.at("failed_runs").get<double>();
  return state;
}

}  // namespace

StateFolder::StateFolder(const std::string& folder) : path_(folder + "/exporter.json") {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string lock = folder + "/exporter.lock";
  lock_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock_ < 0) {
    throw Error("the state folder " + folder + " cannot be written to: " + std::strerror(errno),
                "give another one with --state");
  }
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    close(lock_);
    throw Error("another exporter keeps its state in " + folder,
                "stop it, or give this one a folder of its own with --state");
  }
  // What an exporter that was killed while it saved has left.
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().filename().string().starts_with("exporter.json.part")) fs::remove(entry->path(), ignored);
  }
}

StateFolder::~StateFolder() { close(lock_); }

ExporterState StateFolder::Load() const {
  std::error_code unknown;
  std::ifstream file(path_, std::ios::binary);
  if (!file && !fs::exists(fs::symlink_status(path_, unknown))) return {};
  std::stringstream text;
  if (!file || !(text << file.rdbuf()).good()) {
    throw Error("the state " + path_ + " cannot be read: " + std::strerror(errno),
                "give it to the user that runs the exporter; without it counters would start from zero");
  }
  try {
    return FromText(text.str());
  } catch (const NewerState&) {
    throw Error("the state " + path_ + " was written by a newer fa-profile",
                "run that version, or give this one a folder of its own with --state");
  } catch (const std::exception& error) {
    std::string aside = path_ + ".damaged";
    std::error_code failed;
    for (int i = 1; fs::exists(aside, failed); ++i) aside = path_ + ".damaged." + std::to_string(i);
    fs::rename(path_, aside, failed);
    spdlog::error("the state {} is damaged ({}): kept as {}, and counters start from zero", path_, error.what(), aside);
    return {};
  }
}

void StateFolder::Save(const ExporterState& state) const {
  std::error_code error;
  fs::create_directories(fs::path(path_).parent_path(), error);  // somebody may have removed it
  try {
    WriteWholeFile(path_, Text(state), 0600);
  } catch (const Error& failure) {
    throw Error("the state " + failure.message(),
                "make room or fix its permissions; recordings wait in the spool until it can be written");
  }
}

std::string DefaultStateFolder() {
  for (const auto& [variable, suffix] :
       {std::pair{"STATE_DIRECTORY", ""}, {"XDG_STATE_HOME", "/fa-profile"}, {"HOME", "/.local/state/fa-profile"}}) {
    const char* const value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return std::string(value) + suffix;
  }
  throw Error("there is no folder for the exporter's state: HOME is not set", "give one with --state");
}

}  // namespace fa_profile

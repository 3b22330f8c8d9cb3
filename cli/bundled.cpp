#include "bundled.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "fa_profile/bundled.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"

namespace fa_profile::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecording = FA_PROFILE_LADDER_RECORDING;

}  // namespace

std::string BundledRecording() {
  if (const std::optional<std::string> path = FindBundled("recordings", "recordings", kRecording)) return *path;
  throw Error("the recording " + std::string(kRecording) + " that comes with the program is missing",
              "reinstall, or give a recording of your own: fa-profile report FILE.fap");
}

void RefuseBundledFolder(const std::string& folder) {
  const std::optional<std::string> path = FindBundled("recordings", "recordings", kRecording);
  std::error_code ignored;
  if (!path || !fs::equivalent(folder, fs::path(*path).parent_path(), ignored)) return;
  throw Error("the spool " + folder + " contains the bundled recording",
              "serve moves recordings to done/: use an empty folder");
}

std::string BundledTrials() {
  if (const std::optional<std::string> path = FindBundled("gate", "ci/gate/data", "h200-trials.json")) return *path;
  throw Error("the trial data h200-trials.json that come with the program are missing",
              "reinstall, or give a file: fa-profile gate selftest --data FILE.json");
}

std::string BundledWorkflow(const std::string& name) {
  if (const std::optional<std::string> path = FindBundled("workflows", "ci/workflows", name)) return *path;
  throw Error("the workflow " + name + " that comes with the program is missing", "reinstall fa-profile");
}

std::string GateErrorRate() {
  const std::optional<std::string> path = FindBundled("gate", "ci/gate/data", "error-rate.json");
  if (!path) return {};
  constexpr std::size_t kMostBytes = 4096;
  const nlohmann::json json = nlohmann::json::parse(ReadFile(*path, kMostBytes), nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json.value("error_rate", std::string()) : std::string();
}

}  // namespace fa_profile::cli

#include "gate_data.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace fa_profile {

namespace fs = std::filesystem;

std::optional<std::string> FindGateData(const std::string& name) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path candidates[] = {
      program.parent_path() / ".." / "share" / "fa-profile" / "gate" / name,
      fs::path(FA_PROFILE_SOURCE_DATA_DIR) / ".." / "ci" / "gate" / "data" / name,
      fs::path(FA_PROFILE_INSTALL_DATA_DIR) / ".." / "gate" / name,
  };
  for (const fs::path& candidate : candidates) {
    if (fs::exists(candidate, ignored)) return candidate.lexically_normal().string();
  }
  return std::nullopt;
}

std::string GateErrorRate() {
  const std::optional<std::string> path = FindGateData("error-rate.json");
  if (!path) return {};
  std::ifstream file(*path);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json.value("error_rate", std::string()) : std::string();
}

}  // namespace fa_profile

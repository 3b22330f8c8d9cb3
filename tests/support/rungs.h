#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace fa_profile {

/// {1, "minimal"}, ...: number and id of each rung, from the names of their files, kernels/rung<number>_<id>.cu. Needs
/// no CUDA. kernels_test holds the ladder against it.
inline std::map<int, std::string> RungsOfFiles(const std::filesystem::path& source) {
  std::map<int, std::string> rungs;
  for (const auto& entry : std::filesystem::directory_iterator(source / "kernels")) {
    const std::string name = entry.path().stem().string();
    const std::size_t bar = name.find('_');
    if (entry.path().extension() != ".cu" || !name.starts_with("rung") || bar == std::string::npos) continue;
    rungs[std::stoi(name.substr(4, bar - 4))] = name.substr(bar + 1);
  }
  return rungs;
}

}  // namespace fa_profile

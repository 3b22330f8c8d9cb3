#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/baseline_files.h"

namespace fa_profile {

/// `fa-profile baseline promote | list | show | verify` (docs/baselines.md).
class BaselineCommands {
 public:
  explicit BaselineCommands(CLI::App& app);

  /// Runs the command that was given; absent: none of them was.
  std::optional<int> Run();

 private:
  int Promote() const;
  int List() const;
  int Show() const;
  int Verify() const;

  std::string baselines_ = kBaselines;
  std::string suite_ = "ladder";
  std::string format_ = "text";
  std::vector<std::string> files_;
  std::string reason_;
  std::string by_;
  std::string shown_;
  CLI::App* command_ = nullptr;
  CLI::App* promote_ = nullptr;
  CLI::App* list_ = nullptr;
  CLI::App* show_ = nullptr;
};

}  // namespace fa_profile

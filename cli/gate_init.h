#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace fa_profile::cli {

/// `fa-profile gate init`: the first threshold file of a repository, and its workflow.
class GateInitCommand {
 public:
  /// Adds it to `gate`.
  void AddTo(CLI::App& gate);
  bool asked() const { return static_cast<bool>(*init_); }
  int Run() const;

 private:
  CLI::App* init_ = nullptr;
  std::vector<std::string> files_;
  std::string thresholds_ = "ci/thresholds.yaml";
  std::string workflow_;  // empty: none
  std::string from_ = "OWNER/fa-profile";
};

}  // namespace fa_profile::cli

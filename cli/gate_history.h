#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "fa_profile/analyze_history.h"

namespace fa_profile::cli {

/// fa-profile gate history add | show.
class HistoryCommands {
 public:
  /// Adds the commands to `gate`.
  explicit HistoryCommands(CLI::App& gate);

  /// Whether one of them was given.
  bool given() const { return history_->parsed(); }
  int Run() const;

 private:
  int RunAdd() const;
  int RunShow() const;

  CLI::App* history_ = nullptr;
  CLI::App* add_ = nullptr;
  CLI::Option* format_option_ = nullptr;
  std::string file_;
  std::vector<std::string> evidence_;
  bool replace_ = false;
  std::string format_ = "text";
  std::string svg_;
  gate::HistoryOptions options_;
};

}  // namespace fa_profile::cli

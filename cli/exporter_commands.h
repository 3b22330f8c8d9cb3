#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/exporter.h"

namespace fa_profile {

/// The commands that bring metrics to Prometheus: serve, textfile, push, and contribute, which serve runs for each
/// recording.
class ExporterCommands {
 public:
  explicit ExporterCommands(CLI::App& app);

  /// Runs the command that was given; absent when it is not one of these.
  std::optional<int> Run();

 private:
  void AddServe(CLI::App& app);
  void AddTextfile(CLI::App& app);
  void AddPush(CLI::App& app);
  void RunServe() const;
  void RunTextfile() const;
  void RunPush() const;

  ServeOptions serve_;
  std::vector<std::string> recordings_;
  std::string baseline_;  // a recording; empty: none
  std::string output_;    // *.prom; empty: stdout
  std::string gateway_;
  std::string job_ = "fa-profile-push";
  std::vector<std::string> grouping_;  // "name=value"
  bool delete_group_ = false;
  CLI::App* serve_command_ = nullptr;
  CLI::App* textfile_command_ = nullptr;
  CLI::App* push_command_ = nullptr;
  CLI::App* contribute_command_ = nullptr;
};

}  // namespace fa_profile

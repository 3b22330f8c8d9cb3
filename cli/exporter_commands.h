#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>

#include "commands.h"

namespace fa_profile {

/// The commands that bring metrics to Prometheus: serve, textfile, push, and the one that serve runs for each
/// recording.
class ExporterCommands {
 public:
  explicit ExporterCommands(CLI::App& app);

  /// Runs the one that was given; absent when it was none of them.
  std::optional<int> Run();

 private:
  void AddServe(CLI::App& app);

  ServeOptions serve_;
  TextfileOptions textfile_;
  PushOptions push_;
  CLI::App* serve_command_ = nullptr;
  CLI::App* textfile_command_ = nullptr;
  CLI::App* push_command_ = nullptr;
  CLI::App* contribute_command_ = nullptr;
};

}  // namespace fa_profile

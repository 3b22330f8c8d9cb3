#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gate.h"
#include "gate_sample.h"
#include "gate_selftest.h"

namespace fa_profile {

/// The commands gate, gate selftest and gate-sample, and their options.
class GateCommands {
 public:
  /// Adds the commands to `app`.
  explicit GateCommands(CLI::App& app);

  /// Runs the one that was given, if any, and returns its exit code. `command_line`: this program's, for the report.
  std::optional<int> Run(const std::string& command_line);

 private:
  void AddQuestion();
  void AddReports();
  void AddMeasuring();
  void AddSelftest();
  void AddSample(CLI::App& app);

  CLI::App* gate_ = nullptr;
  CLI::App* selftest_ = nullptr;
  CLI::App* sample_ = nullptr;
  GateOptions options_;
  GateSelftestOptions selftest_options_;
  GateSampleOptions sample_options_;
  std::vector<std::string> sample_shapes_;
  std::string architecture_;
};

}  // namespace fa_profile

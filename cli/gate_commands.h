#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "fa_profile/gate_outputs.h"
#include "fa_profile/gate_run.h"
#include "fa_profile/gate_trials.h"
#include "gate_sample.h"

namespace fa_profile {

/// The commands gate, gate selftest and gate-sample, and their options.
class GateCommands {
 public:
  /// Adds the commands to `app`.
  explicit GateCommands(CLI::App& app);

  /// Runs the command that was given and returns its exit code; absent: none of them was. `command_line`: this
  /// program's, for the report.
  std::optional<int> Run(const std::string& command_line);

 private:
  void AddQuestion();
  void AddReports();
  void AddMeasuring();
  void AddSelftest();
  void AddSample(CLI::App& app);
  int Gate();
  int Selftest() const;

  CLI::App* gate_ = nullptr;
  CLI::App* selftest_ = nullptr;
  CLI::App* sample_ = nullptr;
  GateOptions options_;
  GateOutputs outputs_;
  const Format* format_ = nullptr;
  const Format* selftest_format_ = nullptr;
  bool strict_ = false;
  std::string architecture_;
  std::string trial_data_;  // empty: the data that come with the program
  TrialOptions trial_options_;
  GateSampleOptions sample_options_;
  std::vector<std::string> sample_shapes_;
};

}  // namespace fa_profile

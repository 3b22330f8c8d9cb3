#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "commands.h"

namespace fa_profile::cli {

/// What the command line asks for. Each Add function below declares a command with its options; when the command is
/// given, its callback sets `run`, which main() calls once everything is parsed.
struct Invocation {
  std::string command_line;          ///< as given, for recordings and reports
  std::vector<std::string> program;  ///< what follows `--`
  std::string phase_map;             ///< --phase-map, before or after the command
  std::string phase_from;            ///< --phase-from, alike; empty: the best source there is
  std::function<int()> run;          ///< returns the exit code; may throw Error
};

void AddProfile(CLI::App& app, Invocation& invocation);  ///< the main job: no command
void AddReport(CLI::App& app, Invocation& invocation);
void AddDiff(CLI::App& app, Invocation& invocation);
void AddRedact(CLI::App& app, Invocation& invocation);
void AddVerify(CLI::App& app, Invocation& invocation);
void AddKernelLibrary(CLI::App& app, Invocation& invocation);  ///< for child processes: hidden
void AddList(CLI::App& app, Invocation& invocation);
void AddLint(CLI::App& app, Invocation& invocation);
void AddSelftest(CLI::App& app, Invocation& invocation);
void AddDoctor(CLI::App& app, Invocation& invocation);
void AddExporter(CLI::App& app, Invocation& invocation);  ///< serve, textfile, push, top
void AddWatch(CLI::App& app, Invocation& invocation);
void AddNew(CLI::App& app, Invocation& invocation);
void AddCompletion(CLI::App& app, Invocation& invocation);
void AddManPages(CLI::App& app, Invocation& invocation);
void AddGate(CLI::App& app, Invocation& invocation);
void AddBaseline(CLI::App& app, Invocation& invocation);

/// The Add functions of this program's commands: all of them (every_command.cpp), or the exporter's alone.
std::vector<void (*)(CLI::App&, Invocation&)> Commands();

/// --shape and --causal, as given.
struct ShapeArguments {
  std::vector<std::string> texts;
  bool causal = false;

  /// Throws Error for a text that is not a shape. --causal alone means the default shape.
  std::vector<Shape> Parse() const;
};
void AddShapes(CLI::App& app, ShapeArguments& shapes, const std::string& help);

/// --tensor.
void AddTensorFiles(CLI::App& app, std::vector<std::string>& files);

/// --phase-map and --phase-from.
void AddPhaseMap(CLI::App& app, Invocation& invocation);
/// Absent without --phase-map. Throws Error.
std::optional<PhaseMap> ReadPhaseMap(const Invocation& invocation);
/// What --phase-from says. Throws Error where --phase-map contradicts it.
PhaseSource ReadPhaseSource(const Invocation& invocation);

}  // namespace fa_profile::cli

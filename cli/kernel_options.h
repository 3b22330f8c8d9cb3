#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "fa_profile/option_jobs.h"
#include "fa_profile/shape.h"

namespace fa_profile::jobs {
struct PythonOptions;
}

// Options that select the kernels a command works on.
namespace fa_profile::cli {

/// What the main job, verify and gate-sample can do.
enum KernelJob : help::Jobs {
  kLadder = 1,   ///< kernels of the ladder and of libraries; the job that needs no request
  kProgram = 2,  ///< what follows `--`
  kPython = 4,   ///< --kernel-py
  kBundled = 8,  ///< the ladder without a GPU: the bundled recording
};

/// All but kBundled, whose refusals say why there is no GPU.
std::vector<help::Job> KernelJobs();
help::Job JobOfPython();

/// --shape and --causal, as given.
struct ShapeArguments {
  std::vector<std::string> texts;
  bool causal = false;

  /// Throws Error for a text that is not a shape. --causal alone means the default shape.
  std::vector<Shape> Parse() const;
};
void AddShapes(CLI::App& app, ShapeArguments& shapes, const std::string& help);

/// --tensor.
CLI::Option* AddTensorFiles(CLI::App& app, std::vector<std::string>& files);

/// --kernel-py, --python, --timeout, and --case, which is for processes of fa-profile gate; and their rows.
void AddPythonKernel(CLI::App& app, help::OptionJobs& rows, jobs::PythonOptions& options);

}  // namespace fa_profile::cli

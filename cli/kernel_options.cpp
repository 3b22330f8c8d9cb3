#include "kernel_options.h"

#include "fa_profile/add_option.h"
#include "fa_profile/jobs.h"

namespace fa_profile::cli {

std::vector<help::Job> KernelJobs() {
  return {{.bit = kLadder, .name = "the ladder and kernel libraries"},
          {.bit = kProgram,
           .name = "a program",
           .request = "name the program after --",
           .refusal = " has no effect on a program",
           .cure = "--kernel, --nvtx, --top, --delay and --duration select what is measured of a program, "
                   "CUDA_VISIBLE_DEVICES its GPU"},
          JobOfPython()};
}

help::Job JobOfPython() {
  return {.bit = kPython,
          .name = "a kernel in Python",
          .request = "name it: --kernel-py FILE.py:FUNCTION",
          .refusal = " has no effect on a kernel in Python",
          .cure = "shapes are in the file, and --kernel selects cases by their name"};
}

void AddShapes(CLI::App& app, ShapeArguments& shapes, const std::string& help) {
  app.add_option("--shape", shapes.texts, help)->type_name("SHAPE")->allow_extra_args(false);  // a file may follow
  app.add_flag("--causal", shapes.causal, "Causal attention, for --shape");
}

std::vector<Shape> ShapeArguments::Parse() const {
  std::vector<Shape> shapes;
  for (const std::string& text : texts) shapes.push_back(Shape::Parse(text, causal));
  if (texts.empty() && causal) shapes.emplace_back(AttentionShape{.causal = true});  // the default shape
  return shapes;
}

CLI::Option* AddTensorFiles(CLI::App& app, std::vector<std::string>& files) {
  return app
      .add_option(
          "--tensor", files,
          "NAME=FILE: read a tensor of a kernel library from FILE instead of drawing it; for an output, FILE is "
          "the reference (repeatable)")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
}

void AddPythonKernel(CLI::App& app, help::OptionJobs& rows, jobs::PythonOptions& options) {
  rows.For(kPython, app.add_option("--kernel-py", options.kernel,
                                   "Your own kernel in Python (PyTorch, Triton): FILE.py:FUNCTION")
                        ->type_name("FILE.py:FUNCTION"));
  rows.For(kPython, app.add_option("--python", options.python, "The Python that runs it")
                        ->capture_default_str()
                        ->type_name("PROGRAM"));
  rows.For(kPython, help::AddNumber(app, "--timeout", options.timeout_s,
                                    "Time limit in seconds to load it, and for each case", 1.0, 86400.0)
                        ->type_name("SECONDS"));
  rows.For(kPython, app.add_option("--case", options.cases,
                                   "A case by its full name; the file is not asked for its cases (repeatable)")
                        ->allow_extra_args(false)
                        ->group(""));
}

}  // namespace fa_profile::cli

#include "command.h"

#include "fa_profile/add_option.h"
#include "fa_profile/error.h"
#include "fa_profile/phase_map_file.h"
#include "fa_profile/usage_errors.h"

namespace fa_profile::cli {

void RefuseOptions(const CLI::App& app, const std::vector<const char*>& options, const std::string& what,
                   const std::string& cure) {
  for (const char* const option : options) {
    const CLI::Option* const known = app.get_option_no_throw(option);
    if (known != nullptr && known->count() > 0) throw Error(option + what, cure);
  }
}

void AddShapes(CLI::App& app, ShapeArguments& shapes, const std::string& help) {
  app.add_option("--shape", shapes.texts, help)->type_name("SHAPE")->allow_extra_args(false);  // a file may follow
  app.add_flag("--causal", shapes.causal, "Causal attention, for --shape");
}

std::vector<Shape> ShapeArguments::Parse() const {
  std::vector<Shape> shapes;
  for (const std::string& text : texts) shapes.push_back(Shape::Parse(text, causal));
  if (texts.empty() && causal) shapes.emplace_back(AttentionShape{.causal = true});  // of the default shape
  return shapes;
}

void AddTensorFiles(CLI::App& app, std::vector<std::string>& files) {
  app.add_option("--tensor", files,
                 "NAME=FILE: a file for a tensor of a kernel library, instead of its draw or, of an output, of its "
                 "reference (repeatable)")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
}

void AddPythonKernel(CLI::App& app, jobs::PythonOptions& options) {
  app.add_option("--kernel-py", options.kernel, "A kernel of your own in Python (PyTorch, Triton): FILE.py:FUNCTION")
      ->type_name("FILE.py:FUNCTION");
  app.add_option("--python", options.python, "The Python that runs it")->capture_default_str()->type_name("PROGRAM");
  help::AddNumber(app, "--timeout", options.timeout_s, "Seconds that it has to load, and for each case", 1.0, 86400.0)
      ->type_name("SECONDS");
  app.add_option("--case", options.cases, "A case by its full name; the file is not asked for its cases (repeatable)")
      ->allow_extra_args(false)
      ->group("");
}

void RequirePythonKernel(const CLI::App& app, const jobs::PythonOptions& options) {
  if (!options.kernel.empty()) return;
  RefuseOptions(app, {"--python", "--timeout", "--case"}, " has no effect without a kernel in Python",
                "name it: --kernel-py FILE.py:FUNCTION");
}

void RefuseWithPython(const CLI::App& app, const std::vector<const char*>& without_effect) {
  RefuseOptions(app, without_effect, " has no effect on a kernel in Python",
                "leave it out; shapes are in the file, and --kernel selects cases by their name");
}

void AddPhaseMap(CLI::App& app, Invocation& invocation) {
  app.add_option("--phase-map", invocation.phase_map, "YAML file that assigns code to phases")->type_name("FILE");
  app.add_option("--phase-from", invocation.phase_from,
                 "Where phases come from: map (--phase-map), functions (of the code), code (inferred from machine "
                 "code), opcodes; default: the first of these that there is")
      ->check(help::OneOf({"map", "functions", "code", "opcodes"}));
}

void AddLength(CLI::App& app, ReportFilter& filter) {
  CLI::Option* const details =
      app.add_flag("--details", filter.details, "Everything of each kernel; the default for one kernel at one shape");
  app.add_flag("--summary", filter.summary, "Tables and findings, also of one kernel at one shape")->excludes(details);
}

std::optional<PhaseMap> ReadPhaseMap(const Invocation& invocation) {
  if (invocation.phase_map.empty()) return std::nullopt;
  return load::LoadPhaseMap(invocation.phase_map);
}

PhaseSource ReadPhaseSource(const Invocation& invocation) {
  const std::string& from = invocation.phase_from;
  if (from == "map" && invocation.phase_map.empty()) {
    throw Error("--phase-from map needs a phase map", "give one with --phase-map FILE.yaml (docs/phase-map.md)");
  }
  if (!from.empty() && from != "map" && !invocation.phase_map.empty()) {
    throw Error("--phase-map has no effect with --phase-from " + from, "leave one of them out");
  }
  return from == "map"         ? PhaseSource::kMap
         : from == "functions" ? PhaseSource::kFunctions
         : from == "code"      ? PhaseSource::kCode
         : from == "opcodes"   ? PhaseSource::kOpcodes
                               : PhaseSource::kBest;
}

}  // namespace fa_profile::cli

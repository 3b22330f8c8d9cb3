#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "bundled.h"
#include "command.h"
#include "fa_profile/add_option.h"
#include "fa_profile/code_files.h"
#include "fa_profile/error.h"
#include "fa_profile/gate_outputs.h"
#include "fa_profile/gate_report.h"
#include "fa_profile/gate_run.h"
#include "fa_profile/gate_trials.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/jobs.h"
#include "fa_profile/option_jobs.h"
#include "fa_profile/page.h"
#include "fa_profile/python_kernel.h"
#include "fa_profile/recording_evidence.h"
#include "formats.h"
#include "kernel_options.h"

namespace fa_profile::cli {
namespace {

/// The jobs that the gate can do.
enum GateJob : help::Jobs { kCandidate = 1, kPair = 2, kStatic = 4, kReplay = 8, kMeasure = 16, kPythonPair = 32 };
constexpr help::Jobs kVerdicts = kCandidate | kPair | kStatic | kReplay | kPythonPair;
constexpr help::Jobs kMeasuring = kPair | kMeasure | kPythonPair;
constexpr help::Jobs kQuestions = kVerdicts | kMeasure;

std::vector<help::Job> GateJobs() {
  std::vector<help::Job> jobs = {{.bit = kCandidate, .name = "--candidate"},
                                 {.bit = kPair, .name = "--pair"},
                                 {.bit = kMeasure, .name = "--measure"},
                                 {.bit = kStatic, .name = "--static"},
                                 {.bit = kReplay, .name = "--replay"}};
  for (help::Job& job : jobs) job.refusal = " has no effect with " + job.name;
  return jobs;
}

/// A pair of Python kernels supports less than --pair.
help::Job PythonPair() {
  help::Job job = JobOfPython();
  job.bit = kPythonPair;
  return job;
}

// Standard output can hold only one report.
void RefuseTwoOutputs(const CLI::App& gate, const gate::GateOutputs& outputs) {
  if (!outputs.TakeStdout()) return;
  RefuseOptions(gate, {"--format", "--annotations"}, " has no effect: another report goes to stdout",
                "leave it out, or write the report to a file instead of -");
}

/// The arguments of `fa-profile gate`.
struct GateArguments {
  explicit GateArguments(const CLI::App& gate) : rows(gate, GateJobs()) {}

  help::OptionJobs rows;
  gate::GateOptions options;
  gate::GateOutputs outputs;
  const Format* format = nullptr;
  bool strict = false;
  std::string architecture;
};

void AddQuestion(CLI::App& gate, GateArguments& arguments) {
  gate::GateOptions& options = arguments.options;
  help::OptionJobs& rows = arguments.rows;
  rows.For(kQuestions,
           gate.add_option("--candidate", options.candidate, "Recording or evidence of the candidate, one per process")
               ->allow_extra_args(false));
  rows.For(kCandidate,
           gate.add_option("--baseline", options.baseline,
                           "Recordings, evidence or a baseline file to compare with; default: the promoted baseline")
               ->allow_extra_args(false));
  rows.For(kCandidate, gate.add_option("--baselines", options.baselines, "Folder of promoted baselines")
                           ->capture_default_str()
                           ->type_name("FOLDER"));
  rows.For(kCandidate,
           gate.add_option("--suite", options.suite, "Suite of the promoted baseline")->capture_default_str());
  rows.Exclude({.option = {"--baselines"}, .with = {"--baseline"}});
  rows.Exclude({.option = {"--suite"}, .with = {"--baseline"}});
  rows.For(
      kQuestions,
      gate.add_option("--pair", options.pair,
                      "Measure two builds, kernel libraries or kernels in Python (FILE.py:FUNCTION) in turns on this "
                      "machine's GPU, and judge them")
          ->expected(2)
          ->type_name("BASE HEAD"));
  rows.For(kQuestions,
           gate.add_option("--static", options.statics, "Judge the machine code of two builds, without a GPU")
               ->expected(1, 2)
               ->type_name("BASE HEAD"));
  rows.For(kQuestions,
           gate.add_option("--replay", options.replay, "Judge a run of --pair again, from what --save wrote"));
  rows.For(kQuestions, gate.add_option("--measure", options.measure,
                                       "Measure one build in many processes for --save, without a verdict"));
}

void AddLimits(CLI::App& gate, GateArguments& arguments) {
  gate::GateOptions& options = arguments.options;
  help::OptionJobs& rows = arguments.rows;
  rows.For(kQuestions, gate.add_option("--thresholds", options.thresholds,
                                       "File of limits, or none; default: ci/thresholds.yaml if it exists"));
  rows.For(kQuestions,
           gate.add_flag("--explain", options.explain, "List each limit and its source instead of judging"));
  gate.add_flag("--strict", arguments.strict, "Exit with code 3 if no clear verdict is reached");
  rows.For(kStatic, gate.add_option("--arch", arguments.architecture,
                                    "With --static: code for this architecture (sm_90a); default: the newest"));
  rows.For(kStatic, gate.add_option("--base-log", options.base_static.build_log,
                                    "With --static: the compiler's output of the base"));
  rows.For(kStatic, gate.add_option("--head-log", options.head_static.build_log,
                                    "With --static: the compiler's output of the candidate"));
  rows.For(kQuestions, gate.add_option("--today", options.run.today, "Date by which exceptions expire")->group(""));
}

void AddReports(CLI::App& gate, GateArguments& arguments) {
  gate::GateOutputs& outputs = arguments.outputs;
  AddFormatOption(gate, arguments.format, &Format::gate);
  gate.add_option("--markdown", outputs.markdown, "Write a comment for a pull request");
  gate.add_option("--sarif", outputs.sarif, "Write SARIF 2.1.0");
  gate.add_option("--junit", outputs.junit, "Write JUnit XML");
  gate.add_option("--json", outputs.json, "Write JSON (docs/gate.schema.json)");
  gate.add_option("--html", outputs.html, "Write a page for a browser");
  gate.add_option("--textfile", outputs.textfile, "Write faprof_gate_* for Prometheus (*.prom)");
  gate.add_flag("--annotations", outputs.annotations, "Print GitHub annotations (always in GitHub Actions)");
  gate.add_flag("--summary", outputs.summary, "Append to the job summary of GitHub Actions");
  gate.add_option("--save", arguments.options.save, "Keep what was measured, or the candidate's evidence (.json)");
  arguments.rows.For(kQuestions, {"--format", "--save"});
  for (const char* const report : {"--strict", "--markdown", "--sarif", "--junit", "--json", "--html", "--textfile",
                                   "--annotations", "--summary"}) {
    arguments.rows.For(kVerdicts, {report}, "there is a verdict only of two builds");
    arguments.rows.Exclude({.option = {report}, .with = {"--explain"}});
  }
}

void AddMeasuring(CLI::App& gate, GateArguments& arguments) {
  gate::PairOptions& run = arguments.options.run;
  help::OptionJobs& rows = arguments.rows;
  rows.For(kMeasuring | kStatic,
           gate.add_option("--kernel", run.kernel_pattern, "Only kernels whose id matches this regular expression"));
  rows.For(kPair | kMeasure,
           gate.add_option("--kernel-lib", run.libraries, "A kernel library that both builds load (repeatable)")
               ->allow_extra_args(false));
  rows.For(kPair | kMeasure,
           gate.add_option("--shape", run.shapes,
                           "BATCH,HEADS,SEQLEN,HEAD_DIM[ causal], or NAME=VALUE,... (repeatable); default 1,8,512,64")
               ->allow_extra_args(false));
  rows.For(kMeasuring, gate.add_option("--device", run.device, "CUDA device number")->capture_default_str());
  help::AddNumber(gate, "--pairs", run.pairs, "Timing pairs of the first stage", 5, 24);
  help::AddNumber(gate, "--second-pairs", run.second_pairs, "Pairs of the second stage, for suspects", 7, 24);
  help::AddNumber(gate, "--phase-pairs", run.phase_pairs, "Recording pairs, for phases; 0: no phases", 0, 24);
  rows.For(kPair | kPythonPair, {"--pairs", "--second-pairs", "--phase-pairs"});
  rows.For(kMeasuring,
           help::AddNumber(gate, "--draws", run.draws, "Random inputs to verify each kernel with", 1, 100000));
  rows.For(kMeasuring, help::AddNumber(gate, "--timeout", run.timeout_seconds,
                                       "Time limit of each process, in seconds; of a kernel in Python, of each case",
                                       1.0, 86400.0));
  rows.For(kMeasuring, gate.add_option("--python", run.python, "The Python that runs kernels in Python")
                           ->capture_default_str()
                           ->type_name("PROGRAM"));
  rows.For(kPair | kPythonPair,
           gate.add_flag("--measure-identical", run.measure_identical, "Also time cases of equal machine code"));
  rows.For(kMeasuring, gate.add_flag("--shared", run.shared, "Measure even if another process uses the GPU"));
  rows.For(kMeasure, help::AddNumber(gate, "--processes", arguments.options.processes,
                                     "With --measure: timing processes", 1, 1000));
  rows.For(kMeasure, help::AddNumber(gate, "--recordings", arguments.options.recordings,
                                     "With --measure: recording processes", 1, 1000));
}

/// Names the options' value types, for help and completion.
void NameTypes(CLI::App& gate) {
  constexpr std::pair<const char*, const char*> kTypes[] = {
      {"--candidate", "FILE"}, {"--baseline", "FILE"},   {"--suite", "NAME"},    {"--replay", "FILE"},
      {"--measure", "BUILD"},  {"--thresholds", "FILE"}, {"--arch", "SM"},       {"--base-log", "FILE"},
      {"--head-log", "FILE"},  {"--markdown", "FILE"},   {"--sarif", "FILE"},    {"--junit", "FILE"},
      {"--json", "FILE"},      {"--html", "FILE"},       {"--textfile", "FILE"}, {"--save", "FILE"},
      {"--kernel", "REGEX"},   {"--kernel-lib", "FILE"}, {"--shape", "SHAPE"}};
  for (const auto& [option, type] : kTypes) gate.get_option(option)->type_name(type);
}

void AddGateSelftest(CLI::App& gate, Invocation& invocation) {
  struct Arguments {
    std::string data;  // empty: the data bundled with the program
    gate::TrialOptions options;
    const Format* format = nullptr;
  };
  const auto arguments = std::make_shared<Arguments>();
  gate::TrialOptions& options = arguments->options;
  CLI::App& selftest =
      *gate.add_subcommand("selftest", "Measure the gate's false alarms and misses on recorded processes");
  selftest.add_option("--data", arguments->data, "Trial data; default: the bundled data");
  help::AddNumber(selftest, "--trials", options.false_alarm_trials, "Simulated pull requests of equal code", 1,
                  10000000);
  help::AddNumber(selftest, "--power-trials", options.power_trials, "Draws for each question about slower code", 1,
                  1000000);
  help::AddNumber(selftest, "--seed", options.seed, "Seed of the draws", 0, std::uint64_t{1} << 53U);
  AddFormatOption(selftest, arguments->format, &Format::gate_selftest);
  invocation.When(selftest, [arguments] {
    const std::string data = arguments->data.empty() ? BundledTrials() : arguments->data;
    const gate::TrialReport report = gate::RunTrials(gate::ReadTrialData(data), arguments->options);
    std::cout << arguments->format->gate_selftest(report);
    return CodeOf(report.failed.empty());
  });
}

void AddGateSample(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    explicit Arguments(const CLI::App& sample) : rows(sample, KernelJobs()) {}
    help::OptionJobs rows;
    jobs::GateSampleJob job;
    std::vector<std::string> shapes;
  };
  CLI::App& sample =
      *app.add_subcommand("gate-sample", "What one timing process of fa-profile gate --pair measures, as JSON");
  const auto arguments = std::make_shared<Arguments>(sample);
  help::OptionJobs& rows = arguments->rows;
  jobs::GateSampleJob& job = arguments->job;
  constexpr help::Jobs kBoth = kLadder | kPython;
  sample.group("");  // a part of gate --pair: --help does not list it
  rows.For(kBoth,
           sample.add_option("--kernel", job.kernels.pattern, "Only kernels whose id matches this regular expression"));
  rows.For(kLadder, sample.add_option("--kernel-lib", job.kernels.libraries, "Your own kernel library (repeatable)")
                        ->allow_extra_args(false));
  AddPythonKernel(sample, rows, job.python);
  rows.For(kLadder, sample
                        .add_option("--shape", arguments->shapes,
                                    "BATCH,HEADS,SEQLEN,HEAD_DIM[ causal], or NAME=VALUE,... (repeatable)")
                        ->allow_extra_args(false));
  rows.For(kBoth, help::AddNumber(sample, "--launches", job.launches, "Timed samples per case", 1, 10000));
  rows.For(kBoth, sample.add_option("--order", job.order, "Seed of the order of the cases")->capture_default_str());
  rows.For(kBoth, sample.add_option("--device", job.device, "CUDA device number")->capture_default_str());
  invocation.When(sample, [arguments] {
    jobs::GateSampleJob& asked = arguments->job;
    arguments->rows.Check(asked.python.kernel.empty() ? kLadder : kPython);
    asked.python.pattern = asked.kernels.pattern;
    for (const std::string& text : arguments->shapes) asked.kernels.shapes.push_back(Shape::Parse(text));
    jobs::RunGateSample(asked);
    return kExitFine;
  });
}

// Refuses options that have no effect on the requested job.
void CheckOptions(const CLI::App& gate, const GateArguments& arguments) {
  const gate::GateOptions& options = arguments.options;
  for (const help::Job& job : GateJobs()) {
    if (gate.count(job.name) > 0) arguments.rows.Check(job);
  }
  if (!options.pair.empty() && python::LooksLikePythonKernel(options.pair.front())) arguments.rows.Check(PythonPair());
  if (!options.statics.empty() && options.statics.front().ends_with(".json") && gate.count("--base-log") > 0) {
    throw Error("--base-log has no effect on evidence", "leave it out: " + options.statics.front() + " has the base's");
  }
  RefuseTwoOutputs(gate, arguments.outputs);
}

// `command_line`: this program's, for the report.
int RunGate(const CLI::App& gate, GateArguments& arguments, const std::string& command_line) {
  gate::GateOptions& options = arguments.options;
  gate::GateOutputs& outputs = arguments.outputs;
  options.run.reproduce = command_line;
  const bool measures = !options.pair.empty() || !options.measure.empty();
  CheckOptions(gate, arguments);
  gate::PairOptions& run = options.run;
  run.partial = !run.kernel_pattern.empty();
  for (std::string& shape : run.shapes) shape = Shape::Parse(shape).ToString();
  run.load = [](const std::string& path) { return gate::LoadEvidence({path}); };
  run.compute_processes = jobs::ComputeProcesses;
  for (gate::StaticOptions* const side : {&options.base_static, &options.head_static}) {
    side->architecture = arguments.architecture;
    side->kernel_pattern = run.kernel_pattern;
    side->read_wheel = [](const std::string& wheel, const auto& take, const auto& skip) {
      load::ForEachCodeFile(wheel, take, skip);
    };
    side->is_archive = load::MayBeArchive;
    side->read_archive = [](const std::string& name, const std::string& path, const auto& take, const auto& skip) {
      load::ForEachCodeInFile(name, path, take, skip);
    };
  }
  options.why_no_gpu = measures ? jobs::WhyNoGpu() : "";
  if (!options.pair.empty() && options.why_no_gpu.empty()) {
    run.candidate_note =
        jobs::PythonPairNote(options.pair.front(), options.pair.back(), run.python, run.timeout_seconds);
  }
  outputs.render_textfile = [](const gate::GateResult& result) {
    return prom::GateTextfile(gate::GateStateOf(result));
  };
  outputs.render_html = [](const gate::GateResult& result) { return exporters::HtmlGate(gate::GateJson(result)); };
  if (!options.pair.empty() || !options.replay.empty()) outputs.error_rate = GateErrorRate();
  outputs.save = options.save;
  if (options.thresholds != gate::kNoThresholds) {
    outputs.inputs = {options.thresholds.empty() ? gate::kDefaultThresholds : options.thresholds};
  }
  for (const auto* const files :
       {&options.candidate, &options.baseline, &options.pair, &options.statics, &run.libraries}) {
    outputs.inputs.insert(outputs.inputs.end(), files->begin(), files->end());
  }
  for (const std::string& file : {options.replay, options.measure, options.base_static.build_log.value_or(""),
                                  options.head_static.build_log.value_or("")}) {
    if (!file.empty()) outputs.inputs.push_back(file);
  }
  gate::CheckGateOutputs(outputs);

  const auto [result, explanation] = fa_profile::gate::RunGate(options);
  std::cout << explanation;
  if (!result) return kExitFine;
  if (!outputs.TakeStdout()) std::cout << arguments.format->gate(*result);
  gate::WriteGateOutputs(*result, outputs);
  return gate::ExitCode(*result, arguments.strict);
}

}  // namespace

void AddGate(CLI::App& app, Invocation& invocation) {
  CLI::App& gate =
      *app.add_subcommand("gate", "Judge whether a change makes kernels worse: verdict, reports and exit code for CI");
  const auto arguments = std::make_shared<GateArguments>(gate);
  arguments->options.baselines = gate::kBaselines;
  gate.require_subcommand(0, 1);
  AddQuestion(gate, *arguments);
  AddLimits(gate, *arguments);
  AddReports(gate, *arguments);
  AddMeasuring(gate, *arguments);
  NameTypes(gate);
  AddGateSelftest(gate, invocation);
  AddGateInit(gate, invocation);
  AddGateHistory(gate, invocation);
  AddGateSample(app, invocation);
  invocation.When(gate, [arguments, &gate, &invocation] { return RunGate(gate, *arguments, invocation.command_line); });
}

}  // namespace fa_profile::cli

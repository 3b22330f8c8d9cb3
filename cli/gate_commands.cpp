#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "bundled.h"
#include "command.h"
#include "fa_profile/add_option.h"
#include "fa_profile/error.h"
#include "fa_profile/gate_outputs.h"
#include "fa_profile/gate_report.h"
#include "fa_profile/gate_run.h"
#include "fa_profile/gate_trials.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/jobs.h"
#include "fa_profile/page.h"
#include "fa_profile/python_kernel.h"
#include "fa_profile/recording_evidence.h"
#include "fa_profile/usage_errors.h"
#include "formats.h"
#include "gate_history.h"
#include "gate_init.h"
#include "python_kernel.h"

namespace fa_profile::cli {
namespace {

// Options that not every question of the gate heeds, and the questions that do.
struct OptionUse {
  std::vector<const char*> options;
  std::vector<std::string> questions;
};

const std::vector<OptionUse>& OptionUses() {
  static const std::vector<OptionUse> kUses = {
      {{"--kernel"}, {"--pair", "--measure", "--static"}},
      {{"--kernel-lib", "--shape", "--device", "--draws", "--timeout", "--python", "--shared"},
       {"--pair", "--measure"}},
      {{"--pairs", "--second-pairs", "--phase-pairs", "--measure-identical"}, {"--pair"}},
      {{"--processes", "--recordings"}, {"--measure"}},
      {{"--baseline", "--baselines", "--suite"}, {"--candidate"}},
      {{"--arch", "--base-log", "--head-log"}, {"--static"}},
  };
  return kUses;
}

void RefuseBoth(const CLI::App& gate, const std::vector<const char*>& options, const std::string& other,
                const std::string& cure = "leave one of them out") {
  if (gate.count(other) > 0) RefuseOptions(gate, options, " has no effect with " + other, cure);
}

void RefuseIdleOptions(const CLI::App& gate, const gate::GateOptions& options) {
  for (const OptionUse& use : OptionUses()) {
    for (const char* const question : {"--candidate", "--pair", "--static", "--replay", "--measure"}) {
      if (std::ranges::find(use.questions, question) != use.questions.end()) continue;
      RefuseBoth(gate, use.options, question, "leave it out; it is an option of " + help::Listed(use.questions));
    }
  }
  RefuseBoth(gate, {"--baselines", "--suite"}, "--baseline");
  const std::vector<const char*> reports = {"--strict", "--markdown", "--sarif",       "--junit",  "--json",
                                            "--html",   "--textfile", "--annotations", "--summary"};
  RefuseBoth(gate, reports, "--explain");
  RefuseBoth(gate, reports, "--measure", "leave it out: there is a verdict only of two builds");
  if (!options.statics.empty() && options.statics.front().ends_with(".json") && gate.count("--base-log") > 0) {
    throw Error("--base-log has no effect on evidence", "leave it out: " + options.statics.front() + " has the base's");
  }
}

// Standard output takes one report.
void RefuseTwoOutputs(const CLI::App& gate, const gate::GateOutputs& outputs) {
  if (!outputs.TakeStdout()) return;
  RefuseOptions(gate, {"--format", "--annotations"}, " has no effect: a report goes to stdout instead, which takes one",
                "leave it out, or write the report to a file instead of -");
}

/// The commands gate, gate selftest, gate history and gate-sample, and their options.
class GateCommands {
 public:
  /// Adds the commands to `app`.
  explicit GateCommands(CLI::App& app);

  /// gate, gate selftest or gate history. `command_line`: this program's, for the report.
  int RunGate(const std::string& command_line);
  int RunSample();

 private:
  void AddQuestion();
  void AddReports();
  void AddMeasuring();
  void AddSelftest();
  void AddSample(CLI::App& app);
  int Selftest() const;

  CLI::App* gate_ = nullptr;
  CLI::App* selftest_ = nullptr;
  std::unique_ptr<HistoryCommands> history_;
  CLI::App* sample_ = nullptr;
  gate::GateOptions options_;
  gate::GateOutputs outputs_;
  const Format* format_ = nullptr;
  const Format* selftest_format_ = nullptr;
  bool strict_ = false;
  std::string architecture_;
  std::string trial_data_;  // empty: the data that come with the program
  gate::TrialOptions trial_options_;
  GateInitCommand init_;
  jobs::GateSampleOptions sample_options_;
  std::vector<std::string> sample_shapes_;
};

GateCommands::GateCommands(CLI::App& app) {
  options_.baselines = gate::kBaselines;
  gate_ =
      app.add_subcommand("gate", "Judge whether a change makes kernels worse: verdict, reports and exit code for CI");
  gate_->require_subcommand(0, 1);
  AddQuestion();
  AddReports();
  AddMeasuring();
  AddSelftest();
  init_.AddTo(*gate_);
  history_ = std::make_unique<HistoryCommands>(*gate_);
  AddSample(app);
}

void GateCommands::AddQuestion() {
  gate_->add_option("--candidate", options_.candidate, "Recording or evidence of the candidate, one per process")
      ->allow_extra_args(false);
  gate_
      ->add_option("--baseline", options_.baseline,
                   "Recordings, evidence or a baseline file to compare with; default: the promoted baseline")
      ->allow_extra_args(false);
  gate_->add_option("--baselines", options_.baselines, "Folder of promoted baselines")
      ->capture_default_str()
      ->type_name("FOLDER");
  gate_->add_option("--suite", options_.suite, "Suite of the promoted baseline")->capture_default_str();
  gate_
      ->add_option(
          "--pair", options_.pair,
          "Measure two builds, kernel libraries or kernels in Python (FILE.py:FUNCTION) in turns on this machine's "
          "GPU, and judge them")
      ->expected(2)
      ->type_name("BASE HEAD");
  gate_->add_option("--static", options_.statics, "Judge the machine code of two builds, without a GPU")
      ->expected(1, 2)
      ->type_name("BASE HEAD");
  gate_->add_option("--replay", options_.replay, "Judge a run of --pair again that --save kept");
  gate_->add_option("--measure", options_.measure, "Measure one build in many processes for --save, without a verdict");
  gate_->add_option("--thresholds", options_.thresholds, "File of limits; default: ci/thresholds.yaml if it exists");
  gate_->add_flag("--explain", options_.explain, "List each limit and its source instead of judging");
  gate_->add_flag("--strict", strict_, "Exit with code 3 if no clear verdict is reached");
  gate_->add_option("--arch", architecture_, "With --static: code for this architecture (sm_90a); default: the newest");
  gate_->add_option("--base-log", options_.base_static.build_log, "With --static: the compiler's output of the base");
  gate_->add_option("--head-log", options_.head_static.build_log,
                    "With --static: the compiler's output of the candidate");
  gate_->add_option("--today", options_.run.today, "Date by which exceptions expire")->group("");
}

void GateCommands::AddReports() {
  AddFormatOption(*gate_, format_, &Format::gate);
  gate_->add_option("--markdown", outputs_.markdown, "Write a comment for a pull request");
  gate_->add_option("--sarif", outputs_.sarif, "Write SARIF 2.1.0");
  gate_->add_option("--junit", outputs_.junit, "Write JUnit XML");
  gate_->add_option("--json", outputs_.json, "Write JSON (docs/gate.schema.json)");
  gate_->add_option("--html", outputs_.html, "Write a page for a browser");
  gate_->add_option("--textfile", outputs_.textfile, "Write faprof_gate_* for Prometheus (*.prom)");
  gate_->add_flag("--annotations", outputs_.annotations, "Print GitHub annotations (always in GitHub Actions)");
  gate_->add_flag("--summary", outputs_.summary, "Append to the job summary of GitHub Actions");
  gate_->add_option("--save", options_.save, "Keep what was measured, or the candidate's evidence (.json)");
}

void GateCommands::AddMeasuring() {
  gate::PairOptions& run = options_.run;
  gate_->add_option("--kernel", run.kernel_pattern, "Only kernels whose id matches this regular expression");
  gate_->add_option("--kernel-lib", run.libraries, "A kernel library that both builds load (repeatable)")
      ->allow_extra_args(false);
  gate_
      ->add_option("--shape", run.shapes,
                   "BATCH,HEADS,SEQLEN,HEAD_DIM[ causal], or NAME=VALUE,... (repeatable); default 1,8,512,64")
      ->allow_extra_args(false);
  gate_->add_option("--device", run.device, "CUDA device number")->capture_default_str();
  help::AddNumber(*gate_, "--pairs", run.pairs, "Timing pairs of the first stage", 5, 24);
  help::AddNumber(*gate_, "--second-pairs", run.second_pairs, "Pairs of the second stage, for suspects", 7, 24);
  help::AddNumber(*gate_, "--phase-pairs", run.phase_pairs, "Recording pairs, for phases; 0: no phases", 0, 24);
  help::AddNumber(*gate_, "--draws", run.draws, "Random inputs that verify each kernel", 1, 100000);
  help::AddNumber(*gate_, "--timeout", run.timeout_seconds,
                  "Time limit of each process, in seconds; of a kernel in Python, of each case", 1.0, 86400.0);
  gate_->add_option("--python", run.python, "The Python that runs kernels in Python")
      ->capture_default_str()
      ->type_name("PROGRAM");
  gate_->add_flag("--measure-identical", run.measure_identical, "Also time cases of equal machine code");
  gate_->add_flag("--shared", run.shared, "Measure even if another process uses the GPU");
  help::AddNumber(*gate_, "--processes", options_.processes, "With --measure: timing processes", 1, 1000);
  help::AddNumber(*gate_, "--recordings", options_.recordings, "With --measure: recording processes", 1, 1000);
}

void GateCommands::AddSelftest() {
  selftest_ = gate_->add_subcommand("selftest", "Measure the gate's false alarms and misses on recorded processes");
  selftest_->add_option("--data", trial_data_, "Trial data; default: the bundled data");
  help::AddNumber(*selftest_, "--trials", trial_options_.false_alarm_trials, "Simulated pull requests of equal code", 1,
                  10000000);
  help::AddNumber(*selftest_, "--power-trials", trial_options_.power_trials,
                  "Draws for each question about slower code", 1, 1000000);
  help::AddNumber(*selftest_, "--seed", trial_options_.seed, "Seed of the draws", 0, std::uint64_t{1} << 53U);
  AddFormatOption(*selftest_, selftest_format_, &Format::gate_selftest);
}

void GateCommands::AddSample(CLI::App& app) {
  sample_ = app.add_subcommand("gate-sample", "What one timing process of fa-profile gate --pair measures, as JSON");
  sample_->group("");  // a part of gate --pair: --help does not list it
  sample_->add_option("--kernel", sample_options_.kernel_pattern,
                      "Only kernels whose id matches this regular expression");
  sample_->add_option("--kernel-lib", sample_options_.kernel_libraries, "A kernel library of your own (repeatable)")
      ->allow_extra_args(false);
  AddPythonKernel(*sample_, sample_options_.python);
  sample_->add_option("--shape", sample_shapes_, "BATCH,HEADS,SEQLEN,HEAD_DIM[ causal], or NAME=VALUE,... (repeatable)")
      ->allow_extra_args(false);
  help::AddNumber(*sample_, "--launches", sample_options_.launches, "Timed samples per case", 1, 10000);
  sample_->add_option("--order", sample_options_.order, "Seed of the order of the cases")->capture_default_str();
  sample_->add_option("--device", sample_options_.device, "CUDA device number")->capture_default_str();
}

int GateCommands::RunSample() {
  for (const std::string& text : sample_shapes_) sample_options_.shapes.push_back(Shape::Parse(text));
  jobs::RunGateSample(sample_options_);
  return kExitFine;
}

int GateCommands::RunGate(const std::string& command_line) {
  if (*selftest_) return Selftest();
  if (init_.asked()) return init_.Run();
  if (history_->given()) return history_->Run();
  options_.run.reproduce = command_line;
  const bool measures = !options_.pair.empty() || !options_.measure.empty();
  RefuseIdleOptions(*gate_, options_);
  RefuseTwoOutputs(*gate_, outputs_);
  gate::PairOptions& run = options_.run;
  run.partial = !run.kernel_pattern.empty();
  for (std::string& shape : run.shapes) shape = Shape::Parse(shape).ToString();
  run.load = [](const std::string& path) { return gate::LoadEvidence({path}); };
  run.compute_processes = jobs::ComputeProcesses;
  for (gate::StaticOptions* const side : {&options_.base_static, &options_.head_static}) {
    side->architecture = architecture_;
    side->kernel_pattern = run.kernel_pattern;
  }
  if (!options_.pair.empty() && python::LooksLikePythonKernel(options_.pair.front())) {
    RefuseWithPython(*gate_, {"--kernel-lib", "--shape"});
  }
  options_.why_no_gpu = measures ? jobs::WhyNoGpu() : "";
  if (!options_.pair.empty() && options_.why_no_gpu.empty()) {
    run.candidate_note =
        jobs::PythonPairNote(options_.pair.front(), options_.pair.back(), run.python, run.timeout_seconds);
  }
  outputs_.render_textfile = [](const gate::GateResult& result) {
    return prom::GateTextfile(gate::GateStateOf(result));
  };
  outputs_.render_html = [](const gate::GateResult& result) { return exporters::HtmlGate(gate::GateJson(result)); };
  if (!options_.pair.empty() || !options_.replay.empty()) outputs_.error_rate = GateErrorRate();
  outputs_.save = options_.save;
  outputs_.inputs = {options_.thresholds.empty() ? gate::kDefaultThresholds : options_.thresholds};
  for (const auto* const files :
       {&options_.candidate, &options_.baseline, &options_.pair, &options_.statics, &run.libraries}) {
    outputs_.inputs.insert(outputs_.inputs.end(), files->begin(), files->end());
  }
  for (const std::string& file : {options_.replay, options_.measure, options_.base_static.build_log.value_or(""),
                                  options_.head_static.build_log.value_or("")}) {
    if (!file.empty()) outputs_.inputs.push_back(file);
  }
  gate::CheckGateOutputs(outputs_);

  const auto [result, explanation] = fa_profile::gate::RunGate(options_);
  std::cout << explanation;
  if (!result) return kExitFine;
  if (!outputs_.TakeStdout()) std::cout << format_->gate(*result);
  gate::WriteGateOutputs(*result, outputs_);
  return gate::ExitCode(*result, strict_);
}

int GateCommands::Selftest() const {
  const gate::TrialReport report =
      gate::RunTrials(gate::ReadTrialData(trial_data_.empty() ? BundledTrials() : trial_data_), trial_options_);
  std::cout << selftest_format_->gate_selftest(report);
  return report.failed.empty() ? kExitFine : kExitRegression;
}

}  // namespace

void AddGate(CLI::App& app, Invocation& invocation) {
  const auto commands = std::make_shared<GateCommands>(app);
  invocation.When(*app.get_subcommand("gate"),
                  [commands, &invocation] { return commands->RunGate(invocation.command_line); });
  invocation.When(*app.get_subcommand("gate-sample"), [commands] { return commands->RunSample(); });
}

}  // namespace fa_profile::cli

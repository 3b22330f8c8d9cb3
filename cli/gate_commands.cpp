#include "gate_commands.h"

#include <map>
#include <memory>

#include "command.h"
#include "fa_profile/baseline_files.h"
#include "fa_profile/error.h"
#include "fa_profile/recording_evidence.h"
#include "formats.h"
#include "gpu_access.h"

namespace fa_profile {
GateCommands::GateCommands(CLI::App& app) {
  options_.baselines = kBaselines;
  gate_ = app.add_subcommand("gate", "Is this change worse? A verdict, reports of it, and an exit code for CI");
  gate_->require_subcommand(0, 1);
  AddQuestion();
  AddReports();
  AddMeasuring();
  AddSelftest();
  AddSample(app);
}

void GateCommands::AddQuestion() {
  gate_->add_option("--candidate", options_.candidate, "Recording or evidence of the candidate (one a process)")
      ->allow_extra_args(false);
  gate_
      ->add_option("--baseline", options_.baseline,
                   "What it is held against: recordings, evidence or a promoted baseline; default: the promoted one")
      ->allow_extra_args(false);
  gate_->add_option("--baselines", options_.baselines, "Folder of promoted baselines")->capture_default_str();
  gate_->add_option("--suite", options_.suite, "Suite of the promoted baseline")->capture_default_str();
  gate_->add_option("--pair", options_.pair, "Measure two builds in turns on this machine's GPU, and judge them")
      ->expected(2)
      ->type_name("BASE HEAD");
  gate_->add_option("--static", options_.statics, "Judge machine code alone, without a GPU: two builds, or one")
      ->expected(1, 2)
      ->type_name("[BASE] HEAD");
  gate_->add_option("--replay", options_.replay, "Judge a run of --pair again that was kept with --save");
  gate_->add_option("--measure", options_.measure, "Measure one build in many processes, for --save; judges nothing");
  gate_->add_option("--thresholds", options_.thresholds, "Limits; default ci/thresholds.yaml where there is one");
  gate_->add_flag("--explain", options_.explain, "Say which limit holds for what, and where it comes from, instead");
  gate_->add_flag("--strict", options_.strict, "Exit code 3 when there is no clear verdict");
  gate_->add_option("--arch", architecture_,
                    "Of --static: only code for this architecture, sm_90a; default: the newest");
  gate_->add_option("--base-log", options_.base_static.build_log,
                    "Of --static: what the compiler printed for the base");
  gate_->add_option("--head-log", options_.head_static.build_log, "... and for the candidate");
  gate_->add_option("--today", options_.today, "Date by which exceptions expire")->group("");
}

void GateCommands::AddReports() {
  GateOutputs& outputs = options_.outputs;
  AddFormatOption(*gate_, options_.format, &Format::gate);
  gate_->add_option("--markdown", outputs.markdown, "Write a comment for a pull request");
  gate_->add_option("--sarif", outputs.sarif, "Write SARIF 2.1.0");
  gate_->add_option("--junit", outputs.junit, "Write JUnit XML");
  gate_->add_option("--json", outputs.json, "Write JSON (docs/gate.schema.json)");
  gate_->add_option("--textfile", outputs.textfile, "Write faprof_gate_* for Prometheus (*.prom)");
  gate_->add_flag("--annotations", outputs.annotations, "Print GitHub annotations (in GitHub Actions always)");
  gate_->add_flag("--summary", outputs.summary, "Append to the job summary of GitHub Actions");
  gate_->add_option("--save", options_.save, "Keep what was measured, or the candidate's evidence (.json)");
}

void GateCommands::AddMeasuring() {
  PairOptions& run = options_.run;
  gate_->add_option("--kernel", run.kernel_pattern, "Kernels whose id matches this regular expression");
  gate_->add_option("--kernel-lib", run.libraries, "A kernel library that both builds load (repeatable)")
      ->allow_extra_args(false);
  gate_->add_option("--shape", run.shapes, "BATCH,HEADS,SEQLEN,HEAD_DIM[ causal] (repeatable); default 1,8,512,64")
      ->allow_extra_args(false);
  gate_->add_option("--device", run.device, "CUDA device number")->capture_default_str();
  gate_->add_option("--pairs", run.pairs, "Timing pairs of the first stage")
      ->check(CLI::Range(5, 24))
      ->capture_default_str();
  gate_->add_option("--second-pairs", run.second_pairs, "Pairs of the second stage, for what is suspect")
      ->check(CLI::Range(7, 24))
      ->capture_default_str();
  gate_->add_option("--phase-pairs", run.phase_pairs, "Recording pairs, for phases; 0: no phases")
      ->check(CLI::Range(0, 24))
      ->capture_default_str();
  gate_->add_option("--draws", run.draws, "Random inputs each kernel is verified with")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  gate_->add_option("--timeout", run.timeout_seconds, "Seconds one process may take")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  gate_->add_flag("--measure-identical", run.measure_identical, "Time cases of equal machine code too");
  gate_->add_flag("--shared", run.shared, "Measure though another process is on the GPU");
  gate_->add_option("--processes", options_.processes, "Of --measure: timing processes")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  gate_->add_option("--recordings", options_.recordings, "Of --measure: recording processes")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

void GateCommands::AddSelftest() {
  selftest_ = gate_->add_subcommand("selftest", "The gate's own false alarms and misses, on recorded processes");
  selftest_->add_option("--data", selftest_options_.data, "Trial data; default: those that come with the program");
  selftest_->add_option("--trials", selftest_options_.trials, "Fake pull requests of the same code")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  selftest_->add_option("--power-trials", selftest_options_.power_trials, "Draws for each question of what is found")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  selftest_->add_option("--seed", selftest_options_.seed, "Of the draws")->capture_default_str();
  AddFormatOption(*selftest_, selftest_options_.format, &Format::gate_selftest);
}

void GateCommands::AddSample(CLI::App& app) {
  sample_ = app.add_subcommand("gate-sample", "What one timing process of fa-profile gate --pair measures, as JSON");
  sample_->group("");  // a part of gate --pair: not among the commands that --help lists
  sample_->add_option("--kernel", sample_options_.kernel_pattern, "Kernels whose id matches this regular expression");
  sample_->add_option("--kernel-lib", sample_options_.kernel_libraries, "A kernel library of your own (repeatable)")
      ->allow_extra_args(false);
  sample_->add_option("--shape", sample_shapes_, "BATCH,HEADS,SEQLEN,HEAD_DIM[ causal] (repeatable)")
      ->allow_extra_args(false);
  sample_->add_option("--launches", sample_options_.launches, "Timed samples a case")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  sample_->add_option("--order", sample_options_.order, "Seed of the order of the cases")->capture_default_str();
  sample_->add_option("--device", sample_options_.device, "CUDA device number")->capture_default_str();
}

std::optional<int> GateCommands::Run(const std::string& command_line) {
  if (*sample_) {
    for (const std::string& text : sample_shapes_) sample_options_.shapes.push_back(AttentionShape::Parse(text));
    return RunGateSample(sample_options_);
  }
  if (!*gate_) return std::nullopt;
  if (*selftest_) return RunGateSelftest(selftest_options_);
  options_.run.reproduce = command_line;
  options_.run.partial = !options_.run.kernel_pattern.empty();
  const bool measures = !options_.pair.empty() || !options_.measure.empty();
  for (const char* const option : {"--kernel", "--kernel-lib", "--shape", "--device", "--pairs", "--second-pairs",
                                   "--phase-pairs", "--draws", "--timeout", "--measure-identical", "--shared"}) {
    const bool filters_code = !options_.statics.empty() && std::string(option) == "--kernel";
    if (measures || filters_code || gate_->count(option) == 0) continue;
    throw Error(std::string(option) + " is for what is measured, and here nothing is",
                "it goes with --pair and --measure; --kernel with --static, too");
  }
  for (std::string& shape : options_.run.shapes) shape = AttentionShape::Parse(shape).ToString();
  options_.run.load = [](const std::string& path) { return LoadEvidence({path}); };
  options_.run.compute_processes = ComputeProcesses;
  for (StaticOptions* const side : {&options_.base_static, &options_.head_static}) {
    side->architecture = architecture_;
    side->kernel_pattern = options_.run.kernel_pattern;
  }
  return RunGate(options_);
}

void AddGate(CLI::App& app, Invocation& invocation) {
  const auto commands = std::make_shared<GateCommands>(app);
  for (const char* const name : {"gate", "gate-sample"}) {
    app.get_subcommand(name)->callback([commands, &invocation] {
      invocation.run = [commands, &invocation] { return commands->Run(invocation.command_line).value(); };
    });
  }
}

}  // namespace fa_profile

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "baseline_command.h"
#include "commands.h"
#include "exporter_commands.h"
#include "fa_profile/error.h"
#include "fa_profile/findings.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/version.h"
#include "fa_profile/failure_note.h"
#include "gate_commands.h"
#include "fa_profile/kernel_pattern.h"
#include "metric_names.h"
#include "fa_profile/phase_map_file.h"

namespace fa_profile {
namespace {

const std::map<std::string, Format> kFormats = {
    {"text", Format::kText}, {"json", Format::kJson}, {"csv", Format::kCsv}};

// Says the names alone, where CLI11 would show the enumeration's numbers too.
CLI::CheckedTransformer Formats() {
  CLI::CheckedTransformer formats(kFormats, CLI::ignore_case);
  formats.description("");
  return formats;
}

struct Arguments {
  RunOptions run;
  VerifyOptions verify;
  std::vector<std::string> shapes;
  std::vector<std::string> verify_shapes;
  bool causal = false;
  bool verify_causal = false;
  std::string replay = "user";
  std::string cache = "warm";
  std::string report_path;
  std::string diff_before;
  std::string diff_after;
  ReportFilter report;
  std::vector<std::string> report_shapes;
  bool report_causal = false;
  std::string phase_map;
  Format format = Format::kText;
  std::string list_what;
  std::string list_chip = "GH100";
  std::string list_pattern;
  LintCommand lint;
  SelftestOptions selftest;
  int doctor_device = 0;
  std::string doctor_file;
};

std::vector<AttentionShape> ParseShapes(const std::vector<std::string>& texts, bool causal) {
  std::vector<AttentionShape> shapes;
  for (const std::string& text : texts) shapes.push_back(AttentionShape::Parse(text, causal));
  if (texts.empty() && causal) {  // of the default shape
    shapes.emplace_back();
    shapes.back().causal = true;
  }
  return shapes;
}

void AddRunOptions(CLI::App& app, Arguments& arguments) {
  RunOptions& run = arguments.run;
  app.add_option("--ncu-set", run.metric_set, "Metric set: basic, detailed, full, roofline, phases")
      ->capture_default_str();
  app.add_option("--metrics", run.metrics, "CUPTI metric names instead of a set, comma-separated")->delimiter(',');
  app.add_option("--section-folder", run.section_folder,
                 "Read the set from an installed Nsight Compute's .section files");
  app.add_option("--kernel", run.kernel_pattern, "Kernels whose id matches this regular expression");
  app.add_option("--kernel-lib", run.kernel_libraries, "A kernel library of your own (repeatable)");
  app.add_option("--shape", arguments.shapes, "BATCH,HEADS,SEQLEN,HEAD_DIM (repeatable); default 1,8,512,64");
  app.add_flag("--causal", arguments.causal, "Causal attention");
  app.add_option("-o,--output", run.output, "Recording to write (*.fap); default fa-profile-<time>.fap");
  app.add_option("--spool", run.spool, "Write the recording to this folder, from which fa-profile serve counts it");
  app.add_flag("--force", run.overwrite, "Replace an existing recording");
  app.add_option("--device", run.device, "CUDA device number")->capture_default_str();
  app.add_option("--replay", arguments.replay, "user: ranges, all kernels in each pass; kernel: each launch by itself")
      ->check(CLI::IsMember({"user", "kernel"}))
      ->capture_default_str();
  app.add_option("--cache", arguments.cache, "warm, or flush: overwrite the L2 before each measured call")
      ->check(CLI::IsMember({"warm", "flush"}))
      ->capture_default_str();
  app.add_option("--warmup", run.warmup_launches, "Unmeasured calls before a case is timed")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--repeats", run.timed_launches, "Timed samples a case; 0: no timing")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  app.add_option("--draws", run.draws, "Random inputs each kernel is verified with first; 0: it is trusted")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  app.add_option("--raw", run.raw,
                 "Raw counter data kept: of all shapes, of the first, none (it is most of a recording)")
      ->check(CLI::IsMember({"all", "first", "none"}))
      ->capture_default_str();
  app.add_option("--max-launches", run.max_launches, "Launches of a program (after --) that are measured")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--phases", run.phases,
                 "Sample and count inside the kernels: on, off; auto: with the sets full, detailed and phases")
      ->check(CLI::IsMember({"on", "off", "auto"}))
      ->capture_default_str();
  app.add_flag("--summary", run.summary, "Report the tables only, no block for each kernel");
  app.add_option("--explain", run.explain, "Tell what a finding means and where it was found, instead of the report");
  app.add_option("--phase-map", arguments.phase_map, "YAML file that says which code is which phase");
  app.add_option("--format", run.format, "text, json or csv")->transform(Formats())->type_name("FORMAT");
}

void AddLintOptions(CLI::App& app, Arguments& arguments) {
  LintCommand& lint = arguments.lint;
  app.add_option("files", lint.files, "Cubins, or objects, programs and libraries with cubins in them");
  app.add_option("--kernel", lint.kernel_pattern, "Kernels whose C++ name matches this regular expression");
  app.add_option("--arch", lint.architecture, "Only code for this architecture: sm_90a, 80");
  app.add_option("--threads", lint.options.threads, "Threads of a block; default: what the kernel was compiled for")
      ->check(CLI::Range(1, 1024));
  app.add_option("--smem", lint.options.dynamic_shared_memory_bytes, "Bytes of dynamic shared memory of a block")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--format", lint.format, "text or json")->transform(Formats())->type_name("FORMAT");
  app.add_option("--fail-on", lint.fail_on, "Findings that make the exit code 1, comma-separated")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--phase-map", arguments.phase_map, "YAML file that says which code is which phase");
  app.add_option("--explain", lint.explain, "Tell what a finding means, instead");
}

std::string CommandLine(int argc, char** argv) {
  std::string line = "fa-profile";
  for (int i = 1; i < argc; ++i) line.append(" ").append(argv[i]);
  return line;
}

// The main job, once its options are known to be options.
int Profile(const RunOptions& run, const CLI::App& app) {
  if (run.kernel_replay && run.flush_cache) {
    throw Error("--cache flush does nothing for --replay kernel: CUPTI replays a kernel without coming back to us",
                "use --replay user to measure with a flushed cache");
  }
  // Bad input is an error with and without a GPU.
  if (run.section_folder.empty()) (void)BuiltinMetricSet(run.metric_set, "GH100");  // else the folder's sets count
  if (app.count("--metrics") > 0) RequireMetricNames(run.metrics);
  (void)KernelPattern(run.kernel_pattern);
  if (!run.explain.empty()) RequireFinding(run.explain);
  if (!run.program.empty()) {
    for (const char* const option :
         {"--shape", "--causal", "--kernel-lib", "--replay", "--cache", "--warmup", "--repeats", "--draws", "--raw"}) {
      if (app.count(option) > 0) {
        throw Error(std::string(option) + " is for the ladder, not for a program",
                    "a program's launches are measured as they come, by kernel replay");
      }
    }
    if (app.count("--device") > 0) {
      throw Error("a program chooses its own GPU", "set CUDA_VISIBLE_DEVICES for it instead of --device");
    }
    return RunProgram(run);
  }
  const std::string why_not = WhyNoGpu();
  return why_not.empty() ? RunLadder(run) : ReplayBundled(run, why_not);
}

// A run for the exporter's spool: what it cannot do the fleet must see.
int ProfileForSpool(RunOptions run, const CLI::App& app) {
  if (!run.output.empty()) throw Error("--spool and --output both say where to write", "give one of them");
  if (!std::filesystem::is_directory(run.spool)) {
    throw Error("the spool " + run.spool + " is no folder", "make it, and start fa-profile serve --spool with it");
  }
  run.output = run.spool + "/" + SpoolName(".fap");
  try {
    return Profile(run, app);
  } catch (const Error& error) {
    LeaveFailureNote(run.spool, error);
    throw;
  }
}

int Dispatch(int argc, char** argv) {
  CLI::App app{"fa-profile: which part of a GPU kernel costs what, why, and did that change?"};
  app.set_version_flag("--version", "fa-profile " + std::string(Version()) + " (" + std::string(Commit()) + ")");
  app.name("fa-profile");
  Arguments arguments;
  AddRunOptions(app, arguments);
  app.footer(
      "fa-profile [options] -- PROGRAM ARGUMENTS... profiles any CUDA program.\n"
      "./fa-profile demo, in a checkout, starts Prometheus and Alertmanager on a simulated fleet (docs/demo.md).\n"
      "Exit codes: 0 fine, 1 a kernel is not correct, has what lint --fail-on names, or fails selftest, or gate\n"
      "found a regression; 2 could not do the job; 3 gate --strict without a clear verdict.");

  CLI::App* const report = app.add_subcommand("report", "Report from a recording");
  report->add_option("recording", arguments.report_path, "A *.fap file, or the *.fap.part of a killed run")->required();
  report->add_option("--format", arguments.format, "text, json or csv")->transform(Formats())->type_name("FORMAT");
  report->add_option("--kernel", arguments.report.kernel_pattern, "Only kernels that match this regular expression");
  report->add_option("--shape", arguments.report_shapes, "Only this shape (repeatable)");
  report->add_flag("--causal", arguments.report_causal, "Causal attention, for --shape");
  report->add_flag("--summary", arguments.report.summary, "Tables only, no block for each kernel");
  report->add_option("--explain", arguments.report.explain,
                     "Tell what a finding means and where it was found, instead");
  report->add_option("--phase-map", arguments.phase_map, "YAML file that says which code is which phase");

  CLI::App* const diff = app.add_subcommand("diff", "What changed between two recordings");
  diff->add_option("before", arguments.diff_before)->required();
  diff->add_option("after", arguments.diff_after)->required();
  diff->add_option("--format", arguments.format, "text or json")->transform(Formats())->type_name("FORMAT");

  CLI::App* const verify = app.add_subcommand("verify", "Compare every kernel with the float64 reference");
  verify->add_option("--kernel", arguments.verify.kernel_pattern, "Kernels that match this regular expression");
  verify->add_option("--kernel-lib", arguments.verify.kernel_libraries, "A kernel library of your own (repeatable)");
  verify->add_option("--shape", arguments.verify_shapes,
                     "BATCH,HEADS,SEQLEN,HEAD_DIM (repeatable); default: the suite");
  verify->add_flag("--causal", arguments.verify_causal, "Causal attention, for --shape");
  verify->add_option("--draws", arguments.verify.draws, "Random inputs a shape")->check(CLI::Range(1, 100000));
  verify->add_option("--seed", arguments.verify.seed, "Seed of the first draw")->capture_default_str();
  verify->add_option("--device", arguments.verify.device, "CUDA device number")->capture_default_str();
  verify->add_flag("--machine-readable", arguments.verify.machine_readable, "One JSON object a line")->group("");

  CLI::App* const list = app.add_subcommand("list", "List kernels, sets, metrics, phases, findings or chips");
  list->add_option("what", arguments.list_what,
                   "kernels, sets, metrics (ours), inputs (counters they read), counters (the chip's), chips, phases, "
                   "findings, exported (to Prometheus)")
      ->required()
      ->check(CLI::IsMember(
          {"kernels", "sets", "metrics", "inputs", "counters", "chips", "phases", "findings", "exported"}));
  list->add_option("--chip", arguments.list_chip, "Chip whose counters are meant")->capture_default_str();
  list->add_option("--match", arguments.list_pattern, "Only names that contain this");

  CLI::App* const lint = app.add_subcommand("lint", "What the compiler alone tells of kernels, without a GPU");
  AddLintOptions(*lint, arguments);

  CLI::App* const selftest = app.add_subcommand("selftest", "Hold counters and phases against kernels of known truth");
  selftest->add_option("--kernel", arguments.selftest.kernel_pattern, "Kernels that match this regular expression");
  selftest->add_option("--device", arguments.selftest.device, "CUDA device number")->capture_default_str();
  selftest->add_option("-o,--output", arguments.selftest.output, "Keep the recording (*.fap)");
  selftest->add_flag("--force", arguments.selftest.overwrite, "Replace an existing recording");
  selftest->add_option("--format", arguments.selftest.format, "text or json")
      ->transform(Formats())
      ->type_name("FORMAT");

  CLI::App* const doctor = app.add_subcommand("doctor", "What would stop or weaken a run here, and its cure");
  doctor->add_option("--device", arguments.doctor_device, "CUDA device number")->capture_default_str();
  doctor->add_option("file", arguments.doctor_file, "A program, library or cubin to check for line information");

  ExporterCommands exporter(app);
  GateCommands gate(app);
  BaselineCommands baseline(app);

  app.require_subcommand(0, 1);
  // What follows `--` is a program's own command line; CLI11 must not look into it.
  const auto program = std::find(argv, argv + argc, std::string_view("--"));
  arguments.run.program.assign(program == argv + argc ? program : program + 1, argv + argc);
  if (program != argv + argc && arguments.run.program.empty()) {
    throw Error("there is no program after --", "fa-profile [options] -- PROGRAM ARGUMENTS...");
  }
  try {
    app.parse(static_cast<int>(program - argv), argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    throw Error(error.what(), "fa-profile --help lists the options, fa-profile COMMAND --help those of a command");
  }

  if (!app.get_subcommands().empty()) {
    const std::string command = app.get_subcommands().front()->get_name();
    for (const CLI::Option* const option : app.get_options()) {
      if (option->count() == 0 || option->check_name("--phase-map")) continue;
      throw Error(option->get_name() + " before " + command + " says nothing to it",
                  "options of a command stand behind it: fa-profile " + command + " --help lists them");
    }
  }

  std::optional<PhaseMap> phase_map;
  if (!arguments.phase_map.empty()) phase_map = LoadPhaseMap(arguments.phase_map);
  if (*report) {
    if (!arguments.report.explain.empty()) RequireFinding(arguments.report.explain);
    arguments.report.phase_map = std::move(phase_map);
    arguments.report.shapes = ParseShapes(arguments.report_shapes, arguments.report_causal);
    return RunReport(arguments.report_path, arguments.format, arguments.report);
  }
  if (*diff) return RunDiff(arguments.diff_before, arguments.diff_after, arguments.format);
  if (*list) return RunList(arguments.list_what, arguments.list_chip, arguments.list_pattern);
  if (*selftest) {
    arguments.selftest.command_line = CommandLine(argc, argv);
    return RunSelftest(arguments.selftest);
  }
  if (*lint) {
    arguments.lint.options.phase_map = std::move(phase_map);
    return RunLint(arguments.lint);
  }
  if (*doctor) return RunDoctor(arguments.doctor_device, arguments.doctor_file);
  if (const std::optional<int> code = exporter.Run()) return *code;
  if (const std::optional<int> code = baseline.Run()) return *code;
  if (const std::optional<int> code = gate.Run(CommandLine(argc, argv))) return *code;
  if (*verify) {
    arguments.verify.shapes = ParseShapes(arguments.verify_shapes, arguments.verify_causal);
    return RunVerify(arguments.verify);
  }

  RunOptions& run = arguments.run;
  run.shapes = ParseShapes(arguments.shapes, arguments.causal);
  run.phase_map = std::move(phase_map);
  run.kernel_replay = arguments.replay == "kernel";
  run.flush_cache = arguments.cache == "flush";
  run.command_line = CommandLine(argc, argv);
  for (const char* const option : {"--metrics", "--section-folder", "--kernel-lib", "--output", "--device", "--replay",
                                   "--cache", "--warmup", "--repeats", "--draws", "--raw", "--spool"}) {
    if (app.count(option) > 0) run.gpu_only_option = option;
  }
  if (!run.spool.empty()) return ProfileForSpool(run, app);
  return Profile(run, app);
}

}  // namespace
}  // namespace fa_profile

int main(int argc, char** argv) {
  try {
    const int code = fa_profile::Dispatch(argc, argv);
    // A listing that was not written is no success, whichever stream it went through.
    if (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw fa_profile::Error("the output could not be written", "is the disk full, or standard output closed?");
    }
    return code;
  } catch (const fa_profile::Error& error) {
    std::cerr << "fa-profile: error: " << error.what() << '\n';
  } catch (const std::bad_alloc&) {
    std::cerr << "fa-profile: error: out of memory\n  hint: use a smaller metric set or fewer shapes at once\n";
  } catch (const std::exception& error) {
    std::cerr << "fa-profile: error: " << error.what() << '\n';
  }
  return fa_profile::kExitCannot;
}

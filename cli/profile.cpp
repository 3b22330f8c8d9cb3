#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "command.h"
#include "fa_profile/add_option.h"
#include "fa_profile/error.h"
#include "fa_profile/failure_note.h"
#include "fa_profile/findings.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/metric_names.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/usage_errors.h"
#include "formats.h"
#include "print_to.h"

namespace fa_profile::cli {
namespace {

struct ProfileArguments {
  RunOptions run;
  ShapeArguments shapes;
  std::string replay;
  std::string processes = "all";
  std::string exit_code = "program";
  std::string from_start = "on";
  std::string cache = "warm";
};

/// Reports a finished run, and names its recording on stderr.
jobs::Report ReportOf(const RunOptions& run) {
  return [&run](const std::string& recording, const std::string& name) {
    ReportFilter filter = run.report;
    filter.entries = {.nvtx_pattern = run.nvtx_pattern, .all_kernels = true};
    PrintReport(recording, *run.format, filter);
    NameRecording(fmt::format("recording: {}  (again: fa-profile report {})", name, name));
  };
}

// The main job, once its options are known to be options.
int RunProfile(const RunOptions& run, const CLI::App& app) {
  if (run.kernel_replay && run.flush_cache) {
    throw Error(
        "--cache flush has no effect with --replay kernel: CUPTI replays the kernel itself and cannot flush the cache",
        "use --replay user to measure with a flushed cache");
  }
  // Bad input is an error with and without a GPU.
  if (run.section_folder.empty()) (void)BuiltinMetricSet(run.metric_set, "GH100");  // else the folder's sets count
  if (app.count("--metrics") > 0) RequireMetricNames(run.metrics);
  (void)KernelPattern(run.kernel_pattern);
  (void)KernelPattern(run.nvtx_pattern, "--nvtx");
  if (!run.report.explain.empty()) (void)analyze::RequireFinding(run.report.explain);
  RequirePythonKernel(app, run.python);
  if (!run.program.empty()) {
    RefuseOptions(app,
                  {"--kernel-py", "--shape", "--causal", "--kernel-lib", "--tensor", "--cache", "--warmup", "--repeats",
                   "--draws", "--raw", "--timeline"},
                  " has no effect on a program",
                  "leave it out; --kernel, --nvtx, --top, --delay and --duration select what is measured of a program");
    if (app.count("--replay") > 0 && run.program_replay == "user") {
      throw Error("--replay user cannot measure a program: fa-profile cannot run its kernels again",
                  "use spread, kernel or none");
    }
    if (run.program_replay == "none") {
      RefuseOptions(app, {"--nvtx", "--launch-skip", "--launch-count"},
                    " selects launches to measure, and --replay none measures none");
    }
    if (!run.from_start) {
      RefuseOptions(app, {"--delay", "--duration"}, " and --profile-from-start off exclude each other",
                    "each says when recording begins or ends: give one");
    }
    if (run.phases == "on" && run.kernel_replay) {
      throw Error("--phases on has no effect with --replay kernel: a replayed launch is not the program's own",
                  "use --replay spread, or --replay none for phases without counters");
    }
    RefuseOptions(app, {"--device"}, " has no effect on a program", "set CUDA_VISIBLE_DEVICES to choose its GPU");
    return jobs::RunProgram(run, ReportOf(run));
  }
  RefuseOptions(app,
                {"--top", "--nvtx", "--launch-skip", "--launch-count", "--profile-from-start", "--delay", "--duration",
                 "--record-all", "--processes", "--exit-code"},
                " applies only to a program", "name the program after --, or leave it out");
  if (run.program_replay == "spread" || run.program_replay == "none") {
    throw Error("--replay " + run.program_replay + " is for a program",
                "name the program after --, or use user or kernel");
  }
  if (!run.python.kernel.empty()) {
    RefuseWithPython(app, {"--kernel-lib", "--shape", "--causal", "--replay", "--cache", "--raw", "--timeline"});
    return CodeOf(jobs::RunPython(run, ReportOf(run)));
  }
  const std::string why_not = jobs::WhyNoGpu();
  return why_not.empty() ? CodeOf(jobs::RunLadder(run, ReportOf(run))) : ReplayBundled(run, why_not);
}

// A run for the exporter's spool: what it cannot do the fleet must see.
int ProfileForSpool(RunOptions run, const CLI::App& app) {
  if (!run.output.empty())
    throw Error("--spool and --output cannot be combined", "both name the output file: give one");
  if (!std::filesystem::is_directory(run.spool)) {
    throw Error("the spool " + run.spool + " is not a folder", "create it, and start fa-profile serve --spool with it");
  }
  run.output = run.spool + "/" + serve::SpoolName(".fap");
  try {
    return RunProfile(run, app);
  } catch (const Error& error) {
    serve::LeaveFailureNote(run.spool, error);
    throw;
  }
}

}  // namespace

void AddProfile(CLI::App& app, Invocation& invocation) {
  const auto shared = std::make_shared<ProfileArguments>();
  ProfileArguments& arguments = *shared;
  RunOptions& run = arguments.run;
  const std::string no_group = app.option_defaults()->get_group();
  app.option_defaults()->group("What is measured");
  app.add_option("--ncu-set", run.metric_set, "Metrics to collect: " + help::Listed(MetricSetNames()))
      ->capture_default_str()
      ->type_name("SET");
  app.add_option("--metrics", run.metrics, "CUPTI metrics to collect instead of a set, comma-separated")
      ->delimiter(',')
      ->type_name("NAME");
  app.add_option("--section-folder", run.section_folder,
                 "Read the set from an installed Nsight Compute's .section files")
      ->type_name("FOLDER");
  app.add_option("--kernel", run.kernel_pattern, "Only kernels whose id matches this regular expression")
      ->type_name("REGEX");
  app.add_option("--kernel-lib", run.kernel_libraries, "A kernel library of your own (repeatable)")->type_name("FILE");
  AddPythonKernel(app, run.python);
  AddTensorFiles(app, run.tensor_files);
  AddShapes(
      app, arguments.shapes,
      "BATCH,HEADS,SEQLEN,HEAD_DIM, or NAME=VALUE,... of a library's parameters (repeatable); default 1,8,512,64");
  app.add_option("--phases", run.phases,
                 "Measure phases inside kernels: on, off; auto: on for the sets full, detailed and phases")
      ->check(help::OneOf({"on", "off", "auto"}))
      ->capture_default_str();
  app.add_flag("--timeline", run.timeline,
               "Sample metrics over the time of each call of 0.1 ms or more: report --format perfetto shows them");
  AddPhaseMap(app, invocation);
  app.option_defaults()->group("How it is measured");
  app.add_option("--device", run.device, "CUDA device number")->capture_default_str()->type_name("N");
  app.add_option(
         "--replay", arguments.replay,
         "How counters are measured. user: run all kernels in each pass; kernel: CUPTI replays each launch. Of a "
         "program: spread (default): each repetition of a launch takes the next pass; kernel; none: no counters")
      ->check(help::OneOf({"user", "kernel", "spread", "none"}));
  help::AddChoice(app, "--cache", arguments.cache,
                  "warm: keep the L2 as it is; flush: overwrite it before each measured call", {"warm", "flush"});
  help::AddNumber(app, "--warmup", run.warmup_launches, "Calls before timing starts", 0, 1000);
  help::AddNumber(app, "--repeats", run.timed_launches, "Timed samples per case; 0: no timing", 0, 100000);
  help::AddNumber(app, "--draws", run.draws,
                  "Random inputs to verify each kernel with before it is measured; 0: do not verify", 0, 100000);
  app.option_defaults()->group("Of a program (-- PROGRAM)");
  app.add_option("--top", run.top,
                 "Launch classes of a program to measure counters of; default those over 1 % of the kernel time")
      ->check(CLI::Range(1, 10000));
  app.add_option("--nvtx", run.nvtx_pattern,
                 "Counters only of a program's launches inside NVTX ranges whose path (\"step / attn\") matches this "
                 "regular expression")
      ->type_name("REGEX");
  app.add_option("--launch-skip", run.launch_skip,
                 "Skip the first N launches of a program that --kernel and --nvtx match")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  app.add_option("--launch-count", run.launch_count,
                 "Launches of a program to measure; with spread, a class needs one for each pass")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  help::AddChoice(app, "--profile-from-start", arguments.from_start,
                  "off: record a program only between its calls of cudaProfilerStart and cudaProfilerStop",
                  {"on", "off"});
  app.add_option("--delay", run.delay_s, "Seconds of a program's run before anything is recorded")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("SECONDS");
  app.add_option("--duration", run.duration_s, "Seconds of a program's run to record; default to its end")
      ->check(CLI::Range(0.1, 1e6))
      ->type_name("SECONDS");
  app.add_option("--record-all", run.record_all_s,
                 "Record every launch of a program for this many seconds, or for \"always\"; then only a sample")
      ->transform(CLI::Transformer(std::map<std::string, std::string>{{"always", "1e9"}}).description(""))
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str()
      ->type_name("SECONDS");
  help::AddChoice(app, "--processes", arguments.processes,
                  "all: record child processes, too; root: only the first process that uses a GPU", {"all", "root"});
  help::AddChoice(app, "--exit-code", arguments.exit_code,
                  "program: end with the program's exit code; report: end with 0", {"program", "report"});
  app.option_defaults()->group("Output");
  app.add_option("-o,--output", run.output, "Recording to write (*.fap); default fa-profile-<time>.fap")
      ->type_name("FILE");
  app.add_option("--spool", run.spool, "Write the recording to this folder, which fa-profile serve watches")
      ->type_name("FOLDER");
  app.add_flag("--force", run.overwrite, "Replace an existing recording");
  help::AddChoice(app, "--raw", run.raw,
                  "Raw counter data to keep: of all shapes, of the first, or none (most of a recording's size)",
                  {"all", "first", "none"});
  AddLength(app, run.report);
  app.add_option("--explain", run.report.explain,
                 "Explain a finding and list where it was found, instead of the report")
      ->type_name("FINDING");
  AddFormatOption(app, run.format, ReportFormats());
  app.option_defaults()->group(no_group);  // commands inherit it
  invocation.When(app, [shared, &app, &invocation] {
    RunOptions& asked = shared->run;
    RefuseTerminal(*asked.format,
                   "keep it in a file: add > report.html, or fa-profile report FILE.fap --format html -o report.html");
    CheckTextOptions(app, *asked.format);
    asked.program = invocation.program;
    asked.shapes = shared->shapes.Parse();
    asked.report.phase_source = ReadPhaseSource(invocation);
    asked.report.phase_map = ReadPhaseMap(invocation);
    asked.kernel_replay = shared->replay == "kernel";
    asked.program_replay = shared->replay;
    if (!asked.program.empty() && shared->replay.empty()) asked.program_replay = "spread";
    asked.children = shared->processes == "all";
    asked.from_start = shared->from_start == "on";
    asked.exit_code_of_report = shared->exit_code == "report";
    asked.flush_cache = shared->cache == "flush";
    asked.command_line = invocation.command_line;
    for (const char* const option :
         {"--metrics", "--section-folder", "--kernel-lib", "--tensor", "--output", "--device", "--replay", "--cache",
          "--warmup", "--repeats", "--draws", "--raw", "--spool", "--timeline"}) {
      if (app.count(option) > 0) asked.gpu_only_option = option;
    }
    return asked.spool.empty() ? RunProfile(asked, app) : ProfileForSpool(asked, app);
  });
}

}  // namespace fa_profile::cli

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>

#include "command.h"
#include "fa_profile/add_option.h"
#include "fa_profile/error.h"
#include "fa_profile/failure_note.h"
#include "fa_profile/findings.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/jobs.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/metric_names.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/option_jobs.h"
#include "fa_profile/usage_errors.h"
#include "formats.h"
#include "kernel_options.h"
#include "print_to.h"
#include "replay.h"

namespace fa_profile::cli {
namespace {

constexpr help::Jobs kRuns = kLadder | kProgram | kPython;
constexpr help::Jobs kEveryJob = kRuns | kBundled;

struct ProfileArguments {
  explicit ProfileArguments(const CLI::App& app) : rows(app, KernelJobs()) {}

  help::OptionJobs rows;
  // Parts that jobs share.
  jobs::MetricChoice metrics;
  jobs::CallCounts calls;
  jobs::RecordingFile file;
  std::string kernel_pattern;
  int device = 0;
  // Specific to one job.
  jobs::LadderJob ladder;
  jobs::ProgramJob program;
  jobs::PythonOptions python;
  // As given.
  ShapeArguments shapes;
  std::string replay;
  std::string cache = "warm";
  std::string from_start = "on";
  std::string processes = "all";
  std::string exit_code = "program";
  std::string spool;  // the exporter's folder to write to; empty: the current one
  // The report.
  const Format* format = nullptr;
  ReportFilter report;
};

help::Jobs JobOf(const ProfileArguments& given) {
  return !given.program.program.empty() ? kProgram : !given.python.kernel.empty() ? kPython : kLadder;
}

jobs::LadderJob LadderOf(const ProfileArguments& given) {
  jobs::LadderJob job = given.ladder;
  job.metrics = given.metrics;
  job.calls = given.calls;
  job.file = given.file;
  job.device = given.device;
  job.kernels.pattern = given.kernel_pattern;
  job.kernels.shapes = given.shapes.Parse();
  job.kernel_replay = given.replay == "kernel";
  job.flush_cache = given.cache == "flush";
  return job;
}

jobs::PythonJob PythonOf(const ProfileArguments& given) {
  jobs::PythonJob job{given.python, given.metrics, given.calls, given.file, given.device};
  job.python.pattern = given.kernel_pattern;
  return job;
}

jobs::ProgramJob ProgramOf(const ProfileArguments& given) {
  jobs::ProgramJob job = given.program;
  job.metrics = given.metrics;
  job.file = given.file;
  job.launches.kernel_pattern = given.kernel_pattern;
  job.time.from_start = given.from_start == "on";
  job.replay = given.replay.empty() ? "spread" : given.replay;
  job.children = given.processes == "all";
  job.in_spool = !given.spool.empty();
  job.exit_code_of_report = given.exit_code == "report";
  return job;
}

/// Reports a finished run, and names its recording on stderr.
jobs::Report ReportOf(const ProfileArguments& given) {
  return [&given](const std::string& recording, const std::string& name) {
    ReportFilter filter = given.report;
    filter.entries = {.nvtx_pattern = given.program.launches.nvtx_pattern, .all_kernels = true};
    PrintReport(recording, *given.format, filter);
    NameRecording(fmt::format("recording: {}  (again: fa-profile report {})", name, name));
  };
}

// Bad input is an error with and without a GPU.
void CheckInput(const ProfileArguments& given, const CLI::App& app) {
  (void)BuiltinMetricSet(given.metrics.set, "GH100");
  if (app.count("--metrics") > 0) RequireMetricNames(given.metrics.names);
  (void)KernelPattern(given.kernel_pattern);
  (void)KernelPattern(given.program.launches.nvtx_pattern, "--nvtx");
  if (!given.report.explain.empty()) (void)analyze::RequireFinding(given.report.explain);
}

// The main job, once its options have been checked.
int RunProfile(const ProfileArguments& given, const CLI::App& app) {
  const help::Jobs job = JobOf(given);
  given.rows.Check(job);
  CheckInput(given, app);
  if (job == kProgram) return jobs::RunProgram(ProgramOf(given), ReportOf(given));
  if (job == kPython) return CodeOf(jobs::RunPython(PythonOf(given), ReportOf(given)));
  const jobs::LadderJob ladder = LadderOf(given);
  const std::string why_not = jobs::WhyNoGpu();
  return why_not.empty() ? CodeOf(jobs::RunLadder(ladder, ReportOf(given)))
                         : ReplayBundled(ladder, given.rows, *given.format, given.report, why_not);
}

// A run for the exporter's spool: the fleet must see what it cannot do.
int ProfileForSpool(ProfileArguments& given, const CLI::App& app) {
  if (!std::filesystem::is_directory(given.spool)) {
    throw Error("the spool " + given.spool + " is not a folder",
                "create it, and start fa-profile serve --spool with it");
  }
  if (given.file.path.empty()) given.file.path = given.spool + "/" + serve::SpoolName(".fap");
  try {
    return RunProfile(given, app);
  } catch (const Error& error) {
    serve::LeaveFailureNote(given.spool, error);
    throw;
  }
}

void AddMetrics(CLI::App& app, ProfileArguments& given) {
  help::OptionJobs& rows = given.rows;
  rows.For(kEveryJob,
           app.add_option("--ncu-set", given.metrics.set, "Metrics to collect: " + help::Listed(MetricSetNames()))
               ->capture_default_str()
               ->type_name("SET"));
  rows.For(kRuns, app.add_option("--metrics", given.metrics.names,
                                 "CUPTI metrics to collect instead of a set, comma-separated")
                      ->delimiter(',')
                      ->type_name("NAME"));
}

void AddKernels(CLI::App& app, ProfileArguments& given) {
  help::OptionJobs& rows = given.rows;
  jobs::KernelChoice& kernels = given.ladder.kernels;
  rows.For(kEveryJob,
           app.add_option("--kernel", given.kernel_pattern, "Only kernels whose id matches this regular expression")
               ->type_name("REGEX"));
  rows.For(
      kLadder,
      app.add_option("--kernel-lib", kernels.libraries, "Your own kernel library (repeatable)")->type_name("FILE"));
  AddPythonKernel(app, rows, given.python);
  rows.For(kLadder, AddTensorFiles(app, kernels.tensor_files));
  AddShapes(
      app, given.shapes,
      "BATCH,HEADS,SEQLEN,HEAD_DIM, or NAME=VALUE,... of a library's parameters (repeatable); default 1,8,512,64");
  rows.For(kLadder | kBundled, {"--shape", "--causal"});
}

void AddPhases(CLI::App& app, ProfileArguments& given, Invocation& invocation) {
  help::OptionJobs& rows = given.rows;
  rows.For(kRuns, help::AddChoice(app, "--phases", given.metrics.phases,
                                  "Measure phases inside kernels: on, off; auto: on for the sets full, detailed and "
                                  "phases",
                                  {"on", "off", "auto"}));
  rows.For(kLadder,
           app.add_flag("--timeline", given.ladder.timeline,
                        "Sample metrics over the time of each call of 0.1 ms or more; report --format perfetto shows "
                        "them"));
  AddPhaseMap(app, invocation);
  rows.For(kEveryJob, {"--phase-map", "--phase-from"});
}

void AddReplay(CLI::App& app, ProfileArguments& given) {
  help::OptionJobs& rows = given.rows;
  rows.For(
      kLadder | kProgram,
      app.add_option(
             "--replay", given.replay,
             "How counters are measured. user: run all kernels in each pass; kernel: CUPTI replays each launch. For a "
             "program: spread (default): each repetition of a launch takes the next pass; kernel; none: no counters")
          ->check(help::OneOf({"user", "kernel", "spread", "none"})));
  rows.ForValue(kLadder, {"--replay", "user"}, "fa-profile cannot run its kernels again");
  rows.ForValue(kLadder | kProgram, {"--replay", "kernel"});
  rows.ForValue(kProgram, {"--replay", "spread"});
  rows.ForValue(kProgram, {"--replay", "none"});
}

void AddHow(CLI::App& app, ProfileArguments& given) {
  help::OptionJobs& rows = given.rows;
  rows.For(kLadder | kPython,
           app.add_option("--device", given.device, "CUDA device number")->capture_default_str()->type_name("N"));
  AddReplay(app, given);
  rows.For(kLadder, help::AddChoice(app, "--cache", given.cache,
                                    "warm: keep the L2 as it is; flush: overwrite it before each measured call",
                                    {"warm", "flush"}));
  rows.For(kLadder | kPython,
           help::AddNumber(app, "--warmup", given.calls.warmup_launches, "Calls before timing starts", 0, 1000));
  rows.For(kLadder | kPython, help::AddNumber(app, "--repeats", given.calls.timed_launches,
                                              "Timed samples per case; 0: no timing", 0, 100000));
  rows.For(
      kLadder | kPython,
      help::AddNumber(app, "--draws", given.calls.draws,
                      "Random inputs to verify each kernel with before it is measured; 0: do not verify", 0, 100000));
  rows.Exclude({.option = {"--cache", "flush"},
                .with = {"--replay", "kernel"},
                .why = "CUPTI replays the kernel itself and cannot flush the cache",
                .cure = "use --replay user to measure with a flushed cache"});
  rows.Exclude({.option = {"--phases", "on"},
                .with = {"--replay", "kernel"},
                .why = "a replayed launch is not the program's own",
                .cure = "use --replay spread, or --replay none for phases without counters",
                .jobs = kProgram});
}

// Which launches of a program are measured.
void AddLaunches(CLI::App& app, ProfileArguments& given) {
  help::OptionJobs& rows = given.rows;
  jobs::LaunchChoice& launches = given.program.launches;
  rows.For(kProgram,
           app.add_option("--top", launches.top,
                          "Launch classes of a program that get counters; default: those over 1 % of the kernel time")
               ->check(CLI::Range(1, 10000)));
  rows.For(kProgram, app.add_option("--nvtx", launches.nvtx_pattern,
                                    "Count only launches inside NVTX ranges whose path (\"step / attn\") matches this "
                                    "regular expression")
                         ->type_name("REGEX"));
  rows.For(kProgram, help::AddNumber(app, "--launch-skip", launches.skip,
                                     "Skip the first N launches of a program that --kernel and --nvtx match", 0,
                                     std::int64_t{1} << 40));
  rows.For(kProgram,
           app.add_option("--launch-count", launches.count,
                          "Launches of a program to measure; with spread, a class needs one for each pass; default: "
                          "all")
               ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40)));
  for (const char* const option : {"--nvtx", "--launch-skip", "--launch-count"}) {
    rows.Exclude({.option = {option}, .with = {"--replay", "none"}, .why = "it selects launches to measure"});
  }
}

// When a program is recorded.
void AddRecordedTime(CLI::App& app, ProfileArguments& given) {
  help::OptionJobs& rows = given.rows;
  jobs::RecordedTime& time = given.program.time;
  rows.For(kProgram,
           help::AddChoice(app, "--profile-from-start", given.from_start,
                           "off: record a program only between its calls of cudaProfilerStart and cudaProfilerStop",
                           {"on", "off"}));
  rows.For(kProgram, app.add_option("--delay", time.delay_s, "Seconds to wait before the program is recorded")
                         ->check(CLI::Range(0.0, 1e6))
                         ->type_name("SECONDS"));
  rows.For(kProgram, app.add_option("--duration", time.duration_s, "Seconds to record; default: until the program ends")
                         ->check(CLI::Range(0.1, 1e6))
                         ->type_name("SECONDS"));
  rows.For(kProgram,
           app.add_option("--record-all", time.record_all_s,
                          "Record every launch for this many seconds, or \"always\"; after that only a sample")
               ->transform(CLI::Transformer(std::map<std::string, std::string>{{"always", "1e9"}}).description(""))
               ->check(CLI::Range(0.0, 1e9))
               ->capture_default_str()
               ->type_name("SECONDS"));
  for (const char* const option : {"--delay", "--duration"}) {
    rows.Exclude({.option = {option},
                  .with = {"--profile-from-start", "off"},
                  .why = "each says when recording begins or ends"});
  }
}

void AddOfProgram(CLI::App& app, ProfileArguments& given) {
  AddLaunches(app, given);
  AddRecordedTime(app, given);
  given.rows.For(kProgram, help::AddChoice(app, "--processes", given.processes,
                                           "all: record child processes, too; root: only the first process that uses "
                                           "a GPU",
                                           {"all", "root"}));
  given.rows.For(kProgram, app.add_flag("--torch-modules", given.program.torch_modules,
                                        "Put an NVTX range around each call of a torch.nn.Module of a Python program"));
  given.rows.For(kProgram, help::AddChoice(app, "--exit-code", given.exit_code,
                                           "program: end with the program's exit code; report: end with 0",
                                           {"program", "report"}));
}

void AddOutput(CLI::App& app, ProfileArguments& given) {
  help::OptionJobs& rows = given.rows;
  rows.For(kRuns,
           app.add_option("-o,--output", given.file.path, "Recording to write (*.fap); default fa-profile-<time>.fap")
               ->type_name("FILE"),
           "it names the recording to write, and nothing is measured; report RECORDING -o FILE keeps a report");
  rows.For(kRuns,
           app.add_option("--spool", given.spool, "Write the recording to this folder, which fa-profile serve watches")
               ->type_name("FOLDER"));
  rows.Exclude({.option = {"--output"}, .with = {"--spool"}, .why = "both name the output file"});
  rows.For(kRuns, app.add_flag("--force", given.file.overwrite, "Replace an existing recording"),
           "it replaces a recording, and nothing is measured");
  rows.For(kLadder, help::AddChoice(app, "--raw", given.ladder.raw,
                                    "Raw counter data to keep: of all shapes, of the first, or none (most of a "
                                    "recording's size)",
                                    {"all", "first", "none"}));
  AddLength(app, given.report);
  app.add_option("--explain", given.report.explain,
                 "Explain a finding and list where it was found, instead of the report")
      ->type_name("FINDING");
  AddFormatOption(app, given.format, ReportFormats());
  rows.For(kEveryJob, {"--details", "--summary", "--explain", "--format"});
}

}  // namespace

void AddProfile(CLI::App& app, Invocation& invocation) {
  const auto given = std::make_shared<ProfileArguments>(app);
  const std::string no_group = app.option_defaults()->get_group();
  app.option_defaults()->group("What is measured");
  AddMetrics(app, *given);
  AddKernels(app, *given);
  AddPhases(app, *given, invocation);
  app.option_defaults()->group("How it is measured");
  AddHow(app, *given);
  app.option_defaults()->group("For a program (-- PROGRAM)");
  AddOfProgram(app, *given);
  app.option_defaults()->group("Output");
  AddOutput(app, *given);
  app.option_defaults()->group(no_group);  // commands inherit it
  invocation.When(app, [given, &app, &invocation] {
    RefuseTerminal(*given->format,
                   "keep it in a file: add > report.html, or fa-profile report FILE.fap --format html -o report.html");
    CheckTextOptions(app, *given->format);
    given->program.program = invocation.program;
    given->report.phase_source = ReadPhaseSource(invocation);
    given->report.phase_map = ReadPhaseMap(invocation);
    given->file.command_line = invocation.command_line;
    return given->spool.empty() ? RunProfile(*given, app) : ProfileForSpool(*given, app);
  });
}

}  // namespace fa_profile::cli

#include <filesystem>
#include <memory>

#include "command.h"
#include "fa_profile/error.h"
#include "fa_profile/failure_note.h"
#include "fa_profile/findings.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/metric_names.h"
#include "fa_profile/metric_sets.h"

namespace fa_profile {
namespace {

struct ProfileArguments {
  RunOptions run;
  ShapeArguments shapes;
  std::string replay = "user";
  std::string cache = "warm";
};

// The main job, once its options are known to be options.
int RunProfile(const RunOptions& run, const CLI::App& app) {
  if (run.kernel_replay && run.flush_cache) {
    throw Error("--cache flush does nothing for --replay kernel: CUPTI replays a kernel without coming back to us",
                "use --replay user to measure with a flushed cache");
  }
  // Bad input is an error with and without a GPU.
  if (run.section_folder.empty()) (void)BuiltinMetricSet(run.metric_set, "GH100");  // else the folder's sets count
  if (app.count("--metrics") > 0) RequireMetricNames(run.metrics);
  (void)KernelPattern(run.kernel_pattern);
  if (!run.explain.empty()) (void)RequireFinding(run.explain);
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
    return RunProfile(run, app);
  } catch (const Error& error) {
    LeaveFailureNote(run.spool, error);
    throw;
  }
}

}  // namespace

void AddProfile(CLI::App& app, Invocation& invocation) {
  const auto shared = std::make_shared<ProfileArguments>();
  ProfileArguments& arguments = *shared;
  RunOptions& run = arguments.run;
  app.add_option("--ncu-set", run.metric_set, "Metric set: basic, detailed, full, roofline, phases")
      ->capture_default_str();
  app.add_option("--metrics", run.metrics, "CUPTI metric names instead of a set, comma-separated")->delimiter(',');
  app.add_option("--section-folder", run.section_folder,
                 "Read the set from an installed Nsight Compute's .section files");
  app.add_option("--kernel", run.kernel_pattern, "Kernels whose id matches this regular expression");
  app.add_option("--kernel-lib", run.kernel_libraries, "A kernel library of your own (repeatable)");
  AddShapes(app, arguments.shapes, "BATCH,HEADS,SEQLEN,HEAD_DIM (repeatable); default 1,8,512,64");
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
  AddPhaseMap(app, invocation);
  AddFormatOption(app, run.format, &Format::report);
  // No command was given: a command's callback, called before this one, has set another.
  app.callback([shared, &app, &invocation] {
    if (invocation.run) return;
    invocation.run = [shared, &app, &invocation] {
      RunOptions& asked = shared->run;
      asked.program = invocation.program;
      asked.shapes = shared->shapes.Parse();
      asked.phase_map = ReadPhaseMap(invocation);
      asked.kernel_replay = shared->replay == "kernel";
      asked.flush_cache = shared->cache == "flush";
      asked.command_line = invocation.command_line;
      for (const char* const option : {"--metrics", "--section-folder", "--kernel-lib", "--output", "--device",
                                       "--replay", "--cache", "--warmup", "--repeats", "--draws", "--raw", "--spool"}) {
        if (app.count(option) > 0) asked.gpu_only_option = option;
      }
      return asked.spool.empty() ? RunProfile(asked, app) : ProfileForSpool(asked, app);
    };
  });
}

}  // namespace fa_profile

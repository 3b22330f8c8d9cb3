// fa-profile watch FILE.so: measures a kernel library again whenever it changes, each time in a fresh process, because
// a library cannot be loaded anew, and a kernel that crashes must not end the watch.
#include "fa_profile/watch.h"

#include <sys/wait.h>

#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>

#include "command.h"
#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/jobs.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/usage_errors.h"
#include "kernel_options.h"
#include "terminal_options.h"

namespace fa_profile::cli {
namespace {

struct WatchArguments {
  watch::WatchOptions watch;
  jobs::LadderJob job;  // for the measuring process
  ShapeArguments shapes;
  std::string cache = "warm";
};

void CheckLibraryName(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  if (name.ends_with(".so") || name.find(".so.") != std::string::npos) return;
  throw Error(file + " is not a kernel library: its name must end in .so", "see docs/kernels.md");
}

/// The line of the error in a process's output, without its prefix.
std::string ErrorOf(const ChildEnd& end) {
  constexpr std::string_view kBefore = "fa-profile: error: ";
  const std::string all = Describe(end);
  const std::size_t at = all.find(kBefore);
  return WIFEXITED(end.status) && at != std::string::npos ? all.substr(at + kBefore.size()) : "the process " + all;
}

std::vector<std::string> MeasuringCommand(const WatchArguments& arguments, const std::string& kernels,
                                          const std::string& recording) {
  const jobs::LadderJob& job = arguments.job;
  std::vector<std::string> command = {"fa-profile", "--kernel-lib", arguments.watch.file, "--kernel",
                                      kernels,      "--summary",    "--output",           recording};
  const auto add = [&command](const char* option, const std::string& value) {
    command.insert(command.end(), {option, value});
  };
  add("--ncu-set", job.metrics.set);
  for (const std::string& shape : arguments.shapes.texts) add("--shape", shape);
  if (arguments.shapes.causal) command.emplace_back("--causal");
  for (const std::string& tensor : job.kernels.tensor_files) add("--tensor", tensor);
  add("--phases", job.metrics.phases);
  add("--device", std::to_string(job.device));
  add("--cache", arguments.cache);
  add("--repeats", std::to_string(job.calls.timed_launches));
  add("--draws", std::to_string(job.calls.draws));
  if (arguments.watch.folder.empty()) add("--raw", "none");
  return command;
}

/// One measurement in a fresh process; returns why it failed to record, or "".
std::string MeasureInChild(const WatchArguments& arguments, const std::string& recording, ChildLimits limits) {
  try {
    std::string kernels = arguments.job.kernels.pattern;
    if (kernels.empty()) kernels = "^" + jobs::KernelOfLibrary(arguments.watch.file, limits) + "$";
    limits.seconds = std::numeric_limits<double>::infinity();  // a kernel that hangs ends with the next file
    const ChildEnd end = RunChildGroup("/proc/self/exe", MeasuringCommand(arguments, kernels, recording), limits);
    const bool is_recorded = WIFEXITED(end.status) && WEXITSTATUS(end.status) <= kExitRegression;
    return is_recorded ? "" : ErrorOf(end);
  } catch (const Error& error) {
    return error.Headline();
  }
}

int RunWatch(WatchArguments& arguments, const Invocation& invocation) {
  CheckLibraryName(arguments.watch.file);
  (void)OpenFile(arguments.watch.file);
  (void)BuiltinMetricSet(arguments.job.metrics.set, "GH100");
  (void)KernelPattern(arguments.job.kernels.pattern);
  (void)arguments.shapes.Parse();
  arguments.watch.phase_source = ReadPhaseSource(invocation);
  arguments.watch.phase_map = ReadPhaseMap(invocation);
  arguments.watch.look = [] { return TerminalOptions(); };
  jobs::RequireGpu("watch");
  const StopSignals stop;
  const auto measure = [&](const std::string& recording, const std::function<bool()>& changed) {
    ChildLimits limits;
    limits.interrupted = &stop.came();
    limits.cancelled = changed;
    return MeasureInChild(arguments, recording, limits);
  };
  Watch(arguments.watch, measure, stop, std::cout);
  return kExitFine;
}

}  // namespace

void AddWatch(CLI::App& app, Invocation& invocation) {
  const auto arguments = std::make_shared<WatchArguments>();
  jobs::LadderJob& job = arguments->job;
  CLI::App& watch = *app.add_subcommand("watch", "Measure a kernel library whenever it changes, and show what moved");
  watch.add_option("FILE", arguments->watch.file, "The kernel library (*.so)")->required()->type_name("FILE");
  watch.add_option("-o,--output", arguments->watch.folder, "Folder that keeps the recordings; default: none is kept")
      ->type_name("FOLDER");
  watch.add_option("--ncu-set", job.metrics.set, "Metrics to collect: " + help::Listed(MetricSetNames()))
      ->capture_default_str()
      ->type_name("SET");
  watch
      .add_option("--kernel", job.kernels.pattern,
                  "Kernels whose id matches this regular expression, rungs too; default: the library's")
      ->type_name("REGEX");
  AddTensorFiles(watch, job.kernels.tensor_files);
  AddShapes(watch, arguments->shapes,
            "BATCH,HEADS,SEQLEN,HEAD_DIM, or NAME=VALUE,... of the library's parameters (repeatable)");
  watch.get_option("--shape")->allow_extra_args(false);  // FILE may follow
  watch
      .add_option("--phases", job.metrics.phases,
                  "Measure phases inside kernels: on, off; auto: on for the sets full, detailed and phases")
      ->check(help::OneOf({"on", "off", "auto"}))
      ->capture_default_str();
  AddPhaseMap(watch, invocation);
  watch.add_option("--device", job.device, "CUDA device number")->capture_default_str()->type_name("N");
  watch
      .add_option("--cache", arguments->cache,
                  "warm: keep the L2 as it is; flush: overwrite it before each measured call")
      ->check(help::OneOf({"warm", "flush"}))
      ->capture_default_str();
  watch.add_option("--repeats", job.calls.timed_launches, "Timed samples per case; 0: no timing")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  watch.add_option("--draws", job.calls.draws, "Random inputs to verify the kernel with each time; 0: do not verify")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  invocation.When(watch, [arguments, &invocation] { return RunWatch(*arguments, invocation); });
}

}  // namespace fa_profile::cli

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>

#include "fa_profile/child_process.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/jobs.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/notice.h"
#include "fa_profile/recording_file.h"
#include "fa_profile/run_injected.h"
#include "run_setup.h"

namespace fa_profile::jobs {
namespace {

// Classes measured without --top.
constexpr int kMostClassesByShare = 50;

// While it lives, std::cout writes to stderr: stdout is the program's, and another program may read it.
class ReportOnStderr {
 public:
  ReportOnStderr() : stdout_(std::cout.rdbuf(std::cerr.rdbuf())) {}
  ~ReportOnStderr() { std::cout.rdbuf(stdout_); }
  ReportOnStderr(const ReportOnStderr&) = delete;
  ReportOnStderr& operator=(const ReportOnStderr&) = delete;

 private:
  std::streambuf* stdout_;
};

// As a shell has it: the program's own, or 128 and the signal.
int ExitCodeOf(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// In a spool a recording gets its name when it is finished and reported: the exporter takes what ends in ".fap" at
// once.
constexpr std::string_view kUnlisted = ".new";

std::string Unlisted(const std::string& path) { return path.substr(0, path.rfind(".fap")) + std::string(kUnlisted); }

// The name to have: of ".new.4711", which the library makes of it for a later process, ".4711.fap".
std::string Listed(const RunOptions& options, const std::string& path) {
  if (options.spool.empty() || store::IsPart(path)) return path;
  const std::size_t at = path.rfind(kUnlisted);
  return path.substr(0, at) + path.substr(at + kUnlisted.size()) + ".fap";
}

void List(const RunOptions& options, const std::vector<std::string>& recordings) {
  for (const std::string& recording : recordings) {
    const std::string name = Listed(options, recording);
    if (name != recording) std::filesystem::rename(recording, name);
  }
}

void NoticeOfRunning(const RunOptions& options, const inject::InjectedEnd::Running& running) {
  const std::string process = running.process > 0 ? fmt::format("process {}", running.process) : "a process";
  const std::string name = Listed(options, running.recording);
  Notice(fmt::format("{} of {} still runs and is not in the report; when it ends, its recording is {}{}", process,
                     options.program[0], running.recording,
                     name == running.recording ? "" : " (rename it to " + name + " for the exporter)"));
}

}  // namespace

int RunProgram(const RunOptions& options, const Report& report) {
  RequireGpu("profiling a program");
  const MetricSet set = WantedMetrics(options, collect::OpenDevice(options.device));
  collect::ReleaseDevice();  // for the program, which uses it alone
  inject::InjectPlan plan = PlanOf(options, set, options.program_replay);
  plan.replay = options.program_replay == "kernel"   ? inject::ProgramReplay::kKernel
                : options.program_replay == "spread" ? inject::ProgramReplay::kSpread
                                                     : inject::ProgramReplay::kNone;
  if (plan.replay == inject::ProgramReplay::kNone) plan.metrics.clear();
  plan.output = OutputPath(options);
  if (!options.spool.empty()) plan.output = Unlisted(plan.output);
  plan.overwrite = options.overwrite;
  plan.kernel_pattern = options.kernel_pattern;
  plan.nvtx_pattern = options.nvtx_pattern;
  plan.launch_skip = options.launch_skip;
  plan.launch_count = options.launch_count;
  plan.from_start = options.from_start;
  if (options.top > 0 || !options.nvtx_pattern.empty()) plan.least_share_ratio = 0.0;
  plan.max_classes = options.top > 0 ? options.top : kMostClassesByShare;
  // Without counters only when asked for; CUPTI's replay would be sampled with the program's own launches.
  plan.phases = plan.replay == inject::ProgramReplay::kSpread
                    ? WantsPhases(options)
                    : plan.replay == inject::ProgramReplay::kNone && options.phases == "on";
  plan.delay_s = options.delay_s;
  plan.duration_s = options.duration_s;
  plan.record_all_s = options.record_all_s;
  plan.children = options.children;

  const inject::InjectedEnd end = inject::RunInjected(options.program, plan);
  for (const std::string& recording : end.recordings) {
    const bool was_killed = store::IsPart(recording);  // it has no samples
    if (plan.phases && !was_killed) AddInstructions(recording);
  }
  try {
    std::optional<ReportOnStderr> redirected;
    if (isatty(STDOUT_FILENO) == 0) redirected.emplace();
    if (!end.recordings.empty()) report(end.recordings.front(), Listed(options, end.recordings.front()));
  } catch (...) {
    List(options, end.recordings);
    throw;
  }
  List(options, end.recordings);
  for (std::size_t i = 1; i < end.recordings.size(); ++i) {
    const std::string name = Listed(options, end.recordings[i]);
    PrintToStderr(fmt::format("also recorded: {}  (fa-profile report {})", name, name));
  }
  for (const inject::InjectedEnd::Running& running : end.running) NoticeOfRunning(options, running);
  if (WIFSIGNALED(end.status)) {
    Notice(fmt::format("{} was killed ({})", options.program[0], strsignal(WTERMSIG(end.status))));
  } else if (WEXITSTATUS(end.status) != 0) {
    Notice(fmt::format("{} ended with exit code {}", options.program[0], WEXITSTATUS(end.status)));
  }
  return options.exit_code_of_report ? 0 : ExitCodeOf(end.status);
}

}  // namespace fa_profile::jobs

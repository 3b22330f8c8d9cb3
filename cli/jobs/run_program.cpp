#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
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
#include "open_python.h"
#include "run_setup.h"

namespace fa_profile::jobs {
namespace {

// Classes measured without --top.
constexpr int kMostClassesByShare = 50;

// While it exists, std::cout writes to stderr: stdout is the program's, and another program may read it.
class ReportOnStderr {
 public:
  ReportOnStderr() : stdout_(std::cout.rdbuf(std::cerr.rdbuf())) {}
  ~ReportOnStderr() { std::cout.rdbuf(stdout_); }
  ReportOnStderr(const ReportOnStderr&) = delete;
  ReportOnStderr& operator=(const ReportOnStderr&) = delete;

 private:
  std::streambuf* stdout_;
};

// As in a shell: the program's own, or 128 plus the signal.
int ExitCodeOf(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// In a spool a recording gets its name when it is finished and reported: the exporter takes anything that ends in
// ".fap" at once.
constexpr std::string_view kUnlisted = ".new";

std::string Unlisted(const std::string& path) { return path.substr(0, path.rfind(".fap")) + std::string(kUnlisted); }

// The final name: ".4711.fap" for ".new.4711", which the library derives from it for a later process.
std::string Listed(const ProgramJob& job, const std::string& path) {
  if (!job.in_spool || store::IsPart(path)) return path;
  const std::size_t at = path.rfind(kUnlisted);
  return path.substr(0, at) + path.substr(at + kUnlisted.size()) + ".fap";
}

void List(const ProgramJob& job, const std::vector<std::string>& recordings) {
  for (const std::string& recording : recordings) {
    const std::string name = Listed(job, recording);
    if (name != recording) std::filesystem::rename(recording, name);
  }
}

void NoticeOfRunning(const ProgramJob& job, const inject::InjectedEnd::Running& running) {
  const std::string process = running.process > 0 ? fmt::format("process {}", running.process) : "a process";
  const std::string name = Listed(job, running.recording);
  Notice(fmt::format("{} of {} still runs and is not in the report; when it ends, its recording is {}{}", process,
                     job.program[0], running.recording,
                     name == running.recording ? "" : " (rename it to " + name + " for the exporter)"));
}

// Python loads sitecustomize.py from the first folder on PYTHONPATH that has one.
void HookTorchModules() {
  constexpr const char* kPath = "PYTHONPATH";
  std::string folders = std::filesystem::path(PythonProgram("torch_modules/sitecustomize.py")).parent_path().string();
  if (const char* const others = std::getenv(kPath); others != nullptr && *others != '\0') {
    folders += std::string(":") + others;
  }
  setenv(kPath, folders.c_str(), /*overwrite=*/1);
}

// A kernel that is launched too rarely for all passes of the set then has at least those of the set "triage".
bool IsSpreadOverManyPasses(const ProgramJob& job) {
  const MetricChoice& wanted = job.metrics;
  return job.replay == "spread" && job.launches.count == 0 && wanted.names.empty() && wanted.set != "phases" &&
         wanted.set != "triage";
}

}  // namespace

int RunProgram(const ProgramJob& job, const Report& report) {
  RequireGpu("profiling a program");
  const Device device = collect::OpenDevice(0);
  const MetricSet set = WantedMetrics(job.metrics, device);
  collect::ReleaseDevice();  // leaves the device to the program alone
  inject::InjectPlan plan = PlanOf(job.metrics, set, job.replay, job.file.command_line);
  plan.replay = job.replay == "kernel"   ? inject::ProgramReplay::kKernel
                : job.replay == "spread" ? inject::ProgramReplay::kSpread
                                         : inject::ProgramReplay::kNone;
  if (plan.replay == inject::ProgramReplay::kNone) plan.metrics.clear();
  plan.output = OutputPath(job.file);
  if (job.in_spool) plan.output = Unlisted(plan.output);
  plan.overwrite = job.file.overwrite;
  plan.kernel_pattern = job.launches.kernel_pattern;
  plan.nvtx_pattern = job.launches.nvtx_pattern;
  plan.launch_skip = job.launches.skip;
  plan.launch_count = job.launches.count;
  plan.from_start = job.time.from_start;
  if (job.launches.top > 0 || !job.launches.nvtx_pattern.empty()) plan.least_share_ratio = 0.0;
  plan.max_classes = job.launches.top > 0 ? job.launches.top : kMostClassesByShare;
  // Without counters only when requested; CUPTI's replay would be sampled with the program's own launches.
  plan.phases = plan.replay == inject::ProgramReplay::kSpread
                    ? WantsPhases(job.metrics)
                    : plan.replay == inject::ProgramReplay::kNone && job.metrics.phases == "on";
  if (IsSpreadOverManyPasses(job)) plan.first_metrics = BuiltinMetricSet("triage", device.chip).metrics;
  plan.delay_s = job.time.delay_s;
  plan.duration_s = job.time.duration_s;
  plan.record_all_s = job.time.record_all_s;
  plan.children = job.children;

  if (job.torch_modules) HookTorchModules();
  const inject::InjectedEnd end = inject::RunInjected(job.program, plan);
  for (const std::string& recording : end.recordings) {
    const bool was_killed = store::IsPart(recording);  // it has no samples
    if (plan.phases && !was_killed) AddInstructions(recording);
  }
  try {
    std::optional<ReportOnStderr> redirected;
    if (isatty(STDOUT_FILENO) == 0) redirected.emplace();
    if (!end.recordings.empty()) report(end.recordings.front(), Listed(job, end.recordings.front()));
  } catch (...) {
    List(job, end.recordings);
    throw;
  }
  List(job, end.recordings);
  for (std::size_t i = 1; i < end.recordings.size(); ++i) {
    const std::string name = Listed(job, end.recordings[i]);
    PrintToStderr(fmt::format("also recorded: {}  (fa-profile report {})", name, name));
  }
  for (const inject::InjectedEnd::Running& running : end.running) NoticeOfRunning(job, running);
  if (WIFSIGNALED(end.status)) {
    Notice(fmt::format("{} was killed ({})", job.program[0], strsignal(WTERMSIG(end.status))));
  } else if (WEXITSTATUS(end.status) != 0) {
    Notice(fmt::format("{} ended with exit code {}", job.program[0], WEXITSTATUS(end.status)));
  }
  return job.exit_code_of_report ? 0 : ExitCodeOf(end.status);
}

}  // namespace fa_profile::jobs

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstring>
#include <iostream>

#include "commands.h"
#include "fa_profile/child_process.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/run_injected.h"
#include "gpu_access.h"
#include "run_setup.h"

namespace fa_profile {

int RunProgram(const RunOptions& options) {
  RequireGpu("profiling a program");
  const MetricSet set = WantedMetrics(options, OpenDevice(options.device));
  ReleaseDevice();  // for the program, which uses it alone
  InjectedRun run;
  run.program = options.program;
  run.session = NewSession(options.command_line, set.name);
  run.session.replay_mode = "kernel";
  run.session.cache_policy = "warm";
  run.metrics = set.metrics;
  if (options.metrics.empty() && options.section_folder.empty()) run.built_in_set = set.name;
  run.output = OutputPath(options);
  run.overwrite = options.overwrite;
  run.kernel_pattern = options.kernel_pattern;
  run.max_launches = options.max_launches;
  run.cache_dir = PlanCacheFolder();

  const InjectedEnd end = RunInjected(run);
  ReportRun(options, end.recording);
  if (WIFSIGNALED(end.status)) {
    throw Error(options.program[0] + " was killed (" + strsignal(WTERMSIG(end.status)) + ")",
                "what was measured before is in " + end.recording);
  }
  if (WEXITSTATUS(end.status) != 0) {
    std::cerr << fmt::format("fa-profile: {} ended with exit code {}\n", options.program[0], WEXITSTATUS(end.status));
  }
  return kExitFine;
}

}  // namespace fa_profile

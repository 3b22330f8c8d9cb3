#include "run_setup.h"

#include "fa_profile/device.h"
#include "fa_profile/disassemble_recording.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/notice.h"
#include "fa_profile/utc_time.h"

namespace fa_profile::jobs {

MetricSet WantedMetrics(const MetricChoice& choice, const Device& device) {
  return collect::WantedMetrics(choice.names, choice.set, device);
}

inject::InjectPlan PlanOf(const MetricChoice& choice, const MetricSet& set, const std::string& replay_mode,
                          const std::string& command_line) {
  inject::InjectPlan plan;
  plan.session = collect::NewSession(command_line, set.name);
  plan.session.replay_mode = replay_mode;
  plan.session.cache_policy = "warm";
  plan.metrics = set.metrics;
  if (choice.names.empty()) plan.built_in_set = set.name;
  plan.cache_dir = collect::PlanCacheFolder();
  return plan;
}

bool WantsPhases(const MetricChoice& choice) {
  if (choice.phases != "auto") return choice.phases == "on";
  return choice.names.empty() && (choice.set == "full" || choice.set == "detailed" || choice.set == "phases");
}

std::string OutputPath(const RecordingFile& file) {
  return file.path.empty() ? "fa-profile-" + UtcNow("%Y%m%d-%H%M%S") + ".fap" : file.path;
}

std::optional<collect::Disassembler> FindDisassembler() {
  const std::optional<std::string> nvdisasm = sass::FindNvdisasm();
  if (!nvdisasm) return std::nullopt;
  return [nvdisasm = *nvdisasm](const Cubin& cubin, const std::vector<std::string>& functions) {
    return sass::Disassemble(cubin.bytes, cubin.crc, nvdisasm, functions);
  };
}

void AddInstructions(const std::string& recording) {
  try {
    (void)load::DisassembleRecording(recording);
  } catch (const std::exception& error) {
    NoticeOf("the machine code in " + recording + " was not disassembled", error);
  }
}

std::function<void(const collect::Progress&)> ShowOn(ProgressBar& bar) {
  return [&bar](const collect::Progress& progress) {
    bar.Show(progress.stage, progress.subject, progress.done, progress.total);
  };
}

}  // namespace fa_profile::jobs

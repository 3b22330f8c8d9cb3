#include "run_setup.h"

#include <fmt/format.h>

#include "fa_profile/disassembly.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/notice.h"
#include "fa_profile/utc_time.h"
#include "fa_profile/version.h"

namespace fa_profile::cli {

MetricSet WantedMetrics(const RunOptions& options, const Device& device) {
  return WantedMetrics(collect::MetricRequest{options.metrics, options.section_folder, options.metric_set}, device);
}

bool WantsPhases(const RunOptions& options) {
  if (options.phases != "auto") return options.phases == "on";
  return options.metrics.empty() &&
         (options.metric_set == "full" || options.metric_set == "detailed" || options.metric_set == "phases");
}

std::string OutputPath(const RunOptions& options) {
  return options.output.empty() ? "fa-profile-" + UtcNow("%Y%m%d-%H%M%S") + ".fap" : options.output;
}

std::optional<collect::Disassembler> FindDisassembler() {
  const std::optional<std::string> nvdisasm = sass::FindNvdisasm();
  if (!nvdisasm) return std::nullopt;
  return [nvdisasm = *nvdisasm](const Cubin& cubin, const std::vector<std::string>& functions) {
    return sass::Disassemble(cubin.bytes, cubin.crc, nvdisasm, functions);
  };
}

std::function<void(const collect::Progress&)> ShowOn(ProgressBar& bar) {
  return [&bar](const collect::Progress& progress) {
    bar.Show(progress.stage, progress.subject, progress.done, progress.total);
  };
}

void NameRecording(const std::string& line) {
  PrintToStderr("");
  PrintToStderr(line);
}

void ReportRun(const RunOptions& options, const std::string& recording, const std::string& name) {
  PrintReport(recording, *options.format,
              {.nvtx_pattern = options.nvtx_pattern,
               .all_kernels = true,
               .summary = options.summary,
               .explain = options.explain,
               .phase_map = options.phase_map,
               .phase_source = options.phase_source});
  const std::string& kept = name.empty() ? recording : name;
  NameRecording(fmt::format("recording: {}  (again: fa-profile report {})", kept, kept));
}

}  // namespace fa_profile::cli

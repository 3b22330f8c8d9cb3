#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>

#include "bundled.h"
#include "command.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/metric_names.h"
#include "fa_profile/recording_file.h"
#include "formats.h"

namespace fa_profile::cli {

int ReplayBundled(const RunOptions& options, const std::string& why_no_gpu) {
  if (!options.metrics.empty()) RequireKnownCounters(options.metrics, jobs::KnownCounters());
  const std::string path = BundledRecording();
  store::LoadOptions no_metrics;
  no_metrics.metrics.emplace();
  const Recording recording = store::RecordingReader(path).Load(no_metrics);
  std::string shapes;
  std::vector<std::string> kernels;
  std::vector<Shape> recorded;
  for (const Case& entry : recording.cases) {
    if (std::ranges::find(kernels, entry.kernel) == kernels.end()) kernels.push_back(entry.kernel);
    if (entry.shape && std::find(recorded.begin(), recorded.end(), *entry.shape) == recorded.end()) {
      recorded.push_back(*entry.shape);
      shapes += (shapes.empty() ? "" : "; ") + entry.shape->ToString();
    }
  }
  // Wrong input is an error before the missing GPU is. A kernel library has other names.
  if (options.kernel_libraries.empty()) (void)MatchKernels(options.kernel_pattern, kernels);
  if (!options.gpu_only_option.empty()) {
    throw Error(options.gpu_only_option + " needs a GPU (" + why_no_gpu + "), and a replay has none",
                "without a GPU use only --ncu-set, --kernel, --shape, --causal, --details, --summary, --explain, "
                "--phase-map, --phase-from and --format, or report FILE.fap");
  }
  for (const Shape& shape : options.shapes) {
    if (std::find(recorded.begin(), recorded.end(), shape) == recorded.end()) {
      throw Error("the bundled recording has no shape " + shape.ToString(), "it has " + shapes);
    }
  }
  // The notice comes first: on stdout in a format for people, on stderr when a program parses stdout.
  std::ostream& notice = options.format->for_people ? std::cout : std::cerr;
  notice << fmt::format(
      "REPLAY, not a measurement: no GPU here. Bundled recording of an {}, driver {},\n"
      "taken {} at commit {} with set {}: {}\n"
      "(no GPU: {})\n",
      recording.device.name, recording.device.driver_version, recording.session.created_at,
      recording.session.tool_commit.substr(0, 12), recording.session.metric_set,
      std::filesystem::path(path).filename().string(), why_no_gpu);
  if (options.metric_set != recording.session.metric_set) {
    notice << fmt::format("--ncu-set {} has no effect: the recording has set {}.\n", options.metric_set,
                          recording.session.metric_set);
  }
  notice << '\n';
  ReportFilter filter = options.report;
  filter.entries = {.kernel_pattern = options.kernel_pattern, .shapes = options.shapes};
  PrintReport(path, *options.format, filter);
  return kExitFine;
}

}  // namespace fa_profile::cli

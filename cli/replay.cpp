#include "replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>

#include "bundled.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/metric_names.h"
#include "fa_profile/recording_file.h"
#include "formats.h"
#include "kernel_options.h"

namespace fa_profile::cli {

namespace {

help::Job BundledJob(const help::OptionJobs& rows, const std::string& why_no_gpu) {
  return {.bit = kBundled,
          .name = "the bundled recording",
          .refusal = " needs a GPU, and none can be used here (" + why_no_gpu + ")",
          .cure = "run it on a machine where nvidia-smi lists a GPU; without a GPU use only " +
                  rows.ListedFor(kBundled) + "; report FILE.fap needs none"};
}

}  // namespace

int ReplayBundled(const jobs::LadderJob& asked, const help::OptionJobs& rows, const Format& format,
                  const ReportFilter& filter, const std::string& why_no_gpu) {
  const jobs::KernelChoice& choice = asked.kernels;
  if (!asked.metrics.names.empty()) RequireKnownCounters(asked.metrics.names, jobs::KnownCounters());
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
  // Bad input is reported before the missing GPU. A kernel library has other names.
  if (choice.libraries.empty()) (void)MatchKernels(choice.pattern, kernels);
  rows.Check(BundledJob(rows, why_no_gpu));
  for (const Shape& shape : choice.shapes) {
    if (std::find(recorded.begin(), recorded.end(), shape) == recorded.end()) {
      throw Error("the bundled recording has no shape " + shape.ToString(), "it has " + shapes);
    }
  }
  // The notice comes first: on stdout in a format for people, on stderr when a program parses stdout.
  std::ostream& notice = format.for_people ? std::cout : std::cerr;
  notice << fmt::format(
      "REPLAY, not a measurement: no GPU here. Bundled recording of an {}, driver {},\n"
      "taken {} at commit {} with set {}: {}\n"
      "(no GPU: {})\n",
      recording.device.name, recording.device.driver_version, recording.session.created_at,
      recording.session.tool_commit.substr(0, 12), recording.session.metric_set,
      std::filesystem::path(path).filename().string(), why_no_gpu);
  if (asked.metrics.set != recording.session.metric_set) {
    notice << fmt::format("--ncu-set {} has no effect: the recording has set {}.\n", asked.metrics.set,
                          recording.session.metric_set);
  }
  notice << '\n';
  ReportFilter selected = filter;
  selected.entries = {.kernel_pattern = choice.pattern, .shapes = choice.shapes};
  PrintReport(path, format, selected);
  return kExitFine;
}

}  // namespace fa_profile::cli

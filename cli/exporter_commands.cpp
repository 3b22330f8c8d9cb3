#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "bundled.h"
#include "command.h"
#include "fa_profile/add_option.h"
#include "fa_profile/contribute.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/notice.h"
#include "fa_profile/pushgateway.h"
#include "fa_profile/serve.h"
#include "fa_profile/textfile.h"
#include "fa_profile/usage_errors.h"

namespace fa_profile::cli {
namespace {

constexpr const char* kBaseline = "Recording to compare kernels with: faprof_baseline_*";

void AddServe(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<serve::ServeOptions>();
  constexpr double kDay = 86400;
  CLI::App& serve = *app.add_subcommand("serve", "Serve metrics of recordings and of the GPUs to Prometheus");
  serve
      .add_option("--spool", options->spool,
                  "Folder that serve empties: recordings move to its done/ or bad/ (fa-profile --spool writes there)")
      ->type_name("FOLDER");
  serve
      .add_option("--state", options->state,
                  "Folder that keeps the counters; default $STATE_DIRECTORY, $XDG_STATE_HOME/fa-profile or "
                  "~/.local/state/fa-profile")
      ->type_name("FOLDER");
  serve.add_option("--listen", options->listen, "ADDRESS:PORT")->capture_default_str();
  serve.add_option("--web-config", options->web_config,
                   "TLS and basic authentication, in the format of Prometheus's exporters");
  help::AddDuration(serve, "--interval", options->interval_seconds,
                    "Time between two collections: 15s, 1m; default 15s", 0.1, kDay);
  help::AddDuration(serve, "--recording-interval", options->recording_interval_seconds,
                    "Expected time between two recordings; a kernel missing three times loses its gauges; default 1h",
                    1, 31 * kDay);
  serve.add_option("--baseline", options->baseline, kBaseline);
  serve.add_flag_callback(
      "--no-nvml", [options] { options->nvml = false; }, "Do not read the GPUs");
  serve.add_option("--nvml-library", options->nvml_library, "NVML's library")->group("");
  serve
      .add_option("--simulate-fleet", options->simulated_hosts,
                  "Also serve N simulated hosts of 8 GPUs at /simulated/; default: none")
      ->check(CLI::Range(1, 10000))
      ->type_name("N");
  help::AddDuration(serve, "--simulate-interval", options->simulate_interval_seconds,
                    "Time between two recordings of a simulated GPU; default 10s", 0.1, kDay);
  help::AddNumber(serve, "--max-recording-bytes", options->max_recording_bytes, "Larger recordings are moved to bad/",
                  1, std::uint64_t{1} << 50U);
  help::AddNumber(serve, "--keep", options->keep,
                  "Files kept in the spool's done/ and in its bad/; older ones are deleted", 0, 1000000);
  help::AddNumber(serve, "--keep-bytes", options->keep_bytes, "Bytes kept in each of them", 0, std::uint64_t{1} << 50U);
  invocation.When(serve, [options] {
    if (!options->spool.empty()) RefuseBundledFolder(options->spool);
    serve::Serve(*options, options->nvml ? jobs::MakeGpuReader(options->nvml_library) : nullptr, BundledRecording);
    return kExitFine;
  });
}

void AddTextfile(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    std::vector<std::string> recordings;
    std::string output;
    std::string baseline;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App& textfile =
      *app.add_subcommand("textfile", "Write metrics of recordings for node_exporter's textfile collector");
  textfile.add_option("recordings", arguments->recordings, "*.fap files")->required();
  textfile.add_option("-o,--output", arguments->output, "*.prom file, replaced as a whole; default: standard output");
  textfile.add_option("--baseline", arguments->baseline, kBaseline);
  invocation.When(textfile, [arguments] {
    const serve::MetricsText metrics = serve::MetricsOf(arguments->recordings, arguments->baseline);
    if (arguments->output.empty()) {
      std::cout << metrics.text;
      return kExitFine;
    }
    serve::WriteTextfile(arguments->output, metrics);
    Notice(fmt::format("wrote {} series to {}", metrics.series, arguments->output));
    return kExitFine;
  });
}

struct PushArguments {
  std::vector<std::string> recordings;
  std::string gateway;  ///< "http://host:port"
  std::string job = "fa-profile-push";
  std::vector<std::string> grouping;  ///< "name=value"
  std::string baseline;
  bool remove = false;  ///< delete the group instead
};

int RunPush(const PushArguments& arguments) {
  const serve::PushGroup group(arguments.gateway, arguments.job, arguments.grouping);
  if (arguments.remove) {
    if (!arguments.recordings.empty()) throw Error("--delete takes no recordings", "delete the group, then push again");
    group.Delete();
    Notice("deleted the group " + group.url());
    return kExitFine;
  }
  if (arguments.recordings.empty()) throw Error("push needs a recording", "fa-profile push --gateway URL FILE.fap");
  const serve::MetricsText metrics = serve::MetricsOf(arguments.recordings, arguments.baseline);
  group.Replace(metrics.text);
  Notice(fmt::format("pushed {} series to {}", metrics.series, group.url()));
  return kExitFine;
}

void AddPush(CLI::App& app, Invocation& invocation) {
  const auto arguments = std::make_shared<PushArguments>();
  CLI::App& push = *app.add_subcommand("push", "Push metrics of recordings to a Pushgateway");
  push.add_option("recordings", arguments->recordings, "*.fap files");
  push.add_option("--gateway", arguments->gateway, "Address of the Pushgateway: http://HOST:PORT")
      ->required()
      ->type_name("URL");
  push.add_option("--job", arguments->job, "Job of the group")->capture_default_str();
  push.add_option("--group", arguments->grouping, "Label NAME=VALUE of the group (repeatable)")
      ->allow_extra_args(false);
  push.add_option("--baseline", arguments->baseline, kBaseline);
  push.add_flag("--delete", arguments->remove, "Delete the group instead");
  invocation.When(push, [arguments] { return RunPush(*arguments); });
}

}  // namespace

void AddExporter(CLI::App& app, Invocation& invocation) {
  AddServe(app, invocation);
  AddTextfile(app, invocation);
  AddPush(app, invocation);
  invocation.When(*app.add_subcommand("contribute", "Read one recording for serve")->group(""), [] {
    serve::PrintContribution(std::cout);
    return kExitFine;
  });
}

}  // namespace fa_profile::cli

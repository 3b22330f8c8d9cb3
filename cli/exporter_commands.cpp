#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "command.h"
#include "fa_profile/contribute.h"
#include "fa_profile/error.h"

namespace fa_profile {
namespace {

// Seconds, from "15s", "1h", "500ms" or a number of seconds.
CLI::AsNumberWithUnit Durations() {
  const std::map<std::string, double> units = {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  return CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE, "DURATION");
}

void AddServe(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<ServeOptions>();
  CLI::App& serve =
      *app.add_subcommand("serve", "Serve metrics of recordings in a spool, and of the GPUs, to Prometheus");
  serve.add_option("--spool", options->spool, "Folder in which recordings appear (fa-profile --spool writes there)");
  serve.add_option(
      "--state", options->state,
      "Folder for the counters; default $STATE_DIRECTORY, $XDG_STATE_HOME/fa-profile or ~/.local/state/fa-profile");
  serve.add_option("--listen", options->listen, "ADDRESS:PORT")->capture_default_str();
  serve.add_option("--web-config", options->web_config,
                   "TLS and basic authentication, in the format of Prometheus's exporters");
  serve.add_option("--interval", options->interval_seconds, "Between two collections: 15s, 1m; default 15s")
      ->transform(Durations())
      ->check(CLI::Range(0.1, 86400.0))
      ->option_text("DURATION");
  serve
      .add_option("--recording-interval", options->recording_interval_seconds,
                  "How often recordings are expected; a kernel not seen for three goes away; default 1h")
      ->transform(Durations())
      ->check(CLI::Range(1.0, 31 * 86400.0))
      ->option_text("DURATION");
  serve.add_option("--baseline", options->baseline, "Recording to compare kernels with");
  serve.add_flag_callback(
      "--no-nvml", [options] { options->nvml = false; }, "Do not read the GPUs");
  serve.add_option("--nvml-library", options->nvml_library, "NVML's library")->group("");
  serve
      .add_option("--simulate-fleet", options->simulated_hosts,
                  "Also serve so many simulated hosts of 8 GPUs under /simulated/, plainly labelled")
      ->check(CLI::Range(1, 10000));
  serve
      .add_option("--simulate-interval", options->simulate_interval_seconds,
                  "Between two recordings of a simulated GPU; default 10s")
      ->transform(Durations())
      ->check(CLI::Range(0.1, 86400.0))
      ->option_text("DURATION");
  serve.add_option("--max-recording-bytes", options->max_recording_bytes, "Larger recordings are set aside")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50U))
      ->capture_default_str();
  serve.add_option("--keep", options->keep, "Files kept in the spool's done/ and bad/")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  serve.callback([options, &serve, &invocation] {
    invocation.run = [options, &serve] {
      // An empty variable in a unit file must not mean "none": without a web config every client is let in.
      for (const char* const option : {"--spool", "--state", "--web-config", "--baseline"}) {
        const CLI::Option* const given = serve.get_option(option);
        if (given->count() > 0 && given->as<std::string>().empty()) {
          throw Error(std::string(option) + " is empty", "leave it out, or give it a value");
        }
      }
      return RunServe(*options);
    };
  });
}

void AddTextfile(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<TextfileOptions>();
  CLI::App& textfile =
      *app.add_subcommand("textfile", "Metrics of recordings as a file for node_exporter's textfile collector");
  textfile.add_option("recordings", options->recordings, "*.fap files")->required();
  textfile.add_option("-o,--output", options->output, "*.prom file, replaced whole; default: standard output");
  textfile.add_option("--baseline", options->baseline, "Recording to compare kernels with");
  textfile.callback([options, &invocation] { invocation.run = [options] { return RunTextfile(*options); }; });
}

void AddPush(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<PushOptions>();
  CLI::App& push = *app.add_subcommand("push", "Metrics of recordings to a Pushgateway");
  push.add_option("recordings", options->recordings, "*.fap files");
  push.add_option("--gateway", options->gateway, "Its address: http://HOST:PORT")->required();
  push.add_option("--job", options->job, "Job of the group")->capture_default_str();
  push.add_option("--group", options->grouping, "Label NAME=VALUE of the group (repeatable)")->allow_extra_args(false);
  push.add_option("--baseline", options->baseline, "Recording to compare kernels with");
  push.add_flag("--delete", options->remove, "Delete the group instead");
  push.callback([options, &invocation] { invocation.run = [options] { return RunPush(*options); }; });
}

}  // namespace

void AddExporter(CLI::App& app, Invocation& invocation) {
  AddServe(app, invocation);
  AddTextfile(app, invocation);
  AddPush(app, invocation);
  app.add_subcommand("contribute", "What serve runs to read a recording")->group("")->callback([&invocation] {
    invocation.run = [] {
      PrintContribution(std::cout);
      return kExitFine;
    };
  });
}

}  // namespace fa_profile

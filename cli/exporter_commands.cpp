#include "exporter_commands.h"

#include <iostream>

#include <map>
#include <string>

#include "fa_profile/contribute.h"
#include "fa_profile/error.h"

namespace fa_profile {
namespace {

// Seconds, from "15s", "1h", "500ms" or a number of seconds.
CLI::AsNumberWithUnit Durations() {
  const std::map<std::string, double> units = {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  return CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE, "DURATION");
}

}  // namespace

ExporterCommands::ExporterCommands(CLI::App& app) {
  AddServe(app);

  textfile_command_ =
      app.add_subcommand("textfile", "Metrics of recordings as a file for node_exporter's textfile collector");
  textfile_command_->add_option("recordings", textfile_.recordings, "*.fap files")->required();
  textfile_command_->add_option("-o,--output", textfile_.output,
                                "*.prom file, replaced whole; default: standard output");
  textfile_command_->add_option("--baseline", textfile_.baseline, "Recording to hold kernels against");

  push_command_ = app.add_subcommand("push", "Metrics of recordings to a Pushgateway");
  push_command_->add_option("recordings", push_.recordings, "*.fap files");
  push_command_->add_option("--gateway", push_.gateway, "Its address: http://HOST:PORT")->required();
  push_command_->add_option("--job", push_.job, "Job of the group")->capture_default_str();
  push_command_->add_option("--group", push_.grouping, "Label NAME=VALUE of the group (repeatable)")
      ->allow_extra_args(false);
  push_command_->add_option("--baseline", push_.baseline, "Recording to hold kernels against");
  push_command_->add_flag("--delete", push_.remove, "Delete the group instead");

  contribute_command_ = app.add_subcommand("contribute", "What serve runs to read a recording")->group("");
}

void ExporterCommands::AddServe(CLI::App& app) {
  serve_command_ =
      app.add_subcommand("serve", "Serve metrics to Prometheus: of recordings in a spool, and of the GPUs");
  CLI::App& serve = *serve_command_;
  serve.add_option("--spool", serve_.spool, "Folder in which recordings appear (fa-profile --spool writes there)");
  serve.add_option(
      "--state", serve_.state,
      "Folder for the counters; default $STATE_DIRECTORY, $XDG_STATE_HOME/fa-profile or ~/.local/state/fa-profile");
  serve.add_option("--listen", serve_.listen, "ADDRESS:PORT")->capture_default_str();
  serve.add_option("--web-config", serve_.web_config,
                   "TLS and basic authentication, in the format of Prometheus's exporters");
  serve.add_option("--interval", serve_.interval_seconds, "Between two collections: 15s, 1m; default 15s")
      ->transform(Durations())
      ->check(CLI::Range(0.1, 86400.0))
      ->option_text("DURATION");
  serve
      .add_option("--recording-interval", serve_.recording_interval_seconds,
                  "How often recordings are expected; a kernel not seen for three goes away; default 1h")
      ->transform(Durations())
      ->check(CLI::Range(1.0, 31 * 86400.0))
      ->option_text("DURATION");
  serve.add_option("--baseline", serve_.baseline, "Recording to hold kernels against");
  serve.add_flag_callback(
      "--no-nvml", [this] { serve_.nvml = false; }, "Do not read the GPUs");
  serve.add_option("--nvml-library", serve_.nvml_library, "NVML's library")->group("");
  serve
      .add_option("--simulate-fleet", serve_.simulated_hosts,
                  "Also serve so many simulated hosts of 8 GPUs under /simulated/, plainly labelled")
      ->check(CLI::Range(1, 10000));
  serve
      .add_option("--simulate-interval", serve_.simulate_interval_seconds,
                  "Between two recordings of a simulated GPU; default 10s")
      ->transform(Durations())
      ->check(CLI::Range(0.1, 86400.0))
      ->option_text("DURATION");
  serve.add_option("--max-recording-bytes", serve_.max_recording_bytes, "Larger recordings are set aside")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50U))
      ->capture_default_str();
  serve.add_option("--keep", serve_.keep, "Files kept in the spool's done/ and bad/")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
}

std::optional<int> ExporterCommands::Run() {
  if (*serve_command_) {
    // An empty variable in a unit file must not mean "none": without a web config everybody may look.
    for (const char* const option : {"--spool", "--state", "--web-config", "--baseline"}) {
      const CLI::Option* const given = serve_command_->get_option(option);
      if (given->count() > 0 && given->as<std::string>().empty()) {
        throw Error(std::string(option) + " is given and empty", "leave it out, or give it a value");
      }
    }
    return RunServe(serve_);
  }
  if (*textfile_command_) return RunTextfile(textfile_);
  if (*push_command_) return RunPush(push_);
  if (*contribute_command_) {
    PrintContribution(std::cout);
    return kExitFine;
  }
  return std::nullopt;
}

}  // namespace fa_profile

#include "exporter_commands.h"

#include <iostream>
#include <map>

#include "commands.h"
#include "fa_profile/contribute.h"
#include "fa_profile/error.h"
#include "fa_profile/pushgateway.h"
#include "fa_profile/serve.h"
#include "fa_profile/textfile.h"
#include "gpu_reader.h"

namespace fa_profile {
namespace {

constexpr const char* kBaseline = "Recording to compare kernels with: faprof_baseline_*";

// Seconds, from "15s", "1h", "500ms" or a number of seconds.
void AddDuration(CLI::App& command, const char* option, double& seconds, const char* help, double least, double most) {
  const std::map<std::string, double> units = {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  command.add_option(option, seconds, help)
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE, "DURATION"))
      ->check(CLI::Range(least, most))
      ->option_text("DURATION");
}

}  // namespace

ExporterCommands::ExporterCommands(CLI::App& app) {
  AddServe(app);
  AddTextfile(app);
  AddPush(app);
  contribute_command_ = app.add_subcommand("contribute", "Read one recording for serve")->group("");
}

void ExporterCommands::AddServe(CLI::App& app) {
  constexpr double kDay = 86400;
  CLI::App& serve = *app.add_subcommand("serve", "Serve metrics of recordings and of the GPUs to Prometheus");
  serve_command_ = &serve;
  serve.add_option("--spool", serve_.spool, "Folder where recordings appear (fa-profile --spool writes there)");
  serve.add_option("--state", serve_.state,
                   "Folder of the counters; default $STATE_DIRECTORY, $XDG_STATE_HOME/fa-profile or "
                   "~/.local/state/fa-profile");
  serve.add_option("--listen", serve_.listen, "ADDRESS:PORT")->capture_default_str();
  serve.add_option("--web-config", serve_.web_config,
                   "TLS and basic authentication, in the format of Prometheus's exporters");
  AddDuration(serve, "--interval", serve_.interval_seconds, "Time between two collections: 15s, 1m; default 15s", 0.1,
              kDay);
  AddDuration(serve, "--recording-interval", serve_.recording_interval_seconds,
              "Time between two recordings; a kernel not seen for three of them goes away; default 1h", 1, 31 * kDay);
  serve.add_option("--baseline", serve_.baseline, kBaseline);
  serve.add_flag_callback(
      "--no-nvml", [this] { serve_.nvml = false; }, "Do not read the GPUs");
  serve.add_option("--nvml-library", serve_.nvml_library, "NVML's library")->group("");
  serve.add_option("--simulate-fleet", serve_.simulated_hosts, "Also serve N simulated hosts of 8 GPUs at /simulated/")
      ->check(CLI::Range(1, 10000))
      ->type_name("N");
  AddDuration(serve, "--simulate-interval", serve_.simulate_interval_seconds,
              "Time between two recordings of a simulated GPU; default 10s", 0.1, kDay);
  serve.add_option("--max-recording-bytes", serve_.max_recording_bytes, "Larger recordings are moved to bad/")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50U))
      ->capture_default_str();
  serve.add_option("--keep", serve_.keep, "Files kept in the spool's done/ and bad/")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
}

void ExporterCommands::AddTextfile(CLI::App& app) {
  textfile_command_ =
      app.add_subcommand("textfile", "Write metrics of recordings for node_exporter's textfile collector");
  textfile_command_->add_option("recordings", recordings_, "*.fap files")->required();
  textfile_command_->add_option("-o,--output", output_, "*.prom file, replaced as a whole; default: standard output");
  textfile_command_->add_option("--baseline", baseline_, kBaseline);
}

void ExporterCommands::AddPush(CLI::App& app) {
  push_command_ = app.add_subcommand("push", "Push metrics of recordings to a Pushgateway");
  push_command_->add_option("recordings", recordings_, "*.fap files");
  push_command_->add_option("--gateway", gateway_, "Its address: http://HOST:PORT")->required();
  push_command_->add_option("--job", job_, "Job of the group")->capture_default_str();
  push_command_->add_option("--group", grouping_, "Label NAME=VALUE of the group (repeatable)")
      ->allow_extra_args(false);
  push_command_->add_option("--baseline", baseline_, kBaseline);
  push_command_->add_flag("--delete", delete_group_, "Delete the group instead");
}

void ExporterCommands::RunServe() const {
  // An empty variable in a unit file must not mean "none": without a web config anybody may read the metrics.
  for (const char* const option : {"--spool", "--state", "--web-config", "--baseline"}) {
    const CLI::Option* const given = serve_command_->get_option(option);
    if (given->count() > 0 && given->as<std::string>().empty()) {
      throw Error(std::string(option) + " is empty", "give it a value, or leave it out");
    }
  }
  Serve(serve_, serve_.nvml ? MakeGpuReader(serve_.nvml_library) : nullptr, BundledRecording);
}

void ExporterCommands::RunTextfile() const {
  const MetricsText metrics = MetricsOf(recordings_, baseline_, std::cerr);
  if (output_.empty()) {
    std::cout << metrics.text;
    return;
  }
  WriteTextfile(output_, metrics);
  std::cerr << "fa-profile: wrote " << metrics.series << " series to " << output_ << '\n';
}

void ExporterCommands::RunPush() const {
  const PushGroup group(gateway_, job_, grouping_);
  if (delete_group_) {
    if (!recordings_.empty()) throw Error("--delete takes no recordings", "delete the group, then push again");
    group.Delete();
    std::cerr << "fa-profile: deleted the group " << group.url() << '\n';
    return;
  }
  if (recordings_.empty()) throw Error("push needs a recording", "fa-profile push --gateway URL FILE.fap");
  const MetricsText metrics = MetricsOf(recordings_, baseline_, std::cerr);
  group.Replace(metrics.text);
  std::cerr << "fa-profile: pushed " << metrics.series << " series to " << group.url() << '\n';
}

std::optional<int> ExporterCommands::Run() {
  if (*serve_command_) {
    RunServe();
  } else if (*textfile_command_) {
    RunTextfile();
  } else if (*push_command_) {
    RunPush();
  } else if (*contribute_command_) {
    PrintContribution(std::cout);
  } else {
    return std::nullopt;
  }
  return kExitFine;
}

}  // namespace fa_profile

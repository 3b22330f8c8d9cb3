#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>

#include "bundled.h"
#include "command.h"
#include "fa_profile/contribute.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/notice.h"
#include "fa_profile/pushgateway.h"
#include "fa_profile/serve.h"
#include "fa_profile/text.h"
#include "fa_profile/textfile.h"
#include "fa_profile/top.h"
#include "fa_profile/usage_errors.h"
#include "terminal_options.h"

namespace fa_profile::cli {
namespace {

constexpr const char* kBaseline = "Recording to compare kernels with: faprof_baseline_*";

// "500ms", "1d"
std::string DurationText(double seconds) {
  if (seconds < 1) return fmt::format("{}ms", std::lround(seconds * 1000));
  for (const auto& [unit, name] : {std::pair{86400, 'd'}, {3600, 'h'}, {60, 'm'}}) {
    if (std::fmod(seconds, unit) == 0) return fmt::format("{}{}", std::lround(seconds / unit), name);
  }
  return fmt::format("{:g}s", seconds);
}

// Seconds, from "15s", "1h", "500ms" or a number of seconds.
void AddDuration(CLI::App& command, const char* option, double& seconds, const char* help, double least, double most) {
  const std::map<std::string, double> units = {{"", 1}, {"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  const auto limits = std::pair(DurationText(least), DurationText(most));
  command.add_option(option, seconds, help)
      ->transform(CLI::Validator(
          [units, least, most, limits](std::string& text) -> std::string {
            double number = 0.0;
            const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
            const auto unit = units.find(text.substr(static_cast<std::size_t>(end - text.data())));
            if (failed != std::errc() || unit == units.end() || !std::isfinite(number)) {
              return "must be a time like 500ms, 15s, 1m, 1h or 1d, not '" + Printable(text) + "'";
            }
            const double asked = number * unit->second;
            if (asked < least || asked > most) {
              return fmt::format("must be a time from {} to {}, not '{}'", limits.first, limits.second,
                                 Printable(text));
            }
            text = fmt::format("{}", asked);
            return "";
          },
          fmt::format("TIME in [{} - {}]", limits.first, limits.second)))
      ->type_name("DURATION");
}

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
  AddDuration(serve, "--interval", options->interval_seconds, "Time between two collections: 15s, 1m; default 15s", 0.1,
              kDay);
  AddDuration(serve, "--recording-interval", options->recording_interval_seconds,
              "Expected time between two recordings; a kernel missing three times is dropped; default 1h", 1,
              31 * kDay);
  serve.add_option("--baseline", options->baseline, kBaseline);
  serve.add_flag_callback(
      "--no-nvml", [options] { options->nvml = false; }, "Do not read the GPUs");
  serve.add_option("--nvml-library", options->nvml_library, "NVML's library")->group("");
  serve
      .add_option("--simulate-fleet", options->simulated_hosts, "Also serve N simulated hosts of 8 GPUs at /simulated/")
      ->check(CLI::Range(1, 10000))
      ->type_name("N");
  AddDuration(serve, "--simulate-interval", options->simulate_interval_seconds,
              "Time between two recordings of a simulated GPU; default 10s", 0.1, kDay);
  serve.add_option("--max-recording-bytes", options->max_recording_bytes, "Larger recordings are moved to bad/")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50U))
      ->capture_default_str();
  serve.add_option("--keep", options->keep, "Files kept in the spool's done/ and in its bad/; older ones are deleted")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
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

// What a server's web configuration may ask of its clients.
void AddAccess(CLI::App& command, http::ServerAccess& access) {
  command.add_option("--user", access.user, "User of the server's web configuration")->type_name("USER");
  command.add_option("--password-file", access.password_file, "File whose first line is the password")
      ->type_name("FILE");
  command.add_option("--ca", access.ca_file, "Certificates (PEM) of the authority that signed the server's")
      ->type_name("FILE");
  command.add_option("--cert", access.certificate_file, "Certificate (PEM) of this client")->type_name("FILE");
  command.add_option("--key", access.key_file, "Its key (PEM)")->type_name("FILE");
}

void AddTop(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    top::TopOptions options;
    std::string bars = "auto";
  };
  const auto arguments = std::make_shared<Arguments>();
  top::TopOptions& options = arguments->options;
  CLI::App& command = *app.add_subcommand("top", "Show what serve counts, live: GPUs, kernels, phases");
  command.add_option("address", options.address, "HOST[:PORT] of serve, or http(s)://HOST:PORT/metrics")
      ->capture_default_str()
      ->type_name("URL");
  AddDuration(command, "--interval", options.interval_seconds, "Time between two pages: 2s, 1m; default 2s", 0.1,
              86400);
  command.add_flag("--once", options.once, "Print the tables and end");
  AddAccess(command, options.access);
  command
      .add_option("--bars", arguments->bars,
                  "Bars and sparklines: auto (on a terminal that shows UTF-8), always, never")
      ->check(help::OneOf({"auto", "always", "never"}));
  invocation.When(command, [arguments] {
    constexpr int kWidest = 148;
    top::TopOptions asked = arguments->options;
    asked.look = [bars = arguments->bars] { return TerminalOptions(kWidest, bars); };
    top::RunTop(asked);
    return kExitFine;
  });
}

}  // namespace

void AddExporter(CLI::App& app, Invocation& invocation) {
  AddServe(app, invocation);
  AddTextfile(app, invocation);
  AddPush(app, invocation);
  AddTop(app, invocation);
  invocation.When(*app.add_subcommand("contribute", "Read one recording for serve")->group(""), [] {
    serve::PrintContribution(std::cout);
    return kExitFine;
  });
}

}  // namespace fa_profile::cli

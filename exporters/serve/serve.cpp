#include "fa_profile/serve.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <ctime>
#include <memory>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/exporter.h"
#include "fa_profile/sources.h"
#include "fa_profile/text.h"

namespace fa_profile::serve {
namespace {

// The text of a log line. File names and contents in the spool come from others: they must not forge lines.
class PrintableText : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& line) override {
    const std::string text = Printable({message.payload.data(), message.payload.size()});
    line.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<PrintableText>(); }
};

std::unique_ptr<spdlog::formatter> LogFormat() {
  constexpr char kText = '*';
  auto format = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  format->add_flag<PrintableText>(kText).set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %*");
  return format;
}

// "127.0.0.1:9407", "[::1]:9407", ":9407" (all addresses).
std::pair<std::string, std::uint16_t> ParseListen(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = 0;
  bool good = colon != std::string::npos;
  if (good) {
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + colon + 1, end, port);
    good = parsed.ec == std::errc() && parsed.ptr == end;
  }
  if (!good) {
    throw Error("--listen '" + text + "' is not an address and a port",
                "write --listen ADDRESS:PORT, for instance 127.0.0.1:9407 or [::1]:9407");
  }
  std::string address = text.substr(0, colon);
  if (address.empty()) address = "::";
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  return {address, port};
}

// What recordings add must survive this process. Without a spool all sums belong to this process.
Ledger SumsOf(const ServeOptions& options) {
  if (options.spool.empty()) return {};
  return Ledger(options.state.empty() ? DefaultStateFolder() : options.state);
}

sigset_t EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// True if a signal to end the program arrived within the time.
bool WaitForEnd(const sigset_t& signals, double seconds) {
  const double whole = std::floor(std::max(0.0, seconds));
  timespec time{};
  time.tv_sec = static_cast<time_t>(whole);
  time.tv_nsec = static_cast<long>((std::max(0.0, seconds) - whole) * 1e9);
  return sigtimedwait(&signals, nullptr, &time) > 0;
}

bool EndIsPending(const sigset_t& signals) {
  sigset_t pending;
  sigpending(&pending);
  return std::ranges::any_of(std::initializer_list<int>{SIGTERM, SIGINT}, [&](int signal) {
    return sigismember(&signals, signal) == 1 && sigismember(&pending, signal) == 1;
  });
}

}  // namespace

void Serve(const ServeOptions& options, std::function<HostReading()> read_gpus,
           const std::function<std::string()>& bundled_recording) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("fa-profile"));
  spdlog::set_formatter(LogFormat());
  (void)std::signal(SIGPIPE, SIG_IGN);  // a closed log must not end the exporter
  (void)std::signal(SIGXFSZ, SIG_IGN);  // nor a file size limit: it becomes a write error
  // Before any thread starts, so that the signals only come to this one.
  const sigset_t signals = EndSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const auto [address, port] = ParseListen(options.listen);
  std::vector<Source> sources = SourcesOf(options, std::move(read_gpus));
  Exporter exporter(options, std::move(sources), SumsOf(options), bundled_recording);
  web::WebOptions web;
  web.address = address;
  web.port = port;
  web.web_config = options.web_config;
  web::WebServer server(web, [&exporter](const web::WebRequest& request) { return exporter.Answer(request); });
  exporter.set_web_counts([&server] { return server.counts(); });
  exporter.set_cancelled([&signals] { return EndIsPending(signals); });
  const std::string host = address.find(':') == std::string::npos ? address : "[" + address + "]";
  exporter.set_address(fmt::format("{}:{}", host, server.port()));
  spdlog::info("listening on {}:{}{}", host, server.port(),
               options.web_config.empty() ? "" : ", with " + options.web_config);

  using SteadyClock = std::chrono::steady_clock;
  for (bool ended = false; !ended;) {
    const SteadyClock::time_point began = SteadyClock::now();
    exporter.Collect();
    const double spent = std::chrono::duration<double>(SteadyClock::now() - began).count();
    ended = WaitForEnd(signals, options.interval_seconds - spent);
  }
  spdlog::info("stopping: open replies are finished first");
  server.Stop();
}

}  // namespace fa_profile::serve

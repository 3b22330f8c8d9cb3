#include "fa_profile/top.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string_view>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/top_view.h"
#include "screen.h"

namespace fa_profile::top {
namespace {

using Clock = std::chrono::steady_clock;

/// Without a scheme the port is that of serve, not that of HTTP.
std::string WithPort(std::string text) {
  const std::size_t end = std::min(text.find('/'), text.size());
  const std::string host = text.substr(0, end);
  const bool has_port = host.find(':', host.find_last_of("@]") + 1) != std::string::npos;
  return has_port || host.empty() ? text : text.insert(end, ":9407");
}

/// The page, whose errors name its address.
TopPage PageAt(const std::string& url, const std::string& text) {
  try {
    return ReadTopPage(text);
  } catch (const Error& error) {
    throw Error(url + ": " + error.message(), error.hint());
  }
}

/// "http://host:9407/metrics" of "host:9407" too.
http::ServerAddress AddressOf(const std::string& text) {
  const bool has_scheme = text.find("://") != std::string::npos;
  auto address = http::ParseServerAddress(
      has_scheme ? text : "http://" + WithPort(text), "the address of the server cannot be used",
      "write HOST:PORT or http://HOST:PORT/metrics; in a password write / as %2F and @ as %40");
  if (address.url.find('/', address.url.find("://") + 3) == std::string::npos) address.url += "/metrics";
  return address;
}

void RequireTerminal() {
  const char* const terminal = std::getenv("TERM");
  const bool is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  if (isatty(STDOUT_FILENO) != 0 && !is_dumb) return;
  throw Error("top draws on a terminal, and stdout is none that it can draw on", "--once prints the tables and ends");
}

/// The newest page into the view, or the reason why there is none. False: the end was asked for.
bool Renew(http::PageClient& client, const TopOptions& options, Screen& screen, TopView& view) {
  try {
    const auto text = client.Read([&screen] { return screen.EndIsPending(); });
    if (!text) return false;
    view.Add(PageAt(client.url(), *text));
    view.set_problem("");
  } catch (const Error& error) {
    view.set_problem(fmt::format("Trying again every {:g} s: {}", options.interval_seconds, error.Headline()));
  }
  return true;
}

void Draw(const TopOptions& options, const Screen& screen, const TopView& view) {
  exporters::ReportOptions look = options.look();
  look.width = static_cast<int>(std::min<std::size_t>(screen.columns(), 1000));
  std::ostringstream text;
  view.WriteScreen(text, look, screen.lines());
  screen.Draw(text.str());
}

void RunOnScreen(http::PageClient& client, const TopOptions& options, TopView& view) {
  RequireTerminal();
  Screen screen;
  Clock::time_point next = Clock::now();
  for (bool ended = false; !ended;) {
    if (Clock::now() >= next) {
      next = Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.interval_seconds));
      if (!Renew(client, options, screen, view)) return;
    }
    Draw(options, screen, view);
    switch (screen.Wait(std::chrono::duration<double>(next - Clock::now()).count())) {
      case ScreenEvent::kEnd:
        ended = true;
        break;
      case ScreenEvent::kUp:
        view.Select(-1);
        break;
      case ScreenEvent::kDown:
        view.Select(1);
        break;
      case ScreenEvent::kSort:
        view.NextOrder();
        break;
      case ScreenEvent::kResized:
      case ScreenEvent::kNothing:
        break;
    }
  }
}

}  // namespace

void RunTop(const TopOptions& options) {
  http::ServerAddress address = AddressOf(options.address);
  TopView view(address.url);
  http::PageClient client(std::move(address), options.access);
  if (!options.once) return RunOnScreen(client, options, view);
  view.Add(PageAt(client.url(), client.Read([] { return false; }).value()));
  view.WriteAll(std::cout, options.look());
}

}  // namespace fa_profile::top

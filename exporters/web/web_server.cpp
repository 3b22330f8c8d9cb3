#include "fa_profile/web_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "connections.h"
#include "fa_profile/error.h"
#include "listen.h"
#include "password_checker.h"
#include "web_settings.h"

namespace fa_profile::web {
namespace {

using namespace std::chrono_literals;

/// How often the web config file is checked for a change.
constexpr auto kRound = 500ms;
constexpr auto kRoundWhileStopping = 20ms;
/// The least time between two warnings of refused connections.
constexpr auto kBetweenWarnings = 1min;

struct DaemonStopper {
  void operator()(MHD_Daemon* daemon) const { MHD_stop_daemon(daemon); }
};

/// One request on its way through the callbacks of libmicrohttpd.
struct Request {
  WebRequest asked;
  bool begun = false;
  std::size_t target_bytes = 0;
  bool last = false;                            // close the connection after the reply
  std::shared_ptr<const WebSettings> settings;  // those in force when it arrived
  std::optional<PasswordAnswer> answer;         // for its credentials
};

std::string AddressText(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr, text, sizeof text);
  } else if (address.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr, text, sizeof text);
  }
  return text;
}

std::string HeaderOf(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? "" : value;
}

/// libmicrohttpd (0.9) uses the first of several lengths, and answers one that it cannot read twice. So it gets the
/// first from us, and we check the client's.
constexpr const char* kOurLength = "0";
constexpr bool kTakesFirstLength = MHD_VERSION < 0x01000000;

/// The headers that determine where a request ends and whom it is for.
struct Framing {
  std::vector<std::string> hosts;
  std::vector<std::string> lengths;
  std::vector<std::string> encodings;
  bool bad_name = false;
  std::size_t bytes = 0;  // size of all headers in their usual form: "Name: value\r\n"

  explicit Framing(MHD_Connection* connection) {
    (void)MHD_get_connection_values(
        connection, MHD_HEADER_KIND,
        [](void* self, MHD_ValueKind, const char* name, const char* value) {
          static_cast<Framing*>(self)->Add(name, value);
          return MHD_YES;
        },
        this);
  }

  bool HasBody() const {
    return !encodings.empty() || (!lengths.empty() && lengths[0].find_first_not_of('0') != std::string::npos);
  }

  /// Why another server or proxy could read a different request from the same bytes (RFC 9112, sections 3.2, 5.1 and
  /// 6.3); empty: none could.
  std::string Problem(const std::string& version) const {
    if (bad_name) return "The name of a header is not one word.\n";
    if (hosts.size() > 1) return "There is more than one Host.\n";
    if (hosts.empty() && version != MHD_HTTP_VERSION_1_0) return "Host is missing.\n";
    if (lengths.size() > 1) return "There is more than one Content-Length.\n";
    if (!hosts.empty() && hosts[0].find_first_of(" \t/\\?#@,") != std::string::npos) return "Host is not a host.\n";
    if (encodings.size() > 1) return "There is more than one Transfer-Encoding.\n";
    if (!lengths.empty() && !encodings.empty()) return "There are both Content-Length and Transfer-Encoding.\n";
    if (!lengths.empty() && (lengths[0].empty() || lengths[0].find_first_not_of("0123456789") != std::string::npos)) {
      return "Content-Length is not a number.\n";
    }
    return "";
  }

 private:
  void Add(const char* name, const char* value) {
    if (value == kOurLength) return;
    const std::string_view all(name);
    bytes += all.size() + std::strlen(": \r\n") + (value == nullptr ? 0 : std::strlen(value));
    bad_name |= all.empty() || std::ranges::any_of(all, [](unsigned char c) { return c <= ' ' || c >= 0x7F; });
    const std::pair<const char*, std::vector<std::string>*> known[] = {{MHD_HTTP_HEADER_HOST, &hosts},
                                                                       {MHD_HTTP_HEADER_CONTENT_LENGTH, &lengths},
                                                                       {MHD_HTTP_HEADER_TRANSFER_ENCODING, &encodings}};
    for (const auto& [header, values] : known) {
      if (strcasecmp(name, header) == 0) values->emplace_back(value == nullptr ? "" : value);
    }
  }
};

}  // namespace

WebReply TextReply(int status, std::string text, std::string content_type) {
  return {status, std::move(content_type), "", std::make_shared<const std::string>(std::move(text))};
}

// Threads: libmicrohttpd's own run OnRequest() and the other callbacks; the password checker has one; and our
// door_ accepts connections and ends late ones, because libmicrohttpd (0.9.75) has no limit over all its threads, no
// limit on the whole time of a request, and cannot stop listening under load without a race.
class WebServer::Impl {
 public:
  Impl(const WebOptions& options, Handler handler)
      : options_(options),
        handler_(std::move(handler)),
        settings_(options.web_config),
        connections_(options.max_connections, std::chrono::seconds(options.timeout_seconds)),
        listener_(Listen(options.address, options.port)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (wake_.get() < 0) throw Error("eventfd", strerrorname_np(errno), "the web server cannot start");
    const auto settings = settings_.Current();
    if (!settings->config.users.empty() && !settings->tls.has_value() && !listener_.loopback) {
      spdlog::warn(
          "web server: {} asks for passwords without TLS, so clients send them in clear text: add a tls_server_config, "
          "or listen on 127.0.0.1",
          options_.web_config);
    }
    StartDaemon();
    door_ = std::thread([this] { KeepDoor(); });
  }

  ~Impl() { Stop(); }

  void Stop() {
    const std::scoped_lock lock(stop_mutex_);
    if (!door_.joinable()) return;
    stopping_ = true;
    const std::uint64_t one = 1;
    (void)!write(wake_.get(), &one, sizeof one);
    door_.join();
    passwords_.Stop();  // no connection may be suspended when the daemon stops
    daemon_.reset();
  }

  std::uint16_t port() const { return listener_.port; }

  WebCounts counts() const {
    const std::scoped_lock lock(counts_mutex_);
    return {by_status_, connections_.size()};
  }

 private:
  void StartDaemon();

  void KeepDoor();
  void AcceptAll();
  void WarnOfRefused(const std::string& reason);

  void OnConnection(MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode code);
  MHD_Result OnRequest(MHD_Connection* connection, const char* method, const char* version, Request& request);
  MHD_Result Answer(MHD_Connection* connection, Request& request);
  MHD_Result AskForPassword(MHD_Connection* connection, Request& request, const Credentials& credentials);
  WebReply Handle(const WebRequest& asked) const;
  MHD_Result Send(MHD_Connection* connection, const Request& request, const WebReply& reply, bool last = false);
  static Connection* Of(MHD_Connection* connection);

  const WebOptions options_;
  const Handler handler_;
  WebSettingsFile settings_;
  Connections connections_;
  Listener listener_;
  Descriptor wake_;
  PasswordChecker passwords_;
  mutable std::mutex counts_mutex_;
  std::map<int, std::uint64_t> by_status_;
  std::mutex stop_mutex_;
  std::atomic<bool> stopping_ = false;
  WebClock::time_point last_warning_;
  std::uint64_t refused_ = 0;
  std::unique_ptr<MHD_Daemon, DaemonStopper> daemon_;
  std::thread door_;
};

void WebServer::Impl::StartDaemon() {
  const bool tls = settings_.Current()->tls.has_value();
  const unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME |
                             MHD_USE_NO_LISTEN_SOCKET | (tls ? static_cast<unsigned int>(MHD_USE_TLS) : 0U);
  const MHD_AccessHandlerCallback on_request = [](void* self, MHD_Connection* connection, const char*,
                                                  const char* method, const char* version, const char*,
                                                  std::size_t* body_size, void** context) -> MHD_Result {
    if (*context == nullptr) *context = new Request;
    if (*body_size != 0) return MHD_NO;  // a body is refused before it is read
    return static_cast<Impl*>(self)->OnRequest(connection, method, version, *static_cast<Request*>(*context));
  };
  // Gets the target before it is unescaped; its result becomes the request's context.
  const auto on_target = +[](void*, const char* target, MHD_Connection* connection) -> void* {
    if (kTakesFirstLength) {
      (void)MHD_set_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH, kOurLength);
    }
    auto request = std::make_unique<Request>();
    request->asked.path.assign(target, std::strcspn(target, "?"));
    request->target_bytes = std::strlen(target);
    return request.release();
  };
  const MHD_RequestCompletedCallback on_completed = [](void* self, MHD_Connection* connection, void** context,
                                                       MHD_RequestTerminationCode) {
    delete static_cast<Request*>(*context);
    *context = nullptr;
    if (Connection* known = Of(connection)) static_cast<Impl*>(self)->connections_.Wait(*known);
  };
  const MHD_NotifyConnectionCallback on_connection = [](void* self, MHD_Connection* connection, void** context,
                                                        MHD_ConnectionNotificationCode code) {
    static_cast<Impl*>(self)->OnConnection(connection, context, code);
  };
  // OnConnection() gives each connection the current certificate; libmicrohttpd requires a callback but never uses it.
  const auto no_certificate = +[](gnutls_session_t, const gnutls_datum_t*, int, const gnutls_pk_algorithm_t*, int,
                                  gnutls_pcert_st**, unsigned int*, gnutls_privkey_t*) -> int { return -1; };
  // connections_ enforces the real limit; this one is above it however the threads share the connections.
  const auto no_limit = static_cast<unsigned int>(options_.max_connections * 2 * options_.threads);
  std::vector<MHD_OptionItem> more;
  if (tls) more.push_back({MHD_OPTION_HTTPS_CERT_CALLBACK, 0, reinterpret_cast<void*>(no_certificate)});
  if (options_.threads > 1) more.push_back({MHD_OPTION_THREAD_POOL_SIZE, options_.threads, nullptr});
  more.push_back({MHD_OPTION_END, 0, nullptr});
  daemon_.reset(MHD_start_daemon(flags, 0, nullptr, nullptr, on_request, this,                    //
                                 MHD_OPTION_NOTIFY_CONNECTION, on_connection, this,               //
                                 MHD_OPTION_URI_LOG_CALLBACK, on_target, this,                    //
                                 MHD_OPTION_NOTIFY_COMPLETED, on_completed, this,                 //
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, options_.max_request_bytes,  //
                                 MHD_OPTION_CONNECTION_LIMIT, no_limit,                           //
                                 MHD_OPTION_ARRAY, more.data(),                                   //
                                 MHD_OPTION_END));
  if (daemon_ == nullptr) {
    throw Error("MHD_start_daemon", "", "the web server cannot start",
                "it may need more threads or descriptors than allowed: see `ulimit -a`");
  }
}

void WebServer::Impl::KeepDoor() {
  std::optional<WebClock::time_point> give_up;
  WebClock::time_point next_look = WebClock::now() + kRound;
  while (true) {
    if (stopping_ && !give_up.has_value()) {
      AcceptAll();  // those that arrived before the stop
      listener_.socket.Close();
      give_up = WebClock::now() + std::chrono::seconds(options_.timeout_seconds);
    }
    const auto now = WebClock::now();
    if (give_up.has_value() && (connections_.size() == 0 || now > *give_up)) return;
    auto until = std::min(connections_.EndLate(stopping_), next_look);
    if (stopping_) until = std::min(until, now + kRoundWhileStopping);
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(until - now, WebClock::duration(0)));
    pollfd watched[] = {{wake_.get(), static_cast<short>(stopping_ ? 0 : POLLIN), 0},
                        {listener_.socket.get(), POLLIN, 0}};
    (void)poll(watched, 2, static_cast<int>(wait.count()));  // an interruption only makes the round shorter
    if (watched[1].revents != 0) AcceptAll();
    if (WebClock::now() >= next_look) {
      settings_.Refresh();
      next_look = WebClock::now() + kRound;
    }
  }
}

void WebServer::Impl::AcceptAll() {
  while (true) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd =
        accept4(listener_.socket.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      // Out of descriptors or memory: the connection stays acceptable, and an immediate retry would waste time.
      WarnOfRefused(std::strerror(errno));
      std::this_thread::sleep_for(50ms);
      return;
    }
    if (!connections_.Add(fd, AddressText(address))) {
      close(fd);
      WarnOfRefused("the limit of connections is reached");
      continue;
    }
    // Closes the descriptor itself if it fails.
    if (MHD_add_connection(daemon_.get(), fd, reinterpret_cast<sockaddr*>(&address), size) != MHD_YES) {
      connections_.Remove(fd);
      WarnOfRefused("libmicrohttpd refused it");
    }
  }
}

void WebServer::Impl::WarnOfRefused(const std::string& reason) {
  ++refused_;
  const auto now = WebClock::now();
  if (last_warning_ != WebClock::time_point() && now - last_warning_ < kBetweenWarnings) return;
  last_warning_ = now;
  spdlog::warn("web server: {} connections refused so far: {}", refused_, reason);
}

Connection* WebServer::Impl::Of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == nullptr ? nullptr : static_cast<Connection*>(info->socket_context);
}

void WebServer::Impl::OnConnection(MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode code) {
  const int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
    connections_.Remove(fd);
    return;
  }
  Connection& known = connections_.Start(fd);
  *context = &known;
  const auto settings = settings_.Current();
  const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  if (info == nullptr || info->tls_session == nullptr || !settings->tls.has_value()) return;
  settings->tls->Apply(static_cast<gnutls_session_t>(info->tls_session));
  connections_.Keep(known, settings);
}

MHD_Result WebServer::Impl::OnRequest(MHD_Connection* connection, const char* method, const char* version,
                                      Request& request) {
  try {
    if (request.begun) return Answer(connection, request);
    request.begun = true;
    request.asked.method = method;
    request.asked.accept = HeaderOf(connection, MHD_HTTP_HEADER_ACCEPT);
    request.asked.accept_encoding = HeaderOf(connection, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    request.settings = settings_.Current();
    if (Connection* known = Of(connection)) connections_.Serve(*known);
    // What follows these may be a body, so the connection is closed.
    const Framing framing(connection);
    if (std::string problem = framing.Problem(version); !problem.empty()) {
      return Send(connection, request, TextReply(400, std::move(problem)), /*last=*/true);
    }
    if (framing.HasBody()) {
      return Send(connection, request, TextReply(413, "Requests must not have a body.\n"), /*last=*/true);
    }
    // libmicrohttpd drops a folded header line, and what follows a NUL, so the end of the request is in doubt. So it is
    // the last, as is one that merely spaces its headers unusually.
    const std::size_t line_bytes = request.asked.method.size() + request.target_bytes + std::strlen(version) + 4;
    const MHD_ConnectionInfo* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    request.last = info == nullptr || info->header_size != line_bytes + framing.bytes + 2;
    return MHD_YES;
  } catch (const std::exception& problem) {
    spdlog::error("web server: {}", problem.what());
    return MHD_NO;  // closes the connection
  }
}

MHD_Result WebServer::Impl::Answer(MHD_Connection* connection, Request& request) {
  const WebConfig& config = request.settings->config;
  if (!config.users.empty()) {
    if (!request.answer.has_value()) {
      const auto credentials = Credentials::FromHeader(
          MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION));
      if (credentials.has_value()) return AskForPassword(connection, request, *credentials);
      request.answer = PasswordAnswer::kWrong;
    }
    if (request.answer == PasswordAnswer::kBusy)
      return Send(connection, request, TextReply(503, "Too many passwords to check.\n"));
    if (request.answer != PasswordAnswer::kRight) return Send(connection, request, TextReply(401, "Unauthorized\n"));
  }
  if (request.asked.method != "GET" && request.asked.method != "HEAD") {
    return Send(connection, request, TextReply(405, "Use GET or HEAD.\n"));
  }
  return Send(connection, request, Handle(request.asked));
}

MHD_Result WebServer::Impl::AskForPassword(MHD_Connection* connection, Request& request,
                                           const Credentials& credentials) {
  PasswordChecker::Question question(passwords_, request.settings->config.users, credentials);
  request.answer = passwords_.Remembered(question);
  if (request.answer.has_value()) return Answer(connection, request);
  Connection* known = Of(connection);
  const std::string address = known == nullptr ? "" : connections_.AddressOf(*known);
  MHD_suspend_connection(connection);
  // The request lives until its connection resumes: libmicrohttpd does not close a suspended connection.
  passwords_.Ask(std::move(question), address, WebClock::now() + std::chrono::seconds(options_.timeout_seconds),
                 [connection, &request](PasswordAnswer answer) {
                   request.answer = answer;
                   MHD_resume_connection(connection);
                 });
  return MHD_YES;
}

WebReply WebServer::Impl::Handle(const WebRequest& asked) const {
  try {
    return handler_(asked);
  } catch (const std::exception& problem) {
    spdlog::error("{} {}: {}", asked.method, asked.path, problem.what());
    return TextReply(500, "Internal error; the log has the details.\n");
  }
}

MHD_Result WebServer::Impl::Send(MHD_Connection* connection, const Request& request, const WebReply& reply, bool last) {
  using Body = std::shared_ptr<const std::string>;
  // Keeps the body alive while libmicrohttpd sends it.
  auto body = std::make_unique<Body>(reply.body == nullptr ? std::make_shared<const std::string>() : reply.body);
  const std::string& text = **body;
  MHD_Response* response = MHD_create_response_from_buffer_with_free_callback_cls(
      text.size(), const_cast<char*>(text.data()), [](void* held) { delete static_cast<Body*>(held); }, body.get());
  if (response == nullptr) return MHD_NO;
  (void)body.release();
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply.content_type.c_str());
  if (!reply.content_encoding.empty()) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, reply.content_encoding.c_str());
  }
  if (reply.status == 401) MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Basic");
  if (reply.status == 405) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  if (stopping_ || last || request.last) MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  for (const auto& [name, value] : request.settings->config.headers) {
    MHD_add_response_header(response, name.c_str(), value.c_str());
  }
  if (Connection* known = Of(connection)) connections_.Serve(*known);
  {
    const std::scoped_lock lock(counts_mutex_);
    ++by_status_[reply.status];
  }
  const MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned int>(reply.status), response);
  MHD_destroy_response(response);  // our reference; the connection has its own
  return queued;
}

WebServer::WebServer(const WebOptions& options, Handler handler)
    : impl_(std::make_unique<Impl>(options, std::move(handler))) {}

WebServer::~WebServer() = default;

void WebServer::Stop() { impl_->Stop(); }

std::uint16_t WebServer::port() const { return impl_->port(); }

WebCounts WebServer::counts() const { return impl_->counts(); }

}  // namespace fa_profile::web

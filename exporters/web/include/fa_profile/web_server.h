#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace fa_profile::web {

struct WebRequest {
  std::string method;  ///< "GET" or "HEAD"
  std::string path;    ///< as the client wrote it, without the query: "/metrics"
  std::string accept;
  std::string accept_encoding;
};

struct WebReply {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string content_encoding;             ///< "gzip" or empty
  std::shared_ptr<const std::string> body;  ///< shared, never copied per client; null is an empty one
};

/// A short text reply.
WebReply TextReply(int status, std::string text, std::string content_type = WebReply{}.content_type);

struct WebOptions {
  std::string address = "127.0.0.1";  ///< a name or number, also "[::1]"; empty listens on every interface
  std::uint16_t port = 9407;          ///< 0: any free one
  std::string web_config;     ///< path of a web config file (docs/web-config.md); empty: plain HTTP for everyone
  int max_connections = 256;  ///< at least 1, like all of these
  int timeout_seconds = 10;   ///< for a whole request to arrive, and for its whole reply to be taken
  std::size_t max_request_bytes = 16 * std::size_t{1024};  ///< request line and headers together; bodies are refused
  int threads = 2;
};

struct WebCounts {
  /// Replies by status, except those to input that is not a request (garbage, headers over the limit): libmicrohttpd
  /// answers it with 4xx and closes the connection.
  std::map<int, std::uint64_t> by_status;
  int connections = 0;  ///< open now
};

/// An HTTP/1.1 server for a few small pages. Slow, silent, many or hostile clients do not stop it: a request must
/// arrive, and a reply be taken, within `timeout_seconds` each, even if bytes trickle; a connection over the limit
/// replaces the one that has waited longest for a request, or is closed at once when all are busy.
///
/// With a web config file it checks TLS, client certificates and basic authentication before anything else. It reads
/// the file, and the files named in it, again when they change; files that cannot be used are logged once and change
/// nothing.
///
///   WebServer server(options, [](const WebRequest& request) { return TextReply(200, request.path); });
///   std::cout << "port " << server.port() << '\n';
class WebServer {
 public:
  /// Called from several threads at once, for GET and HEAD; other methods get 405, those with a body 413, and 400 if
  /// the end of the request or its host is ambiguous. An exception is logged and answered with 500. No lock is held
  /// while a client takes the body.
  using Handler = std::function<WebReply(const WebRequest&)>;

  /// Listens when it returns. Throws Error: the address is in use or not this machine's, no permission, a web config
  /// file that cannot be used (with file, line and column), a certificate or key that cannot be used.
  WebServer(const WebOptions& options, Handler handler);
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  /// Closes the port at once, finishes open requests within `timeout_seconds`, then closes. May be called again;
  /// handlers must not call it.
  void Stop();

  std::uint16_t port() const;
  WebCounts counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fa_profile::web

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace fa_profile::http {

/// A server's address. The user and the password are apart from it, so that no message can show them.
struct ServerAddress {
  std::string url;  ///< "http://HOST:PORT/PATH", without a slash at its end
  std::string user;
  std::string password;
};

/// Throws Error with `what` and the reason, without the address, whose password it may be: not http://... or
/// https://..., no host, a port above 65535, or an '@' that is part of a password which was not escaped.
ServerAddress ParseServerAddress(const std::string& text, const std::string& what, const std::string& hint);

/// Who a client is, and whom it trusts. Empty: not given.
struct ServerAccess {
  std::string user;
  std::string password_file;     ///< its first line
  std::string ca_file;           ///< PEM; empty: the system's authorities
  std::string certificate_file;  ///< PEM, of the client
  std::string key_file;
};

/// Reads one page again and again, over one connection where the server keeps it.
class PageClient {
 public:
  /// Throws Error: a file that cannot be read, a key without its certificate, two users.
  PageClient(ServerAddress address, const ServerAccess& access);

  /// The page. Absent: `cancelled` gave true, which is asked once a second at least. Throws Error with the cure: no
  /// answer within 10 s, a status other than 200, more than 8 MiB.
  std::optional<std::string> Read(const std::function<bool()>& cancelled);

  const std::string& url() const { return url_; }

 private:
  std::unique_ptr<void, void (*)(void*)> curl_;  // a CURL, with user and password
  std::string url_;
};

}  // namespace fa_profile::http

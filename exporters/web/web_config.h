#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fa_profile {

/// PEM text, or the file that holds it.
struct PemSource {
  std::string file;  ///< as it can be opened; empty when the text stands in the web config file
  std::string text;

  bool empty() const { return file.empty() && text.empty(); }
};

enum class ClientAuth { kNone, kRequest, kRequireAny, kVerifyIfGiven, kRequireAndVerify };

struct TlsConfig {
  PemSource certificate;
  PemSource key;
  PemSource client_ca;  ///< empty without one
  ClientAuth client_auth = ClientAuth::kNone;
  std::string priorities;  ///< versions, cipher suites and curves, in GnuTLS's words
};

struct WebConfig {
  std::optional<TlsConfig> tls;
  std::vector<std::pair<std::string, std::string>> headers;  ///< for every reply
  std::map<std::string, std::string> users;                  ///< name -> bcrypt hash; empty: anybody may
};

/// A web config file in the format of Prometheus's exporter-toolkit (docs/web-config.md). `path` stands in front of the
/// line and column of every error, and relative file names in it are taken from its folder. Throws Error: no YAML; an
/// unknown key, value, header or cipher suite; a hash that is not bcrypt's; what this server does not support.
WebConfig ParseWebConfig(const std::string& text, const std::string& path);

/// The text of a regular file of at most 1 MiB. Throws Error; `what` says what it is ("the web config file"),
/// `cure_if_missing` what to do when there is none.
std::string ReadSmallFile(const std::string& path, const std::string& what, const std::string& cure_if_missing);

}  // namespace fa_profile

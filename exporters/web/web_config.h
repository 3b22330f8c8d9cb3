#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fa_profile::web {

/// PEM text, or the file that holds it.
struct PemSource {
  std::string file;  ///< a path that can be opened; empty if the web config file holds the text
  std::string text;

  bool empty() const { return file.empty() && text.empty(); }
};

enum class ClientAuth { kNone, kRequest, kRequireAny, kVerifyIfGiven, kRequireAndVerify };

struct TlsConfig {
  PemSource certificate;
  PemSource key;
  PemSource client_ca;  ///< empty without one
  ClientAuth client_auth = ClientAuth::kNone;
  std::string priorities;  ///< versions, cipher suites and curves: a priority string of GnuTLS
};

struct WebConfig {
  std::optional<TlsConfig> tls;
  std::vector<std::pair<std::string, std::string>> headers;  ///< for every reply
  std::map<std::string, std::string> users;                  ///< name -> bcrypt hash; empty: no authentication
};

/// Limit for the web config file, and for each file that it names.
inline constexpr std::size_t kLargestFile = 1 << 20;

/// A web config file in the format of Prometheus's exporter-toolkit (docs/web-config.md). Every error begins with
/// `path`, line and column; relative file names are resolved from its folder. Throws Error: not YAML; an unknown key,
/// value, header or cipher suite; a hash that is not bcrypt; a feature that this server does not support.
WebConfig ParseWebConfig(const std::string& text, const std::string& path);

}  // namespace fa_profile::web

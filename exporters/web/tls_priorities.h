#pragma once

#include <map>
#include <string>
#include <vector>

namespace fa_profile {

/// What a web config file may say of a TLS connection, in Go's names.
struct TlsChoice {
  int min_version = 12;  ///< 10 to 13
  int max_version = 13;
  std::vector<std::string> cipher_suites;  ///< empty: the default ones
  bool prefer_server = true;
  std::vector<std::string> curves;  ///< empty: the default ones
};

/// "TLS12" -> 12
const std::map<std::string, int>& TlsVersions();

/// The choice as a priority string of GnuTLS. Throws Error: an unknown suite or curve, a maximum below the minimum, and
/// suites that GnuTLS cannot enable without enabling others: it chooses ciphers and key exchanges, not suites.
std::string TlsPriorities(const TlsChoice& choice);

}  // namespace fa_profile

#pragma once

#include <gnutls/gnutls.h>

#include <ctime>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "web_config.h"

namespace fa_profile::web {

/// TLS settings that a web config file may choose.
struct TlsChoice {
  int min_version = 12;  ///< 10 to 13: TLS 1.0 to 1.3
  int max_version = 13;
  std::vector<std::string> cipher_suites;  ///< IANA's names, which are Go's; empty: GnuTLS's with forward secrecy
  bool prefer_server = true;
  std::vector<std::string> groups;  ///< GnuTLS's names; empty: GnuTLS's own choice
};

/// The choice as a priority string of GnuTLS. Throws Error: an unknown suite, a maximum below the minimum, nothing left
/// to offer, and suites that GnuTLS cannot enable without others: it chooses ciphers and key exchanges, not suites.
std::string TlsPriorities(const TlsChoice& choice);

/// The texts named by a TlsConfig.
struct TlsTexts {
  std::string certificate;
  std::string key;
  std::string client_ca;

  bool operator==(const TlsTexts&) const = default;
};

/// Reads the files. Throws Error that names the file.
TlsTexts ReadTlsTexts(const TlsConfig& config);

/// What the server presents and requires from its clients. Immutable; connections in any thread may share it.
class TlsIdentity {
 public:
  /// Throws Error: no certificate in the text, no key, another certificate's key, no CA.
  TlsIdentity(const TlsConfig& config, const TlsTexts& texts);

  /// Makes `session`, before its handshake, use this identity, which must outlive it.
  void Apply(gnutls_session_t session) const;

  /// Why clients will refuse the certificate at this time ("expired on 2026-01-31 12:00 UTC"), or an empty string.
  std::string ProblemAt(std::time_t now) const;

  const std::string& certificate_name() const { return certificate_name_; }

 private:
  struct Free {
    void operator()(gnutls_certificate_credentials_t credentials) const {
      gnutls_certificate_free_credentials(credentials);
    }
    void operator()(gnutls_priority_t priorities) const { gnutls_priority_deinit(priorities); }
  };

  std::unique_ptr<std::remove_pointer_t<gnutls_certificate_credentials_t>, Free> credentials_;
  std::unique_ptr<std::remove_pointer_t<gnutls_priority_t>, Free> priorities_;
  ClientAuth client_auth_;
  std::string certificate_name_;
  std::time_t begins_ = 0;
  std::time_t ends_ = 0;
};

}  // namespace fa_profile::web

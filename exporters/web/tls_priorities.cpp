#include "tls_priorities.h"

#include <fmt/format.h>
#include <gnutls/gnutls.h>

#include <algorithm>
#include <set>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

struct Suite {
  const char* name;    // Go's, which is IANA's
  const char* gnutls;  // the name that gnutls_cipher_suite_info() gives
  const char* exchange;
  const char* cipher;
  const char* mac;
};

// Go's tls.CipherSuites(): the suites it does not call insecure. Those of TLS 1.3 have no key exchange of their own.
constexpr Suite kSuites[] = {
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", nullptr, "AES-128-GCM", "AEAD"},
    {"TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", nullptr, "AES-256-GCM", "AEAD"},
    {"TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", nullptr, "CHACHA20-POLY1305", "AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_ECDSA_AES_128_CBC_SHA1", "ECDHE-ECDSA", "AES-128-CBC", "SHA1"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "TLS_ECDHE_ECDSA_AES_256_CBC_SHA1", "ECDHE-ECDSA", "AES-256-CBC", "SHA1"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_AES_128_CBC_SHA1", "ECDHE-RSA", "AES-128-CBC", "SHA1"},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "TLS_ECDHE_RSA_AES_256_CBC_SHA1", "ECDHE-RSA", "AES-256-CBC", "SHA1"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_AES_128_GCM_SHA256", "ECDHE-ECDSA", "AES-128-GCM",
     "AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_AES_256_GCM_SHA384", "ECDHE-ECDSA", "AES-256-GCM",
     "AEAD"},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_AES_128_GCM_SHA256", "ECDHE-RSA", "AES-128-GCM", "AEAD"},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_AES_256_GCM_SHA384", "ECDHE-RSA", "AES-256-GCM", "AEAD"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_CHACHA20_POLY1305", "ECDHE-RSA", "CHACHA20-POLY1305",
     "AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_ECDSA_CHACHA20_POLY1305", "ECDHE-ECDSA",
     "CHACHA20-POLY1305", "AEAD"},
};

const std::map<std::string, std::string> kCurves = {
    {"CurveP256", "SECP256R1"}, {"CurveP384", "SECP384R1"}, {"CurveP521", "SECP521R1"}, {"X25519", "X25519"}};

const Suite& SuiteNamed(const std::string& name) {
  const auto* found =
      std::find_if(std::begin(kSuites), std::end(kSuites), [&](const Suite& s) { return name == s.name; });
  if (found == std::end(kSuites)) {
    std::vector<std::string> names;
    for (const Suite& suite : kSuites) names.emplace_back(suite.name);
    throw Error("unknown cipher suite '" + name + "'" + DidYouMean(name, names),
                fmt::format("it can be {}", fmt::join(names, ", ")));
  }
  return *found;
}

/// Every TLS 1.2 suite (Go's name where it has one) or TLS 1.3 suite that a priority string enables.
std::set<std::string> Enabled(const std::string& priorities, bool tls13) {
  gnutls_priority_t cache = nullptr;
  const int status = gnutls_priority_init(&cache, priorities.c_str(), nullptr);
  if (status != GNUTLS_E_SUCCESS) {
    throw Error("gnutls_priority_init", gnutls_strerror_name(status),
                "GnuTLS has no connection to offer that is all this: " + priorities, "ask for less");
  }
  std::set<std::string> names;
  unsigned int index = 0;
  for (unsigned int i = 0;; ++i) {
    const int got = gnutls_priority_get_cipher_suite_index(cache, i, &index);
    if (got == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) break;
    if (got != GNUTLS_E_SUCCESS) continue;  // not compiled in
    gnutls_protocol_t least{};
    const char* gnutls_name = gnutls_cipher_suite_info(index, nullptr, nullptr, nullptr, nullptr, &least);
    if (gnutls_name == nullptr || (least == GNUTLS_TLS1_3) != tls13) continue;
    const auto* known = std::find_if(std::begin(kSuites), std::end(kSuites),
                                     [&](const Suite& s) { return std::string(gnutls_name) == s.gnutls; });
    names.insert(known == std::end(kSuites) ? gnutls_name : known->name);
  }
  gnutls_priority_deinit(cache);
  return names;
}

template <typename Part>
void AppendOnce(std::string& text, std::set<std::string>& seen, const Part& part) {
  if (seen.insert(part).second) text += fmt::format(":+{}", part);
}

std::string Suites(const std::vector<std::string>& names) {
  std::string exchanges = "-KX-ALL";
  std::string ciphers = ":-CIPHER-ALL";
  std::string macs = ":-MAC-ALL";
  std::set<std::string> seen;
  for (const std::string& name : names) {
    const Suite& suite = SuiteNamed(name);
    if (suite.exchange != nullptr) AppendOnce(exchanges, seen, suite.exchange);
    AppendOnce(ciphers, seen, suite.cipher);
    AppendOnce(macs, seen, suite.mac);
  }
  // TLS 1.3 takes its key exchange from the groups alone, which GnuTLS offers only beside one of the older ones.
  if (exchanges == "-KX-ALL") exchanges += ":+ECDHE-RSA";
  return exchanges + ciphers + macs;
}

void RequireExactly(const TlsChoice& choice, const std::string& priorities) {
  std::set<std::string> wanted;
  for (const std::string& name : choice.cipher_suites) {
    if (SuiteNamed(name).exchange != nullptr) wanted.insert(name);
  }
  const std::set<std::string> extra = [&] {
    std::set<std::string> more;
    if (choice.min_version < 13) {
      for (const std::string& name : Enabled(priorities, false)) {
        if (!wanted.contains(name)) more.insert(name);
      }
    }
    return more;
  }();
  if (!extra.empty()) {
    throw Error(fmt::format("these cipher suites cannot be had without {}", fmt::join(extra, ", ")),
                "ciphers and key exchanges are chosen apart: list every combination of those in the list");
  }
  if (choice.max_version >= 13 && Enabled(priorities, true).empty()) {
    throw Error("none of these cipher suites leaves TLS 1.3 a cipher",
                "add one with AES_128_GCM, AES_256_GCM or CHACHA20_POLY1305, or set max_version: TLS12");
  }
}

}  // namespace

const std::map<std::string, int>& TlsVersions() {
  static const std::map<std::string, int> kVersions = {{"TLS10", 10}, {"TLS11", 11}, {"TLS12", 12}, {"TLS13", 13}};
  return kVersions;
}

std::string TlsPriorities(const TlsChoice& choice) {
  if (choice.max_version < choice.min_version) {
    throw Error("max_version is below min_version", "exchange them, or remove one");
  }
  std::string text = "NORMAL:-VERS-ALL";
  for (int version = choice.max_version; version >= choice.min_version; --version) {
    text += fmt::format(":+VERS-TLS1.{}", version - 10);
  }
  // As Go: forward secrecy or nothing.
  text += ":";
  text += choice.cipher_suites.empty() ? "-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA" : Suites(choice.cipher_suites);
  if (!choice.curves.empty()) text += ":-GROUP-ALL";
  for (const std::string& curve : choice.curves) {
    const auto found = kCurves.find(curve);
    if (found == kCurves.end()) {
      throw Error("unknown curve '" + curve + "'",
                  "curve_preferences can have CurveP256, CurveP384, CurveP521, X25519");
    }
    text += ":+GROUP-" + found->second;
  }
  if (choice.prefer_server) text += ":%SERVER_PRECEDENCE";
  if (!choice.cipher_suites.empty()) RequireExactly(choice, text);
  (void)Enabled(text, true);  // throws where GnuTLS takes the text for wrong
  return text;
}

}  // namespace fa_profile

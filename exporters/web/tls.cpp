#include "tls.h"

#include <dlfcn.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <gnutls/x509.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/files.h"

namespace fa_profile::web {
namespace {

constexpr const char* kPemHint = "the file must be PEM: -----BEGIN ...";

gnutls_datum_t View(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())), static_cast<unsigned int>(text.size())};
}

std::string NameOf(const PemSource& source, const char* key) {
  return source.file.empty() ? fmt::format("`{}` of the web config file", key) : source.file;
}

[[noreturn]] void Fail(const char* call, int status, const std::string& message, const std::string& hint) {
  throw Error(call, gnutls_strerror_name(status), fmt::format("{}: {}", message, gnutls_strerror(status)), hint);
}

// As in Go: forward secrecy or nothing.
constexpr const char* kForwardSecrecy = "NORMAL:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA";

/// A cipher suite in the terms of a priority string. Those of TLS 1.3 have no key exchange of their own.
struct Suite {
  std::string exchange;
  std::string cipher;
  std::string mac;
};

/// IANA's name for a suite that GnuTLS calls TLS_ECDHE_RSA_AES_128_CBC_SHA1 or TLS_ECDHE_RSA_CHACHA20_POLY1305.
std::string IanaName(std::string name) {
  for (const std::string_view exchange : {"TLS_ECDHE_RSA_", "TLS_ECDHE_ECDSA_"}) {
    if (name.starts_with(exchange)) name.insert(exchange.size(), "WITH_");
  }
  if (name.ends_with("_SHA1")) name.pop_back();
  if (name.ends_with("_POLY1305")) name += "_SHA256";
  return name;
}

/// The suites that a priority string enables, by IANA's names.
std::map<std::string, Suite> Suites(const std::string& priorities) {
  gnutls_priority_t cache = nullptr;
  const char* at = nullptr;
  const int status = gnutls_priority_init2(&cache, priorities.c_str(), &at, 0);
  if (status != GNUTLS_E_SUCCESS) {
    Fail("gnutls_priority_init2", status,
         fmt::format("GnuTLS cannot use the priorities {} from '{}' on", priorities, at == nullptr ? "" : at),
         "choose more versions, cipher suites or curves");
  }
  std::map<std::string, Suite> suites;
  unsigned int index = 0;
  for (unsigned int i = 0;; ++i) {
    const int got = gnutls_priority_get_cipher_suite_index(cache, i, &index);
    if (got == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) break;
    if (got != GNUTLS_E_SUCCESS) continue;  // not compiled in
    gnutls_kx_algorithm_t exchange{};
    gnutls_cipher_algorithm_t cipher{};
    gnutls_mac_algorithm_t mac{};
    gnutls_protocol_t least{};
    const char* const name = gnutls_cipher_suite_info(index, nullptr, &exchange, &cipher, &mac, &least);
    if (name == nullptr) continue;
    suites[IanaName(name)] = {least == GNUTLS_TLS1_3 ? "" : gnutls_kx_get_name(exchange),
                              gnutls_cipher_get_name(cipher), gnutls_mac_get_name(mac)};
  }
  gnutls_priority_deinit(cache);
  return suites;
}

/// The priorities that reduce kForwardSecrecy to the parts of these suites.
std::string OnlyPartsOf(const std::vector<std::string>& names) {
  const std::map<std::string, Suite> known = Suites(kForwardSecrecy);
  std::string exchanges;
  std::string others;
  for (const std::string& name : names) {
    const auto found = known.find(name);
    if (found == known.end()) {
      std::vector<std::string> all;
      for (const auto& [each, suite] : known) all.push_back(each);
      throw Error("unknown cipher suite '" + name + "'" + DidYouMean(name, all),
                  fmt::format("it can be {}", fmt::join(all, ", ")));
    }
    const Suite& suite = found->second;
    if (!suite.exchange.empty()) exchanges += ":+" + suite.exchange;
    others += ":+" + suite.cipher + ":+" + suite.mac;
  }
  // TLS 1.3 takes its key exchange only from the groups, which GnuTLS offers only together with one of the older ones.
  if (exchanges.empty()) exchanges = ":+ECDHE-RSA";
  return ":-KX-ALL:-CIPHER-ALL:-MAC-ALL" + exchanges + others;
}

/// Throws Error unless the enabled suites of TLS 1.2 are exactly the chosen ones, and TLS 1.3 has one.
void RequireExactly(const TlsChoice& choice, const std::map<std::string, Suite>& enabled) {
  std::vector<std::string> extra;
  bool tls13 = false;
  for (const auto& [name, suite] : enabled) {
    tls13 = tls13 || suite.exchange.empty();
    const bool named = std::ranges::find(choice.cipher_suites, name) != choice.cipher_suites.end();
    if (!suite.exchange.empty() && !named && choice.min_version < 13) extra.push_back(name);
  }
  if (!extra.empty()) {
    throw Error(fmt::format("GnuTLS cannot enable these cipher suites without {}", fmt::join(extra, ", ")),
                "ciphers and key exchanges are chosen separately: list every combination of those in the list");
  }
  if (choice.max_version >= 13 && !tls13) {
    throw Error("none of these cipher suites leaves TLS 1.3 a cipher",
                "add one with AES_128_GCM, AES_256_GCM or CHACHA20_POLY1305, or set max_version: TLS12");
  }
}

/// When the whole chain in `pem` is valid: {begin, end}.
std::pair<std::time_t, std::time_t> Validity(const std::string& pem, const std::string& name) {
  gnutls_x509_crt_t* list = nullptr;
  unsigned int count = 0;
  const gnutls_datum_t text = View(pem);
  const int status = gnutls_x509_crt_list_import2(&list, &count, &text, GNUTLS_X509_FMT_PEM, 0);
  if (status != GNUTLS_E_SUCCESS) {
    Fail("gnutls_x509_crt_list_import2", status, name + " holds no certificate", kPemHint);
  }
  std::pair<std::time_t, std::time_t> valid{0, std::numeric_limits<std::time_t>::max()};
  for (unsigned int i = 0; i < count; ++i) {
    valid.first = std::max(valid.first, gnutls_x509_crt_get_activation_time(list[i]));
    valid.second = std::min(valid.second, gnutls_x509_crt_get_expiration_time(list[i]));
    gnutls_x509_crt_deinit(list[i]);
  }
  gnutls_free(list);
  return valid;
}

/// Ends a handshake. Whatever a verify function returns, GnuTLS turns into GNUTLS_E_CERTIFICATE_ERROR.
int RefuseClient(gnutls_session_t session, gnutls_alert_description_t why) {
  (void)gnutls_alert_send(session, GNUTLS_AL_FATAL, why);
  return GNUTLS_E_CERTIFICATE_ERROR;
}

/// Called in the handshake once the client's certificates have arrived, or are known to be missing. 0: go on.
template <bool kRequire, bool kVerify>
int CheckClient(gnutls_session_t session) {
  unsigned int count = 0;
  if (gnutls_certificate_get_peers(session, &count) == nullptr || count == 0) {
    if (!kRequire) return 0;
    const bool has_its_alert = gnutls_protocol_get_version(session) == GNUTLS_TLS1_3;
    return RefuseClient(session, has_its_alert ? GNUTLS_A_CERTIFICATE_REQUIRED : GNUTLS_A_HANDSHAKE_FAILURE);
  }
  if (!kVerify) return 0;
  std::string purpose = GNUTLS_KP_TLS_WWW_CLIENT;
  gnutls_typed_vdata_st data{GNUTLS_DT_KEY_PURPOSE_OID, reinterpret_cast<unsigned char*>(purpose.data()), 0};
  unsigned int problems = 0;
  if (gnutls_certificate_verify_peers(session, &data, 1, &problems) != GNUTLS_E_SUCCESS) {
    return RefuseClient(session, GNUTLS_A_BAD_CERTIFICATE);
  }
  if (problems == 0) return 0;
  const auto has = [problems](unsigned int problem) { return (problems & problem) != 0; };
  return RefuseClient(session, has(GNUTLS_CERT_EXPIRED)            ? GNUTLS_A_CERTIFICATE_EXPIRED
                               : has(GNUTLS_CERT_SIGNER_NOT_FOUND) ? GNUTLS_A_UNKNOWN_CA
                                                                   : GNUTLS_A_BAD_CERTIFICATE);
}

}  // namespace

/// Replaces GnuTLS's function for the whole program: libmicrohttpd closes a connection whose handshake failed without
/// the alert that tells the client why.
extern "C" int gnutls_handshake(gnutls_session_t session) {
  static auto* const original = reinterpret_cast<int (*)(gnutls_session_t)>(dlsym(RTLD_NEXT, "gnutls_handshake"));
  const int status = original(session);
  // RefuseClient() has already sent an alert for a refused certificate.
  if (status < 0 && gnutls_error_is_fatal(status) != 0 && status != GNUTLS_E_CERTIFICATE_ERROR) {
    (void)gnutls_alert_send_appropriate(session, status);
  }
  return status;
}

std::string TlsPriorities(const TlsChoice& choice) {
  if (choice.max_version < choice.min_version) {
    throw Error("max_version is below min_version", "exchange them, or remove one");
  }
  std::string text = kForwardSecrecy;
  if (!choice.cipher_suites.empty()) text += OnlyPartsOf(choice.cipher_suites);
  text += ":-VERS-ALL";
  for (int version = choice.max_version; version >= choice.min_version; --version) {
    text += fmt::format(":+VERS-TLS1.{}", version - 10);
  }
  if (!choice.groups.empty()) text += fmt::format(":-GROUP-ALL:+GROUP-{}", fmt::join(choice.groups, ":+GROUP-"));
  if (choice.prefer_server) text += ":%SERVER_PRECEDENCE";
  const std::map<std::string, Suite> enabled = Suites(text);
  if (!choice.cipher_suites.empty()) RequireExactly(choice, enabled);
  return text;
}

TlsTexts ReadTlsTexts(const TlsConfig& config) {
  const auto read = [](const PemSource& source, const char* what) {
    if (source.file.empty()) return source.text;
    try {
      return ReadFile(source.file, kLargestFile);
    } catch (const Error& problem) {
      throw Error(fmt::format("{}: {}", what, problem.message()),
                  problem.hint() + "; a relative name is taken from the folder of the web config file");
    }
  };
  return {read(config.certificate, "the server's certificate"), read(config.key, "the server's key"),
          read(config.client_ca, "the CA of the clients")};
}

TlsIdentity::TlsIdentity(const TlsConfig& config, const TlsTexts& texts)
    : client_auth_(config.client_auth), certificate_name_(NameOf(config.certificate, "cert")) {
  std::tie(begins_, ends_) = Validity(texts.certificate, certificate_name_);

  gnutls_certificate_credentials_t credentials = nullptr;
  int status = gnutls_certificate_allocate_credentials(&credentials);
  if (status != GNUTLS_E_SUCCESS) Fail("gnutls_certificate_allocate_credentials", status, "TLS cannot start", "");
  credentials_.reset(credentials);

  const std::string key_name = NameOf(config.key, "key");
  const gnutls_datum_t certificate = View(texts.certificate);
  const gnutls_datum_t key = View(texts.key);
  status = gnutls_certificate_set_x509_key_mem2(credentials, &certificate, &key, GNUTLS_X509_FMT_PEM, nullptr, 0);
  if (status == GNUTLS_E_CERTIFICATE_KEY_MISMATCH) {
    Fail("gnutls_certificate_set_x509_key_mem2", status, key_name + " is not the key of " + certificate_name_,
         "name the key that the certificate was requested with; in a chain the server's own certificate comes first");
  }
  if (status < 0) {
    Fail("gnutls_certificate_set_x509_key_mem2", status, key_name + " holds no usable private key",
         texts.key.find("ENCRYPTED") != std::string::npos ? "decrypt it: openssl pkey -in KEY -out KEY.plain"
                                                          : kPemHint);
  }
  if (!config.client_ca.empty()) {
    const gnutls_datum_t ca = View(texts.client_ca);
    status = gnutls_certificate_set_x509_trust_mem(credentials, &ca, GNUTLS_X509_FMT_PEM);
    if (status <= 0) {
      Fail("gnutls_certificate_set_x509_trust_mem", status < 0 ? status : GNUTLS_E_NO_CERTIFICATE_FOUND,
           NameOf(config.client_ca, "client_ca") + " holds no certificate", kPemHint);
    }
  }
  gnutls_priority_t priorities = nullptr;
  status = gnutls_priority_init(&priorities, config.priorities.c_str(), nullptr);
  if (status != GNUTLS_E_SUCCESS) Fail("gnutls_priority_init", status, config.priorities + " cannot be used", "");
  priorities_.reset(priorities);
}

void TlsIdentity::Apply(gnutls_session_t session) const {
  gnutls_priority_set(session, priorities_.get());
  gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials_.get());
  // Never GNUTLS_CERT_REQUIRE: then GnuTLS itself would refuse a client without a certificate, and send no alert.
  gnutls_certificate_server_set_request(session,
                                        client_auth_ == ClientAuth::kNone ? GNUTLS_CERT_IGNORE : GNUTLS_CERT_REQUEST);
  const auto check = [&](int (*function)(gnutls_session_t)) { gnutls_session_set_verify_function(session, function); };
  if (client_auth_ == ClientAuth::kRequireAny) check(CheckClient<true, false>);
  if (client_auth_ == ClientAuth::kVerifyIfGiven) check(CheckClient<false, true>);
  if (client_auth_ == ClientAuth::kRequireAndVerify) check(CheckClient<true, true>);
}

std::string TlsIdentity::ProblemAt(std::time_t now) const {
  if (now >= ends_) return fmt::format("expired on {:%Y-%m-%d %H:%M} UTC", fmt::gmtime(ends_));
  if (now < begins_) return fmt::format("is not valid before {:%Y-%m-%d %H:%M} UTC", fmt::gmtime(begins_));
  return "";
}

}  // namespace fa_profile::web

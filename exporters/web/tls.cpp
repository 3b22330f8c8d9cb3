#include "tls.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <gnutls/x509.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

constexpr const char* kPemHint = "PEM is expected: -----BEGIN ...";

gnutls_datum_t View(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())), static_cast<unsigned int>(text.size())};
}

std::string NameOf(const PemSource& source, const char* key) {
  return source.file.empty() ? fmt::format("`{}` of the web config file", key) : source.file;
}

[[noreturn]] void Fail(const char* call, int status, const std::string& message, const std::string& hint) {
  throw Error(call, gnutls_strerror_name(status), fmt::format("{}: {}", message, gnutls_strerror(status)), hint);
}

/// When the whole chain in `pem` is valid: {begin, end}.
std::pair<std::time_t, std::time_t> Validity(const std::string& pem, const std::string& name) {
  gnutls_x509_crt_t* list = nullptr;
  unsigned int count = 0;
  const gnutls_datum_t text = View(pem);
  const int status = gnutls_x509_crt_list_import2(&list, &count, &text, GNUTLS_X509_FMT_PEM, 0);
  if (status != GNUTLS_E_SUCCESS) {
    Fail("gnutls_x509_crt_list_import2", status, "there is no certificate in " + name, kPemHint);
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

/// Called in the handshake once the client's certificates are there. 0: go on.
int VerifyClient(gnutls_session_t session) {
  unsigned int count = 0;
  // Whether one must come at all is settled with gnutls_certificate_server_set_request().
  if (gnutls_certificate_get_peers(session, &count) == nullptr || count == 0) return 0;
  std::string purpose = GNUTLS_KP_TLS_WWW_CLIENT;
  gnutls_typed_vdata_st data{GNUTLS_DT_KEY_PURPOSE_OID, reinterpret_cast<unsigned char*>(purpose.data()), 0};
  unsigned int problems = 0;
  if (gnutls_certificate_verify_peers(session, &data, 1, &problems) != GNUTLS_E_SUCCESS)
    return GNUTLS_E_CERTIFICATE_ERROR;
  return problems == 0 ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

}  // namespace

TlsTexts ReadTlsTexts(const TlsConfig& config) {
  const auto read = [](const PemSource& source, const char* what) {
    if (source.file.empty()) return source.text;
    return ReadSmallFile(source.file, what,
                         "correct the name; a relative one is taken from the folder of the web config file");
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
    Fail("gnutls_certificate_set_x509_key_mem2", status, "there is no usable private key in " + key_name,
         texts.key.find("ENCRYPTED") != std::string::npos ? "decrypt it: openssl pkey -in KEY -out KEY.plain"
                                                          : kPemHint);
  }
  if (!config.client_ca.empty()) {
    const gnutls_datum_t ca = View(texts.client_ca);
    status = gnutls_certificate_set_x509_trust_mem(credentials, &ca, GNUTLS_X509_FMT_PEM);
    if (status <= 0) {
      Fail("gnutls_certificate_set_x509_trust_mem", status < 0 ? status : GNUTLS_E_NO_CERTIFICATE_FOUND,
           "there is no certificate in " + NameOf(config.client_ca, "client_ca"), kPemHint);
    }
  }
  gnutls_priority_t priorities = nullptr;
  status = gnutls_priority_init(&priorities, config.priorities.c_str(), nullptr);
  if (status != GNUTLS_E_SUCCESS) Fail("gnutls_priority_init", status, "no such choice: " + config.priorities, "");
  priorities_.reset(priorities);
}

void TlsIdentity::Apply(gnutls_session_t session) const {
  gnutls_priority_set(session, priorities_.get());
  gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials_.get());
  switch (client_auth_) {
    case ClientAuth::kNone:
      gnutls_certificate_server_set_request(session, GNUTLS_CERT_IGNORE);
      return;
    case ClientAuth::kRequest:
    case ClientAuth::kVerifyIfGiven:
      gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
      break;
    case ClientAuth::kRequireAny:
    case ClientAuth::kRequireAndVerify:
      gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
      break;
  }
  if (client_auth_ == ClientAuth::kVerifyIfGiven || client_auth_ == ClientAuth::kRequireAndVerify) {
    gnutls_session_set_verify_function(session, &VerifyClient);
  }
}

std::string TlsIdentity::ProblemAt(std::time_t now) const {
  if (now >= ends_) return fmt::format("expired on {:%Y-%m-%d %H:%M} UTC", fmt::gmtime(ends_));
  if (now < begins_) return fmt::format("is not valid before {:%Y-%m-%d %H:%M} UTC", fmt::gmtime(begins_));
  return "";
}

}  // namespace fa_profile

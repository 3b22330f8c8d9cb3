#pragma once

// Certificates, and a TLS client that shows them, for the tests of the web server.

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "web_client.h"

namespace fa_profile {

inline int Must(int status) {
  if (status < 0) throw std::runtime_error(gnutls_strerror(status));
  return status;
}

constexpr std::time_t kDay = 24 * 60 * 60;

/// A key with its certificate: for "localhost", 127.0.0.1 and clients, or a CA's.
class Certificate {
 public:
  /// Signed by `issuer`, or by itself where that is null and it then is a CA. `ends`: seconds from now.
  Certificate(const std::string& name, const Certificate* issuer, std::time_t ends = kDay,
              const char* purpose = GNUTLS_KP_TLS_WWW_SERVER) {
    Must(gnutls_x509_privkey_init(&key_));
    Must(gnutls_x509_privkey_generate(key_, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
    Must(gnutls_x509_crt_init(&certificate_));
    Must(gnutls_x509_crt_set_version(certificate_, 3));
    static unsigned char serial = 0;
    ++serial;
    Must(gnutls_x509_crt_set_serial(certificate_, &serial, 1));
    const std::time_t now = std::time(nullptr);
    Must(gnutls_x509_crt_set_activation_time(certificate_, now - 10 * kDay));
    Must(gnutls_x509_crt_set_expiration_time(certificate_, now + ends));
    Must(gnutls_x509_crt_set_dn(certificate_, ("CN=" + name).c_str(), nullptr));
    Must(gnutls_x509_crt_set_key(certificate_, key_));
    if (issuer == nullptr) {
      Must(gnutls_x509_crt_set_basic_constraints(certificate_, 1, -1));
      Must(gnutls_x509_crt_set_key_usage(certificate_, GNUTLS_KEY_KEY_CERT_SIGN));
    } else {
      Must(gnutls_x509_crt_set_subject_alt_name(certificate_, GNUTLS_SAN_DNSNAME, "localhost", 9, GNUTLS_FSAN_SET));
      Must(gnutls_x509_crt_set_key_purpose_oid(certificate_, purpose, 0));
    }
    const Certificate& signer = issuer == nullptr ? *this : *issuer;
    Must(gnutls_x509_crt_sign2(certificate_, signer.certificate_, signer.key_, GNUTLS_DIG_SHA256, 0));
  }
  ~Certificate() {
    gnutls_x509_crt_deinit(certificate_);
    gnutls_x509_privkey_deinit(key_);
  }
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;

  std::string Pem() const {
    gnutls_datum_t text{};
    Must(gnutls_x509_crt_export2(certificate_, GNUTLS_X509_FMT_PEM, &text));
    return Taken(text);
  }
  std::string KeyPem() const {
    gnutls_datum_t text{};
    Must(gnutls_x509_privkey_export2(key_, GNUTLS_X509_FMT_PEM, &text));
    return Taken(text);
  }

 private:
  static std::string Taken(gnutls_datum_t text) {
    std::string copy(reinterpret_cast<const char*>(text.data), text.size);
    gnutls_free(text.data);
    return copy;
  }

  gnutls_x509_privkey_t key_ = nullptr;
  gnutls_x509_crt_t certificate_ = nullptr;
};

struct TlsReply {
  std::string text;         ///< the whole HTTP reply; empty without one
  std::string problem;      ///< what GnuTLS says of the failure
  std::string alert;        ///< the server's last word, by GnuTLS's name; empty: it just ended the connection
  std::string description;  ///< the session's version, group, cipher
};

/// GET / over TLS, verifying the server's certificate against `ca`; shows `own` where that is not null.
inline TlsReply TlsGet(std::uint16_t port, const Certificate& ca, const Certificate* own = nullptr,
                       const std::string& headers = "", const std::string& priorities = "NORMAL") {
  const auto datum = [](std::string& text) {
    return gnutls_datum_t{reinterpret_cast<unsigned char*>(text.data()), static_cast<unsigned int>(text.size())};
  };
  gnutls_certificate_credentials_t credentials = nullptr;
  Must(gnutls_certificate_allocate_credentials(&credentials));
  std::string ca_pem = ca.Pem();
  const gnutls_datum_t trusted = datum(ca_pem);
  Must(gnutls_certificate_set_x509_trust_mem(credentials, &trusted, GNUTLS_X509_FMT_PEM));
  if (own != nullptr) {
    std::string pem = own->Pem();
    std::string key_pem = own->KeyPem();
    const gnutls_datum_t certificate = datum(pem);
    const gnutls_datum_t key = datum(key_pem);
    Must(gnutls_certificate_set_x509_key_mem(credentials, &certificate, &key, GNUTLS_X509_FMT_PEM));
  }
  gnutls_session_t session = nullptr;
  // Shown even where the server names other CAs: whether it is refused is what the tests want to know.
  Must(gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL | GNUTLS_FORCE_CLIENT_CERT));
  Must(gnutls_priority_set_direct(session, priorities.c_str(), nullptr));
  Must(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials));
  gnutls_session_set_verify_cert(session, "localhost", 0);
  const Client client(port);
  gnutls_transport_set_int(session, client.fd());
  gnutls_handshake_set_timeout(session, 300'000);

  TlsReply reply;
  int status = GNUTLS_E_SUCCESS;
  do {
    status = gnutls_handshake(session);
  } while (status < 0 && gnutls_error_is_fatal(status) == 0);
  if (status >= 0) {
    char* description = gnutls_session_get_desc(session);
    reply.description = description;
    gnutls_free(description);
    const std::string request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + headers + "\r\n";
    gnutls_record_send(session, request.data(), request.size());
    std::string buffer(4096, '\0');
    ssize_t got = 0;
    while ((got = gnutls_record_recv(session, buffer.data(), buffer.size())) > 0 || got == GNUTLS_E_INTERRUPTED ||
           got == GNUTLS_E_AGAIN) {
      if (got > 0) reply.text.append(buffer, 0, static_cast<std::size_t>(got));
    }
    status = reply.text.empty() ? static_cast<int>(got) : GNUTLS_E_SUCCESS;
  }
  if (status < 0) reply.problem = gnutls_strerror(status);
  if (status == GNUTLS_E_FATAL_ALERT_RECEIVED) reply.alert = gnutls_alert_get_name(gnutls_alert_get(session));
  gnutls_deinit(session);
  gnutls_certificate_free_credentials(credentials);
  return reply;
}

}  // namespace fa_profile

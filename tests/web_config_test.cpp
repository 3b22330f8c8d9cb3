#include "web_config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "bcrypt_hash.h"
#include "fa_profile/error.h"
#include "tls.h"
#include "web_client.h"
#include "web_settings.h"

namespace fa_profile::web::web_config_test {
namespace {

// Hash of "secret", at cost 4, by htpasswd.
const std::string kHash = "$2y$04$NHRfAfRGMaQ65jwanfJKg..ubZDW6392UB5CGlPzRUqNVIIXOKQRK";

/// Message and hint of the Error that `call` throws; empty when it throws none.
template <typename Call>
std::string Problem(const Call& call) {
  try {
    call();
    return "";
  } catch (const Error& problem) {
    return problem.message() + " | " + problem.hint();
  }
}

std::string ProblemOf(const std::string& text) {
  return Problem([&] { ParseWebConfig(text, "conf/web.yml"); });
}

TEST(WebConfigTest, ReadsEverythingThatIsSupported) {
  const WebConfig config = ParseWebConfig(std::string(R"(# comment
tls_server_config:
  cert_file: server.crt
  key_file: /etc/key.pem
  client_ca_file: ca.pem
  client_auth_type: RequireAndVerifyClientCert
  min_version: TLS12
  max_version: TLS13
  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]
  prefer_server_cipher_suites: true
  curve_preferences: [X25519, CurveP256]
http_server_config:
  http2: true
  headers:
    X-Frame-Options: deny
    Strict-Transport-Security: max-age=31536000
    X-XSS-Protection:
basic_auth_users:
  alice: )") + kHash + "\n",
                                          "conf/web.yml");
  ASSERT_TRUE(config.tls.has_value());
  EXPECT_EQ(config.tls->certificate.file, "conf/server.crt");
  EXPECT_EQ(config.tls->key.file, "/etc/key.pem");
  EXPECT_EQ(config.tls->client_ca.file, "conf/ca.pem");
  EXPECT_EQ(config.tls->client_auth, ClientAuth::kRequireAndVerify);
  EXPECT_EQ(
      config.tls->priorities,
      "NORMAL:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-KX-ALL:-CIPHER-ALL:-MAC-ALL:+ECDHE-RSA:+ECDHE-ECDSA:+AES-128-GCM:+AEAD"
      ":+AES-128-GCM:+AEAD:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1"
      ":%SERVER_PRECEDENCE");
  ASSERT_EQ(config.headers.size(), 2U);
  EXPECT_EQ(config.headers[0], (std::pair<std::string, std::string>{"X-Frame-Options", "deny"}));
  EXPECT_EQ(config.users.at("alice"), kHash);
}

TEST(WebConfigTest, AnEmptyFileIsValid) {
  for (const char* text : {"", "# nothing\n", "---\n", "tls_server_config:\n", "http_server_config: {}"}) {
    const WebConfig config = ParseWebConfig(text, "web.yml");
    EXPECT_FALSE(config.tls.has_value()) << text;
    EXPECT_TRUE(config.users.empty()) << text;
  }
}

TEST(WebConfigTest, TakesPemTextInPlaceOfFiles) {
  const WebConfig config = ParseWebConfig("tls_server_config:\n  cert: |\n    -----BEGIN\n  key: abc\n", "web.yml");
  EXPECT_EQ(config.tls->certificate.text, "-----BEGIN\n");
  EXPECT_EQ(config.tls->key.text, "abc");
  EXPECT_NE(ProblemOf("tls_server_config: {cert: a, cert_file: b, key: c}").find("given twice"), std::string::npos);
}

TEST(WebConfigTest, EveryClientAuthTypeIsKnown) {
  const std::string start = "tls_server_config: {cert_file: a, key_file: b, client_ca_file: c, client_auth_type: ";
  for (const auto& [name, type] :
       std::map<std::string, ClientAuth>{{"RequestClientCert", ClientAuth::kRequest},
                                         {"RequireAnyClientCert", ClientAuth::kRequireAny},
                                         {"RequireClientCert", ClientAuth::kRequireAny},
                                         {"VerifyClientCertIfGiven", ClientAuth::kVerifyIfGiven},
                                         {"RequireAndVerifyClientCert", ClientAuth::kRequireAndVerify}}) {
    EXPECT_EQ(ParseWebConfig(start + name + "}", "web.yml").tls->client_auth, type) << name;
  }
  EXPECT_EQ(ParseWebConfig("tls_server_config: {cert_file: a, key_file: b, client_auth_type: NoClientCert}", "web.yml")
                .tls->client_auth,
            ClientAuth::kNone);
}

TEST(WebConfigTest, ErrorsNameThePlaceAndTheRemedy) {
  const std::string tls = "tls_server_config:\n  cert_file: a\n  key_file: b\n";
  struct Case {
    std::string text;
    std::string expected;
  };
  for (const auto& [text, expected] : std::vector<Case>{
           {"a: b: c", "conf/web.yml:1:5: is not YAML"},
           {"[]", "conf/web.yml:1:1: the web config file must be a mapping"},
           {"a: 1\n---\nb: 2\n", "conf/web.yml:2: only one YAML document"},
           {"tls_config: {}",
            "conf/web.yml:1:1: unknown key 'tls_config' | the web config file can have tls_server_config, "},
           {tls + "  cert_fil: x", "conf/web.yml:4:3: unknown key 'cert_fil'; did you mean cert_file"},
           {tls + "  key_file: c", "conf/web.yml:4:3: "},
           {tls + "  client_allowed_sans: [a]", "client_allowed_sans is not supported"},
           {tls + "  client_auth_type: Require", "conf/web.yml:4:21: client_auth_type is 'Require'"},
           {tls + "  client_auth_type: RequireAndVerifyClientCert", "client_ca_file is missing"},
           {tls + "  client_ca_file: c", "set client_auth_type: RequireAndVerifyClientCert"},
           {tls + "  min_version: SSL30", "conf/web.yml:4:16: min_version is 'SSL30'"},
           {tls + "  min_version: TLS13\n  max_version: TLS12", "max_version is below min_version"},
           {tls + "  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]", "conf/web.yml:4:18: unknown cipher suite"},
           {tls + "  cipher_suites: TLS_AES_128_GCM_SHA256", "cipher_suites must be a list"},
           {tls + "  curve_preferences: [CurveP999]",
            "conf/web.yml:4:23: a curve is 'CurveP999'; did you mean CurveP256"},
           {tls + "  prefer_server_cipher_suites: maybe", "must be true or false, not 'maybe'"},
           {"tls_server_config:\n  cert_file: a", "has no key_file"},
           {"tls_server_config:\n  min_version: TLS12", "has no cert_file"},
           {"http_server_config:\n  headers:\n    X-Powered-By: me", "conf/web.yml:3:5: the header 'X-Powered-By'"},
           {"http_server_config:\n  headers:\n    X-Frame-Options: maybe", "it can be deny, sameorigin"},
           {"http_server_config:\n  headers:\n    X-XSS-Protection: \"a\\r\\nSet-Cookie: b\"", "line break"},
           {"rate_limit:\n  interval: 1s", "rate_limit is not supported"},
           {"basic_auth_users:\n  bob: secret", "conf/web.yml:2:8: the hash of user 'bob' is not a bcrypt hash"},
           {"basic_auth_users:", "basic_auth_users has no user, so the server would ask for no password"},
           {"basic_auth_users: {}", "conf/web.yml:1:19: basic_auth_users has no user"},
           {"basic_auth_users: []", "must be a mapping"},
           {"basic_auth_users:\n  bob: secret", "htpasswd -nBC 10 'bob'"},
           {"basic_auth_users:\n  bob:", "the hash of user 'bob'"},
           {"basic_auth_users:\n  'a:b': x", "cannot be a user name"},
       }) {
    EXPECT_NE(ProblemOf(text).find(expected), std::string::npos) << text << "\n-> " << ProblemOf(text);
  }
  EXPECT_NE(ProblemOf(tls + "  key_file: c").find("'key_file'"), std::string::npos);
  EXPECT_TRUE(ProblemOf("a: {}").ends_with("can have tls_server_config, http_server_config, basic_auth_users"));
  EXPECT_EQ(ProblemOf(tls + "  a: {}").find("client_allowed_sans"), std::string::npos);
  EXPECT_EQ(ProblemOf("basic_auth_users:\n  bob: hunter2").find("hunter2"), std::string::npos) << "shows a password";
}

TEST(WebConfigTest, CipherSuitesAreAppliedExactlyOrRefused) {
  TlsChoice choice;
  choice.cipher_suites = {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"};
  EXPECT_NE(Problem([&] { TlsPriorities(choice); })
                .find("cannot enable these cipher suites without TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, "
                      "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
            std::string::npos);
  choice.cipher_suites = {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"};
  EXPECT_NE(Problem([&] { TlsPriorities(choice); }).find("leaves TLS 1.3 a cipher"), std::string::npos);
  choice.max_version = 12;
  EXPECT_EQ(Problem([&] { TlsPriorities(choice); }), "");
  choice = {};
  choice.cipher_suites = {"TLS_AES_256_GCM_SHA384"};
  choice.min_version = 13;
  EXPECT_EQ(Problem([&] { TlsPriorities(choice); }), "");
}

TEST(WebConfigTest, EveryNamedCipherSuiteIsAvailable) {
  for (const char* exchange : {"RSA", "ECDSA"}) {
    for (const char* cipher : {"AES_128_CBC_SHA", "AES_256_CBC_SHA", "AES_128_GCM_SHA256", "AES_256_GCM_SHA384",
                               "CHACHA20_POLY1305_SHA256"}) {
      TlsChoice choice;
      choice.max_version = 12;
      choice.cipher_suites = {std::string("TLS_ECDHE_") + exchange + "_WITH_" + cipher};
      EXPECT_EQ(Problem([&] { TlsPriorities(choice); }), "") << choice.cipher_suites[0];
    }
  }
  for (const int old : {10, 11}) {
    TlsChoice choice;
    choice.min_version = old;
    EXPECT_EQ(Problem([&] { TlsPriorities(choice); }), "") << old;
  }
}

TEST(WebConfigTest, BcryptHashesOfHtpasswdAreTaken) {
  EXPECT_EQ(ProblemOfBcryptHash(kHash), "");
  EXPECT_TRUE(BcryptMatches("secret", kHash));
  EXPECT_FALSE(BcryptMatches("Secret", kHash));
  EXPECT_FALSE(BcryptMatches("", kHash));
  EXPECT_FALSE(BcryptMatches(std::string("secret\0", 7), kHash));
  EXPECT_TRUE(BcryptMatches("secret", "$2a" + kHash.substr(3)));
  EXPECT_TRUE(BcryptMatches("secret", "$2b" + kHash.substr(3)));
}

TEST(WebConfigTest, OtherHashesAreRefused) {
  const std::string tail = kHash.substr(7);
  for (const std::string& hash : {std::string(), "$2x$04$" + tail, "$2y$03$" + tail, "$2y$17$" + tail, "$2y$4$" + tail,
                                  "$2y$04$" + tail + "x", "$2y$04$" + tail.substr(1), "$2y$04$:" + tail.substr(1),
                                  std::string("$6$salt$hash"), std::string("{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=")}) {
    EXPECT_NE(ProblemOfBcryptHash(hash), "") << hash;
  }
}

TEST(WebConfigTest, OnlySmallRegularFilesAreRead) {
  const TestFolder folder;
  const auto problem_of = [](const std::string& path) { return Problem([&] { WebSettingsFile{path}; }); };
  EXPECT_EQ(problem_of(folder.Write("a", "http_server_config:\n")), "");
  EXPECT_NE(problem_of(folder / "none").find(folder / "none" + " cannot be read: No such file"), std::string::npos);
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_NE(problem_of(folder / "fifo").find("is not a regular file"), std::string::npos);
  EXPECT_NE(problem_of(folder / ".").find("is a directory"), std::string::npos);
  EXPECT_NE(problem_of(folder.Write("b", std::string((1 << 20) + 1, '#'))).find("larger than 1 MiB"),
            std::string::npos);
}

// Names that Go takes for weak, or that choose no forward secrecy, stay unknown.
TEST(WebConfigTest, WeakCipherSuitesAreUnknown) {
  for (const char* const weak :
       {"TLS_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_RC4_128_SHA", "TLS_ECDHE_RSA_WITH_NULL_SHA", "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"}) {
    TlsChoice choice;
    choice.cipher_suites = {weak};
    EXPECT_NE(Problem([&] { TlsPriorities(choice); }).find("unknown cipher suite"), std::string::npos) << weak;
  }
}

}  // namespace
}  // namespace fa_profile::web::web_config_test

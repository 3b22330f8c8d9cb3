#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <sstream>

#include "fa_profile/error.h"
#include "fa_profile/web_server.h"
#include "web_certificates.h"
#include "web_client.h"

namespace fa_profile::web::web_tls_test {
namespace {

class WebTlsTest : public testing::Test {
 protected:
  WebTlsTest() { Show(server_certificate_); }

  void Show(const Certificate& certificate) const {
    folder_.Write("server.key", certificate.KeyPem());
    folder_.Write("server.crt", certificate.Pem());
  }

  /// Options with a web config file that has `more` lines in its TLS section, and `end` after it.
  WebOptions Options(const std::string& more = "", const std::string& end = "") const {
    WebOptions options;
    options.port = 0;
    options.timeout_seconds = 300;  // longer than any request takes on a busy machine
    options.web_config =
        folder_.Write("web.yml", "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n" + more + end);
    return options;
  }

  WebOptions AskingClients(const std::string& type) const {
    folder_.Write("clients.pem", ca_.Pem());
    return Options("  client_ca_file: clients.pem\n  client_auth_type: " + type + "\n");
  }

  static WebReply Serve(const WebRequest&) {
    WebReply reply;
    reply.body = std::make_shared<const std::string>("served");
    return reply;
  }

  /// The Error that a server with these options throws.
  static std::string ProblemOf(const WebOptions& options) {
    try {
      const WebServer server(options, Serve);
      return "";
    } catch (const Error& problem) {
      return problem.message() + " | " + problem.hint();
    }
  }

  static bool Served(const TlsReply& reply) { return reply.text.ends_with("served"); }

  TestFolder folder_;
  const Certificate ca_{"Test CA", nullptr};
  const Certificate other_ca_{"Another CA", nullptr};
  const Certificate server_certificate_{"server", &ca_};
};

TEST_F(WebTlsTest, ServesOverTlsOnly) {
  WebServer server(Options(), Serve);
  const TlsReply reply = TlsGet(server.port(), ca_);
  EXPECT_TRUE(Served(reply)) << reply.problem;
  EXPECT_NE(reply.description.find("TLS1.3"), std::string::npos) << reply.description;
  EXPECT_FALSE(Served(TlsGet(server.port(), other_ca_))) << "a client that does not know the CA";
  EXPECT_NE(Get(server.port(), "/").status, 200) << "plain HTTP";
}

TEST_F(WebTlsTest, TlsAndPasswordsCanBeCombined) {
  // alice:secret, by htpasswd at cost 4
  WebServer server(
      Options("", "basic_auth_users:\n  alice: $2y$04$rd969IoPg2IG65ekBNIRuewqzNCjNCS5LkVe5s.yyEm94daSXbIY2\n"), Serve);
  EXPECT_TRUE(TlsGet(server.port(), ca_).text.starts_with("HTTP/1.1 401"));
  EXPECT_TRUE(Served(TlsGet(server.port(), ca_, nullptr, "Authorization: Basic YWxpY2U6c2VjcmV0\r\n")));
}

TEST_F(WebTlsTest, EachClientAuthTypeIsEnforced) {
  const Certificate good("client", &ca_, kDay, GNUTLS_KP_TLS_WWW_CLIENT);
  const Certificate expired("expired", &ca_, -kDay, GNUTLS_KP_TLS_WWW_CLIENT);
  const Certificate stranger("stranger", &other_ca_, kDay, GNUTLS_KP_TLS_WWW_CLIENT);
  const Certificate no_client("server's", &ca_, kDay, GNUTLS_KP_TLS_WWW_SERVER);
  struct Case {
    const char* type;
    bool none, good, expired, stranger, no_client;  // served?
  };
  for (const Case& expected : {Case{"RequestClientCert", true, true, true, true, true},
                               Case{"RequireAnyClientCert", false, true, true, true, true},
                               Case{"VerifyClientCertIfGiven", true, true, false, false, false},
                               Case{"RequireAndVerifyClientCert", false, true, false, false, false}}) {
    WebServer server(AskingClients(expected.type), Serve);
    for (const char* version : {"NORMAL:-VERS-ALL:+VERS-TLS1.3", "NORMAL:-VERS-ALL:+VERS-TLS1.2"}) {
      SCOPED_TRACE(std::string(expected.type) + " " + version);
      const auto served = [&](const Certificate* shown) {
        return Served(TlsGet(server.port(), ca_, shown, "", version));
      };
      EXPECT_EQ(served(nullptr), expected.none);
      EXPECT_EQ(served(&good), expected.good);
      EXPECT_EQ(served(&expired), expected.expired);
      EXPECT_EQ(served(&stranger), expected.stranger);
      EXPECT_EQ(served(&no_client), expected.no_client);
    }
    EXPECT_EQ(server.counts().by_status.size(), 1U) << "who is refused gets no HTTP reply";
  }
}

TEST_F(WebTlsTest, AClientThatIsRefusedIsToldWhy) {
  const Certificate expired("expired", &ca_, -kDay, GNUTLS_KP_TLS_WWW_CLIENT);
  const Certificate stranger("stranger", &other_ca_, kDay, GNUTLS_KP_TLS_WWW_CLIENT);
  const Certificate no_client("server's", &ca_, kDay, GNUTLS_KP_TLS_WWW_SERVER);
  const char* const tls13 = "NORMAL:-VERS-ALL:+VERS-TLS1.3";
  const char* const tls12 = "NORMAL:-VERS-ALL:+VERS-TLS1.2";
  for (const char* const type : {"RequireAnyClientCert", "RequireAndVerifyClientCert"}) {
    WebServer server(AskingClients(type), Serve);
    EXPECT_EQ(TlsGet(server.port(), ca_, nullptr, "", tls13).alert, "Certificate is required") << type;
    EXPECT_EQ(TlsGet(server.port(), ca_, nullptr, "", tls12).alert, "Handshake failed") << type;
  }
  WebServer server(AskingClients("RequireAndVerifyClientCert"), Serve);
  for (const char* const version : {tls13, tls12}) {
    const auto alert = [&](const Certificate& shown) { return TlsGet(server.port(), ca_, &shown, "", version).alert; };
    EXPECT_EQ(alert(expired), "Certificate is expired") << version;
    EXPECT_EQ(alert(stranger), "CA is unknown") << version;
    EXPECT_EQ(alert(no_client), "Certificate is bad") << version;
  }
}

TEST_F(WebTlsTest, VersionsAndCipherSuitesFollowTheFile) {
  {
    WebServer server(Options("  min_version: TLS13\n"), Serve);
    const TlsReply old = TlsGet(server.port(), ca_, nullptr, "", "NORMAL:-VERS-ALL:+VERS-TLS1.2");
    EXPECT_FALSE(Served(old));
    EXPECT_EQ(old.alert, "Handshake failed");
    EXPECT_TRUE(Served(TlsGet(server.port(), ca_)));
  }
  {
    WebServer server(Options("  max_version: TLS12\n  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\n"
                             "  curve_preferences: [CurveP384]\n"),
                     Serve);
    const TlsReply reply = TlsGet(server.port(), ca_);
    EXPECT_NE(reply.description.find("TLS1.2"), std::string::npos) << reply.description << reply.problem;
    EXPECT_NE(reply.description.find("AES-256-GCM"), std::string::npos) << reply.description;
    EXPECT_NE(reply.description.find("SECP384R1"), std::string::npos) << reply.description;
    const TlsReply other = TlsGet(server.port(), ca_, nullptr, "", "NORMAL:-CIPHER-ALL:+AES-128-GCM");
    EXPECT_FALSE(Served(other));
    EXPECT_EQ(other.alert, "Handshake failed");
    EXPECT_FALSE(Served(TlsGet(server.port(), ca_, nullptr, "", "NORMAL:-GROUP-ALL:+GROUP-SECP256R1")));
  }
}

TEST_F(WebTlsTest, UnusableTlsSettingsAreErrorsAtTheStartWithAHint) {
  const auto expect = [&](const std::string& expected) {
    const std::string problem = ProblemOf(Options());
    EXPECT_NE(problem.find(expected), std::string::npos) << problem;
  };
  folder_.Write("server.key", other_ca_.KeyPem());
  expect("server.key is not the key of ");
  folder_.Write("server.key", "no key");
  expect("server.key holds no usable private key");
  folder_.Write("server.key", server_certificate_.KeyPem());
  folder_.Write("server.crt", "no certificate");
  expect("server.crt holds no certificate");
  std::filesystem::remove(folder_ / "server.crt");
  expect("the server's certificate: " + folder_ / "server.crt" + " cannot be read: No such file");
  Show(server_certificate_);
  const WebOptions asking = AskingClients("RequireAndVerifyClientCert");
  folder_.Write("clients.pem", "no CA");
  EXPECT_NE(ProblemOf(asking).find("clients.pem holds no certificate"), std::string::npos);
  if (geteuid() != 0) {  // root reads everything
    chmod((folder_ / "server.key").c_str(), 0);
    expect("check the path and its permissions");
  }
}

TEST_F(WebTlsTest, AnExpiredCertificateIsServedWithAWarning) {
  std::ostringstream log;
  const auto usual = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  const Certificate expired("server", &ca_, -kDay);
  Show(expired);
  {
    WebServer server(Options(), Serve);
    const TlsReply reply = TlsGet(server.port(), ca_);
    EXPECT_FALSE(Served(reply));
    EXPECT_NE(reply.problem.find("certificate verification"), std::string::npos) << reply.problem;
  }
  spdlog::set_default_logger(usual);
  EXPECT_NE(log.str().find("server.crt expired on 20"), std::string::npos) << log.str();
}

TEST_F(WebTlsTest, ANewCertificateIsUsedWithoutARestart) {
  WebServer server(Options(), Serve);
  ASSERT_TRUE(Served(TlsGet(server.port(), ca_)));
  // certbot does this in two steps, between which key and certificate do not belong together.
  const Certificate next("server", &other_ca_);
  folder_.Write("server.key", next.KeyPem());
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_TRUE(Served(TlsGet(server.port(), ca_))) << "the old pair stays in force";
  folder_.Write("server.crt", next.Pem());
  EXPECT_TRUE(Becomes([&] { return Served(TlsGet(server.port(), other_ca_)); }));
  EXPECT_FALSE(Served(TlsGet(server.port(), ca_)));
}

TEST_F(WebTlsTest, TheCaOfClientsChangesWithoutARestart) {
  const Certificate stranger("stranger", &other_ca_, kDay, GNUTLS_KP_TLS_WWW_CLIENT);
  WebServer server(AskingClients("RequireAndVerifyClientCert"), Serve);
  EXPECT_FALSE(Served(TlsGet(server.port(), ca_, &stranger)));
  folder_.Write("clients.pem", other_ca_.Pem());
  EXPECT_TRUE(Becomes([&] { return Served(TlsGet(server.port(), ca_, &stranger)); }));
}

TEST_F(WebTlsTest, TlsCannotBeTurnedOffWhileTheServerRuns) {
  WebServer server(Options(), Serve);
  folder_.Write("web.yml", "http_server_config: {http2: false}\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_TRUE(Served(TlsGet(server.port(), ca_)));
}

TEST_F(WebTlsTest, ClientCertificatesStayRequiredWhileTheServerRuns) {
  WebServer server(AskingClients("RequireAndVerifyClientCert"), Serve);
  (void)Options();  // writes the file anew, without what asks for them
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_FALSE(Served(TlsGet(server.port(), ca_)));
}

std::vector<Client> Silent(const WebServer& server) {
  std::vector<Client> silent;
  for (int i = 0; i < 100; ++i) {
    silent.emplace_back(server.port());
    if (i % 2 == 0) silent.back().Send(std::string("\x16\x03\x01\x02\x00\x01\x00", 7));  // a hello begun
  }
  return silent;
}

TEST_F(WebTlsTest, UnfinishedHandshakesDoNotDelayOthers) {
  WebServer server(Options(), Serve);
  const std::vector<Client> silent = Silent(server);
  EXPECT_TRUE(Served(TlsGet(server.port(), ca_)));
}

TEST_F(WebTlsTest, UnfinishedHandshakesAreDropped) {
  WebOptions options = Options();
  options.timeout_seconds = 1;
  WebServer server(options, Serve);
  std::vector<Client> silent = Silent(server);
  for (Client& client : silent) client.ReadToEnd();
  EXPECT_TRUE(Becomes([&] { return server.counts().connections == 0; }));
}

}  // namespace
}  // namespace fa_profile::web::web_tls_test

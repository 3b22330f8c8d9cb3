#include <crypt.h>
#include <gnutls/gnutls.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <memory>
#include <sstream>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/web_server.h"
#include "password_checker.h"
#include "web_client.h"

namespace fa_profile::web::web_auth_test {
namespace {

std::string BcryptOf(const std::string& password, unsigned long cost) {
  char setting[CRYPT_GENSALT_OUTPUT_SIZE];
  crypt_gensalt_rn("$2b$", cost, nullptr, 0, setting, sizeof setting);
  const auto data = std::make_unique<crypt_data>();
  return crypt_r(password.c_str(), setting, data.get());
}

std::string Authorization(const std::string& user_and_password) {
  std::string text = user_and_password;
  const gnutls_datum_t plain{reinterpret_cast<unsigned char*>(text.data()), static_cast<unsigned int>(text.size())};
  gnutls_datum_t encoded{};
  gnutls_base64_encode2(&plain, &encoded);
  const std::string header(reinterpret_cast<const char*>(encoded.data), encoded.size);
  gnutls_free(encoded.data);
  return "Authorization: Basic " + header + "\r\n";
}

/// CPU time of this process, all threads together, so far. A busy machine changes it little.
double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// What is logged while it lives. Read it once logging has ended.
class Log {
 public:
  Log() {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~Log() { spdlog::set_default_logger(usual_); }

  int Count(const std::string& words) const {
    const std::string text = text_.str();
    int count = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
    return count;
  }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> usual_ = spdlog::default_logger();
};

class WebAuthTest : public testing::Test {
 protected:
  void WriteUsers(const std::vector<std::pair<std::string, std::string>>& users) const {
    std::string text = "basic_auth_users:\n";
    for (const auto& [name, hash] : users) text += "  " + name + ": " + hash + "\n";
    folder_.Write("web.yml", text + "http_server_config: {headers: {X-Frame-Options: deny}}\n");
  }

  WebOptions Options() const {
    WebOptions options;
    options.port = 0;
    options.timeout_seconds = 300;  // longer than any request takes on a busy machine
    options.web_config = folder_ / "web.yml";
    return options;
  }

  static WebReply Serve(const WebRequest& request) {
    WebReply reply;
    reply.body = std::make_shared<const std::string>(request.path);
    return reply;
  }

  TestFolder folder_;
};

TEST_F(WebAuthTest, EveryPathRequiresTheRightPassword) {
  WriteUsers({{"alice", BcryptOf("wonder:land", 4)}, {"bob", BcryptOf("builder", 5)}});
  WebServer server(Options(), Serve);
  const auto status = [&](const std::string& path, const std::string& header) {
    return Get(server.port(), path, header).status;
  };
  for (const char* path : {"/metrics", "/healthz", "/", "/nothing"}) {
    const HttpReply reply = Get(server.port(), path);
    EXPECT_EQ(reply.status, 401) << path;
    EXPECT_TRUE(reply.Has("WWW-Authenticate: Basic")) << reply.head;
    EXPECT_TRUE(reply.Has("X-Frame-Options: deny")) << reply.head;
    EXPECT_EQ(status(path, Authorization("alice:wonder:land")), 200) << path;
  }
  EXPECT_EQ(status("/", Authorization("bob:builder")), 200);
  for (int repeated = 0; repeated < 2; ++repeated) {  // also when the answer is remembered
    for (const char* wrong :
         {"alice:wonder", "alice:", "alice", ":", "", "bob:wonder:land", "Bob:builder", "eve:builder"}) {
      EXPECT_EQ(status("/", Authorization(wrong)), 401) << wrong;
    }
  }
  EXPECT_EQ(status("/", Authorization(std::string("bob:builder\0", 12))), 401);
  EXPECT_EQ(status("/", "Authorization: Basic ****\r\n"), 401);
  EXPECT_EQ(status("/", "Authorization: Bearer abc\r\n"), 401);
  Client posts(server.port());
  posts.Get("/", "", "POST");
  EXPECT_EQ(posts.Read().status, 401);
}

TEST_F(WebAuthTest, ARightPasswordIsRememberedBetweenScrapes) {
  WriteUsers({{"alice", BcryptOf("secret", 11)}});
  WebServer server(Options(), Serve);
  double before = CpuSeconds();
  EXPECT_EQ(Get(server.port(), "/", Authorization("alice:secret")).status, 200);
  const double first = CpuSeconds() - before;
  before = CpuSeconds();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Get(server.port(), "/", Authorization("alice:secret")).status, 200);
  EXPECT_LT(CpuSeconds() - before, first) << "ten remembered answers";
}

TEST_F(WebAuthTest, AFloodOfWrongPasswordsDoesNotDelayOthers) {
  WriteUsers({{"alice", BcryptOf("secret", 9)}, {"bob", BcryptOf("builder", 9)}});
  WebServer server(Options(), Serve);
  EXPECT_EQ(Get(server.port(), "/", Authorization("alice:secret")).status, 200);
  std::vector<Client> flood;
  for (int i = 0; i < 100; ++i) {
    flood.emplace_back(server.port());
    flood.back().Get("/", Authorization("alice:" + std::to_string(i)));
  }
  EXPECT_EQ(Get(server.port(), "/", Authorization("alice:secret")).status, 200);  // remembered
  EXPECT_EQ(Get(server.port(), "/").status, 401);
  EXPECT_EQ(Get(server.port(), "/", Authorization("bob:builder"), "127.0.0.2").status, 200);  // its address's turn
  EXPECT_LT(server.counts().by_status[401], 50U) << "not behind the flood";
  for (Client& client : flood) EXPECT_EQ(client.Read().status, 401);
}

TEST_F(WebAuthTest, StopAnswersRequestsThatWaitForTheirPasswordCheck) {
  WriteUsers({{"alice", BcryptOf("secret", 10)}});
  WebOptions options = Options();
  options.timeout_seconds = 1;
  auto server = std::make_unique<WebServer>(options, Serve);
  std::vector<Client> waiting;
  for (int i = 0; i < 50; ++i) {
    waiting.emplace_back(server->port());
    waiting.back().Get("/", Authorization("alice:" + std::to_string(i)));
  }
  ASSERT_TRUE(Becomes([&] { return server->counts().by_status[401] > 0; }));
  server.reset();  // ends
}

TEST_F(WebAuthTest, UsersChangeWithoutARestart) {
  WriteUsers({{"alice", BcryptOf("old", 4)}});
  WebServer server(Options(), Serve);
  Client kept(server.port());
  kept.Get("/", Authorization("alice:old"));
  EXPECT_EQ(kept.Read().status, 200);
  WriteUsers({{"alice", BcryptOf("new", 4)}});
  EXPECT_TRUE(Becomes([&] { return Get(server.port(), "/", Authorization("alice:new")).status == 200; }));
  kept.Get("/", Authorization("alice:old"));
  EXPECT_EQ(kept.Read().status, 401) << "an old connection keeps no old rights";

  folder_.Write("web.yml", "basic_auth_users: {alice: plain}");
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_EQ(Get(server.port(), "/", Authorization("alice:new")).status, 200) << "a broken file changes nothing";
  std::filesystem::remove(folder_ / "web.yml");
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_EQ(Get(server.port(), "/").status, 401) << "a missing one opens nothing";
}

TEST_F(WebAuthTest, PasswordsCannotBeTurnedOffWhileTheServerRuns) {
  const Log log;
  WriteUsers({{"alice", BcryptOf("secret", 4)}});
  {
    WebServer server(Options(), Serve);
    for (const char* const text : {"", "# nobody\n", "http_server_config: {http2: true}\n"}) {
      folder_.Write("web.yml", text);
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      EXPECT_EQ(Get(server.port(), "/").status, 401) << text;
      EXPECT_EQ(Get(server.port(), "/", Authorization("alice:secret")).status, 200) << text;
    }
    WriteUsers({{"bob", BcryptOf("builder", 4)}});
    EXPECT_TRUE(Becomes([&] { return Get(server.port(), "/", Authorization("bob:builder")).status == 200; }));
  }
  EXPECT_EQ(log.Count("basic_auth_users is empty"), 1);
  EXPECT_EQ(log.Count("(restart it to turn them off)"), 1);
  folder_.Write("web.yml", "");
  EXPECT_EQ(Get(WebServer(Options(), Serve).port(), "/").status, 200) << "after a restart they are off";
}

TEST_F(WebAuthTest, PasswordsWithoutTlsAreWarnedAboutOnPublicAddresses) {
  WriteUsers({{"alice", BcryptOf("secret", 4)}});
  const auto warnings = [&](const std::string& address) {
    const Log log;
    WebOptions options = Options();
    options.address = address;
    WebServer(options, Serve).Stop();
    return log.Count("clear text");
  };
  EXPECT_EQ(warnings("0.0.0.0"), 1);
  EXPECT_EQ(warnings(""), 1);
  EXPECT_EQ(warnings("127.0.0.2"), 0);
  EXPECT_EQ(warnings("localhost"), 0);
  folder_.Write("web.yml", "http_server_config: {headers: {X-Frame-Options: deny}}\n");
  EXPECT_EQ(warnings("0.0.0.0"), 0) << "no passwords";
}

TEST_F(WebAuthTest, ABrokenFileIsAnErrorAtTheStart) {
  folder_.Write("web.yml", "basic_auth_users:\n  alice: plain\n");
  try {
    const WebServer server(Options(), Serve);
    FAIL() << "started";
  } catch (const Error& problem) {
    EXPECT_NE(problem.message().find("web.yml:2:10: the hash of user 'alice'"), std::string::npos) << problem.message();
  }
  std::filesystem::remove(folder_ / "web.yml");
  try {
    const WebServer server(Options(), Serve);
    FAIL() << "started";
  } catch (const Error& problem) {
    EXPECT_EQ(problem.hint(), "check the path and its permissions; docs/web-config.md explains the file");
  }
}

class PasswordCheckerTest : public testing::Test {
 protected:
  PasswordAnswer Ask(const PasswordChecker::Users& users, const Credentials& credentials) {
    std::atomic<int> verdict = -1;
    checker_.Ask({checker_, users, credentials}, "a", WebClock::now() + kLongEnough,
                 [&](PasswordAnswer given) { verdict = static_cast<int>(given); });
    EXPECT_TRUE(Becomes([&] { return verdict >= 0; }));
    return static_cast<PasswordAnswer>(verdict.load());
  }

  PasswordChecker checker_;
};

TEST_F(PasswordCheckerTest, AnUnknownUserTakesAsLongAsAWrongPassword) {
  const PasswordChecker::Users users{{"alice", BcryptOf("secret", 9)}};
  const auto seconds = [&](const std::string& user, const std::string& password) {
    const double before = CpuSeconds();
    EXPECT_EQ(Ask(users, {user, password}), PasswordAnswer::kWrong);
    return CpuSeconds() - before;
  };
  const double wrong = std::min({seconds("alice", "1"), seconds("alice", "2"), seconds("alice", "3")});
  EXPECT_GT(seconds("eve", "1"), wrong / 2);
}

TEST_F(PasswordCheckerTest, ARememberedPasswordIsRefusedForARemovedUser) {
  const std::string hash = BcryptOf("secret", 4);
  EXPECT_EQ(Ask({{"alice", hash}, {"bob", hash}}, {"alice", "secret"}), PasswordAnswer::kRight);
  const PasswordChecker::Users left{{"bob", hash}};  // whose hash replaces that of the unknown name
  EXPECT_EQ(checker_.Remembered({checker_, left, {"alice", "secret"}}), PasswordAnswer::kWrong);
}

TEST_F(PasswordCheckerTest, AnExpiredRequestIsNotHashed) {
  std::atomic<int> verdict = -1;
  checker_.Ask({checker_, {{"a", BcryptOf("b", 4)}}, {"a", "b"}}, "x", WebClock::now() - std::chrono::seconds(1),
               [&](PasswordAnswer given) { verdict = static_cast<int>(given); });
  EXPECT_TRUE(Becomes([&] { return verdict >= 0; }));
  EXPECT_EQ(static_cast<PasswordAnswer>(verdict.load()), PasswordAnswer::kBusy);
}

TEST_F(PasswordCheckerTest, WrongPasswordsDoNotEvictTheRememberedOne) {
  const PasswordChecker::Users users{{"alice", BcryptOf("secret", 4)}};
  EXPECT_EQ(Ask(users, {"alice", "secret"}), PasswordAnswer::kRight);
  std::atomic<int> answers = 0;
  for (int i = 0; i < 300; ++i) {
    checker_.Ask({checker_, users, {"alice", std::to_string(i)}}, "a", WebClock::now() + kLongEnough,
                 [&](PasswordAnswer) { ++answers; });
  }
  EXPECT_TRUE(Becomes([&] { return answers == 300; }));
  EXPECT_EQ(checker_.Remembered({checker_, users, {"alice", "secret"}}), PasswordAnswer::kRight);
  EXPECT_EQ(checker_.Remembered({checker_, users, {"alice", "7"}}), PasswordAnswer::kWrong);
  EXPECT_EQ(checker_.Remembered({checker_, users, {"alice", "never asked"}}), std::nullopt);
}

}  // namespace
}  // namespace fa_profile::web::web_auth_test

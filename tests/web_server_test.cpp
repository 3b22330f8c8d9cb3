#include "fa_profile/web_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <numeric>
#include <vector>

#include "fa_profile/error.h"
#include "web_client.h"

namespace fa_profile::web::web_server_test {
namespace {

WebOptions Options() {
  WebOptions options;
  options.port = 0;
  options.timeout_seconds = 300;  // longer than any request takes on a busy machine
  return options;
}

/// For tests of the time limit itself: only what waits for its end may depend on it.
WebOptions Impatient() {
  WebOptions options = Options();
  options.timeout_seconds = 1;
  return options;
}

/// More than the system's buffers between server and client hold.
const auto kLarge = std::make_shared<const std::string>(std::size_t{8} << 20, 'x');

WebReply Serve(const WebRequest& request) {
  WebReply reply;
  if (request.path == "/throw") throw std::runtime_error("a handler that fails");
  if (request.path == "/large") {
    reply.body = kLarge;
  } else if (request.path == "/echo") {
    reply.content_type = "text/x-echo";
    reply.content_encoding = "gzip";
    reply.body = std::make_shared<const std::string>(request.method + "|" + request.path + "|" + request.accept + "|" +
                                                     request.accept_encoding);
  } else {
    reply.status = request.path == "/" ? 200 : 404;
    reply.body = std::make_shared<const std::string>(request.path);
  }
  return reply;
}

TEST(WebServerTest, PassesRequestsToTheHandlerAndItsRepliesToTheClient) {
  WebServer server(Options(), Serve);
  const HttpReply reply = Get(server.port(), "/echo?a=%20b&c", "Accept: text/plain\r\nAccept-Encoding: gzip\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "GET|/echo|text/plain|gzip");
  EXPECT_TRUE(reply.Has("Content-Type: text/x-echo"));
  EXPECT_TRUE(reply.Has("Content-Encoding: gzip"));
}

TEST(WebServerTest, KeepsAConnectionAndAnswersHeadWithoutABody) {
  WebServer server(Options(), Serve);
  Client client(server.port());
  client.Get("/echo", "", "HEAD");
  const HttpReply head = client.Read(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_TRUE(head.Has("Content-Length: 12"));
  client.Get("/");
  EXPECT_EQ(client.Read().body, "/");
  client.Get("/nothing/here");
  EXPECT_EQ(client.Read().status, 404);
  EXPECT_EQ(server.counts().by_status, (std::map<int, std::uint64_t>{{200, 2}, {404, 1}}));
  EXPECT_EQ(server.counts().connections, 1);
}

TEST(WebServerTest, OtherMethodsAreNotAllowed) {
  WebServer server(Options(), Serve);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "BREW"}) {
    Client client(server.port());
    client.Get("/", "", method);
    const HttpReply reply = client.Read();
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_TRUE(reply.Has("Allow: GET, HEAD")) << reply.head;
  }
}

TEST(WebServerTest, ABodyIsRefusedBeforeItIsRead) {
  WebServer server(Options(), Serve);
  for (const char* header : {"Content-Length: 1000000000000\r\n", "Transfer-Encoding: chunked\r\n",
                             "Content-Length: 5\r\nExpect: 100-continue\r\n"}) {
    Client client(server.port());
    client.Get("/", header);
    EXPECT_EQ(client.Read().status, 413) << header;
    client.ReadToEnd();
  }
}

/// The status of each reply to `request`, until the server ends the connection or has answered a last good request.
std::vector<int> Statuses(std::uint16_t port, const std::string& request) {
  Client client(port);
  client.Send(request);
  client.Get("/last", "Connection: close\r\n");
  std::vector<int> statuses;
  while (true) {
    const HttpReply reply = client.Read();
    if (reply.status == 0) return statuses;
    statuses.push_back(reply.status);
  }
}

TEST(WebServerTest, ARequestWhoseEndOrHostIsDoubtfulGetsOneReplyAndTheConnectionEnds) {
  WebServer server(Options(), Serve);
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: y\r\n\r\n";
  const std::string length = "Content-Length: " + std::to_string(hidden.size()) + "\r\n";
  std::uint64_t bad = 0;
  std::uint64_t bodies = 0;
  for (const std::string method : {"GET", "POST"}) {
    for (const std::string& headers :
         {length + length, length + "Content-Length: 0\r\n", "Content-Length: 0\r\n" + length,
          std::string("Content-Length: 0\r\ncontent-length: 0\r\n"), std::string("Content-Length: 0, 5\r\n"),
          std::string("Content-Length: +5\r\n"), std::string("Content-Length: -5\r\n"),
          std::string("Content-Length: 0x5\r\n"), std::string("Content-Length:\r\n"),
          "Content-Length :" + length.substr(15), length + "Transfer-Encoding: chunked\r\n",
          "Transfer-Encoding: chunked\r\n" + length,
          std::string("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"), std::string("Host: x\r\n"),
          std::string("host: other\r\n")}) {
      EXPECT_EQ(Statuses(server.port(), method + " / HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + hidden),
                std::vector<int>{400})
          << method << " " << headers;
      ++bad;
    }
    for (const std::string& headers :
         {length, "Content-Length: 000" + length.substr(16), std::string("Transfer-Encoding: chunked\r\n"),
          std::string("Transfer-Encoding: x\r\n"), std::string("Content-Length: 99999999999999999999999\r\n")}) {
      EXPECT_EQ(Statuses(server.port(), method + " / HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + hidden),
                std::vector<int>{413})
          << method << " " << headers;
      ++bodies;
    }
    EXPECT_EQ(Statuses(server.port(), method + " / HTTP/1.1\r\n\r\n" + hidden), std::vector<int>{400}) << "no Host";
    EXPECT_EQ(Statuses(server.port(), method + " / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n"), std::vector<int>{400});
    bad += 2;
  }
  EXPECT_EQ(server.counts().by_status, (std::map<int, std::uint64_t>{{400, bad}, {413, bodies}})) << "all are counted";
}

TEST(WebServerTest, ARequestWhoseHeadersAreNotAllSeenIsTheLastOfItsConnection) {
  WebServer server(Options(), Serve);
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: y\r\n\r\n";
  const std::string size = std::to_string(hidden.size());
  for (const std::string& headers :
       {"Content-Length:\r\n " + size, "Content-Length:\r\n\t" + size, "Content-Length: 0\r\n " + size,
        "Content-Length: 0" + std::string(1, '\0') + size, "Content-Length: 0\r\n Content-Length: " + size,
        std::string("Transfer-Encoding:\r\n chunked"), std::string("X: y\r\n Host: other")}) {
    const std::vector<int> statuses =
        Statuses(server.port(), "GET / HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n\r\n" + hidden);
    EXPECT_EQ(statuses.size(), 1U) << headers;
  }
  EXPECT_EQ(Statuses(server.port(), "GET / HTTP/1.1\r\nHost: a b/c\r\n\r\n"), std::vector<int>{400});
}

TEST(WebServerTest, ARequestWithoutABodyKeepsItsConnection) {
  WebServer server(Options(), Serve);
  for (const char* const headers :
       {"Host: x\r\n", "Host: x\r\nContent-Length: 0\r\n", "Host: \r\n", "Host: x\r\nUser-Agent: a b: c\r\n"}) {
    EXPECT_EQ(Statuses(server.port(), std::string("GET / HTTP/1.1\r\n") + headers + "\r\n"),
              (std::vector<int>{200, 404}))
        << headers;
  }
  EXPECT_EQ(Statuses(server.port(), "GET / HTTP/1.0\r\n\r\n"), std::vector<int>{200}) << "HTTP/1.0 has no Host";
}

TEST(WebServerTest, AHandlerThatThrowsIsAnInternalError) {
  WebServer server(Options(), Serve);
  Client client(server.port());
  client.Get("/throw");
  EXPECT_EQ(client.Read().status, 500);
  client.Get("/");
  EXPECT_EQ(client.Read().status, 200);
}

TEST(WebServerTest, InvalidRequestsAreRefusedWithoutHarm) {
  WebServer server(Options(), Serve);
  // Neither is a request yet: the server waits for the rest, which never comes.
  std::vector<Client> unfinished;
  for (const std::string& garbage : {std::string("\r\n\r\n\r\n"), std::string("\x16\x03\x01\x02\x00\x01", 6)}) {
    unfinished.emplace_back(server.port());
    unfinished.back().Send(garbage);
  }
  std::string binary(4096, '\0');
  std::iota(binary.begin(), binary.end(), '\0');
  for (const std::string& garbage :
       {binary, std::string("GET\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n")}) {
    Client client(server.port());
    client.Send(garbage);
    client.ReadToEnd();
  }
  EXPECT_EQ(Get(server.port(), "/").status, 200);
}

TEST(WebServerTest, RequestLineAndHeadersHaveALimit) {
  WebOptions options = Options();
  options.max_request_bytes = 8192;
  WebServer server(options, Serve);
  EXPECT_EQ(Get(server.port(), "/", "X: " + std::string(4000, 'x') + "\r\n").status, 200);
  for (const std::string& request :
       {"GET /" + std::string(1 << 20, 'x'), "GET / HTTP/1.1\r\nX: " + std::string(1 << 20, 'x'),
        "GET / HTTP/1.1\r\n" + std::string(9000, 'x') + ": y\r\n\r\n"}) {
    Client client(server.port());
    client.Send(request);  // may be cut short: the server has seen enough
    client.ReadToEnd();
  }
  Client client(server.port());
  client.Send("GET / HTTP/1.1\r\nX: " + std::string(8192, 'x'));
  EXPECT_EQ(client.Read().status, 431);
  Client other(server.port());
  other.Send("GET /" + std::string(8192, 'x'));
  EXPECT_EQ(other.Read().status, 414);
  EXPECT_EQ(Get(server.port(), "/").status, 200);
}

TEST(WebServerTest, TwoHundredClientsAtOnceAreAllServed) {
  WebServer server(Options(), Serve);
  std::vector<Client> clients;
  for (int i = 0; i < 200; ++i) clients.emplace_back(server.port());
  for (const Client& client : clients) ASSERT_TRUE(client.Get("/"));
  for (Client& client : clients) EXPECT_EQ(client.Read().status, 200);
  EXPECT_EQ(server.counts().by_status.at(200), 200U);
}

std::vector<Client> Idlers(const WebServer& server) {
  std::vector<Client> idlers;
  for (int i = 0; i < 100; ++i) {
    idlers.emplace_back(server.port(), "127.0.0.1", 4096);
    if (i % 3 == 0) idlers.back().Get("/large");             // asks and does not read
    if (i % 3 == 1) idlers.back().Send("GET / HTTP/1.1\r");  // does not finish
  }
  return idlers;
}

TEST(WebServerTest, SlowReadersAndHalfOpenConnectionsDoNotDelayOthers) {
  WebServer server(Options(), Serve);
  const std::vector<Client> idlers = Idlers(server);
  ASSERT_TRUE(Becomes([&] { return server.counts().connections == 100; }));
  EXPECT_EQ(Get(server.port(), "/").status, 200);
  EXPECT_GE(server.counts().connections, 100) << "served beside them, not after them";
}

TEST(WebServerTest, SlowReadersAndHalfOpenConnectionsAreDropped) {
  WebServer server(Impatient(), Serve);
  std::vector<Client> idlers = Idlers(server);
  for (std::size_t i = 0; i < idlers.size(); ++i) {
    if (i % 3 != 0) idlers[i].ReadToEnd();
  }
  EXPECT_TRUE(Becomes([&] { return server.counts().connections == 0; }));
}

TEST(WebServerTest, ASlowRequestIsDroppedAfterTheTimeLimit) {
  WebServer server(Impatient(), Serve);
  Client writer(server.port());
  Client reader(server.port(), "127.0.0.1", 4096);
  reader.Get("/large");
  // A first reply does not buy more time than any other. (A busy machine may miss it: then there is less to show.)
  writer.Get("/");
  (void)writer.Read();
  EXPECT_TRUE(Becomes([&] {
    writer.Send("G");
    reader.ReadSome(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    return server.counts().connections == 0;
  }));
}

TEST(WebServerTest, OverTheLimitNewConnectionsAreRefusedAndOldOnesServed) {
  WebOptions options = Options();
  options.max_connections = 4;
  WebServer server(options, Serve);
  std::vector<Client> busy;
  for (int i = 0; i < 4; ++i) {
    busy.emplace_back(server.port(), "127.0.0.1", 4096);
    busy.back().Get("/large");
  }
  ASSERT_TRUE(Becomes([&] { return server.counts().by_status[200] == 4; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(600));  // they wait, and are served
  EXPECT_EQ(Get(server.port(), "/").status, 0);
  for (Client& client : busy) EXPECT_EQ(client.Read().body.size(), kLarge->size());
}

TEST(WebServerTest, OverTheLimitTheLongestIdleConnectionIsClosed) {
  WebOptions options = Options();
  options.max_connections = 4;
  WebServer server(options, Serve);
  std::vector<Client> idle;
  for (int i = 0; i < 4; ++i) {
    idle.emplace_back(server.port());
    idle.back().Get("/");
    EXPECT_EQ(idle.back().Read().status, 200);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_EQ(Get(server.port(), "/").status, 200);
  idle[0].ReadToEnd();
  idle[3].Get("/");
  EXPECT_EQ(idle[3].Read().status, 200);
}

TEST(WebServerTest, StopFinishesTheCurrentReplyAndAcceptsNoMore) {
  auto server = std::make_unique<WebServer>(Options(), Serve);
  const std::uint16_t port = server->port();
  Client client(port, "127.0.0.1", 4096);
  client.Get("/large");
  ASSERT_TRUE(client.ReadSome(1000));
  const Client idle(port);
  auto stopped = std::async(std::launch::async, [&] { server->Stop(); });
  ASSERT_TRUE(Becomes([&] { return !Client(port).connected(); }));
  EXPECT_EQ(stopped.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  EXPECT_EQ(client.Read().body.size(), kLarge->size());
  stopped.get();
  server->Stop();  // again: harmless
}

TEST(WebServerTest, StopWaitsAtMostTheTimeLimit) {
  auto server = std::make_unique<WebServer>(Impatient(), Serve);
  Client client(server->port(), "127.0.0.1", 4096);
  client.Get("/large");
  EXPECT_TRUE(Becomes([&] { return server->counts().by_status[200] == 1; }));
  server.reset();
}

TEST(WebServerTest, ThePortIsFreeAfterAStop) {
  WebOptions options = Options();
  auto server = std::make_unique<WebServer>(options, Serve);
  options.port = server->port();
  Client kept(options.port);
  kept.Get("/");
  EXPECT_EQ(kept.Read().status, 200);
  for (int i = 0; i < 3; ++i) {
    server.reset();
    server = std::make_unique<WebServer>(options, Serve);
    EXPECT_EQ(Get(options.port, "/").status, 200);
  }
}

TEST(WebServerTest, StopUnderLoadEndsCleanly) {
  for (int round = 0; round < 3; ++round) {
    auto server = std::make_unique<WebServer>(Options(), Serve);
    const std::uint16_t port = server->port();
    std::atomic<bool> over = false;
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([&] {
        while (!over) (void)Get(port, "/");
      });
    }
    ASSERT_TRUE(Becomes([&] { return server->counts().by_status[200] > 20; }));
    server.reset();
    over = true;
    for (std::thread& client : clients) client.join();
  }
}

TEST(WebServerTest, AFailureToListenIsAnErrorWithAHint) {
  const WebServer server(Options(), Serve);
  WebOptions options = Options();
  options.port = server.port();
  try {
    const WebServer second(options, Serve);
    FAIL() << "two servers on one port";
  } catch (const Error& problem) {
    EXPECT_EQ(problem.code(), "EADDRINUSE");
    EXPECT_NE(problem.message().find("127.0.0.1:" + std::to_string(options.port)), std::string::npos);
    EXPECT_NE(problem.hint().find("ss -ltnp"), std::string::npos);
  }
  options.address = "192.0.2.1";
  EXPECT_THROW(WebServer(options, Serve), Error);
  options.address = "no address at all";
  EXPECT_THROW(WebServer(options, Serve), Error);
}

TEST(WebServerTest, ListensOnIpv6AndNames) {
  for (const char* address : {"[::1]", "localhost", ""}) {
    WebOptions options = Options();
    options.address = address;
    try {
      const WebServer server(options, Serve);
      EXPECT_NE(server.port(), 0) << address;
    } catch (const Error& problem) {
      EXPECT_EQ(problem.code(), "EADDRNOTAVAIL") << address << ": " << problem.message();  // a machine without IPv6
    }
  }
}

}  // namespace
}  // namespace fa_profile::web::web_server_test

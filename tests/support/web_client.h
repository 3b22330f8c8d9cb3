#pragma once

// HTTP clients of every kind of manners, for the tests of the web server.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "test_files.h"

namespace fa_profile {

using TestClock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLongEnough{
    300};  // far beyond what any wait here takes, also under sanitizers on a busy machine

/// Whether `condition` becomes true.
template <typename Condition>
bool Becomes(const Condition& condition) {
  const auto start = TestClock::now();
  while (!condition()) {
    if (TestClock::now() - start > kLongEnough) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

struct HttpReply {
  int status = 0;
  std::string head;
  std::string body;

  bool Has(const std::string& header) const { return head.find(header + "\r\n") != std::string::npos; }
};

/// A TCP connection to 127.0.0.1.
class Client {
 public:
  /// `from`: our address. `receive_bytes`: size of the receive buffer, 0: the system's.
  explicit Client(std::uint16_t port, const char* from = "127.0.0.1", int receive_bytes = 0)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes > 0) setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, from, &address.sin_addr);
    if (bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) throw std::runtime_error("bind");
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    address.sin_port = htons(port);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  Client(Client&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_), unread_(std::move(other.unread_)) {}
  Client& operator=(Client&&) = delete;
  ~Client() {
    if (fd_ >= 0) close(fd_);
  }

  int fd() const { return fd_; }
  bool connected() const { return connected_; }

  /// Whether all of it went out.
  bool Send(const std::string& text) const {
    return send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  bool Get(const std::string& path, const std::string& headers = "", const std::string& method = "GET") const {
    return Send(method + " " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n");
  }

  /// The next reply, or status 0 when the connection ends before it is whole.
  HttpReply Read(bool head_only = false) {
    HttpReply reply;
    std::size_t end = std::string::npos;
    while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
      if (!ReadSome()) return {};
    }
    reply.head = unread_.substr(0, end + 2);
    unread_.erase(0, end + 4);
    const std::size_t length = reply.head.find("Content-Length: ");
    const std::size_t bytes = length == std::string::npos ? 0 : std::stoul(reply.head.substr(length + 16));
    while (!head_only && unread_.size() < bytes) {
      if (!ReadSome()) return {};
    }
    if (!head_only) {
      reply.body = unread_.substr(0, bytes);
      unread_.erase(0, bytes);
    }
    // Once a server is gone, a connection to its port can be one to oneself, which reads what it sent.
    const std::string start = "HTTP/1.1 ";
    if (reply.head.starts_with(start)) reply.status = std::stoi(reply.head.substr(start.size()));
    return reply;
  }

  /// Takes at most `most` bytes; false at the end of the connection.
  bool ReadSome(std::size_t most = 1 << 16) {
    pollfd watched{fd_, POLLIN, 0};
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(kLongEnough).count();
    if (poll(&watched, 1, static_cast<int>(limit)) <= 0) throw std::runtime_error("the server says nothing");
    std::string buffer(most, '\0');
    const ssize_t got = recv(fd_, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    unread_.append(buffer, 0, static_cast<std::size_t>(got));
    return true;
  }

  /// Waits until the server ends the connection, and drops what it still says.
  void ReadToEnd() {
    while (ReadSome()) unread_.clear();
  }

 private:
  int fd_;
  bool connected_ = false;
  std::string unread_;
};

inline HttpReply Get(std::uint16_t port, const std::string& path, const std::string& headers = "",
                     const char* from = "127.0.0.1") {
  Client client(port, from);
  client.Get(path, headers);
  return client.Read();
}

}  // namespace fa_profile

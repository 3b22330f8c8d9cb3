#include "listen.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "fa_profile/error.h"

namespace fa_profile::web {
namespace {

[[noreturn]] void Fail(const char* call, int code, const std::string& where, std::uint16_t port) {
  std::string hint;
  switch (code) {
    case EADDRINUSE:
      hint = fmt::format(
          "stop the program that listens there (`ss -ltnp 'sport = :{}'` names it), or choose another port", port);
      break;
    case EACCES:
      hint = port < 1024 ? "ports below 1024 need CAP_NET_BIND_SERVICE; choose a higher one" : "the system forbids it";
      break;
    case EADDRNOTAVAIL:
      hint = "no interface of this machine has that address; `ip address` lists the addresses, 0.0.0.0 means all";
      break;
    default:
      break;
  }
  const char* name = strerrorname_np(code);
  throw Error(call, name == nullptr ? std::to_string(code) : name,
              fmt::format("cannot listen on {}: {}", where, std::strerror(code)), hint);
}

std::uint16_t PortOf(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

bool IsLoopback(const sockaddr_storage& address) {
  constexpr std::uint32_t kFirstByte = 127;
  if (address.ss_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in*>(&address)->sin_addr.s_addr) >> 24U == kFirstByte;
  }
  const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == kFirstByte);
}

}  // namespace

Listener Listen(const std::string& address, std::uint16_t port) {
  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  const std::string host = bracketed ? address.substr(1, address.size() - 2) : address;
  const std::string where = fmt::format("{}:{}", address, port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0) {
    throw Error("getaddrinfo", "", fmt::format("cannot listen on {}: {}", where, gai_strerror(status)),
                "give an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);

  Descriptor fd(socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) Fail("socket", errno, where, port);
  // Lets a restart bind while old connections are in TIME_WAIT.
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0) Fail("bind", errno, where, port);
  if (listen(fd.get(), SOMAXCONN) != 0) Fail("listen", errno, where, port);
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) Fail("getsockname", errno, where, port);
  return {std::move(fd), PortOf(bound), IsLoopback(bound)};
}

}  // namespace fa_profile::web

#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace fa_profile::web {

using WebClock = std::chrono::steady_clock;

/// How long a connection may wait for its request before another may replace it, or a stop may end it.
constexpr std::chrono::milliseconds kPatience{500};

/// One open connection. Its fields belong to Connections.
struct Connection {
  int fd = -1;
  std::string address;
  WebClock::time_point deadline;
  WebClock::time_point since;         ///< waiting for a request since then
  bool waiting = true;                ///< for a request; false while it is answered
  bool started = false;               ///< the HTTP library has it, and reports its end before it closes `fd`
  bool shut = false;                  ///< its socket is shut down; its owner's thread has yet to notice
  std::shared_ptr<const void> keeps;  ///< what must outlive the connection
};

/// The open connections and their time limits. Every method may be called from any thread.
///
/// To end a connection its socket is shut down, and the thread that serves it notices. Only that thread closes the
/// descriptor, after Remove(): so a descriptor is never shut down after it got a new owner.
class Connections {
 public:
  Connections(int limit, std::chrono::seconds timeout) : limit_(limit), timeout_(timeout) {}

  /// Adds an accepted connection, or returns false if there is no room. If all places are taken, the connection that
  /// has waited longest for a request, and longer than kPatience, is ended.
  bool Add(int fd, std::string address);
  /// The connection added with this descriptor. From now on the HTTP library owns it.
  Connection& Start(int fd);
  void Remove(int fd);

  void Keep(Connection& connection, std::shared_ptr<const void> kept);
  std::string AddressOf(const Connection& connection) const;

  /// A whole request has arrived, or its answer is ready: the time limit starts again.
  void Serve(Connection& connection);
  /// The client has the answer: the connection waits for the next request.
  void Wait(Connection& connection);

  /// Ends connections whose time is up; when `stopping` also those that have waited for a request longer than
  /// kPatience. Returns when to call it again.
  WebClock::time_point EndLate(bool stopping);

  int size() const;

 private:
  static void Shut(Connection& connection);

  const int limit_;
  const std::chrono::seconds timeout_;
  mutable std::mutex mutex_;
  std::map<int, std::unique_ptr<Connection>> open_;  // by descriptor
};

}  // namespace fa_profile::web

#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace fa_profile {

using WebClock = std::chrono::steady_clock;

/// How long a connection may wait for its request before another may have its place, or a stop end it.
constexpr std::chrono::milliseconds kPatience{500};

/// One open connection. Its fields are Connections' own.
struct Connection {
  int fd = -1;
  std::string address;
  WebClock::time_point deadline;
  WebClock::time_point since;         ///< waiting for a request since then
  bool waiting = true;                ///< for a request, as against being answered
  bool started = false;               ///< the HTTP library has it, and tells of its end before it closes `fd`
  bool shut = false;                  ///< told to end; only its owner's thread still has to notice
  std::shared_ptr<const void> keeps;  ///< what must outlive the connection
};

/// The open connections and their time limits. Every method may be called from any thread.
///
/// A connection is ended by shutting its socket down, which the thread that serves it then notices; the descriptor
/// itself is closed by that thread alone, after Remove(): so none is ever shut down that has become somebody else's.
class Connections {
 public:
  Connections(int limit, int limit_per_address, std::chrono::seconds timeout)
      : limit_(limit), limit_per_address_(limit_per_address), timeout_(timeout) {}

  /// Takes note of a connection just accepted, or returns false where there is no room. When all places are taken, the
  /// connection that has waited longest for a request, and longer than kPatience, loses its own.
  bool Add(int fd, std::string address);
  /// The connection that was added with this descriptor, from now on in the hands of the HTTP library.
  Connection& Start(int fd);
  void Remove(int fd);

  void Keep(Connection& connection, std::shared_ptr<const void> kept);
  std::string AddressOf(const Connection& connection) const;

  /// A whole request has come, or its answer is ready: the time limit starts again.
  void Serve(Connection& connection);
  /// The answer is taken: from now on the connection waits for the next request.
  void Wait(Connection& connection);

  /// Ends those whose time is up; when `stopping` also those that wait for a request longer than kPatience. Returns
  /// when to come again.
  WebClock::time_point EndLate(bool stopping);
  void EndAll();

  int size() const;

 private:
  static void Shut(Connection& connection);

  const int limit_;
  const int limit_per_address_;
  const std::chrono::seconds timeout_;
  mutable std::mutex mutex_;
  std::map<int, std::unique_ptr<Connection>> open_;  // by descriptor
};

}  // namespace fa_profile

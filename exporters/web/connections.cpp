#include "connections.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace fa_profile::web {

void Connections::Shut(Connection& connection) {
  // A shutdown before the HTTP library owns it would not be noticed; a later round ends it.
  if (connection.shut || !connection.started) return;
  connection.shut = true;
  shutdown(connection.fd, SHUT_RDWR);
}

bool Connections::Add(int fd, std::string address) {
  const std::scoped_lock lock(mutex_);
  const auto now = WebClock::now();
  int here = 0;
  Connection* longest = nullptr;
  for (const auto& [_, connection] : open_) {
    if (connection->shut) continue;
    ++here;
    const bool may_go = connection->started && connection->waiting && now - connection->since > kPatience;
    if (may_go && (longest == nullptr || connection->since < longest->since)) longest = connection.get();
  }
  if (here >= limit_) {
    if (longest == nullptr) return false;
    Shut(*longest);
  }
  auto connection = std::make_unique<Connection>();
  connection->fd = fd;
  connection->address = std::move(address);
  connection->since = now;
  connection->deadline = now + timeout_;
  open_.insert_or_assign(fd, std::move(connection));
  return true;
}

Connection& Connections::Start(int fd) {
  const std::scoped_lock lock(mutex_);
  Connection& connection = *open_.at(fd);
  connection.started = true;
  return connection;
}

void Connections::Remove(int fd) {
  std::unique_ptr<Connection> gone;  // destroyed after the lock is released
  const std::scoped_lock lock(mutex_);
  const auto found = open_.find(fd);
  if (found == open_.end()) return;
  gone = std::move(found->second);
  open_.erase(found);
}

void Connections::Keep(Connection& connection, std::shared_ptr<const void> kept) {
  const std::scoped_lock lock(mutex_);
  connection.keeps = std::move(kept);
}

std::string Connections::AddressOf(const Connection& connection) const {
  const std::scoped_lock lock(mutex_);
  return connection.address;
}

void Connections::Serve(Connection& connection) {
  const std::scoped_lock lock(mutex_);
  connection.waiting = false;
  connection.deadline = WebClock::now() + timeout_;
}

void Connections::Wait(Connection& connection) {
  const std::scoped_lock lock(mutex_);
  connection.waiting = true;
  connection.since = WebClock::now();
  connection.deadline = connection.since + timeout_;
}

WebClock::time_point Connections::EndLate(bool stopping) {
  const std::scoped_lock lock(mutex_);
  const auto now = WebClock::now();
  auto next = WebClock::time_point::max();
  for (auto& [_, connection] : open_) {
    if (connection->shut) continue;
    const bool late = connection->deadline <= now;
    if (late || (stopping && connection->waiting && now - connection->since > kPatience)) Shut(*connection);
    if (!late) next = std::min(next, connection->deadline);
  }
  return next;
}

int Connections::size() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(open_.size());
}

}  // namespace fa_profile::web

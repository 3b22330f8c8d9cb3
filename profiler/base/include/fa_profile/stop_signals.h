#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace fa_profile {

/// While it exists, SIGINT, SIGTERM and SIGHUP request the end instead of ending the process; one that the process
/// ignored before stays ignored (nohup). One object at a time.
class StopSignals {
 public:
  /// Throws Error.
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Ends the process by the signal that arrived first, as if it had not been caught; returns if none arrived.
  void EndBySignal() const;
  /// Whether one arrived; set by the signal's handler.
  const std::atomic<bool>& came() const;
  /// Becomes readable once one arrived: for poll().
  int descriptor() const;

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace fa_profile

#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "fa_profile/exporter_state.h"

namespace fa_profile::serve {

/// The sums that sources add to and the page shows, saved before the page shows them: after a crash a counter must not
/// fall back to its old value. Used from one thread.
class Ledger {
 public:
  /// Keeps the sums only in memory.
  Ledger() = default;
  /// Keeps them in this folder, starting with what was saved there. Throws Error: StateFolder().
  explicit Ledger(const std::string& folder);

  const ExporterState& state() const { return state_; }
  bool has_folder() const { return folder_.has_value(); }
  /// False after a failed save, until Age() can save. Sources read nothing meanwhile: they would read it again and
  /// again.
  bool can_save() const { return can_save_; }
  /// StateFolder::CountRefused() when the ledger was opened; absent without a folder.
  std::optional<double> refused_states() const { return refused_; }

  /// Replaces the state. Throws StateError; the old state then stays.
  void Commit(ExporterState next);

  /// Counts the idle time of the kernels since the last call, and releases the sums held for longer than
  /// `held_seconds`. Throws StateError.
  void Age(double held_seconds);

  /// HideOldest() of the kernels idle for longer than `seconds`. False: there is none.
  bool HideOldest(double seconds) { return fa_profile::HideOldest(state_.totals, {&state_.held, seconds}); }

 private:
  using Clock = std::chrono::steady_clock;  // a jump of the time of day ages nothing

  std::optional<StateFolder> folder_;
  ExporterState state_;
  std::optional<double> refused_;
  bool can_save_ = true;
  Clock::time_point aged_ = Clock::now();
};

}  // namespace fa_profile::serve

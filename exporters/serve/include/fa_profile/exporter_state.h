#pragma once

#include <deque>
#include <set>
#include <string>

#include "fa_profile/totals.h"

namespace fa_profile {

/// What the exporter must not lose when it ends: its totals, and which recordings are in them. One file, replaced by
/// rename, so that it is always whole: a recording is either counted and known, or neither.
struct ExporterState {
  Totals totals;
  std::deque<std::string> counted;  ///< SHA-256 of the recordings counted, the oldest first, at most kMostRemembered
  double last_recording = 0;        ///< Unix time
  double recordings_counted = 0;
  double recordings_bad = 0;
  double recordings_duplicate = 0;
  double perfmon_conflicts = 0;
  double failed_runs = 0;
};

inline constexpr std::size_t kMostRemembered = 20000;

/// The folder of the state, locked for this process. Throws Error when another exporter has it, or it cannot be made.
class StateFolder {
 public:
  explicit StateFolder(const std::string& folder);
  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  /// The state as last saved; empty when there is none. A file that is damaged is kept under another name and said in
  /// the log: the counters then start again from zero, as after any reset.
  ExporterState Load() const;

  /// Durable when it returns. Throws Error; the state before is then still there.
  void Save(const ExporterState& state) const;

 private:
  std::string path_;
  int lock_ = -1;
};

/// Where the state is kept unless told: $STATE_DIRECTORY (systemd's), $XDG_STATE_HOME/fa-profile, or
/// ~/.local/state/fa-profile. Throws Error when none is set.
std::string DefaultStateFolder();

}  // namespace fa_profile

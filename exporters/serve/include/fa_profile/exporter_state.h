#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/folder_lock.h"
#include "fa_profile/totals.h"

namespace fa_profile::serve {

/// What survives the exporter's end: its totals, and which recordings they include. One file, replaced by rename, so
/// that it is always complete: a recording is both counted and known, or neither.
struct ExporterState {
  Totals totals;
  Totals held;                      ///< kernels whose sums the page shows instead: PageHistory
  std::deque<std::string> counted;  ///< SHA-256 of the recordings counted, the oldest first, at most kMostRemembered
  std::optional<double> last_recording;  ///< Unix time; absent: none yet
  double recordings_counted = 0;
  double recordings_bad = 0;
  double recordings_duplicate = 0;
  double perfmon_conflicts = 0;
  double failed_runs = 0;
};

inline constexpr std::size_t kMostRemembered = 20000;

/// The state cannot be saved now.
class StateError : public Error {
 public:
  using Error::Error;
};

/// The folder of the state, locked for this process.
class StateFolder {
 public:
  /// Makes the folder. Throws Error when it cannot, and when another exporter has locked it.
  explicit StateFolder(const std::string& folder);

  /// The last saved state; empty if there is none. A file that is damaged, or has an impossible number, is renamed and
  /// logged: the counters then start from zero, as after any reset. Throws Error for a file that cannot be read or
  /// comes from a newer version.
  ExporterState Load() const;

  /// How many of the files that Load() ever renamed still exist.
  int CountRefused() const;

  /// Durable when it returns. Throws StateError; the old state then still exists.
  void Save(const ExporterState& state);

 private:
  std::string folder_;
  std::string path_;
  FolderLock lock_;
};

/// The default folder of the state: $STATE_DIRECTORY (systemd's), $XDG_STATE_HOME/fa-profile, or
/// ~/.local/state/fa-profile. Throws Error when none is set.
std::string DefaultStateFolder();

}  // namespace fa_profile::serve

#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "fa_profile/file_watch.h"
#include "fa_profile/phase_map.h"
#include "fa_profile/report.h"
#include "fa_profile/stop_signals.h"

namespace fa_profile::watch {

/// Measures the watched file into a new recording with this name. "": the recording exists; else in one line why not.
/// `changed`: called many times a second; true: there is a new file, and the measurement ends.
using Measure = std::function<std::string(const std::string& recording, const std::function<bool()>& changed)>;

struct WatchOptions {
  std::string file;
  std::string folder{};  ///< keeps the recordings as watch-0001.fap, ...; made if it is missing. Empty: none is kept
  std::optional<PhaseMap> phase_map{};
  PhaseSource phase_source = PhaseSource::kBest;
  std::function<exporters::ReportOptions()> look{};  ///< called for each report: a terminal may change its width
  FileWatchOptions patience{};
};

/// Measures the file, and again whenever it changes, until a signal arrives, and writes to `out` what moved since the
/// last measurement in which every kernel was correct. A failed measurement is one line on stderr. Throws Error: the
/// file cannot be read at the start, the folder or `out` cannot be written to.
void Watch(const WatchOptions& options, const Measure& measure, const StopSignals& stop, std::ostream& out);

}  // namespace fa_profile::watch

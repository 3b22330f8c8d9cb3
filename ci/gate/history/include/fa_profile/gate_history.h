#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/evidence.h"

namespace fa_profile::gate {

/// Version of a history file. A reader only takes its own.
inline constexpr int kHistoryVersion = 1;

/// Time of a phase: its share times the duration of the call, in each recording.
inline constexpr const char* kPhaseSeconds = "phase_time_seconds";

/// One measurement of one card: a night of a nightly job.
struct Night {
  std::string gpu_uuid;
  std::string taken_at;  ///< UTC, "2026-11-21T12:00:00Z"
  std::string commit;    ///< commit of the measured code
  std::string gpu_name;
  std::string driver_version;
  std::string cuda_runtime_version;
  std::int64_t sm_clock_max_hz = 0;
  std::string tool_version;
  std::string source;  ///< name of the file it came from
  std::string sha256;  ///< that file's hash
};

/// One night's result for one metric of one case.
struct NightValue {
  std::string kernel;
  std::string shape;
  MetricKey key;
  double median = 0.0;  ///< over processes
  double spread = 0.0;  ///< standard deviation over processes; 0: one process
  std::int64_t processes = 0;
};

struct MeasuredNight {
  Night night;
  std::vector<NightValue> values;
};

/// The nights in the evidence, one for each card: durations, cycles, the time of each phase, and deterministic counters
/// of whole calls. Without throttled processes and cases that are not correct. Throws Error, with the cure, if the
/// evidence does not name its card and its time, or nothing is left.
std::vector<MeasuredNight> NightsOf(const Evidence& evidence, const std::string& source, const std::string& sha256);

struct HistoryPoint {
  std::size_t night = 0;  ///< index in History::nights
  double median = 0.0;
  double spread = 0.0;
  std::int64_t processes = 0;
};

/// One metric of one case on one card, in order of time.
struct HistorySeries {
  std::string gpu_uuid;
  std::string kernel;
  std::string shape;
  MetricKey key;
  std::vector<HistoryPoint> points;
};

struct History {
  std::vector<Night> nights;          ///< by time, then card
  std::vector<HistorySeries> series;  ///< by card, kernel, shape and metric
};

struct AddedNights {
  std::size_t added = 0;
  std::size_t known = 0;  ///< skipped: the same evidence was already there
};

/// Adds nights to the file, which is created if missing: all of them in one transaction, or none. Waits while another
/// process adds. A night of a card, time and commit that the file has is skipped if it comes from a file with the same
/// content; otherwise Error, or with `replace` it takes the other's place. Throws Error for a file that is not a
/// history, or cannot be written.
AddedNights AddNights(const std::string& path, const std::vector<MeasuredNight>& nights, bool replace);

/// Reads a history. Hostile input: throws Error, with the cure, for anything but a history of this version with its
/// tables and nothing else.
History ReadHistory(const std::string& path);

}  // namespace fa_profile::gate

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fa_profile {

/// A property of a slice that viewers show: a name and a value.
using TimelineFact = std::pair<std::string, std::variant<std::string, std::int64_t, double>>;

/// A stretch of time on a track.
struct TimelineSlice {
  std::string name;
  std::string category;  ///< "kernel", "phase", "nvtx", ...
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::vector<TimelineFact> facts;
  std::vector<TimelineSlice> nested;  ///< inside it, by start; they do not overlap
};

/// A value from a moment on, until the next one.
struct TimelinePoint {
  std::int64_t at_ns = 0;
  double value = 0.0;
};

/// A row of a timeline: a group of tracks, slices, or a counter.
struct TimelineTrack {
  std::string name;
  std::string description;            ///< what a reader must know about it; may be empty
  std::vector<TimelineSlice> slices;  ///< by start; they do not overlap
  std::string unit;                   ///< for a counter
  std::vector<TimelinePoint> points;  ///< for a counter, by time; empty: not a counter
  std::vector<TimelineTrack> tracks;  ///< tracks below it
};

/// Tracks on one clock, which starts at 0. No time is later than kTimelineEndNs.
struct Timeline {
  std::vector<TimelineTrack> tracks;
};

inline constexpr std::int64_t kTimelineEndNs = std::int64_t{1} << 62;

}  // namespace fa_profile

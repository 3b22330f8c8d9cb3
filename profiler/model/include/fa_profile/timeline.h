#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fa_profile {

/// What a viewer shows of a slice: a name and a value.
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
  std::string description;            ///< what a reader must know of it; may be empty
  std::vector<TimelineSlice> slices;  ///< by start; they do not overlap
  std::string unit;                   ///< of a counter
  std::vector<TimelinePoint> points;  ///< of a counter, by time; empty: it is none
  std::vector<TimelineTrack> tracks;  ///< below it
};

/// Tracks on one clock, which starts at 0. No time is later than kTimelineEndNs.
struct Timeline {
  std::vector<TimelineTrack> tracks;
};

inline constexpr std::int64_t kTimelineEndNs = std::int64_t{1} << 62;

}  // namespace fa_profile

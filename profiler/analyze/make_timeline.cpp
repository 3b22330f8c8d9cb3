#include "fa_profile/make_timeline.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "call_times.h"
#include "divide_time.h"
#include "fa_profile/call_name.h"
#include "fa_profile/demangle.h"
#include "fa_profile/timeline_metrics.h"
#include "fa_profile/weigh_gpu_time.h"

namespace fa_profile::analyze {
namespace {

constexpr const char* kStatistical = "share of samples, order not measured";
constexpr const char* kLaidOut = "laid end to end, order not measured";

/// For the whole call, measured in other runs of it.
constexpr const char* kLaunchMetrics[] = {"compute_sol_ratio", "memory_sol_ratio", "tensor_core_utilization_ratio",
                                          "achieved_occupancy_ratio"};

/// Length to which the time between two calls is cut.
constexpr std::int64_t kGapNs = 20'000;

/// Converts recorded times to timeline times: the timeline starts at 0, and if calls were recorded apart, the time
/// between them is cut.
class Clock {
 public:
  /// Something happened between these times. Everything must be added before FirstNs().
  void Add(std::int64_t start_ns, std::int64_t end_ns) { busy_.emplace_back(start_ns, std::max(start_ns, end_ns)); }

  /// `cut`: shorten the gaps.
  void Start(bool cut) {
    std::ranges::sort(busy_);
    std::int64_t at = 0;
    for (const auto& [start, end] : busy_) {
      if (stretches_.empty()) {
        stretches_.push_back({start, end, 0});
        continue;
      }
      Stretch& last = stretches_.back();
      if (start <= last.end_ns || !cut) {
        last.end_ns = std::max(last.end_ns, end);
        continue;
      }
      at = last.at_ns + WholeNs(last.start_ns, last.end_ns) + std::min(WholeNs(last.end_ns, start), kGapNs);
      if (at > kMostWholeNs) break;
      stretches_.push_back({start, end, at});
    }
  }

  /// For a time inside something that was added.
  std::int64_t At(std::int64_t ns) const {
    const auto next = std::ranges::upper_bound(stretches_, ns, {}, &Stretch::start_ns);
    if (next == stretches_.begin()) return 0;
    const Stretch& stretch = *std::prev(next);
    return std::min(stretch.at_ns + WholeNs(stretch.start_ns, ns), kMostWholeNs);
  }

  std::int64_t EndNs() const { return stretches_.empty() ? 0 : At(stretches_.back().end_ns); }

 private:
  struct Stretch {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t at_ns = 0;
  };
  std::vector<std::pair<std::int64_t, std::int64_t>> busy_;
  std::vector<Stretch> stretches_;
};

/// Puts slices onto as few tracks as possible, so that none overlaps another: "stream 7", "stream 7 (2)". `nests`: one
/// inside another becomes its nested slice.
class Lanes {
 public:
  Lanes(std::string name, std::string description, bool nests)
      : name_(std::move(name)), description_(std::move(description)), nests_(nests) {}

  void Add(TimelineSlice slice) { slices_.push_back(std::move(slice)); }

  void TakeTo(std::vector<TimelineTrack>& tracks) {
    std::ranges::stable_sort(slices_, [](const TimelineSlice& a, const TimelineSlice& b) {
      return std::tie(a.start_ns, b.duration_ns) < std::tie(b.start_ns, a.duration_ns);
    });
    std::vector<TimelineTrack> lanes;
    std::int64_t left_out = 0;
    for (TimelineSlice& slice : slices_) {
      auto lane = std::ranges::find_if(lanes, [&](TimelineTrack& each) { return Fits(each.slices, slice); });
      if (lane == lanes.end()) {
        if (lanes.size() == kMostLanes) {
          ++left_out;
          continue;
        }
        lane = lanes.insert(lane, TimelineTrack());
      }
      ListFor(lane->slices, slice).push_back(std::move(slice));
    }
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      lanes[i].name = i == 0 ? name_ : name_ + " (" + std::to_string(i + 1) + ")";
      lanes[i].description = description_;
      if (left_out > 0) lanes[i].description += "; " + std::to_string(left_out) + " that overlap these are left out";
      tracks.push_back(std::move(lanes[i]));
    }
  }

 private:
  static constexpr int kDeepest = 100;
  static constexpr std::size_t kMostLanes = 100;

  static std::int64_t EndOf(const TimelineSlice& slice) { return slice.start_ns + slice.duration_ns; }

  /// Whether `slice` is within `around`, which does not start later.
  static bool IsIn(const TimelineSlice& around, const TimelineSlice& slice) {
    return slice.start_ns < EndOf(around) && EndOf(slice) <= EndOf(around);
  }

  /// The list that a slice belongs to: the lane's, or that of the innermost slice around it.
  std::vector<TimelineSlice>& ListFor(std::vector<TimelineSlice>& lane, const TimelineSlice& slice) const {
    std::vector<TimelineSlice>* list = &lane;
    for (int depth = 0; nests_ && depth < kDeepest && !list->empty() && IsIn(list->back(), slice); ++depth) {
      list = &list->back().nested;
    }
    return *list;
  }

  bool Fits(std::vector<TimelineSlice>& lane, const TimelineSlice& slice) const {
    const std::vector<TimelineSlice>& list = ListFor(lane, slice);
    return list.empty() || EndOf(list.back()) <= slice.start_ns;
  }

  std::string name_;
  std::string description_;
  bool nests_;
  std::vector<TimelineSlice> slices_;
};

std::string ThreeNumbers(const std::array<int, 3>& numbers) {
  return std::to_string(numbers[0]) + ',' + std::to_string(numbers[1]) + ',' + std::to_string(numbers[2]);
}

TimelineSlice SliceOf(const GpuTimeNode& node, std::int64_t start_ns, std::int64_t whole_ns);

/// Lays the nodes out one after the other.
std::vector<TimelineSlice> LayOut(const std::vector<GpuTimeNode>& nodes, std::int64_t start_ns, std::int64_t whole_ns) {
  std::vector<TimelineSlice> slices;
  for (const GpuTimeNode& node : nodes) {
    slices.push_back(SliceOf(node, start_ns, whole_ns));
    start_ns += node.ns;
  }
  return slices;
}

const char* CategoryOf(GpuTimeKind kind) {
  switch (kind) {
    case GpuTimeKind::kRange:
      return "nvtx";
    case GpuTimeKind::kPart:
      return "part";
    case GpuTimeKind::kKernel:
      return "kernel";
    case GpuTimeKind::kPhase:
      return "phase";
    case GpuTimeKind::kLine:
      return "line";
    case GpuTimeKind::kMemory:
      return "memory";
  }
  return "";
}

bool IsStatistical(GpuTimeKind kind) { return kind == GpuTimeKind::kPhase || kind == GpuTimeKind::kLine; }

/// `whole_ns`: length of the enclosing slice.
TimelineSlice SliceOf(const GpuTimeNode& node, std::int64_t start_ns, std::int64_t whole_ns) {
  TimelineSlice slice{node.name, CategoryOf(node.kind), start_ns, node.ns, {}, {}};
  if (IsStatistical(node.kind)) {
    slice.name += " (statistical)";
    slice.facts.emplace_back("statistical", kStatistical);
  } else {
    slice.facts.emplace_back("position", kLaidOut);
  }
  if (whole_ns > 0) {
    slice.facts.emplace_back("share of the enclosing slice",
                             static_cast<double>(node.ns) / static_cast<double>(whole_ns));
  }
  if (!node.file.empty()) slice.facts.emplace_back("file", node.file);
  slice.nested = LayOut(node.nested, start_ns, node.ns);
  return slice;
}

class TimelineMaker {
 public:
  TimelineMaker(const Recording& recording, const Profile& profile, const CodeShares& shares)
      : recording_(recording), profile_(profile), shares_(shares) {
    for (const ProfileEntry& entry : profile.entries) {
      if (entry.part.empty() || !calls_.contains(entry.case_id)) calls_[entry.case_id] = &entry;
      parts_[{entry.case_id, entry.part}] = &entry;
    }
    StartClock();
  }

  Timeline Make(const GpuTime& time) {
    const Device& device = profile_.device;
    TimelineTrack gpu{"GPU " + std::to_string(device.ordinal) + ": " + device.name, {}, {}, {}, {}, {}};
    AddStreams(gpu);
    AddCallsWithoutLaunches(gpu);
    if (profile_.program) AddClasses(gpu);
    AddSamples(gpu);
    AddClocks(gpu);
    if (profile_.program) AddBusy(gpu);
    if (profile_.program && !time.nodes.empty()) {
      gpu.tracks.push_back({"GPU time by NVTX range",
                            std::string("ranges, kernels, phases, source lines; ") + kLaidOut,
                            LayOut(time.nodes, 0, time.total_ns),
                            {},
                            {},
                            {}});
    }
    Timeline timeline;
    if (!gpu.tracks.empty()) timeline.tracks.push_back(std::move(gpu));
    AddHost(timeline);
    return timeline;
  }

 private:
  /// A launch to show, with times: it may stand for launches that were only counted.
  bool IsShown(const Launch& launch) const { return launch.end_ns > 0 && calls_.contains(launch.case_id); }

  void StartClock() {
    for (const Launch& launch : recording_.launches) {
      if (IsShown(launch)) clock_.Add(launch.start_ns, launch.end_ns);
    }
    for (const NvtxRange& range : recording_.nvtx_ranges) {
      if (calls_.contains(range.case_id)) clock_.Add(range.start_ns, range.end_ns);
    }
    for (const WatchWindow& window : recording_.watch_windows) clock_.Add(window.start_ns, window.end_ns);
    clock_.Start(!profile_.program);
  }

  /// A recorded stretch of time, on the timeline.
  TimelineSlice Recorded(std::string name, const char* category, std::int64_t start_ns, std::int64_t end_ns) const {
    const std::int64_t at = clock_.At(start_ns);
    const std::int64_t ns = std::min(WholeNs(start_ns, end_ns), kMostWholeNs - at);
    return {std::move(name), category, at, ns, {{"recorded_start_ns", start_ns}}, {}};
  }

  /// The entry of the launch's part; for a call of one kernel, of the call.
  const ProfileEntry& EntryOf(const Launch& launch) const {
    const auto part = parts_.find({launch.case_id, launch.part});
    return part == parts_.end() ? *calls_.at(launch.case_id) : *part->second;
  }

  TimelineSlice SliceOfLaunch(const Launch& launch) const {
    const ProfileEntry& entry = EntryOf(launch);
    TimelineSlice slice = Recorded(ShortName(launch.kernel_name), "kernel", launch.start_ns, launch.end_ns);
    auto& facts = slice.facts;
    facts.emplace_back("kernel", launch.kernel_name);
    facts.emplace_back("call", CallName(entry.kernel, entry.shape, launch.part));
    facts.emplace_back("grid", ThreeNumbers(launch.grid));
    facts.emplace_back("block", ThreeNumbers(launch.block));
    if (launch.cluster[0] > 0) facts.emplace_back("cluster", ThreeNumbers(launch.cluster));
    facts.emplace_back("registers_per_thread", std::int64_t{launch.registers_per_thread});
    facts.emplace_back("shared_memory_bytes",
                       WholeNs(launch.static_shared_memory_bytes) + WholeNs(launch.dynamic_shared_memory_bytes));
    facts.emplace_back("stream", std::int64_t{launch.stream});
    facts.emplace_back("correlation", std::int64_t{launch.correlation});
    if (!entry.bottleneck.empty()) facts.emplace_back("bottleneck", entry.bottleneck);
    for (const char* const id : kLaunchMetrics) {
      const auto metric = entry.metrics.find(id);
      if (metric != entry.metrics.end()) facts.emplace_back(id, metric->second);
    }
    if (entry.verification) facts.emplace_back("correct", entry.verification->correct() ? "yes" : "no");
    slice.nested =
        LayOut(PhaseNodes(shares_.Of(launch.case_id, launch.part, launch.kernel_name), slice.duration_ns, false),
               slice.start_ns, slice.duration_ns);
    return slice;
  }

  /// One track for each stream, and for each CUDA graph.
  void AddStreams(TimelineTrack& gpu) const {
    std::map<std::pair<bool, std::uint32_t>, Lanes> lanes;  // streams first
    const std::string about = profile_.program ? "one recorded launch of each launch class, at its time"
                                               : "one recorded call of each case; the time between calls is cut";
    for (const Launch& launch : recording_.launches) {
      if (!IsShown(launch)) continue;
      const bool in_graph = launch.graph != 0;
      const std::uint32_t number = in_graph ? launch.graph : launch.stream;
      const std::string name = (in_graph ? std::string(kGraphCase) : "stream ") + std::to_string(number);
      const auto lane = lanes.try_emplace({in_graph, number}, name, about, /*nests=*/false);
      lane.first->second.Add(SliceOfLaunch(launch));
    }
    for (auto& [key, lane] : lanes) lane.TakeTo(gpu.tracks);
  }

  void AddCallsWithoutLaunches(TimelineTrack& gpu) const {
    if (profile_.program) return;
    std::vector<GpuTimeNode> nodes;
    std::int64_t left = kMostWholeNs;
    for (const CallTimes& call : TimesOfCalls(profile_)) {
      const bool launched = !call.first->launches.empty() || std::ranges::any_of(call.parts, [](const auto& part) {
        return !part.entry->launches.empty();
      });
      if (launched || call.ns > left) continue;
      left -= call.ns;
      const ProfileEntry& entry = *call.first;
      nodes.push_back({GpuTimeKind::kKernel,
                       CallName(entry.kernel, entry.shape),
                       call.ns,
                       {},
                       0,
                       PhaseNodes(shares_.Of(entry.case_id, entry.part, {}), call.ns, false)});
    }
    if (nodes.empty()) return;
    gpu.tracks.push_back({"calls without recorded launches",
                          std::string("median durations, ") + kLaidOut,
                          LayOut(nodes, 0, 0),
                          {},
                          {},
                          {}});
  }

  // All launches of a program, by what launched them.

  static TimelineSlice SliceOfClass(const ProfileEntry& entry, std::int64_t launches, std::int64_t ns,
                                    std::int64_t start_ns) {
    TimelineSlice slice{entry.kernel, "kernel", start_ns, ns, {{"position", kLaidOut}, {"launches", launches}}, {}};
    if (launches != entry.use->launches) {
      slice.facts.emplace_back("estimated", "this class was launched both ways: its time is divided by launches");
    }
    if (!entry.launches.empty()) slice.facts.emplace_back("kernel", entry.launches.front().kernel_name);
    return slice;
  }

  void AddClasses(TimelineTrack& gpu) const {
    const std::string about = std::string("all launches of the program by launch class, ") + kLaidOut;
    TimelineTrack streams{"launched into streams", about, {}, {}, {}, {}};
    TimelineTrack graphs{"launched by CUDA graphs", about, {}, {}, {}, {}};
    std::array<std::int64_t, 2> ends{};
    for (const ProfileEntry& entry : profile_.entries) {
      if (!entry.use || entry.use->launches <= 0 || !entry.part.empty()) continue;
      const KernelUse& use = *entry.use;
      const double in_graphs = static_cast<double>(use.graph_launches) / static_cast<double>(use.launches);
      const std::int64_t ns = std::min(WholeNs(use.total_ns), kMostWholeNs - std::max(ends[0], ends[1]));
      const std::int64_t graph_ns = Portions(ns, {in_graphs}).front();
      const auto add = [&](TimelineTrack& track, std::int64_t& end, std::int64_t launches, std::int64_t part_ns) {
        if (launches <= 0) return;
        TimelineSlice slice = SliceOfClass(entry, launches, part_ns, end);
        slice.nested = LayOut(PhaseNodes(shares_.Of(entry.case_id, {}, {}), part_ns, false), end, part_ns);
        track.slices.push_back(std::move(slice));
        end += part_ns;
      };
      add(streams, ends[0], use.launches - use.graph_launches, ns - graph_ns);
      add(graphs, ends[1], use.graph_launches, graph_ns);
    }
    for (TimelineTrack* const track : {&streams, &graphs}) {
      if (!track->slices.empty()) gpu.tracks.push_back(std::move(*track));
    }
  }

  // Counters.

  /// Where the call of each case begins on the timeline.
  std::map<std::int64_t, std::int64_t> StartsOfCalls() const {
    std::map<std::int64_t, std::int64_t> starts;
    for (const Launch& launch : recording_.launches) {
      if (!IsShown(launch)) continue;
      const auto [place, is_new] = starts.try_emplace(launch.case_id, clock_.At(launch.start_ns));
      if (!is_new) place->second = std::min(place->second, clock_.At(launch.start_ns));
    }
    return starts;
  }

  /// One counter for each PM sampling metric. The samples come from other launches of the call than the slice.
  void AddSamples(TimelineTrack& gpu) const {
    const std::map<std::int64_t, std::int64_t> starts = StartsOfCalls();
    std::map<std::string, std::vector<TimelinePoint>> points;
    for (const PmSample& sample : recording_.pm_samples) {
      const auto start = starts.find(sample.case_id);
      if (start == starts.end()) continue;
      const std::int64_t at = std::min(start->second + WholeNs(sample.start_ns), kMostWholeNs);
      points[sample.metric].push_back({at, sample.value});
    }
    for (const TimelineMetric& metric : TimelineMetrics()) {
      const auto found = points.find(std::string(metric.id));
      if (found == points.end()) continue;
      std::ranges::stable_sort(found->second, {}, &TimelinePoint::at_ns);
      gpu.tracks.push_back({std::string(metric.label),
                            "PM sampling of another launch of the call, from its first activity on",
                            {},
                            "%",
                            std::move(found->second),
                            {}});
    }
  }

  void AddClocks(TimelineTrack& gpu) const {
    AddClock(gpu, "SM clock", "MHz", [](const ClockSample& sample) { return Scaled(sample.sm_hz, 1e-6); });
    AddClock(gpu, "memory clock", "MHz", [](const ClockSample& sample) { return Scaled(sample.memory_hz, 1e-6); });
    AddClock(gpu, "temperature", "C", [](const ClockSample& sample) { return sample.temperature_celsius; });
    AddClock(gpu, "power", "W", [](const ClockSample& sample) { return sample.power_watts; });
  }

  static std::optional<double> Scaled(const std::optional<std::int64_t>& value, double factor) {
    if (!value) return std::nullopt;
    return static_cast<double>(*value) * factor;
  }

  template <typename Value>
  void AddClock(TimelineTrack& gpu, const char* name, const char* unit, const Value& value) const {
    TimelineTrack track{name, "read before and after the measurement: at the beginning and the end", {}, unit, {}, {}};
    for (const ClockSample& sample : profile_.clocks) {
      const std::optional<double> read = value(sample);
      if (read) track.points.push_back({sample.when == "before" ? 0 : clock_.EndNs(), *read});
    }
    std::ranges::stable_sort(track.points, {}, &TimelinePoint::at_ns);
    if (!track.points.empty()) gpu.tracks.push_back(std::move(track));
  }

  void AddBusy(TimelineTrack& gpu) const {
    TimelineTrack track{"GPU busy", "mean of each watch window", {}, "%", {}, {}};
    std::int64_t end = 0;
    for (const WatchWindow& window : recording_.watch_windows) {
      const std::int64_t watched = WholeNs(window.start_ns, window.end_ns) - WholeNs(window.measuring_ns);
      if (watched <= 0) continue;
      const double busy = static_cast<double>(WholeNs(window.busy_ns)) / static_cast<double>(watched);
      track.points.push_back({clock_.At(window.start_ns), 100.0 * std::min(busy, 1.0)});
      end = std::max(end, clock_.At(window.end_ns));
    }
    std::ranges::stable_sort(track.points, {}, &TimelinePoint::at_ns);
    if (track.points.empty()) return;
    track.points.push_back({std::max(end, track.points.back().at_ns), track.points.back().value});
    gpu.tracks.push_back(std::move(track));
  }

  void AddHost(Timeline& timeline) const {
    std::map<std::uint32_t, Lanes> threads;
    for (const NvtxRange& range : recording_.nvtx_ranges) {
      if (!calls_.contains(range.case_id)) continue;
      const std::string name = range.domain.empty() ? range.name : range.domain + ": " + range.name;
      TimelineSlice slice = Recorded(name, "nvtx", range.start_ns, range.end_ns);
      const auto lane = threads.try_emplace(range.thread, "NVTX, thread " + std::to_string(range.thread),
                                            "ranges of the host's thread", /*nests=*/true);
      lane.first->second.Add(std::move(slice));
    }
    TimelineTrack host{"Host", {}, {}, {}, {}, {}};
    for (auto& [thread, lane] : threads) lane.TakeTo(host.tracks);
    if (!host.tracks.empty()) timeline.tracks.push_back(std::move(host));
  }

  const Recording& recording_;
  const Profile& profile_;
  const CodeShares& shares_;
  std::map<std::int64_t, const ProfileEntry*> calls_;                          // by case
  std::map<std::pair<std::int64_t, std::string>, const ProfileEntry*> parts_;  // by case and part
  Clock clock_;
};

}  // namespace

Timeline MakeTimeline(const Recording& recording, const Profile& profile, const std::optional<PhaseMap>& map,
                      PhaseSource source, const std::set<std::string>& ranges) {
  const CodeShares shares(recording, profile, map, source);
  const GpuTime time = profile.program ? WeighGpuTime(recording, profile, map, source, ranges) : GpuTime();
  return TimelineMaker(recording, profile, shares).Make(time);
}

}  // namespace fa_profile::analyze

#include "fa_profile/analyze.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <string_view>

#include "bottleneck.h"
#include "call_timeline.h"
#include "derive.h"
#include "fa_profile/call_name.h"
#include "fa_profile/findings.h"
#include "fa_profile/measured_code.h"
#include "fa_profile/occupancy.h"
#include "fa_profile/phases.h"
#include "fa_profile/units.h"
#include "phase_sums.h"
#include "program.h"

namespace fa_profile::analyze {
namespace {

/// Share of a kernel's time that may belong to no phase before a DataLoss reports it.
constexpr double kUnattributedRatio = 0.05;

/// Everything that a recording says about one case. Pointers into the recording.
struct CaseData {
  const Case* kernel_case = nullptr;
  const Verification* verification = nullptr;
  const Judgement* judgement = nullptr;
  std::vector<const Timing*> timings;
  std::vector<const Launch*> launches;
  std::vector<const Range*> ranges;
  std::vector<const PmSample*> pm_samples;

  bool incorrect() const {
    return (verification != nullptr && !verification->correct()) || (judgement != nullptr && judgement->refused());
  }
};

std::vector<CaseData> CollectCases(const Recording& recording) {
  std::vector<CaseData> cases;
  std::map<std::int64_t, std::size_t> index;
  for (const Case& kernel_case : recording.cases) {
    if (index.emplace(kernel_case.id, cases.size()).second) cases.emplace_back().kernel_case = &kernel_case;
  }
  const auto give = [&](const auto& values, const auto& take) {
    for (const auto& value : values) {
      if (const auto found = index.find(value.case_id); found != index.end()) take(cases[found->second], &value);
    }
  };
  give(recording.verifications, [](CaseData& data, const Verification* value) { data.verification = value; });
  give(recording.judgements, [](CaseData& data, const Judgement* value) { data.judgement = value; });
  give(recording.timings, [](CaseData& data, const Timing* value) { data.timings.push_back(value); });
  give(recording.launches, [](CaseData& data, const Launch* value) { data.launches.push_back(value); });
  give(recording.ranges, [](CaseData& data, const Range* value) { data.ranges.push_back(value); });
  give(recording.pm_samples, [](CaseData& data, const PmSample* value) { data.pm_samples.push_back(value); });
  return cases;
}

/// Value at a fraction of the way through sorted samples, linear between neighbours.
double Quantile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Medians of at most 24 stretches.
std::vector<double> TrendOf(const std::vector<double>& durations) {
  constexpr std::size_t kStretches = 24;
  const std::size_t stretch = (durations.size() + kStretches - 1) / kStretches;
  std::vector<double> trend;
  for (std::size_t begin = 0; begin < durations.size(); begin += stretch) {
    const auto first = durations.begin() + static_cast<std::ptrdiff_t>(begin);
    std::vector<double> sorted(first, first + static_cast<std::ptrdiff_t>(std::min(stretch, durations.size() - begin)));
    std::ranges::sort(sorted);
    trend.push_back(Quantile(sorted, 0.5));
  }
  return trend;
}

std::optional<TimingSummary> Summarize(const std::string& method, std::vector<double> sorted) {
  std::erase_if(sorted, [](double duration) { return !std::isfinite(duration) || duration <= 0.0; });
  if (sorted.empty()) return std::nullopt;
  TimingSummary summary;
  summary.trend_ns = TrendOf(sorted);
  std::ranges::sort(sorted);
  summary.method = method;
  summary.samples = sorted.size();
  summary.median_ns = Quantile(sorted, 0.5);
  summary.p05_ns = Quantile(sorted, 0.05);
  summary.p95_ns = Quantile(sorted, 0.95);
  summary.min_ns = sorted.front();
  summary.spread_ratio = (summary.p95_ns - summary.p05_ns) / summary.median_ns;
  return summary;
}

/// Names of a case's parts, in the order they first appear: launches are in launch order, so they come first.
std::vector<std::string> PartsOf(const CaseData& data) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& part) {
    if (!part.empty() && std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
  };
  for (const Launch* launch : data.launches) add(launch->part);
  for (const Range* range : data.ranges) add(range->part);
  for (const Timing* timing : data.timings) add(timing->part);
  return parts;
}

/// From the first series of the part, and the later ones with the same method: a watched program writes several.
std::optional<TimingSummary> TimingOf(const CaseData& data, const std::string& part) {
  const Timing* first = nullptr;
  std::vector<double> durations;
  std::vector<double> clocks;
  for (const Timing* timing : data.timings) {
    if (timing->part != part) continue;
    if (first == nullptr) first = timing;
    if (timing->method != first->method) continue;
    std::ranges::copy(timing->durations_ns, std::back_inserter(durations));
    if (timing->sm_clock_hz.value_or(0.0) > 0.0) clocks.push_back(*timing->sm_clock_hz);
  }
  auto summary = first == nullptr ? std::nullopt : Summarize(first->method, std::move(durations));
  if (summary && !clocks.empty()) {
    summary->sm_clock_hz = std::accumulate(clocks.begin(), clocks.end(), 0.0) / static_cast<double>(clocks.size());
    summary->median_cycles = summary->median_ns * 1e-9 * *summary->sm_clock_hz;
  }
  return summary;
}

std::optional<double> SumOfPartMedians(const CaseData& data, const std::vector<std::string>& parts) {
  double sum = 0.0;
  for (const std::string& part : parts) {
    const auto timing = TimingOf(data, part);
    if (!timing) return std::nullopt;
    sum += timing->median_ns;
  }
  return sum;
}

std::vector<StallShare> StallsOf(const Metrics& metrics) {
  constexpr std::string_view kPrefix = "stall_";
  constexpr std::string_view kSuffix = "_ratio";
  std::vector<StallShare> stalls;
  for (const auto& [id, ratio] : metrics) {
    if (!id.starts_with(kPrefix) || ratio <= 0.0) continue;
    stalls.push_back({id.substr(kPrefix.size(), id.size() - kPrefix.size() - kSuffix.size()), ratio});
  }
  std::ranges::stable_sort(stalls, std::greater<>(), &StallShare::ratio);
  return stalls;
}

/// Counters by SASS instruction do not count what a CUDA graph launches: they read 0 (H200, driver 580.159.04).
bool CountsInGraphs(std::string_view counter) { return counter.find("__sass_") == std::string_view::npos; }

void DropSpeeds(Metrics& metrics) {
  std::erase_if(metrics, [](const auto& item) {
    const std::string_view unit = FindMetric(item.first)->unit;
    return unit == "seconds" || unit.ends_with("_per_second");
  });
}

class CaseAnalyzer {
 public:
  CaseAnalyzer(const Recording& recording, const CaseData& data, const std::optional<PhaseMap>& map, PhaseSource source)
      : recording_(recording),
        device_(recording.device),
        user_ranges_(recording.session.replay_mode == "user" || recording.session.replay_mode == "spread"),
        map_(map),
        source_(source),
        data_(data),
        parts_(PartsOf(data)) {
    // A call of one kernel is its only part: one entry says it all.
    if (parts_.size() == 1) {
      single_part_ = parts_.front();
      parts_.clear();
    }
  }

  void AddEntries(std::vector<ProfileEntry>& entries) const {
    if (SaysSomethingOfTheCall()) AddEntriesOf({}, entries);
    for (const std::string& part : parts_) AddEntriesOf(part, entries);
  }

 private:
  /// A program that was replayed kernel by kernel was never measured as a whole.
  bool SaysSomethingOfTheCall() const {
    return parts_.empty() || data_.verification != nullptr || !RangesOf({}).empty() || !data_.pm_samples.empty() ||
           TimingOf(data_, {});
  }

  void AddEntriesOf(const std::string& part, std::vector<ProfileEntry>& entries) const {
    std::vector<const Range*> ranges = RangesOf(part);
    if (ranges.empty() && part.empty()) ranges = RangesOf(single_part_);
    if (ranges.empty()) ranges.push_back(nullptr);
    int number = 0;
    for (const Range* range : ranges) {
      ProfileEntry entry = MakeEntry(part, range);
      if (++number > 1) {
        entry.part += part.empty() ? "#" : " #";
        entry.part += std::to_string(number);
      } else {
        entry.phases = AnalyzePhases(recording_, entry, map_, source_);
        if (part.empty() && !data_.incorrect()) entry.timeline = CallTimelineOf(data_.pm_samples);
      }
      if (part.empty()) {
        const auto counting = std::ranges::find_if(recording_.countings, [&](const SassCounting& each) {
          return each.case_id == data_.kernel_case->id && each.part.empty();
        });
        entry.findings = FindProblems(entry, device_, MeasuredFunctions(recording_, data_.kernel_case->id),
                                      counting == recording_.countings.end() ? nullptr : &*counting);
      }
      entries.push_back(std::move(entry));
    }
  }

  std::vector<const Range*> RangesOf(const std::string& part) const {
    std::vector<const Range*> ranges;
    for (const Range* range : data_.ranges) {
      if (range->part == part) ranges.push_back(range);
    }
    return ranges;
  }

  // For attention it follows from the shape.
  static Work WorkOf(const Case& of) {
    const AttentionShape* const attention = of.shape ? of.shape->attention() : nullptr;
    return attention != nullptr ? Work{attention->Flops(), std::nullopt} : of.work;
  }

  ProfileEntry MakeEntry(const std::string& part, const Range* range) const {
    ProfileEntry entry;
    entry.case_id = data_.kernel_case->id;
    entry.kernel = data_.kernel_case->kernel;
    entry.origin = data_.kernel_case->origin;
    entry.shape = data_.kernel_case->shape;
    entry.work = WorkOf(*data_.kernel_case);
    entry.part = part;
    if (data_.verification != nullptr) entry.verification = *data_.verification;
    if (!data_.incorrect()) {
      entry.timing = TimingOf(data_, part);
      if (!entry.timing && part.empty() && !single_part_.empty()) entry.timing = TimingOf(data_, single_part_);
    }
    for (const Launch* launch : data_.launches) {
      if (part.empty() || launch->part == part) entry.launches.push_back(*launch);
    }
    if (const Launch* longest = LongestLaunch(entry.launches)) {
      entry.occupancy = TheoreticalOccupancy(device_, *longest);
    }
    if (data_.judgement != nullptr) Judge(entry, range);
    entry.has_counters = range != nullptr && !range->metrics.empty();
    Derived derived = Derive(entry, range);
    entry.metrics = std::move(derived.metrics);
    entry.contradictory = std::move(derived.contradictory);
    if (entry.correct() == false) DropSpeeds(entry.metrics);
    entry.stalls = StallsOf(entry.metrics);
    entry.bottleneck = BottleneckOf(entry);
    entry.bottleneck_evidence = BottleneckEvidence(entry);
    return entry;
  }

  // If the measured call is not the certified one, its speed is not a result.
  void Judge(ProfileEntry& entry, const Range* range) const {
    entry.judgement = *data_.judgement;
    if (!entry.part.empty()) return;
    MeasuredCall measured;
    if (entry.timing) measured.median_ns = entry.timing->median_ns;
    if (range != nullptr && user_ranges_) measured.instructions = ExecutedInstructions(range->metrics);
    entry.not_as_certified = WhyNotAsCertified(*data_.judgement, measured);
    if (!entry.not_as_certified.empty()) entry.timing.reset();
  }

  Derived Derive(const ProfileEntry& entry, const Range* range) const {
    DeriveInputs inputs;
    inputs.device = &device_;
    inputs.counters = range == nullptr ? nullptr : &range->metrics;
    Metrics of_graph;
    if (range != nullptr && entry.kernel.starts_with(kGraphCase)) {
      std::ranges::copy_if(range->metrics, std::inserter(of_graph, of_graph.end()),
                           [](const auto& metric) { return CountsInGraphs(metric.first); });
      inputs.counters = &of_graph;
    }
    inputs.user_ranges = user_ranges_;
    inputs.launches = &entry.launches;
    inputs.occupancy = entry.occupancy ? &*entry.occupancy : nullptr;
    inputs.timing = entry.timing ? &*entry.timing : nullptr;
    if (entry.part.empty()) {
      inputs.work = entry.work;
      inputs.several_kernels = parts_.size() > 1;
      if (inputs.several_kernels) inputs.parts_median_ns = SumOfPartMedians(data_, parts_);
    }
    return DeriveMetrics(inputs);
  }

  const Recording& recording_;
  const Device& device_;
  bool user_ranges_;
  const std::optional<PhaseMap>& map_;
  PhaseSource source_;
  const CaseData& data_;
  std::vector<std::string> parts_;  ///< empty for a call of one kernel
  std::string single_part_;         ///< the name of its part, if the recording has one
};

/// Names the counters that a metric needs and the recording lacks, for the alternative that lacks the fewest.
std::string MissingInputs(std::string_view formula, const std::set<std::string>& known) {
  std::vector<std::string> fewest;
  bool first = true;
  for (std::size_t start = 0; start <= formula.size();) {
    const std::size_t end = std::min(formula.find('|', start), formula.size());
    std::vector<std::string> missing;
    for (std::string& name : FormulaNames(formula.substr(start, end - start))) {
      if (name.find("__") != std::string::npos && !known.contains(name)) missing.push_back(std::move(name));
    }
    if (first || missing.size() < fewest.size()) fewest = std::move(missing);
    first = false;
    start = end + 1;
  }
  std::string text;
  for (const std::string& name : fewest) text += (text.empty() ? "" : ", ") + name;
  return text;
}

const Range* FindRange(const Recording& recording, std::int64_t case_id) {
  const auto found = std::ranges::find(recording.ranges, case_id, &Range::case_id);
  return found == recording.ranges.end() ? nullptr : &*found;
}

/// One DataLoss for the graphs whose counters by instruction are left out.
void AddGraphLoss(const Recording& recording, Profile& profile) {
  std::int64_t graphs = 0;
  for (const ProfileEntry& entry : profile.entries) {
    const Range* const range = entry.kernel.starts_with(kGraphCase) ? FindRange(recording, entry.case_id) : nullptr;
    if (range != nullptr && !std::ranges::all_of(range->metrics, CountsInGraphs, &Metrics::value_type::first)) ++graphs;
  }
  if (graphs == 0) return;
  profile.losses.push_back({"graph_not_counted", "CUDA graphs",
                            "counters by instruction (..__sass_..) count nothing there: floating-point operations and "
                            "shared-memory requests are missing; the kernels by themselves have them",
                            graphs});
}

/// One DataLoss for each metric that reads counters and that no entry has, naming what the recording lacks.
void AddUnderived(const Recording& recording, Profile& profile) {
  std::set<std::string> known;
  for (const Range& range : recording.ranges) {
    for (const auto& [name, value] : range.metrics) known.insert(name);
  }
  if (known.empty()) return;
  for (const CatalogueMetric& metric : MetricCatalogue()) {
    const bool present = std::ranges::any_of(profile.entries, [&](const ProfileEntry& entry) {
      return entry.metrics.contains(std::string(metric.id)) || std::ranges::count(entry.contradictory, metric.id) > 0;
    });
    if (present) continue;
    const std::string missing = MissingInputs(metric.formula, known);
    if (!missing.empty()) profile.losses.push_back({"metric_not_derived", std::string(metric.id), missing, 1});
  }
}

/// One DataLoss for each table with much unattributed time, and for each sum that does not close.
void AddPhaseLosses(Profile& profile) {
  for (const ProfileEntry& entry : profile.entries) {
    if (!entry.phases) continue;
    const std::string subject = CallName(entry.kernel, entry.shape, entry.part);
    for (const Closure& closure : entry.phases->closures) {
      if (!closure.closes()) {
        profile.losses.push_back(
            {"phase_sums_open", subject, closure.quantity + " of the phases do not add up to those of the kernel", 1});
      }
    }
    const auto ratio = Find(entry.phases->phases.back().metrics, "phase_time_ratio");  // the unattributed phase
    if (!ratio || *ratio <= kUnattributedRatio) continue;
    profile.losses.push_back(
        {"phase_unattributed", subject,
         Percent(*ratio, 0) + " of the time belongs to no phase (" + entry.phases->attribution + ")", 1});
  }
}

/// One DataLoss for each ratio that was left out.
void AddContradictions(Profile& profile) {
  for (const ProfileEntry& entry : profile.entries) {
    if (std::ranges::any_of(entry.contradictory, IsWarpState)) {
      profile.losses.push_back({"metric_contradictory",
                                "warp states of " + CallName(entry.kernel, entry.shape, entry.part),
                                "they do not add up to 100 %: their counters come from different passes", 1});
    }
    for (const std::string& id : entry.contradictory) {
      if (IsWarpState(id)) continue;
      profile.losses.push_back(
          {"metric_contradictory",
           std::string(FindMetric(id)->label) + " of " + CallName(entry.kernel, entry.shape, entry.part),
           "outside 0 to 100 %: its counters come from different passes and contradict each other", 1});
    }
    for (const PhaseEntry& phase : entry.phases ? entry.phases->phases : std::vector<PhaseEntry>()) {
      for (const std::string& id : phase.contradictory) {
        profile.losses.push_back({"phase_contradictory",
                                  std::string(FindPhaseMetric(id)->label) + " in " + phase.name + " of " +
                                      CallName(entry.kernel, entry.shape, entry.part),
                                  "above 100 %: the phase's work also runs while warps are sampled in other phases",
                                  1});
      }
    }
  }
}

/// One DataLoss for samples over the time of a call that no chart can show.
void AddTimelineLoss(const CaseData& data, std::vector<DataLoss>& losses) {
  const std::int64_t left_out = data.incorrect() ? 0 : LeftOutOf(data.pm_samples);
  if (left_out == 0) return;
  losses.push_back({"timeline_left_out", CallName(data.kernel_case->kernel, data.kernel_case->shape),
                    "samples over the time of the call that are negative, without length or of an unknown metric",
                    left_out});
}

}  // namespace

Profile Analyze(const Recording& recording, const std::optional<PhaseMap>& map, PhaseSource source) {
  Profile profile;
  profile.session = recording.session;
  profile.device = recording.device;
  profile.clocks = recording.clocks;
  profile.losses = recording.losses;
  if (!recording.session.complete) {
    profile.losses.push_back(
        {"recording_incomplete", "session", "the run ended early; what was recorded is complete", 1});
  }
  for (const CaseData& data : CollectCases(recording)) {
    CaseAnalyzer(recording, data, map, source).AddEntries(profile.entries);
    AddTimelineLoss(data, profile.losses);
  }
  AddProgram(recording, profile);
  AddContradictions(profile);
  AddPhaseLosses(profile);
  if (map) std::ranges::copy(OverlapsOf(*map), std::back_inserter(profile.losses));
  AddGraphLoss(recording, profile);
  AddUnderived(recording, profile);
  return profile;
}

std::vector<std::string> MetricsForAnalysis() {
  std::vector<std::string> names = CatalogueInputs();
  std::ranges::copy(ClosureInputs(), std::back_inserter(names));
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace fa_profile::analyze

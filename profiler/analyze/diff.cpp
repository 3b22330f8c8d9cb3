#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "derive.h"
#include "diff_noise.h"
#include "diff_waits.h"
#include "fa_profile/analyze.h"
#include "fa_profile/call_name.h"
#include "fa_profile/phase_map.h"

namespace fa_profile::analyze {
namespace {

/// Clocks of two runs that differ by more than this mean another policy, not jitter.
constexpr double kClockTolerance = 0.05;

/// A kernel's share of the time varies by this much between runs.
constexpr double kKernelShareTolerance = 0.01;

/// The overlap in a short call comes from few samples.
constexpr double kOverlapTolerance = 0.05;

std::string ShapeOf(const ProfileEntry& entry) { return entry.shape ? entry.shape->ToString() : std::string(); }

std::string NameOf(const ProfileEntry& entry) { return CallName(entry.kernel, entry.shape, entry.part); }

/// Key for finding an entry on the other side. A launch class's name depends on the others in its recording, so its
/// launch decides.
std::string MatchKey(const Profile& profile, const ProfileEntry& entry) {
  if (!profile.program || !entry.part.empty() || entry.shape || entry.launches.empty())
    return entry.kernel + '\0' + ShapeOf(entry) + '\0' + entry.part;
  const Launch& launch = entry.launches.front();
  std::string key = launch.kernel_name;
  for (const auto* extents : {&launch.grid, &launch.block, &launch.cluster}) {
    for (const int extent : *extents) key.append(" ").append(std::to_string(extent));
  }
  return key;
}

void CheckSame(const std::string& what, const std::string& before, const std::string& after,
               std::vector<std::string>& reasons) {
  if (before != after) reasons.push_back(what + ": " + before + " before, " + after + " after");
}

std::optional<std::int64_t> SmClock(const Profile& profile) {
  for (const ClockSample& sample : profile.clocks) {
    if (sample.when == "before") return sample.sm_hz;
  }
  return std::nullopt;
}

std::vector<std::string> Incomparable(const Profile& before, const Profile& after) {
  std::vector<std::string> reasons;
  CheckSame("GPU", before.device.name, after.device.name, reasons);
  CheckSame("driver", before.device.driver_version, after.device.driver_version, reasons);
  CheckSame("metric set", before.session.metric_set, after.session.metric_set, reasons);
  CheckSame("replay mode", before.session.replay_mode, after.session.replay_mode, reasons);
  CheckSame("cache policy", before.session.cache_policy, after.session.cache_policy, reasons);
  const auto a = SmClock(before);
  const auto b = SmClock(after);
  if (a && b && *a > 0 &&
      std::abs(static_cast<double>(*b) - static_cast<double>(*a)) > kClockTolerance * static_cast<double>(*a)) {
    CheckSame("SM clock", std::to_string(*a / 1000000) + " MHz", std::to_string(*b / 1000000) + " MHz", reasons);
  }
  return reasons;
}

bool OnTwoCards(const Device& before, const Device& after) {
  return before.name == after.name && !before.uuid.empty() && !after.uuid.empty() && before.uuid != after.uuid;
}

/// `judged`: the two are comparable but for that.
std::vector<std::string> Notes(const Profile& before, const Profile& after, bool judged) {
  if (!OnTwoCards(before.device, after.device)) return {};
  std::string note = "two cards: " + before.device.uuid + " before, " + after.device.uuid + " after";
  if (judged) {
    note += "; equal code differs by up to " + std::to_string(std::lround(CardError() * 100.0)) +
            " % in time between cards of one model, so a smaller difference counts as the same";
  }
  return {note};
}

/// How the two profiles are compared.
struct Terms {
  double min_ratio = 0.0;
  bool two_cards = false;
};

/// A phase's count that moved by less than this share of the kernel's does not make the kernel better or worse; the
/// gate's limit.
constexpr double kCountTolerance = 0.005;

/// Counts, the metrics of these units, add up over phases.
bool AddsUp(std::string_view unit) {
  return unit == "instructions" || unit == "count" || unit == "bytes" || unit == "sectors" || unit == "flops";
}

/// `whole`: the kernel's count, if the values are a phase's.
std::string Judge(const CatalogueMetric& metric, double before, double after, double whole) {
  if (metric.polarity == Polarity::kNeutral || std::abs(after - before) < kCountTolerance * whole) return "changed";
  return (after > before) == (metric.polarity == Polarity::kHigherIsBetter) ? "better" : "worse";
}

/// Readers' first questions come first: how long the call takes, then where its time went, then everything else.
int Group(const MetricChange& change) {
  if (change.metric == "duration_seconds") return 0;
  if (change.metric == "phase_time_seconds") return 1;
  return change.phase.empty() ? 2 : 3;
}

/// Sort key: new and vanished metrics last, a change from zero first. Times of phases sort by how many seconds they
/// moved: they are parts of one time.
double Weight(const MetricChange& change) {
  if (Group(change) == 1 && change.before && change.after) return std::abs(*change.after - *change.before);
  if (change.ratio) return std::abs(*change.ratio);
  if (!change.before || !change.after) return -1.0;
  return *change.before == *change.after ? 0.0 : std::numeric_limits<double>::infinity();
}

/// Why only one side has a count. A side that counted the phase's instructions may still lack this count, such as the
/// bytes of TMA copies.
std::string OneSided(const CatalogueMetric& metric, const Metrics& before, const Metrics& after, bool is_new) {
  const bool adds_up = metric.unit == "bytes" || metric.unit == "sectors" || metric.unit == "count";
  if (adds_up && Find(is_new ? before : after, "phase_instructions")) return "not counted";
  return is_new ? "new" : "gone";
}

/// The metrics of a catalogue on both sides. `change` says whose they are; `wholes`: for a phase, the kernel's counts.
void CompareMetrics(std::span<const CatalogueMetric> catalogue, const Metrics& before, const Metrics& after,
                    double min_ratio, const DiffNoise& noise, const Metrics& wholes, MetricChange change,
                    std::vector<MetricChange>& changes) {
  for (const CatalogueMetric& metric : catalogue) {
    change.metric = metric.id;
    change.before = Find(before, change.metric);
    change.after = Find(after, change.metric);
    change.ratio.reset();
    if (!change.before && !change.after) continue;
    if (!change.before || !change.after) {
      change.judgement = OneSided(metric, before, after, !change.before);
    } else {
      const double difference = *change.after - *change.before;
      if (*change.before != 0.0) change.ratio = difference / std::abs(*change.before);
      const bool same = difference == 0.0 || noise.Covers(metric, *change.before, *change.after, min_ratio);
      const double whole = Find(wholes, change.metric).value_or(0.0);
      change.judgement = same ? "same" : Judge(metric, *change.before, *change.after, whole);
    }
    changes.push_back(change);
  }
}

/// Sums over the phases.
Metrics CountsOf(const PhaseTable& table) {
  Metrics counts;
  for (const CatalogueMetric& metric : PhaseCatalogue()) {
    if (!AddsUp(metric.unit)) continue;
    for (const PhaseEntry& phase : table.phases) {
      if (const auto count = Find(phase.metrics, std::string(metric.id))) counts[std::string(metric.id)] += *count;
    }
  }
  return counts;
}

/// Phases by name; a side without the phase has no metrics there.
void ComparePhases(const ProfileEntry& before, const ProfileEntry& after, const Terms& terms, MetricChange change,
                   std::vector<MetricChange>& changes) {
  if (!before.phases || !after.phases) return;
  std::vector<std::string> names;
  for (const PhaseTable* table : {&*before.phases, &*after.phases}) {
    for (const PhaseEntry& phase : table->phases) {
      if (std::ranges::find(names, phase.name) == names.end()) names.push_back(phase.name);
    }
  }
  const auto metrics_of = [](const PhaseTable& table, const std::string& name) {
    const auto found = std::ranges::find(table.phases, name, &PhaseEntry::name);
    return found == table.phases.end() ? Metrics() : found->metrics;
  };
  Metrics wholes = CountsOf(*before.phases);
  for (const auto& [metric, count] : CountsOf(*after.phases)) wholes[metric] = std::max(wholes[metric], count);
  for (const std::string& name : names) {
    change.phase = name;
    const Metrics own_before = metrics_of(*before.phases, name);
    const Metrics own_after = metrics_of(*after.phases, name);
    const DiffNoise noise(before, after, own_before, own_after, terms.two_cards);
    CompareMetrics(PhaseCatalogue(), own_before, own_after, terms.min_ratio, noise, wholes, change, changes);
  }
}

/// A share that is in no catalogue, on both sides.
void CompareShare(const char* metric, const std::optional<double>& before, const std::optional<double>& after,
                  double tolerance, MetricChange change, std::vector<MetricChange>& changes) {
  if (!before && !after) return;
  change.metric = metric;
  change.before = before;
  change.after = after;
  if (before && after) {
    if (*before != 0.0) change.ratio = *after / *before - 1.0;
    change.judgement = std::abs(*after - *before) < tolerance ? "same" : "changed";
  } else {
    change.judgement = before ? "gone" : "new";
  }
  changes.push_back(std::move(change));
}

/// Empty: it has no phases.
std::string PhaseModel(const ProfileEntry& entry) {
  return entry.phases ? PhaseModelOf(entry.phases->attribution) : std::string();
}

/// The kinds of measurement that an entry's findings may come from.
auto KindsOfMeasurement(const Profile& profile, const ProfileEntry& entry) {
  return std::tuple(profile.session.metric_set, WasSampled(entry), WereInstructionsCounted(entry),
                    entry.timing.has_value(), PhaseModel(entry));
}

void CompareFindings(const ProfileEntry& before, const ProfileEntry& after, const FindingChange& names,
                     std::vector<FindingChange>& findings) {
  const auto add = [&](const ProfileEntry& side, const ProfileEntry& other, const char* judgement) {
    for (const Finding& finding : side.findings) {
      const bool both = std::ranges::any_of(
          other.findings, [&](const Finding& each) { return each.id == finding.id && each.phase == finding.phase; });
      if (both) continue;
      findings.push_back(names);
      findings.back().finding = finding;
      findings.back().judgement = judgement;
    }
  };
  add(after, before, "new");
  add(before, after, "gone");
}

/// What warps do while their products run, if either side has products that are waited for.
std::optional<double> Overlap(const ProfileEntry& entry) {
  if (!entry.phases || !entry.phases->overlap) return std::nullopt;
  return entry.phases->overlap->work_ratio;
}

void Compare(const ProfileEntry& before, const ProfileEntry& after, const Terms& terms, ProfileDiff& diff) {
  std::vector<MetricChange>& changes = diff.changes;
  const std::size_t pair = diff.entries.size() - 1;
  const bool one_model = PhaseModel(before) == PhaseModel(after);
  if (!one_model && before.phases && after.phases) {
    diff.not_compared.push_back("phases of " + NameOf(before) + ": " + PhaseModel(before) + " before, " +
                                PhaseModel(after) + " after");
  }
  if (one_model)
    CompareWaits(before, after, {pair, before.kernel, before.part, ShapeOf(before), {}, {}, {}, {}, {}, {}},
                 diff.waits);
  MetricChange change{before.kernel, before.part, ShapeOf(before), {}, {}, {}, {}, {}, {}, pair};
  const auto first = static_cast<std::ptrdiff_t>(changes.size());
  if (before.use && after.use) {
    CompareShare("kernel_time_share_ratio", before.use->share_ratio, after.use->share_ratio, kKernelShareTolerance,
                 change, changes);
  }
  CompareMetrics(MetricCatalogue(), before.metrics, after.metrics, terms.min_ratio,
                 DiffNoise(before, after, terms.two_cards), {}, change, changes);
  CompareShare("product_overlap_ratio", Overlap(before), Overlap(after), kOverlapTolerance, change, changes);
  if (one_model) ComparePhases(before, after, terms, change, changes);
  std::stable_sort(changes.begin() + first, changes.end(), [](const MetricChange& a, const MetricChange& b) {
    return std::pair(Group(a), -Weight(a)) < std::pair(Group(b), -Weight(b));
  });
  // Correctness comes before any number.
  if (before.correct() && after.correct() && before.correct() != after.correct()) {
    const bool correct = *after.correct();
    change.metric = "correct";
    change.before = correct ? 0.0 : 1.0;
    change.after = correct ? 1.0 : 0.0;
    change.ratio.reset();
    change.judgement = correct ? "better" : "worse";
    changes.insert(changes.begin() + first, change);
  }
}

/// Measurements that cannot be compared are shown next to each other, but not judged.
void TakeBackJudgements(ProfileDiff& diff) {
  constexpr const char* kNotComparable = "not comparable";
  for (MetricChange& change : diff.changes) {
    if (change.before != change.after) change.judgement = kNotComparable;
  }
  for (WaitChange& change : diff.waits) change.judgement = kNotComparable;
  diff.findings.clear();
}

}  // namespace

ProfileDiff Diff(const Profile& before, const Profile& after, double min_ratio) {
  ProfileDiff diff;
  diff.incomparable = Incomparable(before, after);
  diff.notes = Notes(before, after, diff.incomparable.empty());
  const Terms terms{min_ratio, OnTwoCards(before.device, after.device)};
  if (before.program && after.program) {
    CompareShare("gpu_busy_ratio", before.program->busy_ratio, after.program->busy_ratio, kKernelShareTolerance, {},
                 diff.changes);
  }
  std::map<std::string, std::deque<std::size_t>> partners;  // those not used yet, in order
  for (std::size_t i = 0; i < after.entries.size(); ++i) partners[MatchKey(after, after.entries[i])].push_back(i);
  std::vector<bool> used(after.entries.size(), false);
  for (const ProfileEntry& entry : before.entries) {
    std::deque<std::size_t>& same = partners[MatchKey(before, entry)];
    if (same.empty()) {
      diff.only_before.push_back(NameOf(entry));
      continue;
    }
    used[same.front()] = true;
    const ProfileEntry& partner = after.entries[same.front()];
    diff.entries.push_back({static_cast<std::size_t>(&entry - before.entries.data()), same.front()});
    Compare(entry, partner, terms, diff);
    if (KindsOfMeasurement(before, entry) == KindsOfMeasurement(after, partner)) {
      const FindingChange names{diff.entries.size() - 1, entry.kernel, entry.part, ShapeOf(entry), {}, {}};
      CompareFindings(entry, partner, names, diff.findings);
    }
    same.pop_front();
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) diff.only_after.push_back(NameOf(after.entries[i]));
  }
  if (!diff.incomparable.empty()) TakeBackJudgements(diff);
  return diff;
}

}  // namespace fa_profile::analyze

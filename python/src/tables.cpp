#include "tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "fa_profile/metric_catalogue.h"
#include "fa_profile/timeline_metrics.h"

namespace fa_profile::python {
namespace {

// How a column is made from a row.
template <typename Row>
struct Spec {
  std::string_view name;
  Kind kind;
  Cell (*value)(const Row& row);
};

template <typename Row>
Table Build(const std::vector<Row>& rows, std::span<const Spec<Row>> specs) {
  Table table;
  for (const Spec<Row>& spec : specs) {
    Column& column = table.emplace_back(Column{std::string(spec.name), spec.kind, {}});
    column.cells.reserve(rows.size());
    for (const Row& row : rows) column.cells.push_back(spec.value(row));
  }
  return table;
}

// Empty texts in the model mean that there is none.
Cell Text(std::string text) { return text.empty() ? Cell() : Cell(std::move(text)); }
Cell Text(std::string_view text) { return Text(std::string(text)); }

template <typename Value>
Cell Maybe(const std::optional<Value>& value) {
  return value ? Cell(*value) : Cell();
}

// A member of something that the row may lack.
template <typename Whole, typename Member>
Cell Of(const std::optional<Whole>& whole, Member Whole::*member) {
  if (!whole) return {};
  if constexpr (requires { ((*whole).*member).has_value(); }) {
    return Maybe((*whole).*member);
  } else if constexpr (std::is_floating_point_v<Member>) {
    return Cell((*whole).*member);
  } else {
    return Cell(static_cast<std::int64_t>((*whole).*member));
  }
}

std::string Join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : ", ") + word;
  return joined;
}

Cell ShapeOf(const ProfileEntry& entry) { return entry.shape ? Text(entry.shape->ToString()) : Cell(); }

// The launch that took longest.
const Launch* LongestLaunch(const ProfileEntry& entry) {
  const auto longest = std::ranges::max_element(
      entry.launches, {}, [](const Launch& launch) { return ElapsedNs(launch.start_ns, launch.end_ns); });
  return longest == entry.launches.end() ? nullptr : &*longest;
}

template <typename Member>
Cell OfLaunch(const ProfileEntry& entry, Member Launch::*member) {
  const Launch* const launch = LongestLaunch(entry);
  if (launch == nullptr) return {};
  if constexpr (std::is_same_v<Member, std::array<int, 3>>) {
    const std::array<int, 3>& sizes = launch->*member;
    return Text(std::to_string(sizes[0]) + "," + std::to_string(sizes[1]) + "," + std::to_string(sizes[2]));
  } else {
    return Text(launch->*member);
  }
}

std::string FindingIds(const ProfileEntry& entry) {
  std::vector<std::string> ids;
  for (const Finding& finding : entry.findings) {
    if (std::ranges::find(ids, finding.id) == ids.end()) ids.push_back(finding.id);
  }
  return Join(ids);
}

using Entry = const ProfileEntry*;
using U = KernelUse;
using T = TimingSummary;
using O = Occupancy;
constexpr std::array kEntryColumns = {
    Spec<Entry>{"kernel", Kind::kText, [](const Entry& e) { return Text(e->kernel); }},
    Spec<Entry>{"part", Kind::kText, [](const Entry& e) { return Text(e->part); }},
    Spec<Entry>{"shape", Kind::kText, [](const Entry& e) { return ShapeOf(*e); }},
    Spec<Entry>{"duration_ns", Kind::kNumber, [](const Entry& e) { return Of(e->timing, &T::median_ns); }},
    Spec<Entry>{"bottleneck", Kind::kText, [](const Entry& e) { return Text(e->bottleneck); }},
    Spec<Entry>{"bottleneck_evidence", Kind::kText, [](const Entry& e) { return Text(e->bottleneck_evidence); }},
    Spec<Entry>{"findings", Kind::kText, [](const Entry& e) { return Text(FindingIds(*e)); }},
    Spec<Entry>{"correct", Kind::kFlag,
                [](const Entry& e) { return e->verification ? Cell(e->verification->correct()) : Cell(); }},
    Spec<Entry>{"gpu_time_ns", Kind::kCount, [](const Entry& e) { return Of(e->use, &U::total_ns); }},
    Spec<Entry>{"share_ratio", Kind::kNumber, [](const Entry& e) { return Of(e->use, &U::share_ratio); }},
    Spec<Entry>{"launches", Kind::kCount, [](const Entry& e) { return Of(e->use, &U::launches); }},
    Spec<Entry>{"p05_ns", Kind::kNumber, [](const Entry& e) { return Of(e->timing, &T::p05_ns); }},
    Spec<Entry>{"p95_ns", Kind::kNumber, [](const Entry& e) { return Of(e->timing, &T::p95_ns); }},
    Spec<Entry>{"min_ns", Kind::kNumber, [](const Entry& e) { return Of(e->timing, &T::min_ns); }},
    Spec<Entry>{"spread_ratio", Kind::kNumber, [](const Entry& e) { return Of(e->timing, &T::spread_ratio); }},
    Spec<Entry>{"duration_cycles", Kind::kNumber, [](const Entry& e) { return Of(e->timing, &T::median_cycles); }},
    Spec<Entry>{"timed_launches", Kind::kCount, [](const Entry& e) { return Of(e->timing, &T::samples); }},
    Spec<Entry>{"graph_launches", Kind::kCount, [](const Entry& e) { return Of(e->use, &U::graph_launches); }},
    Spec<Entry>{"origin", Kind::kText, [](const Entry& e) { return Text(e->origin); }},
    Spec<Entry>{"function", Kind::kText, [](const Entry& e) { return OfLaunch(*e, &Launch::kernel_name); }},
    Spec<Entry>{"grid", Kind::kText, [](const Entry& e) { return OfLaunch(*e, &Launch::grid); }},
    Spec<Entry>{"block", Kind::kText, [](const Entry& e) { return OfLaunch(*e, &Launch::block); }},
    Spec<Entry>{"blocks_per_sm", Kind::kCount, [](const Entry& e) { return Of(e->occupancy, &O::blocks_per_sm); }},
    Spec<Entry>{"occupancy_limiters", Kind::kText,
                [](const Entry& e) { return e->occupancy ? Text(Join(e->occupancy->limiters)) : Cell(); }},
    Spec<Entry>{"phases_from", Kind::kText,
                [](const Entry& e) { return e->phases ? Text(e->phases->attribution) : Cell(); }},
    Spec<Entry>{
        "phase_samples", Kind::kCount,
        [](const Entry& e) { return e->phases ? Cell(static_cast<std::int64_t>(e->phases->samples)) : Cell(); }},
};

struct PhaseRow {
  const ProfileEntry* entry;
  const PhaseEntry* phase;
};
constexpr std::array kPhaseColumns = {
    Spec<PhaseRow>{"kernel", Kind::kText, [](const PhaseRow& row) { return Text(row.entry->kernel); }},
    Spec<PhaseRow>{"part", Kind::kText, [](const PhaseRow& row) { return Text(row.entry->part); }},
    Spec<PhaseRow>{"shape", Kind::kText, [](const PhaseRow& row) { return ShapeOf(*row.entry); }},
    Spec<PhaseRow>{"phase", Kind::kText, [](const PhaseRow& row) { return Text(row.phase->name); }},
    Spec<PhaseRow>{"stall", Kind::kText,
                   [](const PhaseRow& row) {
                     return row.phase->stalls.empty() ? Cell() : Text(row.phase->stalls.front().reason);
                   }},
    Spec<PhaseRow>{
        "stall_ratio", Kind::kNumber,
        [](const PhaseRow& row) { return row.phase->stalls.empty() ? Cell() : Cell(row.phase->stalls.front().ratio); }},
};

struct MetricRow {
  const ProfileEntry* entry;
  std::string_view phase;
  const CatalogueMetric* metric;
  double value;
};

std::string_view PolarityWord(Polarity polarity) {
  if (polarity == Polarity::kNeutral) return "";
  return polarity == Polarity::kHigherIsBetter ? "higher" : "lower";
}

constexpr std::array kMetricColumns = {
    Spec<MetricRow>{"kernel", Kind::kText, [](const MetricRow& row) { return Text(row.entry->kernel); }},
    Spec<MetricRow>{"part", Kind::kText, [](const MetricRow& row) { return Text(row.entry->part); }},
    Spec<MetricRow>{"shape", Kind::kText, [](const MetricRow& row) { return ShapeOf(*row.entry); }},
    Spec<MetricRow>{"phase", Kind::kText, [](const MetricRow& row) { return Text(row.phase); }},
    Spec<MetricRow>{"metric", Kind::kText, [](const MetricRow& row) { return Text(row.metric->id); }},
    Spec<MetricRow>{"value", Kind::kNumber, [](const MetricRow& row) { return Cell(row.value); }},
    Spec<MetricRow>{"unit", Kind::kText, [](const MetricRow& row) { return Text(row.metric->unit); }},
    Spec<MetricRow>{"label", Kind::kText, [](const MetricRow& row) { return Text(row.metric->label); }},
    Spec<MetricRow>{"better", Kind::kText,
                    [](const MetricRow& row) { return Text(PolarityWord(row.metric->polarity)); }},
    Spec<MetricRow>{"deterministic", Kind::kFlag,
                    [](const MetricRow& row) { return Cell(row.metric->stability == Stability::kDeterministic); }},
};

struct FindingRow {
  const ProfileEntry* entry;
  const Finding* finding;
};
constexpr std::array kFindingColumns = {
    Spec<FindingRow>{"kernel", Kind::kText, [](const FindingRow& row) { return Text(row.entry->kernel); }},
    Spec<FindingRow>{"part", Kind::kText, [](const FindingRow& row) { return Text(row.entry->part); }},
    Spec<FindingRow>{"shape", Kind::kText, [](const FindingRow& row) { return ShapeOf(*row.entry); }},
    Spec<FindingRow>{"phase", Kind::kText, [](const FindingRow& row) { return Text(row.finding->phase); }},
    Spec<FindingRow>{"finding", Kind::kText, [](const FindingRow& row) { return Text(row.finding->id); }},
    Spec<FindingRow>{"weight", Kind::kNumber, [](const FindingRow& row) { return Cell(row.finding->weight); }},
    Spec<FindingRow>{"evidence", Kind::kText, [](const FindingRow& row) { return Text(row.finding->evidence); }},
    Spec<FindingRow>{"cure", Kind::kText, [](const FindingRow& row) { return Text(row.finding->cure); }},
};

struct SampleRow {
  const ProfileEntry* entry;
  const CallSeries* series;
  const CallSample* sample;
};

std::string_view LabelOf(const CallSeries& series) {
  const TimelineMetric* const metric = FindTimelineMetric(series.metric);
  return metric == nullptr ? std::string_view() : metric->label;
}

constexpr std::array kTimelineColumns = {
    Spec<SampleRow>{"kernel", Kind::kText, [](const SampleRow& row) { return Text(row.entry->kernel); }},
    Spec<SampleRow>{"shape", Kind::kText, [](const SampleRow& row) { return ShapeOf(*row.entry); }},
    Spec<SampleRow>{"metric", Kind::kText, [](const SampleRow& row) { return Text(row.series->metric); }},
    Spec<SampleRow>{"start_ns", Kind::kCount, [](const SampleRow& row) { return Cell(row.sample->start_ns); }},
    Spec<SampleRow>{"duration_ns", Kind::kCount, [](const SampleRow& row) { return Cell(row.sample->duration_ns); }},
    Spec<SampleRow>{"ratio", Kind::kNumber, [](const SampleRow& row) { return Cell(row.sample->ratio); }},
    Spec<SampleRow>{"label", Kind::kText, [](const SampleRow& row) { return Text(LabelOf(*row.series)); }},
};

constexpr std::array kNvtxColumns = {
    Spec<NvtxUse>{"path", Kind::kText, [](const NvtxUse& row) { return Text(row.path); }},
    Spec<NvtxUse>{"name", Kind::kText, [](const NvtxUse& row) { return Text(row.name); }},
    Spec<NvtxUse>{"level", Kind::kCount, [](const NvtxUse& row) { return Cell(std::int64_t{row.level}); }},
    Spec<NvtxUse>{"ranges", Kind::kCount, [](const NvtxUse& row) { return Cell(row.ranges); }},
    Spec<NvtxUse>{"host_ns", Kind::kCount, [](const NvtxUse& row) { return Cell(row.host_ns); }},
    Spec<NvtxUse>{"launches", Kind::kCount, [](const NvtxUse& row) { return Cell(row.launches); }},
    Spec<NvtxUse>{"gpu_ns", Kind::kCount, [](const NvtxUse& row) { return Cell(row.gpu_ns); }},
    Spec<NvtxUse>{"share_ratio", Kind::kNumber, [](const NvtxUse& row) { return Maybe(row.share_ratio); }},
};

struct LayerRow {
  const LayerUse* use;
  const ProfileEntry* entry;  ///< null: the report has none
};
constexpr std::array kLayerColumns = {
    Spec<LayerRow>{"layer", Kind::kText, [](const LayerRow& row) { return Text(row.use->layer); }},
    Spec<LayerRow>{"kernel", Kind::kText, [](const LayerRow& row) { return Text(row.use->kernel); }},
    Spec<LayerRow>{"launches", Kind::kCount, [](const LayerRow& row) { return Cell(row.use->launches); }},
    Spec<LayerRow>{"gpu_ns", Kind::kCount, [](const LayerRow& row) { return Cell(row.use->gpu_ns); }},
    Spec<LayerRow>{"share_ratio", Kind::kNumber, [](const LayerRow& row) { return Maybe(row.use->share_ratio); }},
    Spec<LayerRow>{"bottleneck", Kind::kText,
                   [](const LayerRow& row) { return row.entry ? Text(row.entry->bottleneck) : Cell(); }},
    Spec<LayerRow>{"bottleneck_evidence", Kind::kText,
                   [](const LayerRow& row) { return row.entry ? Text(row.entry->bottleneck_evidence) : Cell(); }},
    Spec<LayerRow>{"findings", Kind::kText,
                   [](const LayerRow& row) { return row.entry ? Text(FindingIds(*row.entry)) : Cell(); }},
};

constexpr std::array kMemoryColumns = {
    Spec<MemoryUse>{"kind", Kind::kText, [](const MemoryUse& row) { return Text(row.kind); }},
    Spec<MemoryUse>{"operations", Kind::kCount, [](const MemoryUse& row) { return Cell(row.operations); }},
    Spec<MemoryUse>{"bytes", Kind::kCount, [](const MemoryUse& row) { return Cell(row.bytes); }},
    Spec<MemoryUse>{"gpu_ns", Kind::kCount, [](const MemoryUse& row) { return Cell(row.total_ns); }},
    Spec<MemoryUse>{"share_ratio", Kind::kNumber, [](const MemoryUse& row) { return Maybe(row.share_ratio); }},
};

constexpr std::array kLossColumns = {
    Spec<DataLoss>{"kind", Kind::kText, [](const DataLoss& row) { return Text(row.kind); }},
    Spec<DataLoss>{"subject", Kind::kText, [](const DataLoss& row) { return Text(row.subject); }},
    Spec<DataLoss>{"reason", Kind::kText, [](const DataLoss& row) { return Text(row.reason); }},
    Spec<DataLoss>{"count", Kind::kCount, [](const DataLoss& row) { return Cell(row.count); }},
};

constexpr std::array kChangeColumns = {
    Spec<MetricChange>{"kernel", Kind::kText, [](const MetricChange& row) { return Text(row.kernel); }},
    Spec<MetricChange>{"part", Kind::kText, [](const MetricChange& row) { return Text(row.part); }},
    Spec<MetricChange>{"shape", Kind::kText, [](const MetricChange& row) { return Text(row.shape); }},
    Spec<MetricChange>{"phase", Kind::kText, [](const MetricChange& row) { return Text(row.phase); }},
    Spec<MetricChange>{"metric", Kind::kText, [](const MetricChange& row) { return Text(row.metric); }},
    Spec<MetricChange>{"before", Kind::kNumber, [](const MetricChange& row) { return Maybe(row.before); }},
    Spec<MetricChange>{"after", Kind::kNumber, [](const MetricChange& row) { return Maybe(row.after); }},
    Spec<MetricChange>{"change_ratio", Kind::kNumber, [](const MetricChange& row) { return Maybe(row.ratio); }},
    Spec<MetricChange>{"judgement", Kind::kText, [](const MetricChange& row) { return Text(row.judgement); }},
};

template <typename Change>
constexpr std::array kChangedCall = {
    Spec<Change>{"kernel", Kind::kText, [](const Change& row) { return Text(row.kernel); }},
    Spec<Change>{"part", Kind::kText, [](const Change& row) { return Text(row.part); }},
    Spec<Change>{"shape", Kind::kText, [](const Change& row) { return Text(row.shape); }},
};

// One side's number or place, which may be missing.
template <auto kSide, auto kField>
Cell OfSide(const WaitChange& row) {
  const std::optional<WaitSide>& side = row.*kSide;
  if (!side) return Cell();
  if constexpr (std::is_same_v<decltype(kField), std::string WaitSide::*>) {
    return Text((*side).*kField);
  } else {
    return Cell((*side).*kField);
  }
}

constexpr auto kOld = &WaitChange::before;
constexpr auto kNew = &WaitChange::after;

constexpr std::array kWaitChangeColumns = {
    Spec<WaitChange>{"phase", Kind::kText, [](const WaitChange& row) { return Text(row.phase); }},
    Spec<WaitChange>{"kind", Kind::kText, [](const WaitChange& row) { return Text(row.kind); }},
    Spec<WaitChange>{"place_before", Kind::kText, OfSide<kOld, &WaitSide::place>},
    Spec<WaitChange>{"place_after", Kind::kText, OfSide<kNew, &WaitSide::place>},
    Spec<WaitChange>{"waits_before", Kind::kNumber, OfSide<kOld, &WaitSide::waits>},
    Spec<WaitChange>{"waits_after", Kind::kNumber, OfSide<kNew, &WaitSide::waits>},
    Spec<WaitChange>{"waited_cycles_before", Kind::kNumber, OfSide<kOld, &WaitSide::waited_cycles>},
    Spec<WaitChange>{"waited_cycles_after", Kind::kNumber, OfSide<kNew, &WaitSide::waited_cycles>},
    Spec<WaitChange>{"warps_ratio_before", Kind::kNumber, OfSide<kOld, &WaitSide::warps_ratio>},
    Spec<WaitChange>{"warps_ratio_after", Kind::kNumber, OfSide<kNew, &WaitSide::warps_ratio>},
    Spec<WaitChange>{"cost_ratio", Kind::kNumber, [](const WaitChange& row) { return Cell(row.cost_ratio); }},
    Spec<WaitChange>{"judgement", Kind::kText, [](const WaitChange& row) { return Text(row.judgement); }},
};

constexpr std::array kFindingChangeColumns = {
    Spec<FindingChange>{"finding", Kind::kText, [](const FindingChange& row) { return Text(row.finding.id); }},
    Spec<FindingChange>{"phase", Kind::kText, [](const FindingChange& row) { return Text(row.finding.phase); }},
    Spec<FindingChange>{"evidence", Kind::kText, [](const FindingChange& row) { return Text(row.finding.evidence); }},
    Spec<FindingChange>{"judgement", Kind::kText, [](const FindingChange& row) { return Text(row.judgement); }},
};

// The call's columns, then others.
template <typename Change>
Table BuildOfCalls(const std::vector<Change>& rows, std::span<const Spec<Change>> specs) {
  Table table = Build<Change>(rows, kChangedCall<Change>);
  for (Column& column : Build<Change>(rows, specs)) table.push_back(std::move(column));
  return table;
}

// Makes columns of the metrics in a catalogue that some row has. `metrics_of` returns a row's.
template <typename Row, typename MetricsOf>
void AddMetrics(Table& table, const std::vector<Row>& rows, std::span<const CatalogueMetric> catalogue,
                const MetricsOf& metrics_of) {
  for (const CatalogueMetric& metric : catalogue) {
    const std::string id(metric.id);
    const auto has = [&](const Row& row) { return metrics_of(row).contains(id); };
    if (std::ranges::none_of(rows, has)) continue;
    Column& column = table.emplace_back(Column{id, Kind::kNumber, {}});
    for (const Row& row : rows) column.cells.push_back(has(row) ? Cell(metrics_of(row).at(id)) : Cell());
  }
}

std::vector<PhaseRow> PhaseRows(const Profile& profile) {
  std::vector<PhaseRow> rows;
  for (const ProfileEntry& entry : profile.entries) {
    if (!entry.phases) continue;
    for (const PhaseEntry& phase : entry.phases->phases) rows.push_back({&entry, &phase});
  }
  return rows;
}

// In the order of the catalogue.
void AddRows(std::vector<MetricRow>& rows, const ProfileEntry& entry, std::string_view phase,
             std::span<const CatalogueMetric> catalogue, const std::map<std::string, double>& metrics) {
  for (const CatalogueMetric& metric : catalogue) {
    const auto found = metrics.find(std::string(metric.id));
    if (found != metrics.end()) rows.push_back({&entry, phase, &metric, found->second});
  }
}

}  // namespace

Table KernelTable(const Profile& profile) {
  std::vector<Entry> rows;
  for (const ProfileEntry& entry : profile.entries) rows.push_back(&entry);
  Table table = Build<Entry>(rows, kEntryColumns);
  AddMetrics(
      table, rows, MetricCatalogue(), [](const Entry& entry) -> const auto& { return entry->metrics; });
  return table;
}

Table PhaseTableOf(const Profile& profile) {
  const std::vector<PhaseRow> rows = PhaseRows(profile);
  Table table = Build<PhaseRow>(rows, kPhaseColumns);
  AddMetrics(
      table, rows, PhaseCatalogue(), [](const PhaseRow& row) -> const auto& { return row.phase->metrics; });
  return table;
}

Table MetricTable(const Profile& profile) {
  std::vector<MetricRow> rows;
  for (const ProfileEntry& entry : profile.entries) {
    AddRows(rows, entry, "", MetricCatalogue(), entry.metrics);
    if (!entry.phases) continue;
    for (const PhaseEntry& phase : entry.phases->phases) {
      AddRows(rows, entry, phase.name, PhaseCatalogue(), phase.metrics);
    }
  }
  return Build<MetricRow>(rows, kMetricColumns);
}

Table FindingTable(const Profile& profile) {
  std::vector<FindingRow> rows;
  for (const ProfileEntry& entry : profile.entries) {
    for (const Finding& finding : entry.findings) rows.push_back({&entry, &finding});
  }
  return Build<FindingRow>(rows, kFindingColumns);
}

Table TimelineTable(const Profile& profile) {
  std::vector<SampleRow> rows;
  for (const ProfileEntry& entry : profile.entries) {
    if (!entry.timeline) continue;
    for (const CallSeries& series : entry.timeline->series) {
      for (const CallSample& sample : series.samples) rows.push_back({&entry, &series, &sample});
    }
  }
  return Build<SampleRow>(rows, kTimelineColumns);
}

Table NvtxTable(const Profile& profile) {
  return Build<NvtxUse>(profile.program ? profile.program->nvtx : std::vector<NvtxUse>(), kNvtxColumns);
}

Table LayerTable(const Profile& profile) {
  std::vector<LayerRow> rows;
  if (!profile.program) return Build<LayerRow>(rows, kLayerColumns);
  std::map<std::int64_t, const ProfileEntry*> entries;
  for (const ProfileEntry& entry : profile.entries) entries.try_emplace(entry.case_id, &entry);
  for (const LayerUse& use : profile.program->layers) {
    const auto entry = entries.find(use.case_id);
    rows.push_back({&use, entry == entries.end() ? nullptr : entry->second});
  }
  return Build<LayerRow>(rows, kLayerColumns);
}

Table MemoryTable(const Profile& profile) {
  return Build<MemoryUse>(profile.program ? profile.program->memory : std::vector<MemoryUse>(), kMemoryColumns);
}

Table LossTable(const Profile& profile) { return Build<DataLoss>(profile.losses, kLossColumns); }

Table ChangeTable(const ProfileDiff& diff) { return Build<MetricChange>(diff.changes, kChangeColumns); }

Table WaitChangeTable(const ProfileDiff& diff) { return BuildOfCalls<WaitChange>(diff.waits, kWaitChangeColumns); }

Table FindingChangeTable(const ProfileDiff& diff) {
  return BuildOfCalls<FindingChange>(diff.findings, kFindingChangeColumns);
}

}  // namespace fa_profile::python

// JSON of what was measured: reports, differences, ranks.
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "fa_profile/metric_catalogue.h"
#include "fa_profile/report.h"
#include "fa_profile/stall_reasons.h"
#include "fa_profile/text.h"
#include "fa_profile/timeline_metrics.h"
#include "json_parts.h"

namespace fa_profile::exporters {
namespace {

using Json = nlohmann::ordered_json;

/// A fact whose zero means "unknown".
template <typename Number>
Json KnownNumber(Number value) {
  return value > 0 ? Json(value) : Json(nullptr);
}

Json ToJson(const Session& s) {
  return {{"tool_version", KnownText(s.tool_version)},
          {"tool_commit", KnownText(s.tool_commit)},
          {"created_at", KnownText(s.created_at)},
          {"command_line", KnownText(s.command_line)},
          {"metric_set", KnownText(s.metric_set)},
          {"replay_mode", KnownText(s.replay_mode)},
          {"cache_policy", KnownText(s.cache_policy)},
          {"warmup_launches", s.warmup_launches},
          {"timed_launches", s.timed_launches},
          {"draws", s.draws},
          {"complete", s.complete}};
}

Json ToJson(const Device& d) {
  Json capability = nullptr;
  if (d.compute_capability_major > 0) {
    capability = std::to_string(d.compute_capability_major) + "." + std::to_string(d.compute_capability_minor);
  }
  return {{"ordinal", d.ordinal},
          {"name", KnownText(d.name)},
          {"chip", KnownText(d.chip)},
          {"uuid", KnownText(d.uuid)},
          {"compute_capability", capability},
          {"sm_count", KnownNumber(d.sm_count)},
          {"max_threads_per_sm", KnownNumber(d.max_threads_per_sm)},
          {"l2_bytes", KnownNumber(d.l2_bytes)},
          {"memory_bytes", KnownNumber(d.memory_bytes)},
          {"sm_clock_max_hz", KnownNumber(d.sm_clock_max_hz)},
          {"memory_clock_max_hz", KnownNumber(d.memory_clock_max_hz)},
          {"driver_version", KnownText(d.driver_version)},
          {"cuda_driver_version", KnownText(d.cuda_driver_version)},
          {"cuda_runtime_version", KnownText(d.cuda_runtime_version)},
          {"cupti_version", KnownText(d.cupti_version)}};
}

Json ToJson(const ClockSample& c) {
  return {{"when", c.when},
          {"sm_hz", OrNull(c.sm_hz)},
          {"memory_hz", OrNull(c.memory_hz)},
          {"temperature_celsius", OrNull(c.temperature_celsius)},
          {"power_watts", OrNull(c.power_watts)},
          {"throttle_reasons", OrNull(c.throttle_reasons)}};
}

Json ToJson(const Shape& s) { return JsonOf(s); }

Json ToJson(const Verification& v) {
  return {{"correct", v.correct()},
          {"draws", v.draws},
          {"draws_passed", v.draws_passed},
          {"max_abs_error", v.max_abs_error},
          {"max_error_ratio", v.max_error_ratio},
          {"nonfinite", v.nonfinite},
          {"unwritten", v.unwritten},
          {"where", KnownText(v.where)},
          {"error", KnownText(v.error)}};
}

Json ToJson(const Judgement& j) {
  Json json = {{"verdict", ToString(j.verdict)},
               {"reason", KnownText(j.reason)},
               {"call_ns", OrNull(CallNs(j))},
               {"durations_ns", j.durations_ns},
               {"calls", j.calls},
               {"wrong_calls", j.wrong_calls},
               {"same_bits", OrNull(j.same_bits)},
               {"largest_difference", j.largest_difference},
               {"weak_tolerance", KnownText(j.weak_tolerance)},
               {"conditions", KnownText(j.conditions)}};
  for (const DeviceCount& count : AllDeviceCounts()) {
    json[count.name] = j.verified.*count.value;
    json[std::string("timed_") + count.name] = j.timed.*count.value;
  }
  return json;
}

Json ToJson(const TimingSummary& t) {
  return {{"method", t.method},
          {"samples", t.samples},
          {"median_ns", t.median_ns},
          {"p05_ns", t.p05_ns},
          {"p95_ns", t.p95_ns},
          {"min_ns", t.min_ns},
          {"spread_ratio", t.spread_ratio},
          {"sm_clock_hz", OrNull(t.sm_clock_hz)},
          {"median_cycles", OrNull(t.median_cycles)}};
}

Json ToJson(const Occupancy& o) { return JsonOf(o); }

Json ToJson(const Launch& l, bool with_duration) {
  Json duration = nullptr;
  if (with_duration) duration = ElapsedNs(l.start_ns, l.end_ns);
  return {{"kernel_name", l.kernel_name},
          {"part", KnownText(l.part)},
          {"grid", l.grid},
          {"block", l.block},
          {"cluster", l.cluster},
          {"registers_per_thread", l.registers_per_thread},
          {"static_shared_memory_bytes", l.static_shared_memory_bytes},
          {"dynamic_shared_memory_bytes", l.dynamic_shared_memory_bytes},
          {"local_memory_per_thread_bytes", l.local_memory_per_thread_bytes},
          {"stream", l.stream},
          {"duration_ns", duration}};
}

// The two templates below see only what is declared before them.
Json ToJson(const StallShare& s);
Json ToJson(const PhaseEntry& p);
Json ToJson(const Closure& c);
Json ToJson(const PhasePlace& p);
Json ToJson(const AsyncWait& w);
Json ToJson(const ProductOverlap& o);
Json ToJson(const KeyTile& t);
Json ToJson(const PhaseInference& i);
Json ToJson(const PhaseTable& t);
Json ToJson(const CallTail& t);
Json ToJson(const CallSeries& s);
Json ToJson(const CallTimeline& t);
Json ToJson(const Finding& f);
Json ToJson(const KernelUse& u);
Json ToJson(const MemoryUse& u);
Json ToJson(const NvtxKernelUse& u);
Json ToJson(const NvtxUse& u);
Json ToJson(const LayerUse& u);
Json ToJson(const ProgramUse& p);
Json ToJson(const ProfileEntry& e);
Json ToJson(const DataLoss& l);
Json ToJson(const MetricChange& c);
Json ToJson(const EntryPair& p);
Json ToJson(const WaitSide& s);
Json ToJson(const WaitChange& c);
Json ToJson(const FindingChange& c);

template <typename T>
Json ObjectOrNull(const std::optional<T>& value) {
  return value ? ToJson(*value) : Json(nullptr);
}

template <typename T>
Json ToArray(const std::vector<T>& values) {
  return ArrayOf(values, [](const T& value) { return ToJson(value); });
}

/// Every metric of the catalogue, null if absent.
Json ToJson(std::span<const CatalogueMetric> catalogue, const std::map<std::string, double>& metrics) {
  Json json = Json::object();
  for (const CatalogueMetric& metric : catalogue) {
    const auto found = metrics.find(std::string(metric.id));
    json[std::string(metric.id)] = found == metrics.end() ? Json(nullptr) : Json(found->second);
  }
  return json;
}

Json ToJson(const StallShare& s) { return {{"reason", s.reason}, {"ratio", s.ratio}}; }

Json ToJson(const PhaseEntry& p) {
  return {{"phase", p.name}, {"metrics", ToJson(PhaseCatalogue(), p.metrics)}, {"stalls", ToArray(p.stalls)}};
}

Json ToJson(const Closure& c) {
  return {{"quantity", c.quantity},
          {"phases", c.phases},
          {"whole", c.whole},
          {"limit_ratio", c.limit_ratio},
          {"closes", c.closes()}};
}

Json ToJson(const PhasePlace& p) { return {{"phase", p.phase}, {"place", p.place}}; }

Json ToJson(const AsyncWait& w) {
  return {{"kind", w.kind},
          {"phase", w.phase},
          {"place", w.place},
          {"waits", w.waits},
          {"waited_cycles", w.waited_cycles},
          {"issued_before_cycles", OrNull(w.issued_before_cycles)},
          {"hidden_ratio", OrNull(w.hidden_ratio())},
          {"beside_cycles", w.beside_cycles},
          {"copies", ToArray(w.copies)}};
}

Json ToJson(const ProductOverlap& o) { return {{"work_ratio", o.work_ratio}, {"phase_ratio", o.phase_ratio}}; }

Json ToJson(const KeyTile& t) {
  return {{"softmax_instructions", t.softmax_instructions},
          {"exponentials", t.exponentials},
          {"rescale", t.rescale},
          {"rounds_known", t.rounds_known},
          {"overlaps_exponentials", OrNull(t.overlaps_exponentials)}};
}

Json ToJson(const PhaseInference& i) { return JsonOf(i); }

Json ToJson(const PhaseTable& t) {
  return {{"attribution", t.attribution},
          {"inference", ObjectOrNull(t.inference)},
          {"samples", t.samples},
          {"dropped_samples", t.dropped_samples},
          {"period_cycles", KnownNumber(t.period_cycles)},
          {"waiting_ratio", t.waiting_ratio},
          {"phases", ToArray(t.phases)},
          {"async_waits", ToArray(t.async_waits)},
          {"overlap", ObjectOrNull(t.overlap)},
          {"closures", ToArray(t.closures)}};
}

Json ToJson(const CallTail& t) {
  return {{"below_ratio", t.below_ratio},
          {"start_ns", t.start_ns},
          {"duration_ns", t.duration_ns},
          {"share_ratio", t.share_ratio},
          {"samples", t.samples}};
}

/// Rounded to a millionth: a call has up to a thousand samples of each metric.
double RoundedRatio(double ratio) { return ratio < 1e6 ? std::round(ratio * 1e6) / 1e6 : ratio; }

Json ToJson(const CallSeries& s) {
  Json starts = Json::array();
  Json durations = Json::array();
  Json ratios = Json::array();
  for (const CallSample& sample : s.samples) {
    starts.push_back(sample.start_ns);
    durations.push_back(sample.duration_ns);
    ratios.push_back(RoundedRatio(sample.ratio));
  }
  const TimelineMetric* const metric = FindTimelineMetric(s.metric);
  return {{"metric", s.metric},
          {"label", metric == nullptr ? Json(nullptr) : Json(metric->label)},
          {"group", metric == nullptr ? Json(nullptr) : Json(metric->group)},
          {"mean_ratio", s.mean_ratio},
          {"largest_ratio", s.largest_ratio},
          {"start_ns", std::move(starts)},
          {"duration_ns", std::move(durations)},
          {"ratio", std::move(ratios)}};
}

Json ToJson(const CallTimeline& t) {
  return {{"active_ns", t.active_ns}, {"tails", ToArray(t.tails)}, {"series", ToArray(t.series)}};
}

Json ToJson(const Finding& f) { return JsonOf(f); }

Json ToJson(const KernelUse& u) {
  return {{"launches", u.launches}, {"graph_launches", u.graph_launches},
          {"total_ns", u.total_ns}, {"min_ns", u.min_ns},
          {"max_ns", u.max_ns},     {"share_ratio", OrNull(u.share_ratio)}};
}

Json ToJson(const MemoryUse& u) {
  return {{"kind", u.kind},
          {"operations", u.operations},
          {"bytes", u.bytes},
          {"total_ns", u.total_ns},
          {"share_ratio", OrNull(u.share_ratio)}};
}

Json ToJson(const NvtxKernelUse& u) {
  return {{"kernel", u.kernel}, {"launches", u.launches}, {"gpu_ns", u.gpu_ns}, {"share_ratio", OrNull(u.share_ratio)}};
}

Json ToJson(const NvtxUse& u) {
  return {{"path", u.path},
          {"name", u.name},
          {"level", u.level},
          {"ranges", u.ranges},
          {"host_ns", u.host_ns},
          {"launches", u.launches},
          {"gpu_ns", u.gpu_ns},
          {"share_ratio", OrNull(u.share_ratio)},
          {"kernels", ToArray(u.kernels)}};
}

Json ToJson(const LayerUse& u) {
  return {{"layer", u.layer},
          {"kernel", u.kernel},
          {"launches", u.launches},
          {"gpu_ns", u.gpu_ns},
          {"share_ratio", OrNull(u.share_ratio)}};
}

Json ToJson(const ProgramUse& p) {
  return {{"windows", p.windows},
          {"watched_ns", p.watched_ns},
          {"measuring_ns", p.measuring_ns},
          {"unrecorded_ns", p.unrecorded_ns},
          {"busy_ns", p.busy_ns},
          {"busy_ratio", OrNull(p.busy_ratio)},
          {"idle_ratio", OrNull(p.idle_ratio)},
          {"classes", p.classes},
          {"launches", p.launches},
          {"graph_launches", p.graph_launches},
          {"kernel_ns", p.kernel_ns},
          {"memory_ns", p.memory_ns},
          {"memory", ToArray(p.memory)},
          {"nvtx", ToArray(p.nvtx)},
          {"nvtx_ratio", OrNull(p.nvtx_ratio)},
          {"layers", ToArray(p.layers)}};
}

Json ToJson(const ProfileEntry& e) {
  Json launches = Json::array();
  const bool correct = e.correct().value_or(true);
  for (const Launch& launch : e.launches) launches.push_back(ToJson(launch, correct));
  return {{"kernel", e.kernel},
          {"part", KnownText(e.part)},
          {"origin", KnownText(e.origin)},
          {"shape", ObjectOrNull(e.shape)},
          {"verification", ObjectOrNull(e.verification)},
          {"judgement", ObjectOrNull(e.judgement)},
          {"not_as_certified", KnownText(e.not_as_certified)},
          {"use", ObjectOrNull(e.use)},
          {"timing", ObjectOrNull(e.timing)},
          {"bottleneck", KnownText(e.bottleneck)},
          {"bottleneck_evidence", KnownText(e.bottleneck_evidence)},
          {"occupancy", ObjectOrNull(e.occupancy)},
          {"stalls", ToArray(e.stalls)},
          {"metrics", ToJson(MetricCatalogue(), e.metrics)},
          {"launches", std::move(launches)},
          {"phases", ObjectOrNull(e.phases)},
          {"timeline", ObjectOrNull(e.timeline)},
          {"findings", ToArray(e.findings)}};
}

Json ToJson(const DataLoss& l) { return JsonOf(l); }

Json ToJson(const CatalogueMetric& m) {
  const char* polarity = m.polarity == Polarity::kHigherIsBetter  ? "higher_is_better"
                         : m.polarity == Polarity::kLowerIsBetter ? "lower_is_better"
                                                                  : "neutral";
  return {{"label", m.label},
          {"unit", m.unit},
          {"polarity", polarity},
          {"deterministic", m.stability == Stability::kDeterministic},
          {"help", m.help}};
}

Json ToJson(const StallGroup& g) { return {{"group", g.id}, {"title", g.title}, {"help", g.help}}; }

Json ToJson(const StallReason& r) { return {{"group", r.group}, {"help", r.help}}; }

Json ToJson(const MetricChange& c) {
  return {{"kernel", c.kernel},          {"part", KnownText(c.part)}, {"shape", KnownText(c.shape)},
          {"phase", KnownText(c.phase)}, {"metric", c.metric},        {"before", OrNull(c.before)},
          {"after", OrNull(c.after)},    {"ratio", OrNull(c.ratio)},  {"judgement", c.judgement},
          {"entry", OrNull(c.entry)}};
}

Json ToJson(const EntryPair& p) { return {{"before", p.before}, {"after", p.after}}; }

Json ToJson(const WaitSide& s) {
  return {{"place", s.place},
          {"waits", s.waits},
          {"waited_cycles", s.waited_cycles},
          {"warps_ratio", s.warps_ratio},
          {"copies", ToArray(s.copies)}};
}

Json ToJson(const WaitChange& c) {
  return {{"kernel", c.kernel},
          {"part", KnownText(c.part)},
          {"shape", KnownText(c.shape)},
          {"phase", c.phase},
          {"kind", c.kind},
          {"before", ObjectOrNull(c.before)},
          {"after", ObjectOrNull(c.after)},
          {"cost_ratio", c.cost_ratio},
          {"judgement", c.judgement},
          {"entry", c.entry}};
}

Json ToJson(const FindingChange& c) {
  return {{"kernel", c.kernel},           {"part", KnownText(c.part)}, {"shape", KnownText(c.shape)},
          {"finding", ToJson(c.finding)}, {"judgement", c.judgement},  {"entry", c.entry}};
}

}  // namespace

nlohmann::ordered_json JsonOf(const Shape& shape) {
  if (const AttentionShape* const attention = shape.attention()) {
    return {{"batch", attention->batch},
            {"num_heads", attention->num_heads},
            {"seqlen", attention->seqlen},
            {"head_dim", attention->head_dim},
            {"causal", attention->causal}};
  }
  nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
  for (const ShapeParameter& parameter : *shape.parameters()) parameters[parameter.name] = parameter.value;
  return parameters;
}

nlohmann::ordered_json JsonOf(const PhaseInference& inference) {
  return {{"refusal", KnownText(inference.refusal)},
          {"refusal_word", KnownText(inference.refusal_word)},
          {"weighed_by", KnownText(inference.weighed_by)},
          {"direct_ratio", inference.direct_ratio},
          {"derived_ratio", inference.derived_ratio},
          {"guess_ratio", inference.guess_ratio},
          {"qk_to_pv_ratio", OrNull(inference.qk_to_pv_ratio)},
          {"multiply_adds_per_exponential", OrNull(inference.multiply_adds_per_exponential)},
          {"exponentials_per_score", OrNull(inference.exponentials_per_score)},
          {"tile", ObjectOrNull(inference.tile)},
          {"counted", inference.counted}};
}

nlohmann::ordered_json JsonOf(const Occupancy& o) {
  return {{"theoretical_ratio", o.theoretical_ratio},
          {"blocks_per_sm", o.blocks_per_sm},
          {"limiters", o.limiters},
          {"waves", o.waves}};
}

nlohmann::ordered_json JsonOf(const Finding& f) {
  return {{"id", f.id},     {"phase", KnownText(f.phase)}, {"evidence", f.evidence},
          {"cure", f.cure}, {"cause", KnownText(f.cause)}, {"weight", f.weight}};
}

nlohmann::ordered_json JsonOf(const DataLoss& l) {
  return {{"kind", l.kind}, {"subject", l.subject}, {"reason", l.reason}, {"count", l.count}};
}

nlohmann::ordered_json JsonOf(const std::vector<StallShare>& stalls) { return ToArray(stalls); }

std::string JsonText(const nlohmann::ordered_json& json, int indent) {
  return EscapeUnsafe(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

void WriteJsonDocument(std::ostream& out, const nlohmann::ordered_json& document) { out << JsonText(document) << '\n'; }

void WriteJsonLine(std::ostream& out, const nlohmann::ordered_json& document) { out << JsonText(document, -1) << '\n'; }

void WriteJsonReport(std::ostream& out, const Profile& profile, const ReportOptions&) {
  const auto by_id = [](std::span<const CatalogueMetric> catalogue) {
    Json json = Json::object();
    for (const CatalogueMetric& metric : catalogue) json[std::string(metric.id)] = ToJson(metric);
    return json;
  };
  Json groups = Json::array();
  for (const StallGroup& group : StallGroups()) groups.push_back(ToJson(group));
  Json reasons = Json::object();
  for (const StallReason& reason : StallReasons()) reasons[std::string(reason.reason)] = ToJson(reason);
  WriteJsonDocument(out, {{"format", "fa-profile report"},
                          {"version", kJsonVersion},
                          {"session", ToJson(profile.session)},
                          {"device", ToJson(profile.device)},
                          {"clocks", ToArray(profile.clocks)},
                          {"program", ObjectOrNull(profile.program)},
                          {"entries", ToArray(profile.entries)},
                          {"losses", ToArray(profile.losses)},
                          {"metrics", by_id(MetricCatalogue())},
                          {"phase_metrics", by_id(PhaseCatalogue())},
                          {"stall_groups", std::move(groups)},
                          {"stall_reasons", std::move(reasons)}});
}

void WriteJsonDiff(std::ostream& out, const ProfileDiff& diff, const Profile&, const Profile&, const ReportOptions&) {
  WriteJsonDocument(out, {{"format", "fa-profile diff"},
                          {"version", kJsonVersion},
                          {"incomparable", diff.incomparable},
                          {"notes", diff.notes},
                          {"not_compared", diff.not_compared},
                          {"entries", ToArray(diff.entries)},
                          {"changes", ToArray(diff.changes)},
                          {"waits", ToArray(diff.waits)},
                          {"findings", ToArray(diff.findings)},
                          {"only_before", diff.only_before},
                          {"only_after", diff.only_after}});
}

void WriteJsonRanks(std::ostream& out, const RankReport& report, const ReportOptions&) {
  const auto times = [](const std::vector<RankTimes>& rows, const char* name, bool levels) {
    Json array = Json::array();
    for (const RankTimes& row : rows) {
      Json json = {{name, row.name}};
      if (levels) json["level"] = row.level;
      json["total_ns"] = row.total_ns;
      json["mean_ns"] = row.mean_ns;
      json["spread_ratio"] = row.spread_ratio;
      array.push_back(std::move(json));
    }
    return array;
  };
  Json ranks = Json::array();
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    const Rank& rank = report.ranks[i];
    ranks.push_back({{"recording", rank.recording},
                     {"complete", rank.complete},
                     {"created_at", KnownText(rank.created_at)},
                     {"device", ToJson(rank.device)},
                     {"watched_ns", rank.use.watched_ns},
                     {"busy_ratio", OrNull(rank.use.busy_ratio)},
                     {"launches", rank.use.launches},
                     {"kernel_ns", report.all_kernels.total_ns[i]}});
  }
  WriteJsonDocument(out, {{"format", "fa-profile ranks"},
                          {"version", kJsonVersion},
                          {"ranks", std::move(ranks)},
                          {"spread_ratio", report.all_kernels.spread_ratio},
                          {"kernels", times(report.kernels, "kernel", false)},
                          {"nvtx", times(report.ranges, "range", true)}});
}

}  // namespace fa_profile::exporters

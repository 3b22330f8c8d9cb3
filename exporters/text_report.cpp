#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <ostream>
#include <ranges>
#include <set>
#include <sstream>

#include "fa_profile/metric_catalogue.h"
#include "fa_profile/report.h"
#include "fa_profile/text.h"
#include "fa_profile/text_page.h"
#include "fa_profile/units.h"
#include "losses.h"
#include "text_actions.h"
#include "text_kernel.h"
#include "text_phases.h"
#include "text_program.h"

namespace fa_profile::exporters {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kMaxSubjects = 12;
constexpr std::size_t kMaxSubjectsOfSummary = 2;
constexpr std::size_t kMaxLaunches = 8;
constexpr double kLeastStallOfKernel = 0.005;

std::optional<double> Metric(const ProfileEntry& entry, const char* id) {
  const auto found = entry.metrics.find(id);
  return found == entry.metrics.end() ? std::nullopt : std::optional(found->second);
}

std::string MetricText(const ProfileEntry& entry, const char* id) {
  return FormatValue(Metric(entry, id), FindMetric(id)->unit);
}

std::string Nanoseconds(std::int64_t ns) { return FormatValue(static_cast<double>(ns) * 1e-9, "seconds"); }

std::string OrUnknown(const std::string& text) { return text.empty() ? "n/a" : text; }

std::string Clock(const Profile& profile, const char* when) {
  for (const ClockSample& sample : profile.clocks) {
    if (sample.when != when) continue;
    std::vector<std::string> facts;
    if (sample.sm_hz) facts.push_back(fmt::format("SM {} MHz", *sample.sm_hz / 1000000));
    if (sample.memory_hz) facts.push_back(fmt::format("memory {} MHz", *sample.memory_hz / 1000000));
    if (sample.temperature_celsius) facts.push_back(fmt::format("{:.0f} C", *sample.temperature_celsius));
    if (sample.power_watts) facts.push_back(fmt::format("{:.0f} W", *sample.power_watts));
    // Bit 0 is "idle", which throttles nothing.
    if (sample.throttle_reasons && (*sample.throttle_reasons & ~std::uint64_t{1}) != 0) {
      facts.push_back(fmt::format("throttled (0x{:x})", *sample.throttle_reasons));
    }
    if (!facts.empty()) return fmt::format("{}", fmt::join(facts, ", "));
  }
  return "n/a";
}

void WriteGpu(TextPage& page, const Device& device) {
  const std::string_view dot = page.separator();
  std::string gpu = page.Safe(OrUnknown(device.name));
  if (!device.chip.empty()) gpu += std::string(dot) + page.Safe(device.chip);
  if (device.sm_count > 0) gpu += fmt::format("{}{} SMs", dot, device.sm_count);
  if (device.compute_capability_major > 0) {
    gpu += fmt::format("{}compute capability {}.{}", dot, device.compute_capability_major,
                       device.compute_capability_minor);
  }
  page.Paragraph("GPU       ", gpu);
}

/// How it was measured.
void WriteRun(TextPage& page, const Profile& profile) {
  const Device& device = profile.device;
  const Session& session = profile.session;
  const std::string_view dot = page.separator();
  page.Paragraph("software  ", fmt::format("driver {}{}CUDA {}{}CUPTI {}", page.Safe(OrUnknown(device.driver_version)),
                                           dot, page.Safe(OrUnknown(device.cuda_runtime_version)), dot,
                                           page.Safe(OrUnknown(device.cupti_version))));
  page.Paragraph("recorded  ", fmt::format("{}{}fa-profile {}{}commit {}", page.Safe(OrUnknown(session.created_at)),
                                           dot, page.Safe(OrUnknown(session.tool_version)), dot,
                                           page.Safe(OrUnknown(session.tool_commit))));
  std::string measured =
      session.replay_mode == "none"
          ? std::string("no counters")
          : fmt::format("set {}{}{} replay{}{} cache", page.Safe(OrUnknown(session.metric_set)), dot,
                        page.Safe(OrUnknown(session.replay_mode)), dot, page.Safe(OrUnknown(session.cache_policy)));
  if (profile.program) {
    measured += fmt::format("{}watched {} in {} {}", dot, Nanoseconds(profile.program->watched_ns),
                            profile.program->windows, profile.program->windows == 1 ? "window" : "windows");
    if (profile.program->unrecorded_ns > 0) {
      measured += fmt::format("{}for {} of it launches were counted and their time estimated from a sample", dot,
                              Nanoseconds(profile.program->unrecorded_ns));
    }
    if (profile.program->measuring_ns > 0) {
      measured += fmt::format("{}measured counters for {}", dot, Nanoseconds(profile.program->measuring_ns));
    }
  } else {
    measured += fmt::format("{}{} warm-up and {} timed launches{}{} draws", dot, session.warmup_launches,
                            session.timed_launches, dot, session.draws);
  }
  page.Paragraph("measured  ", measured);
  page.Paragraph("clocks    ", fmt::format("before: {}", Clock(profile, "before")));
  page.Paragraph("          ", fmt::format("after:  {}", Clock(profile, "after")));
  if (!session.complete && !profile.program)
    page.Line("This run ended early: the data is correct, but incomplete.", Style::kBad);
}

Cell CorrectCell(const ProfileEntry& entry) {
  const std::optional<bool> correct = entry.correct();
  if (!correct) return {"n/a", Style::kDim};
  return *correct ? Cell{"yes", Style::kGood} : Cell{"NO", Style::kBad};
}

std::string TeraFlops(const ProfileEntry& entry) {
  const auto rate = Metric(entry, "achieved_flops_per_second");
  if (!rate) return "n/a";
  const double tera = *rate * 1e-12;
  if (tera >= 1e6) return fmt::format("{:.1e}", tera);
  return fmt::format("{:.{}f}", tera, tera >= 99.95 ? 0 : tera >= 9.995 ? 1 : 2);
}

/// "14/19"; of a call of several kernels the achieved one, which is of all of them.
std::string OccupancyText(const ProfileEntry& entry) {
  std::string achieved = ShortPercent(Metric(entry, "achieved_occupancy_ratio"));
  if (entry.launches.size() > 1) return achieved;
  return achieved + "/" + ShortPercent(Metric(entry, "theoretical_occupancy_ratio"));
}

std::vector<Cell> SummaryRow(const TextPage& page, const ProfileEntry& entry, bool with_phases) {
  // A part is listed below its call.
  const std::string name = entry.part.empty() ? entry.kernel : "  " + entry.part;
  std::vector<Cell> cells{{page.Safe(name)},
                          CorrectCell(entry),
                          {MetricText(entry, "duration_seconds")},
                          {TeraFlops(entry)},
                          {ShortPercent(Metric(entry, "tensor_core_utilization_ratio"))},
                          {OccupancyText(entry)},
                          {ShortPercent(Metric(entry, "compute_sol_ratio"))},
                          {ShortPercent(Metric(entry, "memory_sol_ratio"))},
                          {MetricText(entry, "shared_conflicts_per_request")},
                          {page.Safe(TopStall(entry))}};
  if (with_phases) cells.push_back({page.Safe(TopPhase(entry))});
  return cells;
}

std::string ShapeTitle(const Profile& profile, const std::optional<Shape>& shape) {
  if (shape)
    return shape->attention() != nullptr ? "batch,heads,seqlen,head_dim = " + shape->ToString() : shape->ToString();
  const bool programs = std::ranges::all_of(
      profile.entries, [](const ProfileEntry& entry) { return entry.shape || entry.origin == "program"; });
  return programs ? "programs" : "kernels";  // a Python kernel has its shape in its name
}

// A program's kernels are not verified, and their operations are unknown.
void DropAbsent(std::vector<Column>& columns, std::vector<std::vector<Cell>>& rows) {
  for (std::size_t column = columns.size(); column-- > 1;) {
    const auto place = static_cast<std::ptrdiff_t>(column);
    if (!std::ranges::all_of(rows, [&](const std::vector<Cell>& row) { return row[column].text == "n/a"; })) continue;
    columns.erase(columns.begin() + place);
    for (std::vector<Cell>& row : rows) row.erase(row.begin() + place);
  }
}

void WriteSummary(TextPage& page, const Profile& profile) {
  std::vector<Column> columns{{"kernel", true}, {"ok"}, {"time"}, {"TFLOP/s"}, {"tensor"},
                              {"occ"},          {"SM"}, {"mem"},  {"confl"},   {"top stall", true}};
  const bool with_phases =
      std::ranges::any_of(profile.entries, [](const ProfileEntry& entry) { return entry.phases.has_value(); });
  if (with_phases) columns.push_back({"top phase", true});
  std::vector<std::optional<Shape>> shapes;
  for (const ProfileEntry& entry : profile.entries) {
    if (IsMeasured(profile, entry) && std::ranges::find(shapes, entry.shape) == shapes.end())
      shapes.push_back(entry.shape);
  }
  if (profile.program && shapes.empty()) return;
  for (const auto& shape : shapes) {
    std::vector<std::vector<Cell>> rows;
    for (const ProfileEntry& entry : profile.entries) {
      if (entry.shape == shape && IsMeasured(profile, entry)) rows.push_back(SummaryRow(page, entry, with_phases));
    }
    std::vector<Column> shown = columns;
    if (profile.program) DropAbsent(shown, rows);
    page.Line();
    page.Rule(profile.program ? "Kernels with counters" : ShapeTitle(profile, shape));
    page.Table(shown, rows);
  }
  if (shapes.empty()) {
    page.Line();
    page.Line("No kernel was recorded.");
    return;
  }
  page.Line();
  page.Paragraph(
      "", std::string(profile.program ? "time: median of watched launches. " : "time: median without the profiler. ") +
              "tensor, occ (achieved/theoretical), SM and mem: % of peak. confl: data-pipe "
              "bank conflicts per request. top stall: % of warp-cycles." +
              std::string(with_phases ? " top phase: % of the time." : ""));
}

void WriteVerification(TextPage& page, const ProfileEntry& entry) {
  if (!entry.verification) {
    page.Line("  correct    n/a: not verified");
    return;
  }
  page.Paragraph("  correct    ", VerificationText(page, *entry.verification));
  if (entry.judgement) page.Paragraph("  judged     ", page.Safe(Describe(*entry.judgement)));
  if (!entry.not_as_certified.empty()) page.Paragraph("  measured   ", page.Safe(entry.not_as_certified));
  if (!entry.verification->correct()) {
    page.Line("  NOT CORRECT: its speed is not a result and is not reported.", Style::kBad);
  } else if (IsWrong(entry)) {
    page.Line("  NOT CERTIFIED: its speed is not a result and is not reported.", Style::kBad);
  }
}

/// For the line with the kernel's name: "certified 11.5 us".
std::string VerdictOf(const ProfileEntry& entry) {
  if (!entry.judgement || !entry.part.empty()) return {};
  const std::optional<double> call_ns = CallNs(*entry.judgement);
  if (entry.correct() == true && entry.judgement->verdict == Judgement::Verdict::kCertified && call_ns) {
    return "certified " + FormatValue(*call_ns * 1e-9, "seconds");
  }
  return entry.judgement->verdict == Judgement::Verdict::kCertified ? "not as certified"
                                                                    : ToString(entry.judgement->verdict);
}

void WriteUse(TextPage& page, const ProfileEntry& entry) {
  if (!entry.use) return;
  const KernelUse& use = *entry.use;
  std::string text = FormatCount(static_cast<double>(use.launches));
  if (use.graph_launches > 0) {
    text += fmt::format(" ({} in CUDA graphs)", FormatCount(static_cast<double>(use.graph_launches)));
  }
  text += fmt::format(", {} in all, each {} to {}", Nanoseconds(use.total_ns), Nanoseconds(use.min_ns),
                      Nanoseconds(use.max_ns));
  if (use.share_ratio) text += fmt::format(", {} of the time of all kernels", FormatValue(*use.share_ratio, "ratio"));
  page.Paragraph("  launches   ", text);
}

/// The samples in the order taken: "▁▁▂█▁ 5.80 us to 6.10 us". Scaled from the shortest to the longest, however close.
std::string TrendText(const TimingSummary& timing, Bars bars) {
  if (bars == Bars::kNone || timing.trend_ns.size() < 2) return {};
  const auto [least, most] = std::ranges::minmax(timing.trend_ns);
  return fmt::format("{} {} to {}, in the order taken", Sparkline(timing.trend_ns, least, most, bars),
                     FormatValue(least * 1e-9, "seconds"), FormatValue(most * 1e-9, "seconds"));
}

/// The clock is cycles by time, of replays between the samples: it may be above what the GPU can have.
std::string ClockText(double hertz, const Device& device) {
  const auto most = static_cast<double>(device.sm_clock_max_hz);
  std::string text = fmt::format("{:.4g} GHz", hertz * 1e-9);
  if (most <= 0.0 || hertz < 1.0005 * most) return text;
  return fmt::format("{} (an estimate: the GPU's highest clock is {:.4g})", text, most * 1e-9);
}

void WriteTiming(TextPage& page, const Device& device, const ProfileEntry& entry) {
  if (!entry.timing) return;
  const TimingSummary& t = *entry.timing;
  std::string text =
      fmt::format("{} median of {} ({}), p05 {}, p95 {}, spread {}", FormatValue(t.median_ns * 1e-9, "seconds"),
                  t.samples, page.Safe(t.method), FormatValue(t.p05_ns * 1e-9, "seconds"),
                  FormatValue(t.p95_ns * 1e-9, "seconds"), FormatValue(t.spread_ratio, "ratio"));
  if (t.sm_clock_hz && t.median_cycles) {
    text += fmt::format(", {} cycles at {}", FormatValue(*t.median_cycles, "count"), ClockText(*t.sm_clock_hz, device));
  }
  page.Paragraph("  time       ", text);
  if (const std::string trend = TrendText(t, page.bars()); !trend.empty()) page.Line("  trend      " + trend);
}

void WriteLaunches(TextPage& page, const ProfileEntry& entry) {
  for (std::size_t i = 0; i < std::min(entry.launches.size(), kMaxLaunches); ++i) {
    const Launch& launch = entry.launches[i];
    const double shared = static_cast<double>(launch.static_shared_memory_bytes) +
                          static_cast<double>(launch.dynamic_shared_memory_bytes);
    std::string text =
        fmt::format("{} grid {} block {} registers {} shared {}", page.Safe(Truncate(launch.kernel_name, 200)),
                    fmt::join(launch.grid, "x"), fmt::join(launch.block, "x"), launch.registers_per_thread,
                    FormatValue(shared, "bytes"));
    if (launch.local_memory_per_thread_bytes > 0) {
      text += fmt::format(" local {} per thread",
                          FormatValue(static_cast<double>(launch.local_memory_per_thread_bytes), "bytes"));
    }
    // Launches in a profiled program have no times; a launch class's represents all of them.
    if (!entry.use && !IsWrong(entry) && launch.end_ns > launch.start_ns) {
      const double duration = ElapsedNs(launch.start_ns, launch.end_ns);
      text += fmt::format(" took {}", FormatValue(duration * 1e-9, "seconds"));
    }
    page.Paragraph("  launch     ", text);
  }
  if (entry.launches.size() > kMaxLaunches) {
    page.Line(fmt::format("             and {} more launches", entry.launches.size() - kMaxLaunches));
  }
}

/// The end of the call in which SMs are idle, if it is longer than a sample.
std::string TailText(const CallTimeline& timeline) {
  std::string text;
  for (const CallTail& tail : timeline.tails) {
    if (tail.samples < 2) continue;
    text +=
        fmt::format("{}the last {} ({}) below {:.0f} %", text.empty() ? "; SMs active, of their largest value: " : ", ",
                    Nanoseconds(tail.duration_ns), FormatValue(tail.share_ratio, "ratio"), 100.0 * tail.below_ratio);
  }
  return text;
}

/// The call's own time. Each metric comes from a sampled launch, which may be active for longer: both are named.
std::string SampledCallText(const ProfileEntry& entry) {
  const double active_ns = static_cast<double>(entry.timeline->active_ns);
  const std::string active = FormatValue(active_ns * 1e-9, "seconds");
  if (!entry.timing) return "a call; its longest sampled launch was active for " + active;
  const std::string call = FormatValue(entry.timing->median_ns * 1e-9, "seconds");
  std::string text = "a call of " + call;
  if (active_ns > entry.timing->median_ns && active != call) {
    text += " (the GPU was active for " + active + " in the longest sampled launch)";
  }
  return text;
}

void WriteTimelineLine(TextPage& page, const ProfileEntry& entry) {
  if (!entry.timeline) return;
  const std::size_t metrics = entry.timeline->series.size();
  page.Paragraph("  timeline   ",
                 fmt::format("{} metric{} over {}{}; --format html or perfetto shows them", metrics,
                             metrics == 1 ? "" : "s", SampledCallText(entry), TailText(*entry.timeline)));
}

void WriteOccupancy(TextPage& page, const ProfileEntry& entry) {
  if (!entry.occupancy) return;
  const Occupancy& o = *entry.occupancy;
  const bool several = entry.launches.size() > 1;
  page.Paragraph("  occupancy  ",
                 fmt::format("{} theoretical{}, limited by {}: {} block{} per SM, {:.2f} waves; {} achieved{}",
                             FormatValue(o.theoretical_ratio, "ratio"), several ? " of the longest kernel" : "",
                             fmt::join(o.limiters, " and "), o.blocks_per_sm, o.blocks_per_sm == 1 ? "" : "s", o.waves,
                             MetricText(entry, "achieved_occupancy_ratio"), several ? " by all of them" : ""));
}

void WriteStalls(TextPage& page, const ProfileEntry& entry) {
  if (entry.stalls.empty()) return;
  std::vector<std::string> shares;
  for (const StallShare& stall : entry.stalls) {
    if (stall.ratio >= kLeastStallOfKernel) shares.push_back(page.Safe(stall.reason) + " " + ShortPercent(stall.ratio));
  }
  if (shares.empty()) return;
  page.Paragraph("  stalls     ", fmt::format("{} (% of warp-cycles)", fmt::join(shares, ", ")));
}

void WriteMetrics(TextPage& page, const ProfileEntry& entry) {
  // Shown in the lines above.
  static const std::set<std::string_view> kElsewhere{"duration_seconds",
                                                     "theoretical_occupancy_ratio",
                                                     "waves",
                                                     "achieved_occupancy_ratio",
                                                     "registers_per_thread",
                                                     "shared_memory_per_block_bytes",
                                                     "local_memory_per_thread_bytes"};
  std::vector<std::pair<std::string, std::string>> cells;
  for (const CatalogueMetric& metric : MetricCatalogue()) {
    const auto found = entry.metrics.find(std::string(metric.id));
    if (found == entry.metrics.end() || metric.id.starts_with("stall_") || kElsewhere.contains(metric.id)) continue;
    cells.emplace_back(metric.label, FormatValue(found->second, metric.unit));
  }
  page.Grid(cells, kIndent);
}

void WriteEntry(TextPage& page, const Profile& profile, const ProfileEntry& entry) {
  std::string title = page.Safe(NameOf(entry));
  if (entry.shape) title += std::string(page.separator()) + entry.shape->ToString();
  if (!entry.bottleneck.empty()) title += fmt::format("{}bound by {}", page.separator(), page.Safe(entry.bottleneck));
  if (const std::string verdict = VerdictOf(entry); !verdict.empty()) title += std::string(page.separator()) + verdict;
  page.Line();
  page.Rule(title);
  if (!entry.origin.empty() && entry.origin != "ladder" && entry.origin != "program") {
    page.Paragraph("  from       ", page.Safe(entry.origin));
  }
  if (entry.part.empty() && !entry.use) WriteVerification(page, entry);
  WriteFindings(page, entry);
  WriteUse(page, entry);
  WriteTiming(page, profile.device, entry);
  WriteLaunches(page, entry);
  WriteTimelineLine(page, entry);
  WriteOccupancy(page, entry);
  WriteStalls(page, entry);
  WritePhases(page, entry);
  WriteMetrics(page, entry);
}

struct LossGroup {
  std::string kind;
  std::string reason;  ///< empty if there are several
  std::int64_t count = 0;
  std::vector<std::string> subjects;
};

/// One group per kind and reason, in order. A kind's reasons share one if there are many.
std::vector<LossGroup> GroupLosses(const std::vector<DataLoss>& losses) {
  constexpr std::size_t kMaxReasons = 10;
  std::map<std::string, std::set<std::string>> reasons;
  for (const DataLoss& loss : losses) reasons[loss.kind].insert(loss.reason);
  std::map<std::pair<std::string, std::string>, LossGroup> groups;
  for (const DataLoss& loss : losses) {
    const std::string reason = reasons[loss.kind].size() > kMaxReasons ? "" : loss.reason;
    LossGroup& group = groups.try_emplace({loss.kind, reason}, LossGroup{loss.kind, reason, 0, {}}).first->second;
    if (loss.count > 0 && group.count < INT64_MAX - loss.count) group.count += loss.count;
    group.subjects.push_back(loss.subject);
  }
  const auto values = std::views::values(groups);
  return {values.begin(), values.end()};
}

void WriteLossGroup(TextPage& page, const LossGroup& group, std::size_t most_subjects) {
  page.Paragraph(page.Safe(Truncate(group.kind, 60)) + ": ",
                 fmt::format("{}{}{}", group.count, group.reason.empty() ? "" : ", ", page.Safe(group.reason)));
  std::string text;
  const std::size_t shown = std::min(group.subjects.size(), most_subjects);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + page.Safe(group.subjects[i]);
  if (shown < group.subjects.size()) text += fmt::format(" and {} more", group.subjects.size() - shown);
  page.Paragraph("  ", text);
}

void WriteLosses(TextPage& page, const Profile& profile) {
  page.Line();
  page.Rule("what is missing");
  if (profile.losses.empty()) page.Line("Nothing.");
  for (const LossGroup& group : GroupLosses(profile.losses)) WriteLossGroup(page, group, kMaxSubjects);
}

/// At most twelve lines. Names in a metric set that are not counters are only counted.
void WriteFewLosses(std::ostream& out, const Profile& profile, const ReportOptions& options) {
  constexpr std::size_t kMostLines = 12;
  constexpr std::size_t kOtherLines = 3;  // the title, the number of further groups, names that are not counters
  TextPage page(out, options);
  page.Line();
  page.Rule("what is missing");
  if (profile.losses.empty()) page.Line("Nothing.");
  std::vector<DataLoss> losses;
  std::ranges::copy_if(profile.losses, std::back_inserter(losses), IsOfACounter);
  std::size_t lines = kOtherLines;
  std::size_t left_out = 0;
  for (const LossGroup& group : GroupLosses(losses)) {
    std::ostringstream text;
    TextPage part(text, options);
    WriteLossGroup(part, group, kMaxSubjectsOfSummary);
    lines += static_cast<std::size_t>(std::ranges::count(text.view(), '\n'));
    if (lines <= kMostLines) {
      out << text.view();
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) page.Line(fmt::format("and {} more", left_out));
  if (const std::size_t names = profile.losses.size() - losses.size(); names > 0) {
    page.Line(fmt::format("{} names of the set are not counters", names));
  }
}

void WriteTables(TextPage& page, const Profile& profile, const ReportOptions& options) {
  if (profile.program) {
    WriteProgramTables(page, profile, options.details);
    WriteNvtxBlocks(page, profile, options.nvtx_ranges);
  }
  WriteSummary(page, profile);
}

void WriteWhole(TextPage& page, const Profile& profile, const ReportOptions& options) {
  WriteGpu(page, profile.device);
  WriteRun(page, profile);
  WriteTables(page, profile, options);
  for (const ProfileEntry* const entry : ShownEntries(profile)) WriteEntry(page, profile, *entry);
  WriteLosses(page, profile);
}

/// The answer first: for a program, the summary above already has the kernels.
void WriteShort(TextPage& page, const Profile& profile, const ReportOptions& options) {
  WriteGpu(page, profile.device);
  if (profile.program) WriteActions(page, profile);
  WriteTables(page, profile, options);
  if (!profile.program) WriteActions(page, profile);
  page.Line();
  WriteRun(page, profile);
}

}  // namespace

void WriteTextReport(std::ostream& out, const Profile& profile, const ReportOptions& options) {
  TextPage page(out, options);
  page.Rule("fa-profile report");
  if (profile.program) {
    WriteProgramSummary(page, profile, options.nvtx_ranges.empty());
    page.Line();
  }
  if (options.details) return WriteWhole(page, profile, options);
  WriteShort(page, profile, options);
  WriteFewLosses(out, profile, options);
  page.Line();
  page.Paragraph("", "More: --details shows everything about each kernel; --kernel REGEX and --shape S select.");
}

}  // namespace fa_profile::exporters

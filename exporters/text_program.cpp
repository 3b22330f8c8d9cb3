#include "text_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fa_profile/text.h"
#include "fa_profile/units.h"

namespace fa_profile::exporters {
std::string UseTime(std::int64_t ns) { return ns == 0 ? "0" : FormatValue(static_cast<double>(ns) * 1e-9, "seconds"); }
std::string UseCount(std::int64_t count) { return FormatCount(static_cast<double>(count)); }
std::string UseShare(const std::optional<double>& ratio) {
  if (!ratio) return "n/a";
  return *ratio > 0.0 && *ratio < 0.0005 ? "<0.1 %" : Percent(*ratio);
}
std::string WhyText(const TextPage& page, const ProfileEntry& entry, bool brief) {
  std::vector<std::string> facts;
  if (!entry.bottleneck.empty()) {
    facts.push_back(page.Safe(brief ? "bound by " + entry.bottleneck : entry.bottleneck_evidence));
  }
  if (entry.phases && !entry.phases->phases.empty() && entry.phases->phases.front().name != kUnattributed) {
    const PhaseEntry& phase = entry.phases->phases.front();
    const auto share = phase.metrics.find("phase_time_ratio");
    if (share != phase.metrics.end()) {
      facts.push_back(fmt::format("{} {}", page.Safe(phase.name), Percent(share->second, 0)));
    }
  }
  if (!entry.findings.empty()) facts.push_back(page.Safe(entry.findings.front().id));
  return fmt::format("{}", fmt::join(facts, "; "));
}

namespace {

constexpr std::size_t kTopKernels = 5;
constexpr double kLeastTopShare = 0.01;
/// Rows with a smaller share are folded into one line, but only as long as at least this many rows are left.
constexpr double kLeastShownShare = 0.001;
constexpr std::size_t kLeastRows = 5;
constexpr std::size_t kMostKernels = 100;
constexpr std::size_t kMostRanges = 60;
constexpr std::size_t kMostRowsWithoutDetails = 10;
constexpr std::size_t kDeepestIndent = 12;
constexpr std::size_t kLongestProgram = 60;
constexpr std::size_t kLongestRange = 40;

std::string BytesText(std::int64_t bytes) { return FormatValue(static_cast<double>(bytes), "bytes"); }
std::string Plural(std::int64_t count, std::string_view one, std::string_view many) {
  return UseCount(count) + " " + std::string(count == 1 ? one : many);
}

/// "python3 decode.py" from "fa-profile --ncu-set full -- python3 decode.py".
std::string ProgramName(const TextPage& page, const Session& session) {
  constexpr std::string_view kBehindOptions = " -- ";
  const std::size_t at = session.command_line.find(kBehindOptions);
  const std::string name = at == std::string::npos ? "" : session.command_line.substr(at + kBehindOptions.size());
  return name.empty() ? "The program" : Truncate(page.Safe(Truncate(name, kLongestProgram)), kLongestProgram);
}

std::string Headline(const TextPage& page, const Profile& profile) {
  const ProgramUse& use = *profile.program;
  std::string text = fmt::format("{}: watched {}, GPU busy {}, ", ProgramName(page, profile.session),
                                 UseTime(use.watched_ns), UseShare(use.busy_ratio));
  if (use.launches == 0) {
    return text +
           (profile.session.complete ? "no kernel was launched." : "the recording ended before its first kernel.");
  }
  text += fmt::format("{} of {}", Plural(use.launches, "kernel launch", "kernel launches"),
                      Plural(use.classes, "class", "classes"));
  if (use.graph_launches > 0) text += fmt::format(" ({} in CUDA graphs)", UseCount(use.graph_launches));
  return text + ".";
}

/// Most time first.
std::vector<const ProfileEntry*> ClassesByTime(const Profile& profile) {
  std::vector<const ProfileEntry*> classes;
  for (const ProfileEntry& entry : profile.entries) {
    if (entry.use) classes.push_back(&entry);
  }
  std::ranges::stable_sort(
      classes, [](const ProfileEntry* a, const ProfileEntry* b) { return a->use->total_ns > b->use->total_ns; });
  return classes;
}

void WriteTopKernels(TextPage& page, const std::vector<const ProfileEntry*>& classes) {
  std::vector<std::vector<Cell>> rows;
  bool explained = false;
  for (const ProfileEntry* entry : classes) {
    const bool small = entry->use->share_ratio.value_or(0.0) < kLeastTopShare;
    if (rows.size() == kTopKernels || (small && !rows.empty())) break;
    const std::string why = WhyText(page, *entry, /*brief=*/true);
    explained |= !why.empty();
    rows.push_back({{UseShare(entry->use->share_ratio)},
                    {UseTime(entry->use->total_ns)},
                    {Truncate(page.Safe(entry->kernel), kLongestWrappedKernel)},
                    {why}});
  }
  if (rows.empty()) return;
  std::vector<Column> columns{{"share"}, {"GPU time"}, {"top kernels", true, /*wraps=*/true}};
  if (explained) {
    columns.push_back({"why", true, /*wraps=*/true});
  } else {
    for (auto& row : rows) row.pop_back();
  }
  page.Table(columns, rows);
}

std::string MemorySentence(const TextPage& page, const ProgramUse& use) {
  double share = 0.0;
  for (const MemoryUse& memory : use.memory) share += memory.share_ratio.value_or(0.0);
  const MemoryUse& most = use.memory.front();
  return fmt::format("Copies and sets: {} of the GPU time; most of it {}, {} in {}.", UseShare(share),
                     page.Safe(Truncate(most.kind, kLongestRange)), BytesText(most.bytes),
                     Plural(most.operations, "operation", "operations"));
}

/// The range with the most GPU time outside of nested ranges. `ranges` is not empty.
const NvtxUse& HeaviestRange(const std::vector<NvtxUse>& ranges) {
  std::vector<double> own(ranges.size());
  std::vector<std::size_t> around;  // the range and those around it, outermost first
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto gpu_ns = static_cast<double>(ranges[i].gpu_ns);
    around.resize(std::min(around.size(), static_cast<std::size_t>(ranges[i].level)));
    if (!around.empty()) own[around.back()] -= gpu_ns;
    around.push_back(i);
    own[i] += gpu_ns;
  }
  return ranges[static_cast<std::size_t>(std::ranges::max_element(own) - own.begin())];
}

std::string NvtxSentence(const TextPage& page, const ProgramUse& use) {
  const NvtxUse& most = HeaviestRange(use.nvtx);
  const std::string& name = DisplayWidth(most.path) <= kLongestRange ? most.path : most.name;
  return fmt::format("NVTX: {} of the kernels' time is inside ranges; most of it in '{}' ({}).",
                     UseShare(use.nvtx_ratio), page.Safe(Truncate(name, kLongestRange)), UseShare(most.share_ratio));
}

/// The sum of the rows in `classes` that are folded into one line.
KernelUse SumOf(const std::vector<const ProfileEntry*>& classes, std::size_t first) {
  KernelUse sum;
  const auto add = [](std::int64_t& to, std::int64_t value) {  // a damaged recording may hold any number
    if (__builtin_add_overflow(to, value, &to)) to = std::numeric_limits<std::int64_t>::max();
  };
  for (std::size_t i = first; i < classes.size(); ++i) {
    const KernelUse& use = *classes[i]->use;
    if (use.share_ratio) sum.share_ratio = sum.share_ratio.value_or(0.0) + *use.share_ratio;
    add(sum.total_ns, use.total_ns);
    add(sum.launches, use.launches);
    add(sum.graph_launches, use.graph_launches);
  }
  return sum;
}

/// A line for each kernel. If counters show what limits it, that replaces p95 and graph launches, which `details` has.
void WriteKernels(TextPage& page, const std::vector<const ProfileEntry*>& classes, bool details) {
  if (classes.empty()) return;
  const bool says_why = !details && std::ranges::any_of(classes, [](const ProfileEntry* entry) {
    return !entry->bottleneck_evidence.empty();
  });
  std::vector<std::vector<Cell>> rows;
  const auto add = [&](const KernelUse& use, const TimingSummary* timing, const Cell& kernel, const std::string& why) {
    const auto seconds = [&](double TimingSummary::*value) {
      return timing == nullptr ? "" : FormatValue(timing->*value * 1e-9, "seconds");
    };
    auto& row = rows.emplace_back(std::vector<Cell>{{UseShare(use.share_ratio)},
                                                    {UseTime(use.total_ns)},
                                                    {UseCount(use.launches)},
                                                    {seconds(&TimingSummary::median_ns)}});
    if (!says_why) row.insert(row.end(), {{seconds(&TimingSummary::p95_ns)}, {UseCount(use.graph_launches)}});
    row.push_back(kernel);
    if (says_why) row.push_back({why});
  };
  const std::size_t most = details ? kMostKernels : kMostRowsWithoutDetails;
  std::size_t shown = 0;
  for (; shown < std::min(classes.size(), most); ++shown) {
    const ProfileEntry& entry = *classes[shown];
    if (shown >= kLeastRows && entry.use->share_ratio.value_or(0.0) < kLeastShownShare) break;
    add(*entry.use, entry.timing ? &*entry.timing : nullptr, {page.Safe(entry.kernel)},
        page.Safe(entry.bottleneck_evidence));
  }
  if (shown < classes.size()) {
    add(SumOf(classes, shown), nullptr, {fmt::format("and {} more", classes.size() - shown), Style::kDim}, "");
  }
  std::vector<Column> columns{{"share"}, {"total"}, {"launches"}, {"median"}};
  if (!says_why) columns.insert(columns.end(), {{"p95"}, {"in graphs"}});
  columns.push_back({"kernel", true});
  if (says_why) columns.push_back({"why", true, /*wraps=*/true});
  page.Line();
  page.Rule("Kernels");
  page.Table(columns, rows);
}

void WriteMemory(TextPage& page, const ProgramUse& program) {
  if (program.memory.empty()) return;
  std::vector<std::vector<Cell>> rows;
  for (const MemoryUse& use : program.memory) {
    const double rate = static_cast<double>(use.bytes) / (static_cast<double>(use.total_ns) * 1e-9);
    rows.push_back({{UseShare(use.share_ratio)},
                    {UseTime(use.total_ns)},
                    {UseCount(use.operations)},
                    {BytesText(use.bytes)},
                    {use.total_ns > 0 ? FormatValue(rate, "bytes_per_second") : "n/a"},
                    {page.Safe(use.kind)}});
  }
  page.Line();
  page.Rule("Memory");
  page.Table({{"share"}, {"total"}, {"operations"}, {"bytes"}, {"rate"}, {"kind", true}}, rows);
}

/// Which ranges are shown: those with the greatest share of the kernels' time or of the watched time, and the ranges
/// around them, whose share is at least as large.
std::vector<bool> ShownRanges(const ProgramUse& program, std::size_t most) {
  std::vector<std::pair<double, std::size_t>> weights;
  for (std::size_t i = 0; i < program.nvtx.size(); ++i) {
    const NvtxUse& use = program.nvtx[i];
    const double of_host =
        program.watched_ns > 0 ? static_cast<double>(use.host_ns) / static_cast<double>(program.watched_ns) : 0.0;
    weights.emplace_back(std::max(use.share_ratio.value_or(0.0), of_host), i);
  }
  std::ranges::stable_sort(weights, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<bool> shown(weights.size(), false);
  for (std::size_t i = 0; i < std::min(weights.size(), most); ++i) {
    if (i < kLeastRows || weights[i].first >= kLeastShownShare) shown[weights[i].second] = true;
  }
  return shown;
}

void WriteRanges(TextPage& page, const ProgramUse& program, std::size_t most) {
  if (program.nvtx.empty()) return;
  const std::vector<bool> shown = ShownRanges(program, most);
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < program.nvtx.size(); ++i) {
    if (!shown[i]) continue;
    const NvtxUse& use = program.nvtx[i];
    const std::size_t indent = 2 * std::min(static_cast<std::size_t>(use.level), kDeepestIndent);
    rows.push_back({{UseShare(use.share_ratio)},
                    {UseTime(use.gpu_ns)},
                    {UseCount(use.launches)},
                    {UseTime(use.host_ns)},
                    {UseCount(use.ranges)},
                    {std::string(indent, ' ') + page.Safe(use.name)}});
  }
  const std::size_t folded = program.nvtx.size() - rows.size();
  if (folded > 0) rows.push_back({{""}, {""}, {""}, {""}, {""}, {fmt::format("and {} more", folded), Style::kDim}});
  page.Line();
  page.Rule("NVTX ranges");
  page.Table({{"share"}, {"GPU time"}, {"launches"}, {"host time"}, {"ranges"}, {"range", true}}, rows);
}

/// Length of the paths' common beginning, up to the last " / " that all have.
std::size_t CommonPath(const std::vector<const LayerUse*>& layers) {
  constexpr std::string_view kNested = " / ";
  const std::string& first = layers.front()->layer;
  std::size_t common = first.rfind(kNested);
  for (; common != std::string::npos && common > 0; common = first.rfind(kNested, common - 1)) {
    const std::string begin = first.substr(0, common + kNested.size());
    if (std::ranges::all_of(layers, [&](const LayerUse* use) { return use->layer.starts_with(begin); })) {
      return begin.size();
    }
  }
  return 0;
}

void WriteLayers(TextPage& page, const Profile& profile, std::size_t most) {
  std::vector<const LayerUse*> layers;
  for (const LayerUse& use : profile.program->layers) {
    if (layers.size() == most || (layers.size() >= kLeastRows && use.share_ratio.value_or(0.0) < kLeastTopShare)) break;
    layers.push_back(&use);
  }
  if (layers.empty()) return;
  std::map<std::int64_t, const ProfileEntry*> entries;
  for (const ProfileEntry& entry : profile.entries) {
    if (entry.part.empty()) entries.emplace(entry.case_id, &entry);
  }
  const std::size_t common = CommonPath(layers);
  std::vector<std::vector<Cell>> rows;
  for (const LayerUse* use : layers) {
    const auto entry = entries.find(use->case_id);
    const bool known = entry != entries.end();
    rows.push_back({{UseShare(use->share_ratio)},
                    {UseTime(use->gpu_ns)},
                    {page.Safe(use->layer.substr(common))},
                    {page.Safe(Truncate(use->kernel, kLongestRange))},
                    {known ? WhyText(page, *entry->second) : ""}});
  }
  const std::size_t folded = profile.program->layers.size() - layers.size();
  if (folded > 0) rows.push_back({{""}, {""}, {fmt::format("and {} more", folded), Style::kDim}, {""}, {""}});
  page.Line();
  page.Rule("Layers");
  if (common > 0) page.Line("in " + page.Safe(layers.front()->layer.substr(0, common - 3)));
  page.Table({{"share"}, {"GPU time"}, {"layer", true, /*wraps=*/true}, {"kernel", true}, {"why", true, true}}, rows);
}

}  // namespace

std::string NameOf(const ProfileEntry& entry) {
  return entry.part.empty() ? entry.kernel : entry.kernel + "/" + entry.part;
}

std::vector<const ProfileEntry*> ShownEntries(const Profile& profile) {
  constexpr double kLeastShareOfFindings = 0.01;
  std::vector<const ProfileEntry*> shown;
  for (const ProfileEntry* entry : ClassesByTime(profile)) {
    const bool found = !entry->findings.empty() && entry->use->share_ratio.value_or(0.0) >= kLeastShareOfFindings;
    if (IsMeasured(profile, *entry) || found) shown.push_back(entry);
  }
  for (const ProfileEntry& entry : profile.entries) {
    if (!entry.use && IsMeasured(profile, entry)) shown.push_back(&entry);
  }
  return shown;
}

bool IsMeasured(const Profile& profile, const ProfileEntry& entry) {
  return !profile.program || entry.has_counters || entry.phases;
}

void WriteProgramSummary(TextPage& page, const Profile& profile, bool all_ranges) {
  const ProgramUse& program = *profile.program;
  page.Paragraph("", Headline(page, profile));
  if (!profile.session.complete) {
    page.Line("The run ended early: this is what had been recorded by then.", Style::kBad);
  }
  WriteTopKernels(page, ClassesByTime(profile));
  if (!program.memory.empty()) page.Paragraph("", MemorySentence(page, program));
  if (all_ranges && !program.nvtx.empty()) page.Paragraph("", NvtxSentence(page, program));
}

void WriteProgramTables(TextPage& page, const Profile& profile, bool details) {
  const ProgramUse& program = *profile.program;
  WriteKernels(page, ClassesByTime(profile), details);
  WriteLayers(page, profile, details ? kMostRanges : kMostRowsWithoutDetails);
  WriteMemory(page, program);
  WriteRanges(page, program, details ? kMostRanges : kMostRowsWithoutDetails);
  if (program.launches == 0 && program.memory.empty()) return;
  page.Line();
  page.Paragraph("",
                 "share: of the time of all kernels; of copies and sets, of the time of all GPU work. total, GPU time: "
                 "on the GPU, where what overlaps counts in full. median, p95: of a sample of launches. A range's "
                 "numbers include the ranges nested in it; host time is between its begin and its end.");
}

}  // namespace fa_profile::exporters

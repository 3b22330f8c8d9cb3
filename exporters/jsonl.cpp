// JSON lines of recordings and code: one finding a line, each complete by itself, for scripts and coding agents.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "fa_profile/call_name.h"
#include "fa_profile/line_ids.h"
#include "fa_profile/lint_report.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/phase_map.h"
#include "fa_profile/report.h"
#include "json_parts.h"
#include "losses.h"

namespace fa_profile::exporters {
namespace {

using Line = nlohmann::ordered_json;

constexpr const char* kNote = "note";
constexpr const char* kWarning = "warning";
constexpr const char* kSevere = "error";

class LineWriter {
 public:
  explicit LineWriter(std::ostream& out) : out_(out) {}

  /// `names`: the line's kind, then what else its id is made of.
  void Write(const std::vector<std::string_view>& names, const char* severity, const Line& facts) {
    Line line = {
        {"kind", names.front()}, {"version", kJsonLinesVersion}, {"id", ids_.Next(names)}, {"severity", severity}};
    for (const auto& [name, value] : facts.items()) line[name] = value;
    WriteJsonLine(out_, line);
  }

 private:
  std::ostream& out_;
  LineIds ids_;
};

std::string ShapeText(const std::optional<Shape>& shape) { return shape ? shape->ToString() : std::string(); }

/// Values with their units; one that is not finite is left out.
class Numbers {
 public:
  void Add(std::string_view name, double value, std::string_view unit) {
    if (std::isfinite(value)) list_.push_back({{"name", name}, {"value", value}, {"unit", unit}});
  }
  void Add(std::string_view name, std::int64_t value, std::string_view unit) {
    list_.push_back({{"name", name}, {"value", value}, {"unit", unit}});
  }
  /// Of a kernel or a phase; nothing if it was not measured.
  void Add(const CatalogueMetric& metric, const std::map<std::string, double>& metrics) {
    const auto found = metrics.find(std::string(metric.id));
    if (found != metrics.end()) Add(metric.id, found->second, metric.unit);
  }
  /// 5th and 95th percentile of the last one.
  void Spread(double low, double high) {
    if (list_.empty() || !std::isfinite(low) || !std::isfinite(high)) return;
    list_.back()["low"] = low;
    list_.back()["high"] = high;
  }

  Line Take() { return std::move(list_); }

 private:
  Line list_ = Line::array();
};

/// The call's time with its spread, and how busy the GPU's units are.
Line NumbersOf(const ProfileEntry& entry) {
  constexpr const char* kShown[] = {
      "duration_seconds",         "achieved_flops_per_second", "tensor_core_utilization_ratio",
      "achieved_occupancy_ratio", "compute_sol_ratio",         "memory_sol_ratio"};
  Numbers numbers;
  for (const std::string_view id : kShown) {
    numbers.Add(*FindMetric(id), entry.metrics);
    if (id != "duration_seconds" || !entry.timing || !entry.metrics.contains("duration_seconds")) continue;
    numbers.Spread(entry.timing->p05_ns * 1e-9, entry.timing->p95_ns * 1e-9);
  }
  if (entry.use) {
    numbers.Add("launches", entry.use->launches, "count");
    if (entry.use->share_ratio) numbers.Add("kernel_time_share_ratio", *entry.use->share_ratio, "ratio");
  }
  return numbers.Take();
}

/// The values that the finding's evidence quotes.
Line NumbersOf(const Finding& finding, const ProfileEntry& entry) {
  const PhaseEntry* phase = nullptr;
  if (entry.phases && !finding.phase.empty()) {
    const auto found = std::ranges::find(entry.phases->phases, finding.phase, &PhaseEntry::name);
    if (found != entry.phases->phases.end()) phase = &*found;
  }
  Numbers numbers;
  for (const std::string& id : finding.metrics) {
    if (const CatalogueMetric* const row = FindPhaseMetric(id)) {
      if (phase != nullptr) numbers.Add(*row, phase->metrics);
    } else if (const CatalogueMetric* const whole = FindMetric(id)) {
      numbers.Add(*whole, entry.metrics);
    }
  }
  return numbers.Take();
}

Line CannotSay(const ProfileEntry& entry, const std::vector<DataLoss>& losses) {
  Line unknown = Line::array();
  const std::optional<bool> correct = entry.correct();
  if (!correct) unknown.push_back("whether its results are correct: they were not verified");
  if (correct == false) {
    unknown.push_back("its time: the speed of a kernel that is not correct or not certified is not reported");
  } else if (!entry.metrics.contains("duration_seconds")) {
    unknown.push_back("its time: it was not timed");
  }
  if (!entry.has_counters) {
    unknown.push_back("what it waits for and how busy the GPU was: no counters were measured");
  } else if (entry.bottleneck.empty()) {
    unknown.push_back("its bottleneck: counters are missing, or disagree");
  }
  if (!entry.phases) {
    unknown.push_back("the cost of its phases: they were not sampled");
  } else if (entry.phases->inference && !entry.phases->inference->refusal.empty()) {
    unknown.push_back("its phases by name: " + entry.phases->inference->refusal);
  }
  for (const std::string& id : entry.contradictory) unknown.push_back(id + ": its counters contradict each other");
  const std::string name = CallName(entry.kernel, entry.shape, entry.part);
  for (const DataLoss& loss : losses) {
    if (loss.subject == name) unknown.push_back(loss.kind + ": " + loss.reason);
  }
  return unknown;
}

Line CannotSay(const Finding& finding, const ProfileEntry& entry) {
  Line unknown = Line::array();
  if (!finding.phase.empty() && entry.phases && entry.phases->attribution == kInferredPhasesName) {
    unknown.push_back("where exactly the phase begins and ends: it is inferred from machine code");
  }
  return unknown;
}

void WriteKernel(LineWriter& lines, const Profile& profile, const ProfileEntry& entry) {
  const std::string shape = ShapeText(entry.shape);
  const bool wrong = entry.correct() == false;
  lines.Write({"kernel", entry.kernel, shape, entry.part}, wrong ? kSevere : kNote,
              {{"kernel", entry.kernel},
               {"part", KnownText(entry.part)},
               {"shape", KnownText(shape)},
               {"gpu", KnownText(profile.device.name)},
               {"correct", OrNull(entry.correct())},
               {"verdict", entry.judgement ? Line(ToString(entry.judgement->verdict)) : Line(nullptr)},
               {"bottleneck", KnownText(entry.bottleneck)},
               {"evidence", KnownText(entry.bottleneck_evidence)},
               {"findings", entry.findings.size()},
               {"numbers", NumbersOf(entry)},
               {"cannot_say", CannotSay(entry, profile.losses)}});
}

/// `rank`: 1 for the finding with most weight. `facts`: further ones.
void WriteFinding(LineWriter& lines, const Finding& finding, std::size_t rank, const Device& device,
                  const ProfileEntry& entry, const Line& facts = Line::object()) {
  const std::string shape = ShapeText(entry.shape);
  Line line = {{"finding", finding.id},
               {"kernel", entry.kernel},
               {"part", KnownText(entry.part)},
               {"shape", KnownText(shape)},
               {"phase", KnownText(finding.phase)},
               {"place", KnownText(finding.place)},
               {"gpu", KnownText(device.name)},
               {"rank", rank},
               {"weight", finding.weight},
               {"evidence", finding.evidence},
               {"numbers", NumbersOf(finding, entry)},
               {"cause", KnownText(finding.cause)},
               {"cure", KnownText(finding.cure)},
               {"cannot_say", CannotSay(finding, entry)}};
  for (const auto& [name, value] : facts.items()) line[name] = value;
  lines.Write({"finding", entry.kernel, shape, entry.part, finding.phase, finding.id},
              finding.id == "not-correct" ? kSevere : kWarning, line);
}

std::size_t RankOf(const Finding& finding, const ProfileEntry& entry) {
  const auto same = std::ranges::find_if(entry.findings, [&](const Finding& other) {
    return other.id == finding.id && other.phase == finding.phase && other.evidence == finding.evidence;
  });
  return static_cast<std::size_t>(same - entry.findings.begin()) + 1;
}

}  // namespace

void WriteJsonLinesReport(std::ostream& out, const Profile& profile, const ReportOptions&) {
  LineWriter lines(out);
  std::size_t findings = 0;
  for (const ProfileEntry& entry : profile.entries) findings += entry.findings.size();
  Line unknown = Line::array();
  if (profile.device.name.empty()) unknown.push_back("the GPU: the recording does not name it");
  if (!profile.session.complete) unknown.push_back("what was not recorded: the run ended early");
  lines.Write({"recording"}, kNote,
              {{"gpu", KnownText(profile.device.name)},
               {"driver_version", KnownText(profile.device.driver_version)},
               {"created_at", KnownText(profile.session.created_at)},
               {"tool_version", KnownText(profile.session.tool_version)},
               {"kernels", profile.entries.size()},
               {"findings", findings},
               {"not_measured", std::ranges::count_if(profile.losses, IsOfACounter)},
               {"cannot_say", std::move(unknown)}});
  for (const ProfileEntry& entry : profile.entries) {
    WriteKernel(lines, profile, entry);
    std::size_t rank = 0;
    for (const Finding& finding : entry.findings) WriteFinding(lines, finding, ++rank, profile.device, entry);
  }
  for (const DataLoss& loss : profile.losses) {
    if (!IsOfACounter(loss)) continue;
    lines.Write({"not-measured", loss.kind, loss.subject}, kNote,
                {{"what", loss.kind},
                 {"subject", KnownText(loss.subject)},
                 {"count", loss.count},
                 {"gpu", KnownText(profile.device.name)},
                 {"cannot_say", Line::array({loss.reason})}});
  }
}

namespace {

/// What every line of a difference says about its call. `change`: a MetricChange, a WaitChange or a FindingChange.
template <typename Change>
Line CallOf(const Change& change, const Profile& before, const Profile& after) {
  return {{"kernel", KnownText(change.kernel)},
          {"part", KnownText(change.part)},
          {"shape", KnownText(change.shape)},
          {"gpu", KnownText(after.device.name)},
          {"gpu_before", KnownText(before.device.name)},
          {"judgement", change.judgement}};
}

const char* SeverityOf(const std::string& judgement) { return judgement == "worse" ? kWarning : kNote; }

void WriteChange(LineWriter& lines, const MetricChange& change, const Profile& before, const Profile& after) {
  const CatalogueMetric* const metric =
      change.phase.empty() ? FindMetric(change.metric) : FindPhaseMetric(change.metric);
  Line line = CallOf(change, before, after);
  line["phase"] = KnownText(change.phase);
  line["metric"] = change.metric;
  line["unit"] = metric != nullptr ? Line(metric->unit) : change.metric.ends_with("_ratio") ? Line("ratio") : Line();
  line["before"] = OrNull(change.before);
  line["after"] = OrNull(change.after);
  line["ratio"] = OrNull(change.ratio);
  line["cannot_say"] = Line::array();
  if (change.judgement == "not comparable") {
    line["cannot_say"].push_back("whether it is better or worse: the circumstances differ");
  }
  lines.Write({"change", change.kernel, change.shape, change.part, change.phase, change.metric},
              SeverityOf(change.judgement), line);
}

void WriteWait(LineWriter& lines, const WaitChange& change, const Profile& before, const Profile& after) {
  Line line = CallOf(change, before, after);
  line["phase"] = KnownText(change.phase);
  line["wait"] = change.kind;
  for (const auto& [name, side] : {std::pair("before", &change.before), std::pair("after", &change.after)}) {
    line[name] = nullptr;
    if (!*side) continue;
    line[name] = {{"place", (*side)->place},
                  {"waits", (*side)->waits},
                  {"waited_cycles", (*side)->waited_cycles},
                  {"warps_ratio", (*side)->warps_ratio}};
  }
  line["cost_ratio"] = change.cost_ratio;
  lines.Write({"wait", change.kernel, change.shape, change.part, change.phase, change.kind},
              SeverityOf(change.judgement), line);
}

void WriteFindingChange(LineWriter& lines, const ProfileDiff& diff, const FindingChange& change, const Profile& before,
                        const Profile& after) {
  const bool is_new = change.judgement == "new";
  const Profile& side = is_new ? after : before;
  const EntryPair& pair = diff.entries[change.entry];
  const ProfileEntry& entry = side.entries[is_new ? pair.after : pair.before];
  WriteFinding(lines, change.finding, RankOf(change.finding, entry), side.device, entry,
               {{"judgement", change.judgement}});
}

Line CountsOf(const ProfileDiff& diff) {
  Line counts = Line::object();
  for (const char* const judgement :
       {"worse", "better", "same", "changed", "new", "gone", "not counted", "not comparable"}) {
    counts[judgement] = std::ranges::count(diff.changes, judgement, &MetricChange::judgement);
  }
  return counts;
}

}  // namespace

void WriteJsonLinesDiff(std::ostream& out, const ProfileDiff& diff, const Profile& before, const Profile& after,
                        const ReportOptions&) {
  LineWriter lines(out);
  lines.Write({"diff"}, kNote,
              {{"gpu", KnownText(after.device.name)},
               {"gpu_before", KnownText(before.device.name)},
               {"created_at", KnownText(after.session.created_at)},
               {"created_at_before", KnownText(before.session.created_at)},
               {"kernels", diff.entries.size()},
               {"metrics", CountsOf(diff)},
               {"cannot_say", diff.incomparable}});
  for (const MetricChange& change : diff.changes) {
    if (change.judgement != "same") WriteChange(lines, change, before, after);
  }
  for (const WaitChange& change : diff.waits) {
    if (change.judgement != "same") WriteWait(lines, change, before, after);
  }
  for (const FindingChange& change : diff.findings) WriteFindingChange(lines, diff, change, before, after);
  const auto not_compared = [&](std::string_view subject, const std::string& why) {
    lines.Write({"not-compared", subject}, kNote,
                {{"subject", subject},
                 {"gpu", KnownText(after.device.name)},
                 {"gpu_before", KnownText(before.device.name)},
                 {"cannot_say", Line::array({why})}});
  };
  for (const std::string& reason : diff.not_compared) not_compared(reason, reason);
  for (const std::string& entry : diff.only_before) not_compared(entry, "only the recording before has it");
  for (const std::string& entry : diff.only_after) not_compared(entry, "only the recording after has it");
}

namespace {

/// Without the folders, which may differ from build to build: "lib.so", "lib.so (CUBIN)".
std::string_view FileName(std::string_view path) {
  const std::size_t cubin = path.ends_with(')') ? path.rfind(" (") : std::string_view::npos;
  return path.substr(path.substr(0, cubin).rfind('/') + 1);
}

/// What the compiler fixed.
Line NumbersOf(const KernelLint& kernel) {
  Numbers numbers;
  const auto known = [&](const char* name, const auto& value, const char* unit) {
    if (value) numbers.Add(name, static_cast<std::int64_t>(*value), unit);
  };
  known("registers_per_thread", kernel.registers_per_thread, "count");
  known("stack_frame_bytes", kernel.stack_frame_bytes, "bytes");
  numbers.Add("spill_bytes", kernel.spills.store_bytes + kernel.spills.load_bytes, "bytes");
  numbers.Add("static_shared_memory_bytes", kernel.static_shared_memory_bytes, "bytes");
  known("dynamic_shared_memory_bytes", kernel.dynamic_shared_memory_bytes, "bytes");
  if (kernel.occupancy) numbers.Add("theoretical_occupancy_ratio", kernel.occupancy->theoretical_ratio, "ratio");
  return numbers.Take();
}

Line CannotSay(const KernelLint& kernel) {
  Line unknown = Line::array();
  if (!kernel.threads_per_block) {
    unknown.push_back("its occupancy: the code does not fix the number of threads; give --threads N");
  } else if (!kernel.dynamic_shared_memory_bytes) {
    unknown.push_back("its occupancy: the code does not fix its shared memory; give --smem BYTES");
  } else if (!kernel.occupancy) {
    unknown.push_back("its occupancy: no such block fits, or the limits of its architecture are not known");
  }
  if (!kernel.has_line_information) unknown.push_back("its source lines: it was built without line information");
  if (kernel.unknown_branches > 0) {
    unknown.push_back(
        "its loops: the targets of indirect branches are not in the cubin; findings about loops are "
        "left out");
  }
  if (kernel.inference && !kernel.inference->refusal.empty()) {
    unknown.push_back("its phases by name: " + kernel.inference->refusal);
  }
  return unknown;
}

Line IdentityOf(const KernelLint& kernel) {
  return {
      {"kernel", kernel.name}, {"symbol", kernel.symbol}, {"file", kernel.file}, {"architecture", kernel.architecture}};
}

void WriteLines(LineWriter& lines, const KernelLint& kernel) {
  Line line = IdentityOf(kernel);
  line["findings"] = kernel.findings.size();
  line["numbers"] = NumbersOf(kernel);
  line["cannot_say"] = CannotSay(kernel);
  lines.Write({"code", FileName(kernel.file), kernel.architecture, kernel.symbol}, kNote, line);
  std::size_t rank = 0;
  for (const Finding& finding : kernel.findings) {
    line = {{"finding", finding.id}};
    line.update(IdentityOf(kernel));
    line["phase"] = KnownText(finding.phase);
    line["rank"] = ++rank;
    line["evidence"] = finding.evidence;
    line["numbers"] = NumbersOf(kernel);
    line["cure"] = KnownText(finding.cure);
    line["cannot_say"] = CannotSay(kernel);
    lines.Write({"finding", FileName(kernel.file), kernel.architecture, kernel.symbol, finding.phase, finding.id},
                kWarning, line);
  }
}

void WriteNotRead(LineWriter& lines, const std::vector<SkippedFile>& skipped) {
  for (const SkippedFile& file : skipped) {
    lines.Write({"not-read", FileName(file.file)}, kWarning,
                {{"file", KnownText(file.file)}, {"cannot_say", Line::array({file.why})}});
  }
}

class JsonLinesPackage : public PackageWriter {
 public:
  explicit JsonLinesPackage(std::ostream& out) : lines_(out) {}
  void Kernel(const std::string&, const KernelLint& kernel) override {
    findings_ += kernel.findings.size();
    WriteLines(lines_, kernel);
  }
  void End(const PackageLint& package) override {
    WriteNotRead(lines_, package.skipped);
    Line refused = Line::object();
    for (const auto& [word, count] : package.refused) refused[word] = count;
    lines_.Write({"lint"}, kNote,
                 {{"package", package.package},
                  {"kernels", package.attention.size()},
                  {"not_attention", std::move(refused)},
                  {"findings", findings_},
                  {"found", package.found},
                  {"read", package.read},
                  {"not_read", package.skipped_files},
                  {"complete", package.is_complete}});
  }

 private:
  LineWriter lines_;
  std::size_t findings_ = 0;
};

}  // namespace

void WriteJsonLinesLint(std::ostream& out, const FileLint& lint, const ReportOptions&) {
  LineWriter lines(out);
  std::size_t findings = 0;
  for (const KernelLint& kernel : lint.kernels) {
    findings += kernel.findings.size();
    WriteLines(lines, kernel);
  }
  WriteNotRead(lines, lint.skipped);
  lines.Write({"lint"}, kNote,
              {{"package", nullptr},
               {"kernels", lint.kernels.size()},
               {"not_attention", nullptr},
               {"findings", findings},
               {"found", lint.found},
               {"read", lint.read},
               {"not_read", lint.skipped_files},
               {"complete", lint.is_complete}});
}

std::unique_ptr<PackageWriter> JsonLinesPackageWriter(std::ostream& out, const ReportOptions&) {
  return std::make_unique<JsonLinesPackage>(out);
}

}  // namespace fa_profile::exporters

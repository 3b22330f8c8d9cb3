#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <span>

#include "fa_profile/call_name.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/report.h"
#include "fa_profile/text_page.h"
#include "fa_profile/units.h"
#include "text_kernel.h"
#include "text_phases.h"

namespace fa_profile::exporters {
namespace {

constexpr const char* kShare = "phase_time_ratio";
constexpr const char* kSeconds = "phase_time_seconds";
constexpr const char* kSame = "same";

std::optional<double> ValueOf(const std::map<std::string, double>& metrics, const char* id) {
  const auto found = metrics.find(id);
  return found == metrics.end() ? std::nullopt : std::optional(found->second);
}

std::string NameOfCall(const ProfileEntry& entry) { return CallName(entry.kernel, entry.shape, entry.part); }

const ProfileEntry* FindCall(const Profile& profile, const ProfileEntry& like) {
  const auto found = std::ranges::find(profile.entries, NameOfCall(like), NameOfCall);
  return found == profile.entries.end() ? nullptr : &*found;
}

/// The phases with a time, longest first.
std::vector<const PhaseEntry*> TimedPhases(const ProfileEntry& entry) {
  std::vector<const PhaseEntry*> phases;
  if (!entry.phases) return phases;
  for (const PhaseEntry& phase : entry.phases->phases) {
    if (ValueOf(phase.metrics, kShare).value_or(0.0) > 0.0) phases.push_back(&phase);
  }
  return phases;
}

/// "17 %  1.00 us"
std::string PhaseText(const PhaseEntry* phase) {
  if (phase == nullptr) return "n/a";
  std::string text = ShortPercent(ValueOf(phase->metrics, kShare)) + " %";
  if (const auto seconds = ValueOf(phase->metrics, kSeconds)) text += "  " + FormatValue(*seconds, "seconds");
  return text;
}

const PhaseEntry* FindPhase(const ProfileEntry& entry, const std::string& name) {
  if (!entry.phases) return nullptr;
  const auto found = std::ranges::find(entry.phases->phases, name, &PhaseEntry::name);
  return found == entry.phases->phases.end() ? nullptr : &*found;
}

std::string FirstFinding(const TextPage& page, const ProfileEntry& entry) {
  return entry.findings.empty() ? "none" : page.Safe(entry.findings.front().id);
}

void WriteCallTitle(TextPage& page, const Profile& profile, const ProfileEntry& entry) {
  std::vector<std::string> facts{entry.kernel};
  if (entry.shape) facts.push_back(entry.shape->ToString());
  if (!profile.session.created_at.empty()) facts.push_back(profile.session.created_at);
  page.Rule(page.Safe(fmt::format("{}", fmt::join(facts, page.separator()))));
}

void WriteWrong(TextPage& page, const ProfileEntry& entry, const ProfileEntry* before) {
  page.Line("NOT CORRECT: " + page.Safe(NameOfCall(entry)), Style::kBad);
  page.Paragraph("  ", fmt::format("{}; largest error {:.3g}. A kernel that is not correct is not measured.",
                                   VerificationText(page, *entry.verification), entry.verification->max_abs_error));
  if (before != nullptr && before->timing) {
    page.Paragraph("  ", "The last time that it was correct it took " +
                             FormatValue(before->timing->median_ns * 1e-9, "seconds") + ".");
  }
}

void WriteFirst(TextPage& page, const Profile& profile, const ProfileEntry& entry) {
  WriteCallTitle(page, profile, entry);
  if (entry.timing) {
    page.Paragraph("  time       ", fmt::format("{}, spread {}", FormatValue(entry.timing->median_ns * 1e-9, "seconds"),
                                                FormatValue(entry.timing->spread_ratio, "ratio")));
  }
  page.Paragraph("  correct    ",
                 entry.verification ? VerificationText(page, *entry.verification) : "n/a: not verified");
  std::vector<std::string> phases;
  for (const PhaseEntry* const phase : TimedPhases(entry)) {
    phases.push_back(page.Safe(phase->name) + " " + PhaseText(phase));
  }
  if (!phases.empty()) page.Paragraph("  phases     ", fmt::format("{}", fmt::join(phases, ", ")));
  if (!entry.findings.empty()) WriteFinding(page, entry.findings.front());
}

void WriteSkipped(TextPage& page, const Profile& profile) {
  for (const DataLoss& loss : profile.losses) {
    if (loss.kind == "kernel_skipped") {
      page.Paragraph("skipped    ", page.Safe(loss.subject) + ": " + page.Safe(loss.reason));
    }
  }
}

/// The rows of one call, before and after.
class MovedTable {
 public:
  MovedTable(TextPage& page, const ProfileDiff& diff, const ProfileEntry& before, const ProfileEntry& after)
      : page_(page), diff_(diff), before_(before), after_(after) {}

  /// A catalogue metric, for the call or one of its parts; no row if both sides lack it.
  void AddMetric(const std::string& label, const char* id, const ProfileEntry& before, const ProfileEntry& after) {
    const MetricChange* const change = Find(after.part, "", id);
    if (change == nullptr) return;
    const auto text = [id](const ProfileEntry& entry) {
      return FormatValue(ValueOf(entry.metrics, id), FindMetric(id)->unit);
    };
    Add(label, text(before), text(after), change);
  }

  void AddPhase(const std::string& name) {
    const MetricChange* const seconds = Find("", name, kSeconds);
    Add(page_.Safe(name), PhaseText(FindPhase(before_, name)), PhaseText(FindPhase(after_, name)),
        seconds != nullptr ? seconds : Find("", name, kShare));
  }

  /// The reason counts as changed only if its share did: two reasons with equal shares swap places by chance.
  void AddStall() {
    if (TopStall(before_) == "n/a" && TopStall(after_) == "n/a") return;
    const MetricChange* change = nullptr;
    if (!after_.stalls.empty()) change = Find("", "", ("stall_" + after_.stalls.front().reason + "_ratio").c_str());
    const bool same = change == nullptr || change->judgement == kSame;
    AddRow("top stall", page_.Safe(TopStall(before_)), page_.Safe(TopStall(after_)), "", same ? kSame : "changed");
  }

  void AddFinding() {
    const std::string before = FirstFinding(page_, before_);
    const std::string after = FirstFinding(page_, after_);
    AddRow("finding", before, after, "", before == after ? kSame : "changed");
  }

  void Write() {
    page_.Table({{"", true}, {"before"}, {"after"}, {"change"}, {"", true}}, rows_);
    if (!moved_) page_.Line("  Nothing moved by more than two measurements of one kernel differ.", Style::kDim);
  }

 private:
  const MetricChange* Find(const std::string& part, const std::string& phase, const char* id) const {
    const std::string shape = after_.shape ? after_.shape->ToString() : "";
    const auto found = std::ranges::find_if(diff_.changes, [&](const MetricChange& change) {
      return change.metric == id && change.phase == phase && change.part == part && change.kernel == after_.kernel &&
             change.shape == shape;
    });
    return found == diff_.changes.end() ? nullptr : &*found;
  }

  void Add(const std::string& label, const std::string& before, const std::string& after, const MetricChange* change) {
    const bool same = change == nullptr || change->judgement == kSame;
    AddRow(label, before, after, same || !change->ratio ? "" : SignedPercent(*change->ratio),
           same ? kSame : change->judgement);
  }

  void AddRow(const std::string& label, const std::string& before, const std::string& after, const std::string& change,
              const std::string& judgement) {
    const bool same = judgement == kSame;
    moved_ |= !same;
    rows_.push_back({{"  " + label},
                     {before},
                     {after},
                     {change},
                     {page_.Safe(judgement), same ? Style::kDim : StyleOf(judgement)}});
  }

  TextPage& page_;
  const ProfileDiff& diff_;
  const ProfileEntry& before_;
  const ProfileEntry& after_;
  std::vector<std::vector<Cell>> rows_;
  bool moved_ = false;
};

void AddParts(MovedTable& table, const TextPage& page, const Profile& before, const Profile& after,
              const ProfileEntry& call) {
  for (const ProfileEntry& part : after.entries) {
    if (part.part.empty() || part.case_id != call.case_id) continue;
    if (const ProfileEntry* const old = FindCall(before, part)) {
      table.AddMetric(page.Safe("part " + part.part), "duration_seconds", *old, part);
    }
  }
}

/// Phases on both sides: those of `after` first, then those that are gone.
std::vector<std::string> PhaseNames(const ProfileEntry& before, const ProfileEntry& after) {
  std::vector<std::string> names;
  for (const ProfileEntry* const entry : {&after, &before}) {
    for (const PhaseEntry* const phase : TimedPhases(*entry)) {
      if (std::ranges::find(names, phase->name) == names.end()) names.push_back(phase->name);
    }
  }
  return names;
}

std::string CodeText(std::optional<bool> same_code) {
  if (!same_code) return "The machine code was not compared: a recording with phases has it (--phases on).";
  return "The machine code or its launch changed.";
}

void WriteMoved(TextPage& page, const ProfileDiff& diff, std::optional<bool> same_code,
                std::pair<const Profile&, const ProfileEntry&> before,
                std::pair<const Profile&, const ProfileEntry&> after) {
  WriteCallTitle(page, after.first, after.second);
  page.Paragraph("  ", CodeText(same_code));
  MovedTable table(page, diff, before.second, after.second);
  const auto add = [&](const char* label, const char* id) { table.AddMetric(label, id, before.second, after.second); };
  add("time", "duration_seconds");
  AddParts(table, page, before.first, after.first, after.second);
  for (const std::string& phase : PhaseNames(before.second, after.second)) table.AddPhase(phase);
  add("registers", "registers_per_thread");
  add("spills, stack", "local_memory_per_thread_bytes");
  add("shared memory", "shared_memory_per_block_bytes");
  add("occupancy", "theoretical_occupancy_ratio");
  add("achieved", "achieved_occupancy_ratio");
  table.AddStall();
  table.AddFinding();
  table.Write();
}

void WriteSameCode(TextPage& page, const Profile& profile, const ProfileEntry& before, const ProfileEntry& after) {
  WriteCallTitle(page, profile, after);
  const auto time = [](const ProfileEntry& entry) {
    return entry.timing ? FormatValue(entry.timing->median_ns * 1e-9, "seconds") : "n/a";
  };
  page.Paragraph("  ", fmt::format("The same machine code, launched as before: {}, before {}. What differs is noise.",
                                   time(after), time(before)));
}

/// Whole calls.
std::vector<const ProfileEntry*> CallsOf(const Profile& profile) {
  std::vector<const ProfileEntry*> calls;
  for (const ProfileEntry& entry : profile.entries) {
    if (entry.part.empty()) calls.push_back(&entry);
  }
  return calls;
}

}  // namespace

void WriteTextMeasured(std::ostream& out, const Profile& profile, const ReportOptions& options) {
  TextPage page(out, options);
  page.Line();
  for (const ProfileEntry* const entry : CallsOf(profile)) {
    if (IsWrong(*entry)) WriteWrong(page, *entry, nullptr);
  }
  for (const ProfileEntry* const entry : CallsOf(profile)) {
    if (!IsWrong(*entry)) WriteFirst(page, profile, *entry);
  }
  WriteSkipped(page, profile);
}

void WriteTextMoved(std::ostream& out, const ProfileDiff& diff, const std::map<std::string, bool>& same_code,
                    const Profile& before, const Profile& after, const ReportOptions& options) {
  TextPage page(out, options);
  page.Line();
  const std::vector<const ProfileEntry*> calls = CallsOf(after);
  for (const ProfileEntry* const entry : calls) {
    if (IsWrong(*entry)) WriteWrong(page, *entry, FindCall(before, *entry));
  }
  for (const std::string& reason : diff.incomparable) page.Paragraph("not comparable: ", page.Safe(reason));
  for (const std::string& note : diff.notes) page.Paragraph("note: ", page.Safe(note));
  for (const std::string& reason : diff.not_compared) page.Paragraph("not compared: ", page.Safe(reason));
  for (const ProfileEntry* const entry : calls) {
    if (IsWrong(*entry)) continue;
    const ProfileEntry* const old = FindCall(before, *entry);
    const auto known = same_code.find(NameOfCall(*entry));
    if (old == nullptr || IsWrong(*old)) {
      WriteFirst(page, after, *entry);
    } else if (known != same_code.end() && known->second) {
      WriteSameCode(page, after, *old, *entry);
    } else {
      WriteMoved(page, diff, known == same_code.end() ? std::nullopt : std::optional(false), {before, *old},
                 {after, *entry});
    }
  }
  for (const std::string& entry : diff.only_before) page.Paragraph("only before: ", page.Safe(entry));
  WriteSkipped(page, after);
}

}  // namespace fa_profile::exporters

#include "fa_profile/judge_release.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "fa_profile/demangle.h"
#include "fa_profile/evidence.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/text.h"

namespace fa_profile::gate {
namespace {

template <typename Number>
std::optional<double> AsNumber(const std::optional<Number>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

enum class Worse { kLower, kHigher };

/// What is compared of two kernels, in the order of reports.
struct ReleaseMetric {
  const char* id;
  const char* label;
  const char* unit;
  Worse worse;
  std::optional<double> (*value)(const ReleaseCode& code);
};

constexpr std::array kReleaseMetrics = {
    ReleaseMetric{"loop_local_accesses", "local memory accesses in loops", "count", Worse::kHigher,
                  [](const ReleaseCode& code) { return AsNumber(code.loop_local_accesses); }},
    ReleaseMetric{"local_accesses", "local memory accesses", "count", Worse::kHigher,
                  [](const ReleaseCode& code) { return AsNumber(code.local_accesses); }},
    ReleaseMetric{"theoretical_occupancy_ratio", "theoretical occupancy", "ratio", Worse::kLower, nullptr},
    ReleaseMetric{"stack_frame_bytes", "stack frame", "bytes", Worse::kHigher,
                  [](const ReleaseCode& code) { return AsNumber(code.stack_frame_bytes); }},
    ReleaseMetric{"static_tensor_instructions", "tensor instructions", "count", Worse::kLower,
                  [](const ReleaseCode& code) { return AsNumber(code.tensor_instructions); }},
    ReleaseMetric{"registers_per_thread", "registers", "count", Worse::kHigher,
                  [](const ReleaseCode& code) { return AsNumber(code.registers_per_thread); }},
    ReleaseMetric{"static_shared_memory_bytes", "static shared memory", "bytes", Worse::kHigher,
                  [](const ReleaseCode& code) { return std::optional<double>(code.static_shared_memory_bytes); }},
    ReleaseMetric{"static_instructions", "instructions", "count", Worse::kHigher,
                  [](const ReleaseCode& code) { return AsNumber(code.instructions); }},
    ReleaseMetric{"loop_instructions", "instructions in loops", "count", Worse::kHigher,
                  [](const ReleaseCode& code) { return AsNumber(code.loop_instructions); }},
};

/// Two kernels' occupancy: with their block sizes if both are known, else as registers allow.
std::pair<std::optional<double>, std::optional<double>> Occupancies(const ReleaseCode* before,
                                                                    const ReleaseCode& after) {
  const bool with_blocks = after.occupancy_ratio && (before == nullptr || before->occupancy_ratio);
  const auto of = [&](const ReleaseCode& code) {
    return with_blocks ? code.occupancy_ratio : code.occupancy_by_registers_ratio;
  };
  return {before == nullptr ? std::nullopt : of(*before), of(after)};
}

bool IsSame(const ReleaseCode& before, const ReleaseCode& after) {
  const auto all = [](const ReleaseCode& code) {
    return std::tie(code.code_hash, code.registers_per_thread, code.static_shared_memory_bytes, code.threads_per_block,
                    code.is_device_debug);
  };
  return all(before) == all(after);
}

const char* CompiledLaterPrefix(const ReleaseLaterCode& code) {
  return code.kernel.empty() ? kLtoIrPrefix.data() : kPtxPrefix.data();
}

using Codes = std::vector<const ReleaseCode*>;

/// A kernel of one release and its partner in the other; null: it has none.
struct ReleasePair {
  const ReleaseCode* before = nullptr;
  const ReleaseCode* after = nullptr;
};

/// Pairs kernels of one name and architecture; what remains has no partner.
void PairUp(Codes& before, Codes& after, std::vector<ReleasePair>& pairs) {
  const auto pair_if = [&](const auto& matches) {
    std::erase_if(before, [&](const ReleaseCode* const code) {
      const auto found = std::ranges::find_if(after, [&](const ReleaseCode* other) { return matches(*code, *other); });
      if (found == after.end()) return false;
      pairs.push_back({code, *found});
      after.erase(found);
      return true;
    });
  };
  const auto same_file = [](const ReleaseCode& a, const ReleaseCode& b) { return a.file == b.file; };
  pair_if([&](const ReleaseCode& a, const ReleaseCode& b) { return same_file(a, b) && a.code_hash == b.code_hash; });
  pair_if(same_file);
  pair_if([](const ReleaseCode& a, const ReleaseCode& b) { return a.code_hash == b.code_hash; });
  pair_if([](const ReleaseCode&, const ReleaseCode&) { return true; });
}

class ReleaseJudge {
 public:
  ReleaseJudge(const Release& before, const Release& after, const ReleaseLimits& limits)
      : before_(before), after_(after), limits_(limits) {}

  ReleaseResult Judge() {
    RequireRules();
    result_.before = SideOf(before_);
    result_.after = SideOf(after_);
    JudgeUnread();
    JudgeMachineCode();
    JudgeLaterCode();
    for (auto& [name, row] : architectures_) {
      JudgeArchitecture(row);
      result_.architectures.push_back(row);
    }
    std::ranges::stable_sort(result_.rows, std::ranges::greater(), WeightOf);
    SetVerdict();
    return std::move(result_);
  }

 private:
  void RequireRules() const {
    if (limits_.thresholds.rules.empty() || limits_.partial) return;
    std::set<std::string> names;
    for (const Release* const release : {&before_, &after_}) {
      for (const ReleaseCode& code : release->code) names.insert(code.kernel);
    }
    std::vector<std::pair<std::string, std::string>> cases;
    for (const std::string& name : names) cases.emplace_back(name, "");
    Thresholds without_shapes = limits_.thresholds;
    for (ThresholdRule& rule : without_shapes.rules) rule.shape.assign(1, '*');
    RequireRulesMatch(without_shapes, cases);
  }

  static ReleaseSide SideOf(const Release& release) {
    ReleaseSide side{.origin = release.origin, .package_bytes = release.package_bytes, .files = release.files};
    side.kernels = static_cast<int>(release.code.size());
    std::set<std::string_view> names;
    for (const ReleaseCode& code : release.code) {
      side.code_bytes += code.code_bytes;
      names.insert(code.kernel);
    }
    side.names = static_cast<int>(names.size());
    return side;
  }

  void JudgeUnread() {
    const auto add = [&](const char* side, const Release& release) {
      for (const std::string& one : release.unread) {
        result_.unknown.push_back(fmt::format("{} release, not read: {}", side, one));
      }
      if (release.unread_more > 0) {
        result_.unknown.push_back(fmt::format("{} release, not read: {} more", side, release.unread_more));
      }
    };
    add("old", before_);
    add("new", after_);
  }

  ReleaseArchitecture& Architecture(const std::string& name) {
    ReleaseArchitecture& row = architectures_[name];
    row.name = name;
    return row;
  }

  void JudgeMachineCode() {
    std::map<std::pair<std::string_view, std::string_view>, std::pair<Codes, Codes>> groups;
    for (const ReleaseCode& code : before_.code) {
      groups[{code.kernel, code.architecture}].first.push_back(&code);
      ReleaseArchitecture& row = Architecture(code.architecture);
      ++row.before;
      row.bytes_before += code.code_bytes;
    }
    for (const ReleaseCode& code : after_.code) {
      groups[{code.kernel, code.architecture}].second.push_back(&code);
      ReleaseArchitecture& row = Architecture(code.architecture);
      ++row.after;
      row.bytes_after += code.code_bytes;
    }
    std::vector<ReleasePair> pairs;
    std::map<std::pair<std::string, std::string>, std::pair<Codes, Codes>> renamed;
    int fewer_copies = 0;
    int more_copies = 0;
    for (auto& [name, group] : groups) {
      auto& [before, after] = group;
      const bool is_in_both = !before.empty() && !after.empty();
      PairUp(before, after, pairs);
      if (is_in_both) {
        fewer_copies += static_cast<int>(before.size());
        more_copies += static_cast<int>(after.size());
        continue;
      }
      for (const auto side : {&std::pair<Codes, Codes>::first, &std::pair<Codes, Codes>::second}) {
        for (const ReleaseCode* const code : group.*side) {
          (renamed[{FunctionName(code->kernel), code->architecture}].*side).push_back(code);
        }
      }
    }
    for (auto& [name, group] : renamed) {  // parameters changed
      auto& [before, after] = group;
      const auto is_one = [](const Codes& codes) {
        return std::ranges::all_of(codes, [&](const ReleaseCode* code) { return code->kernel == codes[0]->kernel; });
      };
      if (!before.empty() && !after.empty() && is_one(before) && is_one(after)) PairUp(before, after, pairs);
      for (const ReleaseCode* const code : before) pairs.push_back({code, nullptr});
      for (const ReleaseCode* const code : after) pairs.push_back({nullptr, code});
    }
    for (const ReleasePair& pair : pairs) JudgePair(pair);
    const auto tell = [&](int count, const char* what) {
      if (count > 0)
        result_.notes.push_back(fmt::format("{} copies of kernels are {}: they are also elsewhere", count, what));
    };
    tell(fewer_copies, "gone");
    tell(more_copies, "new");
  }

  void JudgePair(const ReleasePair& pair) {
    const ReleaseCode& any = pair.after != nullptr ? *pair.after : *pair.before;
    ReleaseArchitecture& row = Architecture(any.architecture);
    ReleaseRow judged{.kernel = any.kernel, .architecture = any.architecture, .file = any.file};
    if (pair.before != nullptr && pair.after != nullptr && IsSame(*pair.before, *pair.after)) {
      ++row.same;
      if (limits_.thresholds.rules.empty()) return;
      JudgeChanges(pair, judged);  // a rule may limit a value, whatever it was
      if (judged.verdict != Verdict::kRegression) return;
      ++row.worse;
    } else if (pair.after == nullptr) {
      ++row.lost;
      judged.kind = ReleaseRow::Kind::kLost;
      judged.is_allowed = MayBeLost(any.kernel);
      judged.verdict = judged.is_allowed ? Verdict::kPass : Verdict::kRegression;
    } else if (pair.before == nullptr) {
      ++row.added;
      judged.kind = ReleaseRow::Kind::kNew;
      JudgeChanges(pair, judged);
    } else {
      ++row.changed;
      JudgeChanges(pair, judged);
      row.worse += judged.verdict == Verdict::kRegression ? 1 : 0;
      row.improved += judged.verdict == Verdict::kImproved ? 1 : 0;
      if (!pair.before->local_accesses || !pair.after->local_accesses) unknown_encodings_.insert(any.architecture);
    }
    row.verdict = std::max(row.verdict, judged.verdict);
    if (pair.before != nullptr) judged.before = *pair.before;
    if (pair.after != nullptr) judged.after = *pair.after;
    result_.rows.push_back(std::move(judged));
  }

  void JudgeChanges(const ReleasePair& pair, ReleaseRow& row) const {
    for (const ReleaseMetric& metric : kReleaseMetrics) {
      ReleaseChange change{.metric = metric.id, .label = metric.label, .unit = metric.unit};
      if (metric.value == nullptr) {
        std::tie(change.before, change.after) = Occupancies(pair.before, *pair.after);
      } else {
        if (pair.before != nullptr) change.before = metric.value(*pair.before);
        change.after = metric.value(*pair.after);
      }
      if (!change.after) continue;
      JudgeChange(metric, pair, change);
      if (change.verdict == Verdict::kPass && (!change.before || *change.before == *change.after)) continue;
      row.changes.push_back(std::move(change));
    }
    if (pair.before != nullptr && pair.after->is_device_debug && !pair.before->is_device_debug) {
      row.changes.push_back({.metric = "device_debug",
                             .label = "device debug code (nvcc -G)",
                             .unit = "count",
                             .before = 0.0,
                             .after = 1.0,
                             .verdict = Verdict::kRegression,
                             .blocking = true});
    }
    std::ranges::stable_sort(row.changes, std::ranges::greater(), [](const ReleaseChange& change) {
      return std::pair(change.blocking, change.verdict == Verdict::kImproved ? Verdict::kPass : change.verdict);
    });
    for (const ReleaseChange& change : row.changes) {
      if (change.blocking || change.verdict == Verdict::kImproved) row.verdict = std::max(row.verdict, change.verdict);
    }
  }

  void JudgeChange(const ReleaseMetric& metric, const ReleasePair& pair, ReleaseChange& change) const {
    Demand demand;
    if (!limits_.thresholds.rules.empty()) {
      demand = FindDemand(limits_.thresholds, pair.after->kernel, "", "", metric.id, limits_.today);
    }
    if (demand.severity == Severity::kOff) return;
    const auto regress = [&](const ThresholdRule* rule) {
      change.verdict = Verdict::kRegression;
      change.blocking = demand.severity == Severity::kError;
      if (rule != nullptr) change.rule = PlaceOf(limits_.thresholds, *rule);
    };
    if (demand.maximum && *change.after > *demand.maximum) return regress(demand.RuleOf(&ThresholdRule::maximum));
    if (demand.minimum && *change.after < *demand.minimum) return regress(demand.RuleOf(&ThresholdRule::minimum));
    if (!change.before || *change.before == *change.after) return;
    const double growth = (*change.after - *change.before) * (metric.worse == Worse::kHigher ? 1.0 : -1.0);
    if (demand.relative || demand.absolute) {
      const double allowed = std::max(demand.absolute.value_or(0.0), demand.relative.value_or(0.0) * *change.before);
      if (growth > allowed) {
        const ThresholdRule* const relative = demand.RuleOf(&ThresholdRule::relative);
        return regress(relative != nullptr ? relative : demand.RuleOf(&ThresholdRule::absolute));
      }
    } else if (growth > 0.0) {
      return JudgeGrowth(metric, pair, demand.severity, change);
    }
    const bool tells = std::string_view(metric.id).ends_with("local_accesses") || metric.value == nullptr;
    if (growth < 0.0 && tells) change.verdict = Verdict::kImproved;
  }

  /// Without a rule on growth. Worse by `before` -> `after`.
  void JudgeGrowth(const ReleaseMetric& metric, const ReleasePair& pair, Severity severity,
                   ReleaseChange& change) const {
    const std::string_view id = metric.id;
    const bool loops_known = pair.before->loops_known && pair.after->loops_known;
    const bool appears = *change.before == 0.0;
    const auto by = [&](double limit) { return *change.after > (1.0 + limit) * *change.before; };
    const bool is_occupancy = metric.value == nullptr;
    if (is_occupancy && pair.after->loop_local_accesses < pair.before->loop_local_accesses) {
      change.verdict = Verdict::kSuspect;  // registers instead of spills: time decides
      change.blocking = severity == Severity::kError;
      return;
    }
    if (id == "loop_local_accesses" || is_occupancy || (id == "local_accesses" && (appears || !loops_known)) ||
        (id == "stack_frame_bytes" && appears) || (id == "static_tensor_instructions" && *change.after == 0.0)) {
      change.verdict = Verdict::kRegression;
      change.blocking = severity == Severity::kError;
    } else if (id == "local_accesses") {  // outside loops
      change.verdict = Verdict::kRegression;
    } else if ((id == "static_instructions" && by(limits_.thresholds.code_instructions)) ||
               (id == "registers_per_thread" && by(limits_.thresholds.code_registers))) {
      change.verdict = Verdict::kSuspect;
      change.blocking = severity == Severity::kError;
    }
  }

  bool MayBeLost(const std::string& name) const { return limits_.may_be_lost && limits_.may_be_lost(name); }

  /// PTX is not compared by its instructions: a driver compiles it. If the machine code of its kernel changed too, or
  /// is there for what runs it, that stands for it.
  void JudgeLaterCode() {
    using Key = std::pair<std::string, std::string>;  // kernel or file, architecture
    std::map<Key, std::pair<std::set<std::string>, std::set<std::string>>> groups;
    const auto add = [&](const Release& release, bool is_after) {
      for (const ReleaseLaterCode& code : release.later) {
        const std::string name = CompiledLaterPrefix(code) + code.architecture;
        auto& [before, after] = groups[{
            code.kernel.empty() ? "LTO-IR of " + (code.file.empty() ? "the file" : code.file) : code.kernel, name}];
        (is_after ? after : before).insert(code.hash);
      }
    };
    add(before_, false);
    add(after_, true);
    std::set<std::string> changed;
    for (const ReleaseRow& row : result_.rows) changed.insert(row.kernel);
    for (const auto& [key, hashes] : groups) {
      ReleaseArchitecture& row = Architecture(key.second);
      const auto& [before, after] = hashes;
      row.before += before.empty() ? 0 : 1;
      row.after += after.empty() ? 0 : 1;
      ReleaseRow judged{.kernel = key.first, .architecture = key.second};
      if (before == after) {
        ++row.same;
        continue;
      }
      if (after.empty()) {
        ++row.lost;
        judged.kind = ReleaseRow::Kind::kLost;
        judged.is_allowed = MayBeLost(key.first);
        judged.verdict = judged.is_allowed ? Verdict::kPass : Verdict::kRegression;
      } else if (before.empty()) {
        ++row.added;
        judged.kind = ReleaseRow::Kind::kNew;
      } else {
        ++row.changed;
        if (!changed.contains(key.first)) {
          judged.verdict = Verdict::kInconclusive;
          later_changed_.insert(key.second);
        }
      }
      row.verdict = std::max(row.verdict, judged.verdict);
      result_.rows.push_back(std::move(judged));
    }
  }

  /// An architecture that is lost is one loss, not one for each kernel.
  void JudgeArchitecture(ReleaseArchitecture& row) {
    if (row.after > 0 || row.before == 0) return;
    row.is_allowed = MayBeLost(row.name);
    row.verdict = row.is_allowed ? Verdict::kPass : Verdict::kRegression;
    std::erase_if(result_.rows, [&](const ReleaseRow& lost) { return lost.architecture == row.name; });
  }

  static double GrowthOf(const ReleaseRow& row, std::string_view metric) {
    const auto found = std::ranges::find(row.changes, metric, &ReleaseChange::metric);
    return found == row.changes.end() ? 0.0 : found->after.value_or(0.0) - found->before.value_or(0.0);
  }

  /// The worst first; equal ones by name, as they are.
  using Weight = std::tuple<Verdict, bool, double, double, double, double>;
  static Weight WeightOf(const ReleaseRow& row) {
    const bool is_new = row.kind == ReleaseRow::Kind::kNew;
    const Verdict verdict = row.verdict == Verdict::kImproved ? Verdict::kPass : row.verdict;
    return Weight(verdict, !is_new, GrowthOf(row, "loop_local_accesses"), GrowthOf(row, "local_accesses"),
                  -GrowthOf(row, "theoretical_occupancy_ratio"), GrowthOf(row, "registers_per_thread"));
  }

  void SetVerdict() {
    if (!unknown_encodings_.empty()) {
      result_.unknown.push_back("how often changed code for " + Listed(unknown_encodings_) +
                                " uses local memory: its instructions cannot be read");
    }
    if (!later_changed_.empty()) {
      result_.unknown.push_back("what is compiled from " + Listed(later_changed_) +
                                ": it changed, but not the machine code of its kernels");
    }
    // A kernel counts once, for however many architectures and in however many files.
    std::set<std::string_view> worse;
    std::set<std::string_view> over_limit;  // the same code
    std::set<std::string_view> lost;
    std::set<std::string_view> suspect;
    std::set<std::string_view> improved;
    std::set<std::string_view> changed;
    for (const ReleaseRow& row : result_.rows) {
      using enum ReleaseRow::Kind;
      const bool is_regression = row.verdict == Verdict::kRegression;
      const bool is_same = row.before && row.after && IsSame(*row.before, *row.after);
      if (row.before && row.after && !is_same) changed.insert(row.kernel);
      if (row.kind == kLost && is_regression) lost.insert(row.kernel);
      if (row.kind != kLost && is_regression) (is_same ? over_limit : worse).insert(row.kernel);
      if (row.verdict == Verdict::kSuspect) suspect.insert(row.kernel);
      if (row.verdict == Verdict::kImproved) improved.insert(row.kernel);
      result_.verdict = std::max(result_.verdict, row.verdict);
    }
    std::vector<std::string> parts;
    const auto say = [&](const std::set<std::string_view>& names, const char* one, const char* several) {
      if (names.empty()) return;
      parts.push_back(fmt::format("{} {}", FormatWhole(names.size()), names.size() == 1 ? one : several));
    };
    say(worse, "kernel is worse", "kernels are worse");
    say(over_limit, "unchanged kernel is over a limit", "unchanged kernels are over a limit");
    say(lost, "kernel is lost", "kernels are lost");
    for (const ReleaseArchitecture& row : result_.architectures) {
      if (row.verdict == Verdict::kRegression && row.after == 0) parts.push_back(row.name + " is lost");
      result_.verdict = std::max(result_.verdict, row.verdict);
    }
    if (!result_.unknown.empty()) result_.verdict = std::max(result_.verdict, Verdict::kInconclusive);
    if (!result_.unknown.empty()) {
      const auto more = result_.unknown.size() - 1;
      parts.push_back("not known: " + result_.unknown.front() + (more == 0 ? "" : fmt::format(", and {} more", more)));
    }
    say(suspect, "kernel has much more code or registers", "kernels have much more code or registers");
    say(improved, "kernel is better", "kernels are better");
    const auto in_both = [](const ReleaseArchitecture& row) { return row.same + row.changed > 0; };
    if (std::ranges::none_of(result_.architectures, in_both)) {
      parts.emplace_back("no kernel is in both for the same architecture");
    } else if (changed.empty() && lost.empty()) {
      parts.emplace_back("every kernel in both has the same code");
    } else {
      say(changed, "kernel changed", "kernels changed");
    }
    for (const std::string& part : parts) result_.headline += (result_.headline.empty() ? "" : "; ") + part;
    const auto old_rules = Expired(limits_.thresholds, limits_.today);
    for (const ThresholdRule* const rule : old_rules) {
      result_.notes.push_back("expired: " + PlaceOf(limits_.thresholds, *rule));
    }
  }

  static std::string Listed(const std::set<std::string>& names) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return list;
  }

  static std::string FormatWhole(std::size_t count) {
    std::string text = std::to_string(count);
    for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
    return text;
  }

  const Release& before_;
  const Release& after_;
  const ReleaseLimits& limits_;
  ReleaseResult result_;
  std::map<std::string, ReleaseArchitecture> architectures_;
  std::set<std::string> unknown_encodings_;  // architectures
  std::set<std::string> later_changed_;      // architectures
};

}  // namespace

ReleaseResult JudgeRelease(const Release& before, const Release& after, const ReleaseLimits& limits) {
  return ReleaseJudge(before, after, limits).Judge();
}

int ExitCode(const ReleaseResult& result, bool strict) {
  if (result.verdict == Verdict::kRegression) return 1;
  const bool is_clear = result.verdict == Verdict::kPass || result.verdict == Verdict::kImproved;
  return strict && (!is_clear || !result.unknown.empty()) ? 3 : 0;
}

}  // namespace fa_profile::gate

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "fa_profile/evidence.h"
#include "fa_profile/thresholds.h"
#include "files/limit_value.h"

namespace fa_profile {
namespace {

using enum Quantity;

/// One line of a table: what is limited, the limit, where it comes from.
struct Row {
  std::string what;
  std::string limit;
  std::string source;
  auto operator<=>(const Row&) const = default;
};

std::string Table(const std::vector<Row>& rows) {
  std::size_t what = 0;
  std::size_t limit = 0;
  for (const Row& row : rows) {
    what = std::max(what, row.what.size());
    limit = std::max(limit, row.limit.size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("  {:<{}}  {:<{}}  {}\n", row.what, what, row.limit, limit, row.source);
  }
  return text;
}

std::vector<Row> DefaultRows(const Thresholds& thresholds) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& what, const std::string& limit, const std::string& key) {
    const auto line = thresholds.default_lines.find(key);
    rows.push_back(
        {what, limit,
         line == thresholds.default_lines.end() ? "default" : fmt::format("{}:{}", thresholds.file, line->second)});
  };
  const Thresholds& t = thresholds;
  const std::string call = "a call's time and cycles, longer by";
  const std::string short_call = fmt::format("of calls under {}", LimitText(t.short_call_seconds, kSeconds));
  const std::string phase = "a phase's time, longer by";
  const std::string counter = "a deterministic counter, worse by";
  add(call, LimitText(t.duration.relative, kGrowth), "duration.relative");
  add("  and by", LimitText(t.duration.absolute, kSeconds), "duration.absolute");
  add(short_call, "these instead", "short_calls.below");
  add("  longer by", LimitText(t.short_duration.relative, kGrowth), "short_calls.relative");
  add("  and by", LimitText(t.short_duration.absolute, kSeconds), "short_calls.absolute");
  add(phase, LimitText(t.phase_time.relative, kGrowth), "phase_time.relative");
  add("  and, of the kernel's time, by", LimitText(t.phase_time.absolute, kShare), "phase_time.absolute");
  add(counter, LimitText(t.counter_relative, kGrowth), "counters.relative");
  add("  and by ranges of equal code", LimitText(t.counter_aa_ranges, kPlain), "counters.aa_ranges");
  add("drift from the promoted baseline", LimitText(t.budget, kGrowth), "budget");
  add("p of a suspicion, at most", LimitText(t.suspect_level, kPlain), "levels.suspect");
  add("p of a regression, at most", LimitText(t.regression_level, kPlain), "levels.regression");
  add("dropped pairs, at most", LimitText(t.most_dropped_pairs, kShare), "most_dropped_pairs");
  return rows;
}

std::string SourceText(const Thresholds& thresholds, const ThresholdRule& rule) {
  std::string text = PlaceOf(thresholds, rule);
  if (!rule.owner.empty()) text += ", " + rule.owner;
  if (!rule.expires.empty()) text += ", until " + rule.expires;
  if (!rule.reason.empty()) text += ": " + rule.reason;
  return text;
}

/// What is demanded of one metric of one case.
void AddDemand(const Thresholds& thresholds, const Demand& demand, const std::string& phase, const std::string& metric,
               std::vector<Row>& rows) {
  const std::string_view unit = UnitOf(phase, metric).value_or("");
  const Quantity quantity = QuantityOf(unit);
  const auto add = [&](const char* what, const std::string& limit, const ThresholdRule* rule) {
    rows.push_back({phase.empty() ? metric : phase + " " + metric, what + limit, SourceText(thresholds, *rule)});
  };
  const auto add_limit = [&](const char* what, std::optional<double> ThresholdRule::*limit, Quantity kind) {
    if (const ThresholdRule* rule = demand.RuleOf(limit)) add(what, LimitText(*(rule->*limit), kind, unit), rule);
  };
  if (demand.severity == Severity::kOff) return add("not compared", "", demand.RuleOf(&ThresholdRule::severity));
  add_limit("may get worse by ", &ThresholdRule::relative, kGrowth);
  add_limit("may get worse by ", &ThresholdRule::absolute, quantity);
  add_limit("at least ", &ThresholdRule::minimum, quantity);
  add_limit("at most ", &ThresholdRule::maximum, quantity);
  if (const ThresholdRule* rule = demand.RuleOf(&ThresholdRule::severity)) {
    add(demand.severity == Severity::kWarning ? "only warns" : "blocks", "", rule);
  }
}

std::vector<Row> DemandRows(const Thresholds& thresholds, const std::string& kernel, const std::string& shape,
                            const std::string& today) {
  // A pattern of phases stands for those that no other line names.
  std::set<std::pair<std::string, std::string>> named;
  for (const ThresholdRule& rule : thresholds.rules) named.emplace(rule.phase, rule.metric);
  std::vector<Row> rows;
  for (const auto& [phase, metric] : named) {
    AddDemand(thresholds, FindDemand(thresholds, kernel, shape, phase, metric, today), phase, metric, rows);
  }
  return rows;
}

}  // namespace

std::string ExplainThresholds(const Thresholds& thresholds,
                              const std::vector<std::pair<std::string, std::string>>& cases, const std::string& today) {
  RequireRulesMatch(thresholds, cases);
  std::string text = fmt::format("limits on {}, from {}\n", today,
                                 thresholds.file.empty() ? "the defaults" : thresholds.file + " and the defaults");
  text += "\nworse is what breaks both limits of a pair\n" + Table(DefaultRows(thresholds));
  // Cases of which the same is demanded stand together: there may be 60 of them.
  struct Group {
    std::vector<Row> rows;
    std::vector<std::string> names;
  };
  std::vector<Group> groups;
  for (const auto& [kernel, shape] : cases) {
    std::vector<Row> rows = DemandRows(thresholds, kernel, shape, today);
    auto group = std::ranges::find(groups, rows, &Group::rows);
    if (group == groups.end()) group = groups.insert(group, Group{std::move(rows), {}});
    group->names.push_back(shape.empty() ? kernel : kernel + " " + shape);
  }
  for (const auto& [rows, names] : groups) {
    text +=
        fmt::format("\n{}\n{}", fmt::join(names, "; "), rows.empty() ? "  no rule: the defaults alone\n" : Table(rows));
  }
  const std::vector<const ThresholdRule*> expired = Expired(thresholds, today);
  if (!expired.empty()) text += "\nexpired, and without effect\n";
  for (const ThresholdRule* rule : expired) {
    text += fmt::format("  {} {}\n", rule->metric, SourceText(thresholds, *rule));
  }
  return text;
}

}  // namespace fa_profile

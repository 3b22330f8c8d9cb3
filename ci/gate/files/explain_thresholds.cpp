#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "fa_profile/evidence.h"
#include "fa_profile/text.h"
#include "fa_profile/thresholds.h"
#include "limit_value.h"

namespace fa_profile::gate {
namespace {

using enum Quantity;

/// What is limited, the limit, and its source.
using Row = std::vector<std::string>;

std::string Table(const std::vector<Row>& rows) { return AlignColumns(rows, "  "); }

std::vector<Row> DefaultRows(Thresholds thresholds) {
  std::vector<Row> rows;
  for (const DefaultSetting& setting : DefaultSettings()) {
    const auto line = thresholds.default_lines.find(setting.Name());
    const bool continues = setting.meaning.starts_with("and ");
    rows.push_back(
        {fmt::format("{}{}", continues ? "  " : "", setting.meaning),
         LimitText(setting.value(thresholds), QuantityOf(setting.unit)),
         line == thresholds.default_lines.end() ? "default" : fmt::format("{}:{}", thresholds.file, line->second)});
  }
  return rows;
}

std::string SourceText(const Thresholds& thresholds, const ThresholdRule& rule) {
  std::string text = PlaceOf(thresholds, rule);
  if (!rule.owner.empty()) text += ", " + rule.owner;
  if (!rule.expires.empty()) text += ", until " + rule.expires;
  if (!rule.reason.empty()) text += ": " + rule.reason;
  return text;
}

/// The demands on one metric of one case.
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
  std::string text =
      fmt::format("limits on {}, from {}\n", today,
                  thresholds.file.empty() ? "the defaults" : Printable(thresholds.file) + " and the defaults");
  text += "\nworse means worse by both limits of a pair\n" + Table(DefaultRows(thresholds));
  // Cases with equal demands form a group: there may be 60 cases.
  struct Group {
    std::vector<Row> rows;
    std::vector<std::string> names;
  };
  std::vector<Group> groups;
  for (const auto& [kernel, shape] : cases) {
    std::vector<Row> rows = DemandRows(thresholds, kernel, shape, today);
    auto group = std::ranges::find(groups, rows, &Group::rows);
    if (group == groups.end()) group = groups.insert(group, Group{std::move(rows), {}});
    group->names.push_back(Printable(shape.empty() ? kernel : kernel + " " + shape));
  }
  for (const auto& [rows, names] : groups) {
    text += fmt::format("\n{}\n{}", fmt::join(names, "; "), rows.empty() ? "  only the defaults\n" : Table(rows));
  }
  const std::vector<const ThresholdRule*> expired = Expired(thresholds, today);
  if (!expired.empty()) text += "\nexpired, without effect\n";
  for (const ThresholdRule* rule : expired) {
    text += fmt::format("  {} {}\n", rule->metric, SourceText(thresholds, *rule));
  }
  return text;
}

}  // namespace fa_profile::gate

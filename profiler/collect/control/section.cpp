#include "section.h"

#include <re2/re2.h>

#include <array>
#include <utility>
#include <vector>

#include "fa_profile/error.h"

namespace fa_profile::collect {
namespace {

constexpr std::array<std::string_view, 4> kRollups = {".avg", ".max", ".min", ".sum"};

// Widgets that bring metrics which the file does not name; ncu --list-metrics calls them so.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWidgets = {{
    {"MemoryChart", "group:memory__chart"},
    {"MemorySharedTable", "group:memory__shared_table"},
    {"MemoryL1TEXCacheTable", "group:memory__first_level_cache_table"},
    {"MemoryL2CacheTable", "group:memory__l2_cache_table"},
    {"MemoryL2CacheEvictPolicyTable", "group:memory__l2_cache_evict_policy_table"},
    {"MemoryDeviceMemoryTable", "group:memory__dram_table"},
}};

// Where a section names one rollup of a counter or throughput, Nsight Compute collects all four. It does not for its
// own groups and derived metrics, nor for the metrics it samples ("TriageCompute").
void InsertWithRollups(const std::string& metric, std::set<std::string>& metrics) {
  const bool own = metric.find(':') != std::string::npos || metric.starts_with("derived__");
  if (!own && metric.find("Triage") == std::string::npos) {
    for (const std::string_view rollup : kRollups) {
      const std::size_t at = metric.find(rollup);
      if (at == std::string::npos) continue;
      const std::string rest = metric.substr(at + rollup.size());
      if (!rest.empty() && rest.front() != '.') continue;  // ".max_rate" is not a rollup
      for (const std::string_view each : kRollups) metrics.insert(metric.substr(0, at) + std::string(each) + rest);
      return;
    }
  }
  metrics.insert(metric);
}

// The metrics in an expression such as "100 * simplify(sm__a.sum) / sm__b.max": words with a double underscore.
std::vector<std::string> Operands(std::string_view expression) {
  static const RE2 kMetric("([A-Za-z0-9_.]*__[A-Za-z0-9_.]*)");
  std::vector<std::string> operands;
  re2::StringPiece rest(expression);
  for (std::string name; RE2::FindAndConsume(&rest, kMetric, &name);) operands.push_back(name);
  return operands;
}

}  // namespace

Section::Section(std::string_view text, const std::string& file) : file_(file), root_(ParseTextFormat(text, file)) {}

std::set<std::string> Section::Sets() const {
  std::set<std::string> sets;
  for (const TextField& field : root_.fields) {
    if (field.name == "Sets") sets.emplace(field.Scalar("Identifier"));
  }
  sets.erase("");
  return sets;
}

std::set<std::string> Section::Metrics(int cc) const {
  std::set<std::string> metrics;
  if (!Passes(root_, cc)) return metrics;
  std::map<std::string, bool> names;
  Names(root_, cc, names);

  std::map<std::string, std::string_view> definitions;
  for (const TextField& group : root_.fields) {
    if (group.name != "MetricDefinitions") continue;
    for (const TextField& definition : group.fields) {
      if (Passes(definition, cc)) definitions.emplace(definition.Scalar("Name"), definition.Scalar("Expression"));
    }
  }
  std::vector<std::string> derived;
  for (const auto& entry : names) derived.push_back(entry.first);
  while (!derived.empty()) {
    const auto definition = definitions.find(derived.back());
    derived.pop_back();
    if (definition == definitions.end()) continue;
    for (const std::string& operand : Operands(definition->second)) {
      // Each name enters once, so a definition in terms of itself ends too.
      if (names.emplace(operand, false).second) derived.push_back(operand);
    }
  }
  for (const auto& [name, rollups] : names) {
    if (rollups) {
      InsertWithRollups(name, metrics);
    } else {
      metrics.insert(name);
    }
  }
  return metrics;
}

// Adds the metrics that a message names: name -> whether all its rollups are collected. They are not where an
// alternative ("Options") replaces the name stated first.
void Section::Names(const TextField& message, int cc, std::map<std::string, bool>& names) const {
  const auto is_alternative = [](const TextField& field) {
    return field.name == "Options" && !field.Scalar("Name").empty();
  };
  for (const TextField& field : message.fields) {
    if (is_alternative(field) && Passes(field, cc)) {
      names.emplace(field.Scalar("Name"), false);
      return;
    }
  }
  if (!Passes(message, cc)) return;
  for (const auto& [widget, group] : kWidgets) {
    if (message.name == widget) names.emplace(group, false);
  }
  for (const TextField& field : message.fields) {
    if (field.name == "SuffixTable") {
      SuffixTable(field, cc, names);
    } else if (field.name == "Name" && !field.is_message && !field.scalar.empty()) {
      names[field.scalar] = true;
    } else if (field.is_message && field.name != "MetricDefinitions" && field.name != "Group" &&
               !is_alternative(field)) {
      Names(field, cc, names);
    }
  }
}

// A table of base names by suffixes: its metrics are all combinations.
void Section::SuffixTable(const TextField& table, int cc, std::map<std::string, bool>& names) const {
  std::vector<std::string_view> suffixes;
  std::vector<std::string_view> bases;
  for (const TextField& list : table.fields) {
    for (const TextField& entry : list.fields) {
      if (entry.name == "Suffix") suffixes.push_back(entry.Scalar("Name"));
      if (entry.name != "BaseName" || !Passes(entry, cc)) continue;
      if (const std::string_view base = entry.Scalar("Name"); !base.empty()) bases.push_back(base);
    }
  }
  constexpr std::size_t kMaxNames = 100000;  // a small file must not make a product that fills the memory
  if (suffixes.size() * bases.size() > kMaxNames) {
    throw Error(file_ + ":" + std::to_string(table.line) + ": the table has more than " + std::to_string(kMaxNames) +
                " metrics");
  }
  for (const std::string_view base : bases) {
    for (const std::string_view suffix : suffixes) names[std::string(base).append(suffix)] = true;
  }
}

// Scopes of collection, driver versions and virtual GPUs are ignored: a metric that does not apply gives no value.
bool Section::Passes(const TextField& message, int cc) const {
  for (const TextField& filter : message.fields) {
    if (filter.name != "Filter") continue;
    if (!InRange(filter, cc)) return false;
    bool has_items = false;
    bool in_items = false;
    for (const TextField& item : filter.fields) {
      if (item.name != "Items") continue;
      has_items = true;
      in_items = in_items || InRange(item, cc);
    }
    if (has_items && !in_items) return false;
  }
  return true;
}

bool Section::InRange(const TextField& message, int cc) const {
  for (const TextField& field : message.fields) {
    if (field.name != "MinArch" && field.name != "MaxArch") continue;
    int arch = 0;
    if (!RE2::FullMatch(field.scalar, "(?:CC_)?([0-9]+)", &arch)) {
      throw Error(file_ + ":" + std::to_string(field.line) + ": " + field.name + " should be like CC_90, not '" +
                  field.scalar + "'");
    }
    if (field.name == "MinArch" ? cc < arch : cc > arch) return false;
  }
  return true;
}

}  // namespace fa_profile::collect

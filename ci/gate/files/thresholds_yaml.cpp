#include <fmt/format.h>
#include <re2/re2.h>

#include <array>
#include <chrono>
#include <map>
#include <tuple>

#include "fa_profile/error.h"
#include "fa_profile/evidence.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/static_metrics.h"
#include "fa_profile/strict_yaml.h"
#include "fa_profile/thresholds.h"
#include "limit_value.h"

namespace fa_profile::gate {
namespace {

constexpr std::size_t kMostRules = 1000;
constexpr std::size_t kLongestName = 256;  // a demangled name of a foreign kernel is long
constexpr std::size_t kLongestReason = 500;
constexpr const char* kSeeDocs = "docs/gate.md has an example";

struct NamedLimit {
  const char* key;
  std::optional<double> ThresholdRule::*limit;
};
constexpr std::array<NamedLimit, 4> kLimits = {{{"relative", &ThresholdRule::relative},
                                                {"absolute", &ThresholdRule::absolute},
                                                {"minimum", &ThresholdRule::minimum},
                                                {"maximum", &ThresholdRule::maximum}}};

std::vector<std::string> MetricIds(bool of_phase) {
  std::vector<std::string> ids;
  for (const CatalogueMetric& metric : of_phase ? PhaseCatalogue() : MetricCatalogue()) ids.emplace_back(metric.id);
  if (!of_phase) ids.emplace_back(kCycles);
  for (const StaticMetric& metric : StaticMetrics()) {
    if (!of_phase || metric.of_phases) ids.emplace_back(metric.id);
  }
  return ids;
}

/// "2026-12-31", a valid day.
bool IsDate(const std::string& text) {
  static const RE2 kDate("([0-9]{4})-([0-9]{2})-([0-9]{2})");
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  if (!RE2::FullMatch(text, kDate, &year, &month, &day) || year < 2000) return false;
  return std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)).ok();
}

class ThresholdsReader {
 public:
  explicit ThresholdsReader(const std::string& file) : yaml_(file, kSeeDocs) { thresholds_.file = file; }

  Thresholds Read(const std::string& text) {
    const YAML::Node root = yaml_.Load(text);
    bool has_version = false;
    // Exceptions come after rules, whatever the order in the file.
    std::vector<ThresholdRule> exceptions;
    yaml_.ReadMap(root, "a threshold file",
                  {{"version",
                    [&](const YAML::Node& node) {
                      has_version = true;
                      ReadVersion(node);
                    }},
                   {"defaults", [&](const YAML::Node& node) { ReadDefaults(node); }},
                   {"rules", [&](const YAML::Node& node) { ReadRules(node, "rules", thresholds_.rules); }},
                   {"exceptions", [&](const YAML::Node& node) { ReadRules(node, "exceptions", exceptions); }}});
    if (!has_version) yaml_.Fail(root, "'version' is missing", "begin the file with: version: 1");
    if (thresholds_.rules.size() + exceptions.size() > kMostRules) {
      yaml_.Fail(root, fmt::format("the file has more than {} rules and exceptions", kMostRules),
                 "merge rules with patterns: kernel: \"*\"");
    }
    thresholds_.rules.insert(thresholds_.rules.end(), exceptions.begin(), exceptions.end());
    return std::move(thresholds_);
  }

 private:
  void ReadVersion(const YAML::Node& node) const {
    if (ReadLimit(yaml_, node, "the version", Quantity::kPlain) != 1.0) {
      yaml_.Fail(node, "unknown version " + Quoted(node.Scalar()), "use version 1");
    }
  }

  StrictYaml::Field Default(const DefaultSetting& setting) {
    return {std::string(setting.key), [this, &setting](const YAML::Node& node) {
              const std::string name = setting.Name();
              double& value = setting.value(thresholds_);
              value = ReadLimit(yaml_, node, name, QuantityOf(setting.unit));
              if (value > setting.most) {
                yaml_.Fail(node, name + " is too large", fmt::format("use at most {:g}", setting.most));
              }
              thresholds_.default_lines[name] = node.Mark().line + 1;
            }};
  }

  void ReadDefaults(const YAML::Node& node) {
    std::vector<StrictYaml::Field> fields;
    std::map<std::string, std::vector<StrictYaml::Field>> sections;
    for (const DefaultSetting& setting : DefaultSettings()) {
      auto& section = setting.section.empty() ? fields : sections[std::string(setting.section)];
      section.push_back(Default(setting));
    }
    for (const auto& [key, of_section] : sections) {
      fields.push_back(
          {key, [&, this](const YAML::Node& section) { yaml_.ReadMap(section, "'" + key + "'", of_section); }});
    }
    fields.push_back({"short_calls", [this](const YAML::Node& section) {
                        yaml_.Fail(section, "'short_calls' is no longer a setting",
                                   "remove it: calls of any length have the limits of 'duration'");
                      }});
    yaml_.ReadMap(node, "'defaults'", fields);
    RequireLevels(node["levels"]);
  }

  void RequireLevels(const YAML::Node& node) const {
    if (!node) return;
    if (thresholds_.suspect_level <= 0.0 || thresholds_.regression_level <= 0.0) {
      yaml_.Fail(node, "a level must be above 0: no test can reach 0",
                 "the defaults are suspect: 0.10, regression: 0.01");
    }
    if (thresholds_.regression_level > thresholds_.suspect_level) {
      yaml_.Fail(node, "levels.regression must not be above levels.suspect",
                 "use regression <= suspect: the second stage must be at least as strict as the first");
    }
  }

  void ReadRules(const YAML::Node& node, const std::string& key, std::vector<ThresholdRule>& rules) {
    if (!node.IsSequence()) yaml_.Fail(node, "'" + key + "' must be a list", kSeeDocs);
    if (node.size() > kMostRules) {
      yaml_.Fail(node, fmt::format("'{}' has more than {} items", key, kMostRules), "merge them with patterns");
    }
    for (const YAML::Node& item : node) rules.push_back(ReadRule(item, key == "exceptions"));
  }

  ThresholdRule ReadRule(const YAML::Node& node, bool exception) {
    ThresholdRule rule;
    rule.exception = exception;
    rule.line = node.Mark().line + 1;
    YAML::Node metric;
    std::map<std::string, YAML::Node> limits;
    std::vector<StrictYaml::Field> fields = {TextField("kernel", rule.kernel, kLongestName),
                                             TextField("shape", rule.shape, kLongestName),
                                             TextField("phase", rule.phase, kLongestName),
                                             {"metric", [&](const YAML::Node& at) {
                                                rule.metric = yaml_.Text(at, "'metric'", kLongestName);
                                                metric.reset(at);
                                              }}};
    // A limit's unit depends on the metric, which may follow it.
    for (const NamedLimit& limit : kLimits) {
      fields.push_back({limit.key, [&limits, key = limit.key](const YAML::Node& at) { limits[key].reset(at); }});
    }
    fields.push_back({"severity", [&](const YAML::Node& at) { rule.severity = ReadSeverity(at); }});
    fields.push_back(TextField("owner", rule.owner, kLongestName));
    fields.push_back(TextField("reason", rule.reason, kLongestReason));
    if (exception) fields.push_back({"expires", [&](const YAML::Node& at) { rule.expires = ReadDate(at); }});
    yaml_.ReadMap(node, exception ? "an exception" : "a rule", fields);
    if (rule.metric.empty()) yaml_.Fail(node, "'metric' is missing", "`fa-profile list metrics` lists the metrics");
    const std::string_view unit = RequireMetric(metric, rule);
    for (const NamedLimit& limit : kLimits) {
      const auto found = limits.find(limit.key);
      if (found == limits.end()) continue;
      const bool of_base = std::string_view(limit.key) == "relative";
      rule.*limit.limit = ReadLimit(yaml_, found->second, fmt::format("'{}' of {}", limit.key, rule.metric),
                                    of_base ? Quantity::kGrowth : QuantityOf(unit));
    }
    RequireSense(node, rule);
    RequireEffect(node, rule);
    return rule;
  }

  StrictYaml::Field TextField(const std::string& key, std::string& value, std::size_t longest) const {
    return {key, [this, key, longest, &value](const YAML::Node& node) {
              value = yaml_.Text(node, "'" + key + "'", longest);
            }};
  }

  Severity ReadSeverity(const YAML::Node& node) const {
    static const std::vector<std::string> kNames = {"error", "warning", "off"};
    const std::string name = yaml_.Text(node, "'severity'", kLongestName);
    if (name == "error") return Severity::kError;
    if (name == "warning") return Severity::kWarning;
    if (name == "off") return Severity::kOff;
    yaml_.Fail(node, "unknown severity " + Quoted(name) + DidYouMean(name, kNames), "use error, warning or off");
  }

  std::string ReadDate(const YAML::Node& node) const {
    std::string date = yaml_.Text(node, "'expires'", kLongestName);
    if (!IsDate(date))
      yaml_.Fail(node, Quoted(date) + " is not a date", "write the last day on which it counts, like 2026-12-31");
    return date;
  }

  /// The metric's unit.
  std::string_view RequireMetric(const YAML::Node& node, const ThresholdRule& rule) const {
    if (const auto unit = UnitOf(rule.phase, rule.metric)) return *unit;
    const bool of_phase = !rule.phase.empty();
    if (UnitOf(of_phase ? "" : "*", rule.metric)) {
      yaml_.Fail(node, fmt::format("{} is a metric of {}", rule.metric, of_phase ? "whole kernels" : "phases"),
                 of_phase ? "remove 'phase'" : "add phase: softmax, or phase: \"*\" for all");
    }
    yaml_.Fail(node, "unknown metric " + Quoted(rule.metric) + DidYouMean(rule.metric, MetricIds(of_phase)),
               "`fa-profile list metrics` lists the metrics; docs/gate-reference.md lists those of machine code");
  }

  void RequireSense(const YAML::Node& node, const ThresholdRule& rule) const {
    const bool limits = rule.relative || rule.absolute || rule.minimum || rule.maximum;
    if (!limits && !rule.severity) {
      yaml_.Fail(node, "the rule has no limit and no severity", "add relative, absolute, minimum, maximum or severity");
    }
    if (rule.minimum && rule.maximum && *rule.minimum > *rule.maximum) {
      yaml_.Fail(node, "the minimum is above the maximum", "exchange the two");
    }
    if (rule.severity == Severity::kOff && limits) {
      yaml_.Fail(node, "limits have no effect with severity: off", "remove the limits or the severity");
    }
    if (rule.severity == Severity::kOff && rule.reason.empty()) {
      yaml_.Fail(node, "severity: off needs a reason", "add reason: \"...\"");
    }
    if (!rule.exception) return;
    const auto require = [&](const std::string& value, const char* key, const char* hint) {
      if (value.empty()) yaml_.Fail(node, fmt::format("an exception needs '{}'", key), hint);
    };
    require(rule.owner, "owner", "add who is responsible: owner: ada");
    require(rule.reason, "reason", "add why the change is accepted: reason: \"wider masks, #42\"");
    require(rule.expires, "expires", "add the last day on which it counts: expires: 2026-12-31");
  }

  /// If two rules have the same patterns, metric and key, only the last would count, while a reader might believe the
  /// first.
  void RequireEffect(const YAML::Node& node, const ThresholdRule& rule) {
    const auto claim = [&](bool demands, const char* what) {
      if (!demands) return;
      const auto [first, is_new] = claims_.emplace(
          std::tuple(rule.exception, rule.kernel, rule.shape, rule.phase, rule.metric, what), rule.line);
      if (is_new) return;
      yaml_.Fail(node, fmt::format("line {} already sets '{}' for the same cases and metric", first->second, what),
                 "keep one of them");
    };
    for (const NamedLimit& limit : kLimits) claim((rule.*limit.limit).has_value(), limit.key);
    claim(rule.severity.has_value(), "severity");
  }

  StrictYaml yaml_;
  Thresholds thresholds_;
  /// Line of each demand, by exception or not, patterns, metric and key.
  std::map<std::tuple<bool, std::string, std::string, std::string, std::string, std::string>, int> claims_;
};

}  // namespace

Thresholds ParseThresholds(const std::string& text, const std::string& file) {
  return ThresholdsReader(file).Read(text);
}

}  // namespace fa_profile::gate

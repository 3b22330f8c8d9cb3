#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "fa_profile/edit_text.h"
#include "fa_profile/gate_report.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/version.h"
#include "safe_text.h"

namespace fa_profile::gate {
namespace {

using Json = nlohmann::ordered_json;

/// In a SARIF message [text](address) is a link and {0} a placeholder (2.1.0, 3.11.5 and 3.11.6).
std::string MessageText(std::string_view text, std::size_t most = 1000) {
  std::string line = SafeLine(text, most);
  for (char& c : line) {
    if (c == '[' || c == '{') c = '(';
    if (c == ']' || c == '}') c = ')';
    if (c == '\\') c = '/';
  }
  return line;
}

/// From names only: the fingerprint stays the same when values or lines change.
std::string Fingerprint(const CaseVerdict& of, const std::string& phase, const std::string& rule) {
  std::string names;
  for (const std::string* part : {&of.kernel, &of.shape, &phase, &rule}) names += *part + '\0';
  return fmt::format("{:016x}", Fnv1a(names));
}

/// A relative path as a URI reference (RFC 3986).
std::string Uri(const std::string& path) {
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        (byte < 0x80 && std::isalnum(byte) != 0) || std::string_view("/-._~").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri;
}

/// "ci/thresholds.yaml:12"
std::optional<SourcePlace> PlaceOfRule(const std::string& rule) {
  const std::size_t colon = rule.rfind(':');
  if (colon == std::string::npos || colon + 1 == rule.size() || rule.size() - colon > 8) return std::nullopt;
  SourcePlace place{rule.substr(0, colon), 0};
  for (const char c : rule.substr(colon + 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    place.line = place.line * 10 + (c - '0');
  }
  return PlaceInside(place);
}

class Log {
 public:
  /// `comparison` null: the result is about the whole case, under `rule`.
  void Add(const CaseVerdict& of, const Comparison* comparison, const std::string& rule, const char* level,
           const std::string& message, const std::string& design) {
    const std::string phase = comparison != nullptr ? comparison->phase : "";
    Json physical;
    std::optional<SourcePlace> place = PlaceInside(of.place);
    if (!place && comparison != nullptr) place = PlaceOfRule(comparison->rule);
    // GitHub refuses the whole upload if one result has no place.
    if (!place) place = SourcePlace{"ci/thresholds.yaml", 1};
    physical["artifactLocation"] = {{"uri", Uri(place->file)}, {"uriBaseId", "%SRCROOT%"}};
    physical["region"] = {{"startLine", place->line}};
    std::string logical = CaseTitle(of);
    if (!phase.empty()) logical.append("/").append(SafeLine(phase, 60));
    const std::string fingerprint = Fingerprint(of, phase, rule);
    Json result = {
        {"ruleId", rule},
        {"ruleIndex", RuleIndex(rule)},
        {"level", level},
        {"message", {{"text", MessageText(message)}}},
        {"locations",
         Json::array({{{"physicalLocation", std::move(physical)},
                       {"logicalLocations", Json::array({{{"fullyQualifiedName", logical}, {"kind", "function"}}})}}})},
        // GitHub uses the first one; without it, it would hash the line.
        {"partialFingerprints", {{"primaryLocationLineHash", fingerprint + ":1"}, {"faProfileGate/v1", fingerprint}}}};
    if (comparison != nullptr) result["properties"] = Properties(*comparison, design);
    results_.push_back(std::move(result));
  }

  Json Finish(const GateResult& result) {
    Json run = {
        {"tool",
         {{"driver",
           {{"name", "fa-profile gate"}, {"semanticVersion", std::string(Version())}, {"rules", std::move(rules_)}}}}},
        {"automationDetails", {{"id", "fa-profile/gate-" + SafeLine(result.design, 40) + "/"}}},
        {"originalUriBaseIds", {{"%SRCROOT%", {{"description", {{"text", "the root of the repository"}}}}}}},
        {"results", std::move(results_)},
        {"properties", {{"verdict", ToString(result.verdict)}, {"design", SafeLine(result.design, 40)}}}};
    return {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs", Json::array({std::move(run)})}};
  }

 private:
  static Json Properties(const Comparison& c, const std::string& design) {
    Json properties = {{"verdict", ToString(c.verdict)}, {"blocking", c.blocking}, {"tier", TierName(c.tier, design)}};
    const auto put = [&](const char* name, const std::optional<double>& value) {
      if (value && std::isfinite(*value)) properties[name] = *value;
    };
    put("baseline", c.base);
    put("candidate", c.candidate);
    put("change", c.change);
    put("changeLow", c.change_low);
    put("changeHigh", c.change_high);
    put("p", c.p_adjusted ? c.p_adjusted : c.p);
    return properties;
  }

  std::size_t RuleIndex(const std::string& id) {
    const auto [known, is_new] = index_.emplace(id, rules_.size());
    if (is_new) {
      const CatalogueMetric* row = FindMetric(id);
      if (row == nullptr) row = FindPhaseMetric(id);
      Json rule = {{"id", id}, {"shortDescription", {{"text", MessageText(MetricLabel(id))}}}};
      if (row != nullptr) rule["fullDescription"] = {{"text", MessageText(row->help)}};
      rules_.push_back(std::move(rule));
    }
    return known->second;
  }

  std::map<std::string, std::size_t> index_;
  Json rules_ = Json::array();
  Json results_ = Json::array();
};

std::string MessageOf(const CaseVerdict& of, const Comparison& c) {
  const std::string interval = ShownInterval(c);
  std::string message = CaseTitle(of) + ": " + MetricTitle(c) + " " + ShownNumbers(c);
  if (!interval.empty()) message += " (95 %: " + interval + ")";
  if (!c.reason.empty()) message += ". " + c.reason;
  return message;
}

}  // namespace

std::string GateSarif(const GateResult& result) {
  Log log;
  for (const RankedComparison& row : WorstFirst(result)) {
    const Comparison& c = *row.comparison;
    if (IsBad(c.verdict)) {
      log.Add(*row.of, &c, SafeLine(c.metric, 80), Level(c.verdict, c.blocking), MessageOf(*row.of, c), result.design);
    }
  }
  for (const CaseVerdict& of : result.cases) {
    // A case whose verdict no comparison explains: it is wrong, missing, or cannot be compared.
    const bool explained =
        std::ranges::any_of(of.comparisons, [&](const Comparison& c) { return c.blocking && c.verdict == of.verdict; });
    if (!IsBad(of.verdict) || (explained && !of.incorrect)) continue;
    const std::string rule = Lower(of.incorrect ? "correctness" : ToString(of.verdict));
    log.Add(of, nullptr, rule, Level(of.verdict, true),
            CaseTitle(of) + ": " + (of.headline.empty() ? ToString(of.verdict) : of.headline), result.design);
  }
  return log.Finish(result).dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace fa_profile::gate

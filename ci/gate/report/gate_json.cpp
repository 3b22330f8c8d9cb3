#include <cmath>
#include <nlohmann/json.hpp>

#include "case_report.h"
#include "fa_profile/gate_report.h"

namespace fa_profile::gate {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 1;

Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json OrNull(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}
Json KnownHertz(std::int64_t value) { return value > 0 ? Json(value) : Json(nullptr); }

Json ToJson(const Environment& environment, const std::string& origin) {
  Json json = {{"origin", OrNull(origin)}};
  for (const EnvironmentField& field : kEnvironmentFields) {
    json[field.key] = field.text != nullptr ? OrNull(environment.*field.text) : KnownHertz(environment.*field.hertz);
  }
  return json;
}

Json ToJson(const Comparison& c) {
  return {{"phase", OrNull(c.phase)},
          {"metric", c.metric},
          {"unit", c.unit},
          {"tier", c.tier},
          {"baseline", OrNull(c.base)},
          {"candidate", OrNull(c.candidate)},
          {"change", OrNull(c.change)},
          {"change_low", OrNull(c.change_low)},
          {"change_high", OrNull(c.change_high)},
          {"p", OrNull(c.p)},
          {"p_adjusted", OrNull(c.p_adjusted)},
          {"pairs", c.pairs},
          {"verdict", ToString(c.verdict)},
          {"blocking", c.blocking},
          {"reason", OrNull(c.reason)},
          {"rule", OrNull(c.rule)},
          {"allowed", OrNull(c.allowed)}};
}

Json ToJson(const CaseVerdict& v) {
  Json place = nullptr;
  if (v.place) place = {{"file", v.place->file}, {"line", v.place->line}};
  Json findings = Json::array();
  for (const CaseFinding& finding : v.findings) {
    findings.push_back({{"id", finding.id}, {"evidence", finding.evidence}, {"cure", OrNull(CureOf(finding))}});
  }
  Json comparisons = Json::array();
  for (const Comparison& c : v.comparisons) comparisons.push_back(ToJson(c));
  return {{"kernel", v.kernel},
          {"shape", OrNull(v.shape)},
          {"verdict", ToString(v.verdict)},
          {"identical", v.identical},
          {"incorrect", v.incorrect},
          {"headline", OrNull(v.headline)},
          {"why", v.why},
          {"findings", std::move(findings)},
          {"phase", OrNull(v.phase)},
          {"bottleneck_before", OrNull(v.bottleneck_before)},
          {"bottleneck_after", OrNull(v.bottleneck_after)},
          {"place", std::move(place)},
          {"comparisons", std::move(comparisons)}};
}

}  // namespace

std::string GateJson(const GateResult& result) {
  Json control = nullptr;
  if (result.control) {
    control = {{"passed", result.control->passed},
               {"trials", result.control->trials},
               {"false_positives", result.control->false_positives},
               {"equal_code_trials", result.control->equal_code_trials},
               {"equal_code_worse", result.control->equal_code_worse},
               {"reference_change", OrNull(result.control->reference_change)},
               {"reason", OrNull(result.control->reason)}};
  }
  Json cases = Json::array();
  for (const CaseVerdict& v : result.cases) cases.push_back(ToJson(v));
  const Json json = {{"format", "fa-profile gate"},
                     {"version", kFormatVersion},
                     {"verdict", ToString(result.verdict)},
                     {"headline", OrNull(result.headline)},
                     {"design", result.design},
                     {"today", OrNull(result.today)},
                     {"reproduce", OrNull(result.reproduce)},
                     {"baseline", ToJson(result.base, result.base_origin)},
                     {"candidate", ToJson(result.candidate, result.candidate_origin)},
                     {"incomparable", result.incomparable},
                     {"notes", result.notes},
                     {"control", std::move(control)},
                     {"suspects", result.suspects},
                     {"cases", std::move(cases)}};
  // ASCII only: no character that a terminal interprets or an editor hides.
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace fa_profile::gate

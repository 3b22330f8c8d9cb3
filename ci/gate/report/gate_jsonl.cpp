#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "case_report.h"
#include "fa_profile/gate_report.h"
#include "fa_profile/line_ids.h"
#include "safe_text.h"

namespace fa_profile::gate {
namespace {

using JsonLine = nlohmann::ordered_json;

JsonLine TextOrNull(const std::string& text) { return text.empty() ? JsonLine(nullptr) : JsonLine(text); }
JsonLine FiniteOrNull(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? JsonLine(*value) : JsonLine(nullptr);
}

/// No verdict was reached.
bool IsOpen(Verdict verdict) { return IsBad(verdict) && verdict != Verdict::kRegression; }

const char* MeaningOf(int exit_code) {
  return exit_code == 0   ? "no regression"
         : exit_code == 1 ? "a regression"
                          : "no clear verdict, or not all was compared";
}

JsonLine ExitOf(const GateResult& result, bool strict) {
  const int code = ExitCode(result, strict);
  return {{"code", code}, {"meaning", MeaningOf(code)}};
}

JsonLine ValuesOf(const Comparison& c) {
  return {{"metric", c.metric},
          {"unit", c.unit},
          {"baseline", FiniteOrNull(c.base)},
          {"candidate", FiniteOrNull(c.candidate)},
          {"change", FiniteOrNull(c.change)},
          {"change_low", FiniteOrNull(c.change_low)},
          {"change_high", FiniteOrNull(c.change_high)}};
}

class JsonLinesOfGate {
 public:
  explicit JsonLinesOfGate(const GateResult& result) : result_(result) {}

  std::string Write() && {
    WriteWhole();
    int rank = 0;
    for (const CaseVerdict& of : result_.cases) WriteCase(of, ++rank);
    for (const std::string& reason : result_.incomparable) {
      JsonLine line = {{"subject", nullptr}};
      line.update(Gpus());
      line["cannot_say"] = JsonLine::array({reason});
      Put({"not-compared", reason}, "note", line);
    }
    for (const std::string& note : result_.notes) {
      JsonLine line = {{"text", note}};
      line.update(Gpus());
      Put({"note", note}, "note", line);
    }
    return std::move(text_);
  }

 private:
  /// `names`: the line's kind, then what else its id is made of.
  void Put(const std::vector<std::string_view>& names, const char* severity, const JsonLine& facts) {
    JsonLine line = {
        {"kind", names.front()}, {"version", kJsonLinesVersion}, {"id", ids_.Next(names)}, {"severity", severity}};
    for (const auto& [name, value] : facts.items()) line[name] = value;
    // ASCII only, as in GateJson().
    text_ += line.dump(-1, ' ', /*ensure_ascii=*/true, JsonLine::error_handler_t::replace) + "\n";
  }

  JsonLine Gpus() const {
    return {{"gpu", TextOrNull(result_.candidate.gpu_name)}, {"gpu_before", TextOrNull(result_.base.gpu_name)}};
  }

  void WriteWhole() {
    JsonLine unknown = result_.incomparable;
    if (result_.control && !result_.control->passed) unknown.push_back(result_.control->reason);
    if (!result_.complete) unknown.push_back("not everything was compared: a note says what");
    JsonLine line = {{"verdict", ToString(result_.verdict)},
                     {"headline", TextOrNull(result_.headline)},
                     {"exit", ExitOf(result_, /*strict=*/false)},
                     {"exit_strict", ExitOf(result_, /*strict=*/true)},
                     {"design", result_.design}};
    line.update(Gpus());
    line["baseline"] = TextOrNull(result_.base_origin);
    line["candidate"] = TextOrNull(result_.candidate_origin);
    line["cases"] = result_.cases.size();
    line["reproduce"] = TextOrNull(result_.reproduce);
    line["cannot_say"] = std::move(unknown);
    Put({"gate"}, Level(result_.verdict, /*blocking=*/true), line);
  }

  JsonLine CallOf(const CaseVerdict& of) const {
    JsonLine line = {{"kernel", of.kernel}, {"shape", TextOrNull(of.shape)}};
    line.update(Gpus());
    return line;
  }

  void WriteCase(const CaseVerdict& of, int rank) {
    const CaseReport report = ReportOf(of);
    JsonLine cures = JsonLine::array();
    for (const ReportLine& line : report.lines) {
      if (line.cure) cures.push_back(line.text);
    }
    JsonLine line = CallOf(of);
    line["verdict"] = ToString(of.verdict);
    line["rank"] = rank;
    line["headline"] = TextOrNull(of.headline);
    line["phase"] = TextOrNull(of.phase);
    line["place"] = of.place ? JsonLine(of.place->file + ":" + std::to_string(of.place->line)) : JsonLine(nullptr);
    line["identical"] = of.identical;
    line["incorrect"] = of.incorrect;
    line["why"] = of.why;
    line["time"] = report.time == nullptr ? JsonLine(nullptr) : ValuesOf(*report.time);
    line["cures"] = std::move(cures);
    line["cannot_say"] =
        IsOpen(of.verdict) && !of.headline.empty() ? JsonLine::array({of.headline}) : JsonLine::array();
    Put({"verdict", of.kernel, of.shape}, Level(of.verdict, /*blocking=*/true), line);
    for (const CaseFinding& finding : of.findings) WriteFinding(of, finding);
    for (const Comparison& c : of.comparisons) {
      if (c.verdict != Verdict::kPass || !c.reason.empty()) WriteComparison(of, c);
    }
  }

  /// The candidate's, with the same fields as in a report; what the gate does not keep is null.
  void WriteFinding(const CaseVerdict& of, const CaseFinding& finding) {
    JsonLine line = {{"finding", finding.id}};
    line.update(CallOf(of));
    for (const char* const absent : {"part", "phase", "place", "rank", "weight", "cause"}) line[absent] = nullptr;
    line["evidence"] = finding.evidence;
    line["numbers"] = JsonLine::array();
    line["cure"] = TextOrNull(CureOf(finding));
    line["cannot_say"] = JsonLine::array();
    Put({"finding", of.kernel, of.shape, "", "", finding.id}, "warning", line);
  }

  void WriteComparison(const CaseVerdict& of, const Comparison& c) {
    JsonLine line = CallOf(of);
    line["phase"] = TextOrNull(c.phase);
    line["place"] = nullptr;
    if (of.place && !c.phase.empty() && c.phase == of.phase) {
      line["place"] = of.place->file + ":" + std::to_string(of.place->line);
    }
    line["verdict"] = ToString(c.verdict);
    line["blocking"] = c.blocking;
    line.update(ValuesOf(c));
    line["p"] = FiniteOrNull(c.p_adjusted ? c.p_adjusted : c.p);
    line["pairs"] = c.pairs;
    line["tier"] = TierName(c.tier, result_.design);
    line["reason"] = TextOrNull(c.reason);
    line["rule"] = TextOrNull(c.rule);
    line["allowed"] = TextOrNull(c.allowed);
    line["cannot_say"] = IsOpen(c.verdict) && !c.reason.empty() ? JsonLine::array({c.reason}) : JsonLine::array();
    Put({"comparison", of.kernel, of.shape, c.phase, c.metric}, Level(c.verdict, c.blocking), line);
  }

  const GateResult& result_;
  LineIds ids_;
  std::string text_;
};

}  // namespace

std::string GateJsonLines(const GateResult& result) { return JsonLinesOfGate(result).Write(); }

}  // namespace fa_profile::gate

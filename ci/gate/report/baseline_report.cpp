#include "fa_profile/baseline_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "fa_profile/gate_statistics.h"
#include "fa_profile/text.h"
#include "fa_profile/units.h"

namespace fa_profile::gate {
namespace {

using Json = nlohmann::ordered_json;

std::string Shown(const std::string& text) { return Printable(text, /*ascii=*/true); }

std::string Dump(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

/// A case's time in a baseline, over its processes.
struct CaseSummary {
  std::string kind;  ///< kind of the processes that gave the durations
  std::size_t processes = 0;
  double median_seconds = 0.0;
  double spread_ratio = 0.0;                           ///< between the quartiles, as a share of the median
  std::vector<std::pair<std::string, double>> phases;  ///< median shares, the largest first
};

double Quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return std::lerp(sorted[low], sorted[high], at - std::floor(at));
}

std::vector<double> ValuesOf(const Evidence& evidence, std::size_t index, const std::string& kind,
                             const MetricKey& key) {
  std::vector<double> values;
  for (const auto& [_, value] : Values(evidence, index, kind, key)) values.push_back(value);
  return values;
}

CaseSummary Summarize(const Evidence& evidence, std::size_t index) {
  CaseSummary summary;
  std::vector<double> durations;
  for (const char* const kind : {"timing", "recording"}) {
    std::vector<double> found = ValuesOf(evidence, index, kind, {"", kDuration});
    if (found.size() <= durations.size()) continue;
    summary.kind = kind;
    durations = std::move(found);
  }
  summary.processes = durations.size();
  if (!durations.empty()) {
    std::ranges::sort(durations);
    summary.median_seconds = Median(durations);
    summary.spread_ratio = (Quantile(durations, 0.75) - Quantile(durations, 0.25)) / summary.median_seconds;
  }
  std::set<std::string> phases;
  for (const ProcessSample& process : evidence.processes) {
    if (index >= process.values.size()) continue;
    for (const auto& [key, _] : process.values[index]) {
      if (key.metric == kPhaseTime) phases.insert(key.phase);
    }
  }
  for (const std::string& phase : phases) {
    const std::vector<double> shares = ValuesOf(evidence, index, "recording", {phase, kPhaseTime});
    if (!shares.empty()) summary.phases.emplace_back(phase, Median(shares));
  }
  std::ranges::stable_sort(summary.phases, [](const auto& a, const auto& b) { return a.second > b.second; });
  return summary;
}

std::string Processes(const Evidence& evidence) {
  const auto timing = std::ranges::count(evidence.processes, "timing", &ProcessSample::kind);
  return fmt::format("{} timing, {} recording", timing,
                     static_cast<std::ptrdiff_t>(evidence.processes.size()) - timing);
}

Json ToJson(const StoredBaseline& stored) {
  const auto& [path, baseline] = stored;
  const Receipt& receipt = baseline.receipt;
  return {{"path", path},
          {"gpu", baseline.evidence.environment.gpu_name},
          {"suite", baseline.suite},
          {"lineage", baseline.lineage},
          {"cases", baseline.evidence.cases.size()},
          {"processes", baseline.evidence.processes.size()},
          {"receipt",
           {{"promoted_at", receipt.promoted_at},
            {"promoted_by", receipt.promoted_by},
            {"reason", receipt.reason},
            {"commit", receipt.commit},
            {"sources", receipt.sources},
            {"previous", receipt.previous},
            {"sha256", receipt.sha256}}}};
}

}  // namespace

std::string ReceiptText(const StoredBaseline& stored) {
  const PromotedBaseline& baseline = stored.baseline;
  const Receipt& receipt = baseline.receipt;
  const Environment& environment = baseline.evidence.environment;
  std::string text;
  const auto line = [&](const char* label, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<10}{}\n", label, Shown(value));
  };
  line("suite", baseline.suite);
  line("GPU", environment.gpu_name);
  line("lineage", baseline.lineage);
  line("driver", environment.driver_version);
  line("promoted", receipt.promoted_at + (receipt.promoted_by.empty() ? "" : " by " + receipt.promoted_by));
  line("reason", receipt.reason);
  line("commit", receipt.commit);
  line("cases", std::to_string(baseline.evidence.cases.size()));
  line("processes", Processes(baseline.evidence));
  if (const std::vector<std::string> cards = CardsOf(baseline.evidence); cards.size() > 1) {
    line("cards", fmt::format("{}: {}", cards.size(), fmt::join(cards, ", ")));
  }
  for (const std::string& source : receipt.sources) line("from", source);
  line("replaces", receipt.previous.empty() ? "nothing: the first of its lineage" : receipt.previous);
  line("sha256", receipt.sha256);
  return text;
}

std::string ReceiptJson(const StoredBaseline& stored) { return Dump(ToJson(stored)); }

std::string BaselineListText(const std::vector<StoredBaseline>& list) {
  std::vector<std::vector<std::string>> rows{
      {"GPU", "SUITE", "LINEAGE", "PROMOTED", "BY", "CASES", "PROCESSES", "COMMIT", "REASON"}};
  for (const auto& [_, baseline] : list) {
    const Receipt& receipt = baseline.receipt;
    rows.push_back({Shown(baseline.evidence.environment.gpu_name), baseline.suite, baseline.lineage,
                    Shown(receipt.promoted_at), Shown(receipt.promoted_by),
                    std::to_string(baseline.evidence.cases.size()), std::to_string(baseline.evidence.processes.size()),
                    Shown(receipt.commit), Shown(receipt.reason)});
  }
  return AlignColumns(rows);
}

std::string BaselineListJson(const std::vector<StoredBaseline>& list) {
  Json baselines = Json::array();
  for (const StoredBaseline& stored : list) baselines.push_back(ToJson(stored));
  return Dump({{"format", "fa-profile baselines"}, {"version", 1}, {"baselines", std::move(baselines)}});
}

std::string BaselineText(const StoredBaseline& stored) {
  const Evidence& evidence = stored.baseline.evidence;
  std::vector<std::vector<std::string>> rows{{"CASE", "DURATION", "SPREAD", "PROCESSES", "MOST TIME IN"}};
  for (std::size_t i = 0; i < evidence.cases.size(); ++i) {
    const CaseSummary summary = Summarize(evidence, i);
    std::string phases;
    constexpr std::size_t kShown = 3;  // what fits next to the rest; --format json has all of them
    for (std::size_t p = 0; p < std::min(summary.phases.size(), kShown); ++p) {
      const auto& [phase, share] = summary.phases[p];
      phases += (phases.empty() ? "" : ", ") + Shown(phase) + " " + Percent(share);
    }
    const bool known = summary.processes > 0;
    rows.push_back({Shown(CaseName(evidence.cases[i])), known ? FormatValue(summary.median_seconds, "seconds") : "n/a",
                    known ? Percent(summary.spread_ratio, 2) : "n/a",
                    known ? fmt::format("{} {}", summary.processes, summary.kind) : "0", phases});
  }
  return stored.path + "\n" + ReceiptText(stored) +
         "\nduration: the median over processes; spread: between their quartiles, as a share of the median\n" +
         AlignColumns(rows);
}

std::string BaselineJson(const StoredBaseline& stored) {
  const Evidence& evidence = stored.baseline.evidence;
  Json json = ToJson(stored);
  json["cases"] = Json::array();
  for (std::size_t i = 0; i < evidence.cases.size(); ++i) {
    const CaseSummary summary = Summarize(evidence, i);
    const bool known = summary.processes > 0;
    Json phases = Json::object();
    for (const auto& [phase, share] : summary.phases) phases[phase] = share;
    json["cases"].push_back({{"kernel", evidence.cases[i].kernel},
                             {"shape", evidence.cases[i].shape},
                             {"processes", summary.processes},
                             {"duration_seconds", known ? Json(summary.median_seconds) : Json(nullptr)},
                             {"spread_ratio", known ? Json(summary.spread_ratio) : Json(nullptr)},
                             {"phases", std::move(phases)}});
  }
  return Dump(json);
}

std::string VerificationText(const BaselineCheck& check) {
  std::string text;
  for (const BadBaseline& one : check.bad) text += "BAD  " + Shown(one.path + ": " + one.problem) + "\n";
  const auto plural = [](std::size_t count) { return count == 1 ? "" : "s"; };
  return text + fmt::format("{} baseline{} verified, {} problem{}\n", check.checked, plural(check.checked),
                            check.bad.size(), plural(check.bad.size()));
}

std::string VerificationJson(const BaselineCheck& check) {
  Json bad = Json::array();
  for (const BadBaseline& one : check.bad) bad.push_back({{"path", one.path}, {"problem", one.problem}});
  return Dump(
      {{"format", "fa-profile baseline verify"}, {"version", 1}, {"checked", check.checked}, {"bad", std::move(bad)}});
}

}  // namespace fa_profile::gate

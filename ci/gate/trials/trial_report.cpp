#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "fa_profile/gate_trials.h"

namespace fa_profile::gate {
namespace {

/// Two significant digits without an exponent.
std::string TwoDigitPercent(double ratio) {
  const double percent = 100.0 * ratio;
  if (percent == 0.0 || percent >= 99.95) return fmt::format("{:.0f} %", percent);
  if (percent >= 9.95) return fmt::format("{:.1f} %", percent);
  return percent >= 1e-4 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.6f} %", percent);
}

std::string Share(const RuleRate& rate) {
  if (rate.trials == 0) return "-";
  return TwoDigitPercent(static_cast<double>(rate.hits) / static_cast<double>(rate.trials));
}

}  // namespace

std::string TrialReportText(const TrialReport& report) {
  std::string text = "Error rates of the gate on recorded processes\n";
  for (const std::string& line : report.about) text += line + "\n";
  text += "\nRates of the gate with one-sided 95 % bounds (Clopper and Pearson):\n";
  for (const RuleRate& rate : report.rates) {
    text += fmt::format("  {:<66} {:>7} of {:<8} {:>8}  ({} to {})\n", rate.rule + ": " + rate.question, rate.hits,
                        rate.trials, Share(rate), TwoDigitPercent(rate.low), TwoDigitPercent(rate.high));
  }
  text += "\nDeciles of p of the first stage, same code, tolerance 0 (equal counts if calibrated):\n ";
  for (const std::int64_t count : report.p_deciles) text += fmt::format(" {}", count);
  text += "\n\n";
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  if (report.failed.empty()) return text + "PROVEN: every target was met\n";
  text += "NOT PROVEN:\n";
  for (const std::string& line : report.failed) text += "  " + line + "\n";
  return text;
}

std::string TrialReportJson(const TrialReport& report) {
  nlohmann::ordered_json json;
  json["version"] = 1;
  json["proven"] = report.failed.empty();
  json["rates"] = nlohmann::ordered_json::array();
  for (const RuleRate& rate : report.rates) {
    json["rates"].push_back({{"rule", rate.rule},
                             {"question", rate.question},
                             {"hits", rate.hits},
                             {"trials", rate.trials},
                             {"low", rate.low},
                             {"high", rate.high}});
  }
  json["p_deciles"] = report.p_deciles;
  json["notes"] = report.notes;
  json["failed"] = report.failed;
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace fa_profile::gate

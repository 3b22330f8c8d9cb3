#include "fa_profile/history_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "fa_profile/metric_catalogue.h"
#include "fa_profile/text.h"
#include "fa_profile/units.h"
#include "history_names.h"

namespace fa_profile::gate {
namespace {

using Json = nlohmann::ordered_json;

std::string ShownName(const std::string& text, std::size_t most = 100) { return Printable(SafeLine(text, most)); }

std::string Interval(std::optional<double> low, std::optional<double> high) {
  if (!low || !high) return "too few nights for an interval";
  return fmt::format("95 %: {} to {}", SignedPercent(*low), SignedPercent(*high));
}

std::string ShownP(const std::optional<double>& p) {
  constexpr double kSmallest = 1e-12;
  if (!p) return "a counter";
  return *p < kSmallest ? fmt::format("p < {:.0e}", kSmallest) : fmt::format("p {:.2g}", *p);
}

std::string CommitsOf(const History& history, const ChangePoint& change) {
  const Night& before = NightBefore(history, change);
  const Night& after = NightAfter(history, change);
  const std::string other = OtherChange(before, after);
  return fmt::format("{} -> {}{}", ShortCommit(before), ShortCommit(after), other.empty() ? "" : ", " + other);
}

std::string CardsText(const History& history) {
  std::string text;
  for (const Night& night : history.nights) {
    if (text.find(ShownName(night.gpu_uuid)) != std::string::npos) continue;
    std::size_t count = 0;
    const Night* last = &night;
    for (const Night& other : history.nights) {
      if (other.gpu_uuid != night.gpu_uuid) continue;
      ++count;
      last = &other;
    }
    text += fmt::format("{}  {}: {} night{}, {} to {}\n", ShownName(night.gpu_uuid), ShownName(night.gpu_name), count,
                        count == 1 ? "" : "s", DayOf(night), DayOf(*last));
  }
  return text;
}

bool HasSeveralCards(const History& history) {
  return !history.series.empty() && history.series.front().gpu_uuid != history.series.back().gpu_uuid;
}

std::string NameOf(const History& history, std::size_t index) {
  const HistorySeries& series = history.series[index];
  return fmt::format("{}{} {}", HasSeveralCards(history) ? ShownName(series.gpu_uuid) + " " : "",
                     ShownName(CaseOf(series)), ShownName(MetricOf(series)));
}

Json NightJson(const Night& night) {
  return {{"taken_at", night.taken_at},
          {"commit", night.commit},
          {"driver_version", night.driver_version},
          {"cuda_runtime_version", night.cuda_runtime_version},
          {"source", night.source}};
}

Json SeriesJson(const HistorySeries& series) {
  return {{"gpu_uuid", series.gpu_uuid},
          {"kernel", series.kernel},
          {"shape", series.shape},
          {"phase", series.key.phase},
          {"metric", series.key.metric}};
}

Json OptionalJson(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

}  // namespace

std::string CaseOf(const HistorySeries& series) {
  return series.shape.empty() ? series.kernel : series.kernel + " " + series.shape;
}

std::string MetricOf(const HistorySeries& series) {
  if (series.key.metric == kPhaseSeconds) return "time of " + series.key.phase;
  if (series.key.metric == kCycles) return "cycles";
  const CatalogueMetric* const metric = FindMetric(series.key.metric);
  return metric == nullptr ? series.key.metric : std::string(metric->label);
}

std::string DayOf(const Night& night) { return night.taken_at.substr(0, std::string_view("2026-11-21").size()); }

std::string ShortCommit(const Night& night) {
  constexpr std::size_t kDigits = 12;
  return night.commit.empty() ? "?" : ShownName(night.commit, kDigits + 3).substr(0, kDigits);
}

const Night& NightBefore(const History& history, const ChangePoint& change) {
  return history.nights[history.series[change.series].points[change.at - 1].night];
}

const Night& NightAfter(const History& history, const ChangePoint& change) {
  return history.nights[history.series[change.series].points[change.at].night];
}

std::string OtherChange(const Night& before, const Night& after) {
  std::string text;
  const auto add = [&](const char* what, const std::string& from, const std::string& to) {
    if (from != to)
      text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", what, ShownName(from, 30), ShownName(to, 30));
  };
  add("driver", before.driver_version, after.driver_version);
  add("CUDA", before.cuda_runtime_version, after.cuda_runtime_version);
  add("highest clock", std::to_string(before.sm_clock_max_hz / 1'000'000) + " MHz",
      std::to_string(after.sm_clock_max_hz / 1'000'000) + " MHz");
  return text;
}

std::string HistoryText(const HistoryReport& report) {
  const History& history = report.history;
  std::string text = CardsText(history);
  text += fmt::format(
      "{} series of times tested; of the change points, and of the drifts, at most {} are expected to "
      "be false\n\n",
      report.tested, Percent(report.options.level, 0));
  constexpr double kNoticed = 0.2;
  if (report.correlation.value_or(0.0) > kNoticed) {
    text += fmt::format(
        "the noise of a night resembles that of the night before (correlation {:.2f}): more of them are "
        "false; a larger --least helps\n\n",
        *report.correlation);
  }
  if (report.changes.empty()) text += "no change point\n";
  for (const ChangePoint& change : report.changes) {
    text +=
        fmt::format("{}  {}  {} ({}), {}; {}\n", DayOf(NightAfter(history, change)), NameOf(history, change.series),
                    SignedPercent(change.change), change.p ? Interval(change.low, change.high) : std::string("exact"),
                    ShownP(change.p), CommitsOf(history, change));
  }
  if (!report.drifts.empty()) text += "\nslow drifts\n";
  for (const Drift& drift : report.drifts) {
    const std::size_t nights = history.series[drift.series].points.size();
    text += fmt::format("  {}  {} in {} nights ({}), {}{}\n", NameOf(history, drift.series),
                        SignedPercent(drift.change), nights, Interval(drift.low, drift.high), ShownP(drift.p),
                        drift.largest_change ? "; largest single change " + Percent(*drift.largest_change) : "");
  }
  return text;
}

std::string HistoryJson(const HistoryReport& report) {
  const History& history = report.history;
  Json changes = Json::array();
  for (const ChangePoint& change : report.changes) {
    Json one = SeriesJson(history.series[change.series]);
    one["change"] = change.change;
    one["low"] = OptionalJson(change.low);
    one["high"] = OptionalJson(change.high);
    one["p"] = OptionalJson(change.p);
    one["before"] = NightJson(NightBefore(history, change));
    one["after"] = NightJson(NightAfter(history, change));
    changes.push_back(std::move(one));
  }
  Json drifts = Json::array();
  for (const Drift& drift : report.drifts) {
    Json one = SeriesJson(history.series[drift.series]);
    one["change"] = drift.change;
    one["low"] = drift.low;
    one["high"] = drift.high;
    one["p"] = drift.p;
    one["largest_change"] = OptionalJson(drift.largest_change);
    one["nights"] = history.series[drift.series].points.size();
    drifts.push_back(std::move(one));
  }
  const Json json = {{"format", "fa-profile gate history"},
                     {"version", 1},
                     {"nights", history.nights.size()},
                     {"series_tested", report.tested},
                     {"correlation", OptionalJson(report.correlation)},
                     {"level", report.options.level},
                     {"least", report.options.least},
                     {"changes", std::move(changes)},
                     {"drifts", std::move(drifts)}};
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace fa_profile::gate

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "fa_profile/error.h"
#include "fa_profile/gate_history.h"
#include "fa_profile/gate_statistics.h"
#include "fa_profile/metric_catalogue.h"
#include "history_rules.h"

namespace fa_profile::gate {
namespace {

using NightSamples = std::map<MetricKey, std::vector<double>>;

double Deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0.0;
  double mean = 0.0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

/// A count that repeats exactly in every launch of the same code, and for which small or large is better.
bool IsExactCounter(const std::string& id) {
  const CatalogueMetric* const metric = FindMetric(id);
  return metric != nullptr && metric->stability == Stability::kDeterministic && metric->polarity != Polarity::kNeutral;
}

void AddRecorded(const std::map<MetricKey, double>& values, NightSamples& samples) {
  const auto duration = values.find({"", kDuration});
  for (const auto& [key, value] : values) {
    if (key.phase.empty() && IsExactCounter(key.metric)) samples[key].push_back(value);
    if (key.metric == kPhaseTime && duration != values.end()) {
      samples[{key.phase, kPhaseSeconds}].push_back(value * duration->second);
    }
  }
}

/// Values of a case on a card. Times come from timing processes, if any: they run without the profiler.
NightSamples SamplesOf(const Evidence& evidence, std::size_t index, const std::string& card) {
  NightSamples timed, recorded;
  for (const ProcessSample& process : evidence.processes) {
    if (process.throttled || CardOf(evidence, process) != card || index >= process.values.size()) continue;
    const std::map<MetricKey, double>& values = process.values[index];
    NightSamples& times = process.kind == "timing" ? timed : recorded;
    for (const char* const metric : {kDuration, kCycles}) {
      const auto found = values.find({"", metric});
      if (found != values.end()) times[found->first].push_back(found->second);
    }
    if (process.kind != "timing") AddRecorded(values, recorded);
  }
  for (const auto& [key, values] : timed) recorded[key] = values;
  return recorded;
}

bool IsWrong(const CaseFacts& facts) {
  const bool looked_at = facts.verification && (facts.verification->draws > 0 || !facts.verification->error.empty());
  return looked_at && !facts.verification->correct();
}

MeasuredNight NightOf(const Evidence& evidence, const std::string& card) {
  const Environment& environment = evidence.environment;
  MeasuredNight measured;
  measured.night = {.gpu_uuid = card,
                    .taken_at = environment.taken_at,
                    .commit = environment.tool_commit,
                    .gpu_name = environment.gpu_name,
                    .driver_version = environment.driver_version,
                    .cuda_runtime_version = environment.cuda_runtime_version,
                    .sm_clock_max_hz = environment.sm_clock_max_hz,
                    .tool_version = environment.tool_version,
                    .source = {},
                    .sha256 = {}};
  for (std::size_t i = 0; i < evidence.cases.size(); ++i) {
    const CaseFacts& facts = evidence.cases[i];
    if (facts.kernel == kReferenceKernel || IsWrong(facts)) continue;
    for (const auto& [key, values] : SamplesOf(evidence, i, card)) {
      measured.values.push_back({facts.kernel, facts.shape, key, Median(values), Deviation(values),
                                 static_cast<std::int64_t>(values.size())});
    }
  }
  return measured;
}

}  // namespace

bool IsUtcTime(const std::string& text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == '0' ? !digit : text[i] != kForm[i]) return false;
  }
  return true;
}

std::vector<MeasuredNight> NightsOf(const Evidence& evidence, const std::string& source, const std::string& sha256) {
  const std::vector<std::string> cards = CardsOf(evidence);
  if (cards.empty()) {
    throw Error(source + " does not name the card that it was measured on",
                "a series is kept for each card: measure again with fa-profile gate --measure");
  }
  if (!IsUtcTime(evidence.environment.taken_at)) {
    throw Error(source + " does not say when it was measured (UTC, 2026-11-21T12:00:00Z)",
                "measure again with fa-profile gate --measure BUILD --save FILE");
  }
  std::vector<MeasuredNight> nights;
  for (const std::string& card : cards) {
    MeasuredNight measured = NightOf(evidence, card);
    measured.night.source = source;
    measured.night.sha256 = sha256;
    if (!measured.values.empty()) nights.push_back(std::move(measured));
  }
  if (nights.empty()) {
    throw Error(source + " has no times: its processes were throttled, or its kernels are not correct",
                "measure again with fa-profile gate --measure BUILD --save FILE");
  }
  return nights;
}

}  // namespace fa_profile::gate

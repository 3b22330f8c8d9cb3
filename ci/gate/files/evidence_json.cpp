#include "files/evidence_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

using Json = nlohmann::ordered_json;
using Columns = std::map<std::string, std::set<MetricKey>>;  // by kind of process

// Up to here a double holds every whole number.
constexpr double kExact = 9007199254740992.0;

std::string Line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// What a reader of ours takes: valid UTF-8 and not too long.
std::string Clean(const std::string& text) {
  if (text.size() <= kLongestText / 3) return text;  // the worst that replacing invalid bytes makes of it fits
  std::string clean = Json::parse(Line(text)).get<std::string>();
  if (clean.size() <= kLongestText) return clean;
  constexpr std::string_view kCut = "...";
  std::size_t end = kLongestText - kCut.size();
  while (end > 0 && (static_cast<unsigned char>(clean[end]) & 0xC0U) == 0x80U) --end;
  return clean.substr(0, end).append(kCut);
}

Json Clean(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(Clean(text));
  return list;
}

Json Number(double value) {
  const double kept = Rounded(value);
  if (std::trunc(kept) == kept && std::abs(kept) < kExact) return static_cast<std::int64_t>(kept);
  return kept;
}

// What has its default is left out: most of a case is, and what is there is to be read.
void Put(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = Clean(text);
}
void Put(Json& json, const char* key, const std::vector<std::string>& texts) {
  if (!texts.empty()) json[key] = Clean(texts);
}
void Put(Json& json, const char* key, std::int64_t value) {
  if (value != 0) json[key] = value;
}
template <typename Integer>
void Put(Json& json, const char* key, const std::optional<Integer>& value) {
  if (value) json[key] = *value;
}
void Put(Json& json, const char* key, const std::optional<double>& value) {
  if (value) json[key] = Number(*value);
}

Json ToJson(const Environment& environment) {
  Json json = Json::object();
  Put(json, "gpu_name", environment.gpu_name);
  Put(json, "gpu_uuid", environment.gpu_uuid);
  Put(json, "chip", environment.chip);
  Put(json, "driver_version", environment.driver_version);
  Put(json, "cuda_driver_version", environment.cuda_driver_version);
  Put(json, "cuda_runtime_version", environment.cuda_runtime_version);
  Put(json, "cupti_version", environment.cupti_version);
  Put(json, "sm_clock_max_hz", environment.sm_clock_max_hz);
  Put(json, "memory_clock_max_hz", environment.memory_clock_max_hz);
  Put(json, "tool_version", environment.tool_version);
  Put(json, "tool_commit", environment.tool_commit);
  Put(json, "taken_at", environment.taken_at);
  return json;
}

Json ToJson(const Verification& verification) {
  Json json{{"draws", verification.draws},
            {"draws_passed", verification.draws_passed},
            {"max_abs_error", Number(verification.max_abs_error)},
            {"max_error_ratio", Number(verification.max_error_ratio)}};
  Put(json, "nonfinite", verification.nonfinite);
  Put(json, "unwritten", verification.unwritten);
  Put(json, "error", verification.error);
  return json;
}

Json ToJson(const CodeFacts& code) {
  Json json = Json::object();
  Put(json, "symbol", code.symbol);
  Put(json, "name", code.name);
  Put(json, "architecture", code.architecture);
  Put(json, "code_hash", code.code_hash);
  Put(json, "registers_per_thread", code.registers_per_thread);
  Put(json, "stack_frame_bytes", code.stack_frame_bytes);
  Put(json, "spill_bytes", code.spill_bytes);
  Put(json, "local_array_bytes", code.local_array_bytes);
  Put(json, "static_shared_memory_bytes", code.static_shared_memory_bytes);
  Put(json, "threads_per_block", code.threads_per_block);
  Put(json, "blocks_per_sm", code.blocks_per_sm);
  Put(json, "externals", code.externals);
  for (const auto& [phase, counts] : code.counts) json["counts"][Clean(phase)] = counts;
  return json;
}

Json ToJson(const LaunchFacts& launch) {
  Json json{{"kernel_name", Clean(launch.kernel_name)}, {"grid", launch.grid}, {"block", launch.block}};
  Put(json, "dynamic_shared_memory_bytes", launch.dynamic_shared_memory_bytes);
  Put(json, "registers_per_thread", launch.registers_per_thread);
  Put(json, "blocks_per_sm", launch.blocks_per_sm);
  return json;
}

Json ToJson(const CaseFacts& facts) {
  Json json{{"kernel", Clean(facts.kernel)}};
  Put(json, "shape", facts.shape);
  if (facts.verification) json["verification"] = ToJson(*facts.verification);
  for (const LaunchFacts& launch : facts.launches) json["launches"].push_back(ToJson(launch));
  Put(json, "compiler_warnings", facts.compiler_warnings);
  for (const auto& [phase, place] : facts.places) {
    json["places"][Clean(phase)] = Json{{"file", Clean(place.file)}, {"line", place.line}};
  }
  for (const auto& [id, evidence] : facts.findings) json["findings"][Clean(id)] = Clean(evidence);
  for (const CodeFacts& code : facts.code) json["code"].push_back(ToJson(code));
  return json;
}

// A row is as long as its last value.
Json RowOf(const std::map<MetricKey, double>& values, const std::set<MetricKey>& columns) {
  Json row = Json::array();
  auto left = values.size();
  for (auto column = columns.begin(); left > 0; ++column) {
    const auto value = values.find(*column);
    row.push_back(value == values.end() ? Json(nullptr) : Number(value->second));
    if (value != values.end()) --left;
  }
  return row;
}

Json ToJson(const ProcessSample& process, std::size_t cases, const Columns& columns) {
  Json json{{"kind", Clean(process.kind)}};
  if (process.stage != 1) json["stage"] = process.stage;
  if (process.pair != -1) json["pair"] = process.pair;
  if (process.throttled) json["throttled"] = true;
  Put(json, "sm_clock_hz", process.sm_clock_hz);
  Put(json, "temperature_celsius", process.temperature_celsius);
  Json& rows = json["values"] = Json::array();
  for (std::size_t i = 0; i < cases; ++i) {
    rows.push_back(i < process.values.size() ? RowOf(process.values[i], columns.at(process.kind)) : Json::array());
  }
  return json;
}

Columns ColumnsOf(const Evidence& evidence) {
  Columns columns;
  for (const ProcessSample& process : evidence.processes) {
    std::set<MetricKey>& keys = columns[process.kind];
    if (process.values.size() > evidence.cases.size()) {
      throw Error("a process of " + evidence.origin + " has values of more cases than there are",
                  "measure again; this is a mistake of fa-profile");
    }
    for (std::size_t i = 0; i < process.values.size(); ++i) {
      for (const auto& [key, value] : process.values[i]) {
        std::string wrong = keys.insert(key).second ? WhyNoColumn(key) : "";
        if (wrong.empty()) wrong = WhyNoValue(key, value);
        if (wrong.empty()) continue;
        throw Error(
            fmt::format("{} of {} cannot be kept: it {}", key.phase.empty() ? key.metric : key.phase + " " + key.metric,
                        CaseName(evidence.cases[i]), wrong),
            "measure again; a phase's name can be shortened in the phase map");
      }
    }
  }
  return columns;
}

template <typename Items, typename ToLine>
void AppendLines(std::string& text, const Items& items, const ToLine& to_line) {
  const char* before = "\n";
  for (const auto& item : items) {
    text.append(before).append(to_line(item));
    before = ",\n";
  }
  if (std::size(items) != 0) text += '\n';
}

}  // namespace

double Rounded(double value) {
  if (!std::isfinite(value)) throw Error("a value is not finite", "measure again; this is a mistake of fa-profile");
  if (std::trunc(value) == value && std::abs(value) < kExact) return value;
  const std::string digits = fmt::format("{:.6e}", value);
  double rounded = value;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), rounded);
  return rounded;
}

std::string WhyNoColumn(const MetricKey& key) {
  if (key.metric.empty()) return "has no metric";
  if (key.metric.size() > kLongestMetric) return fmt::format("has a metric's name of over {} bytes", kLongestMetric);
  if (key.phase.size() > kLongestPhase) return fmt::format("has a phase's name of over {} bytes", kLongestPhase);
  return "";
}

std::string WhyNoValue(const MetricKey& key, double value) {
  if (!std::isfinite(value)) return "is not finite";
  if ((key.metric == kDuration || key.metric == kCycles) && value <= 0) return "is a duration that is not above 0";
  constexpr double kWhole = 1.000001;  // a sum of shares may be off in the last digit kept
  if (key.metric == kPhaseTime && (value < 0 || value > kWhole)) return "is a share that is not from 0 to 1";
  return "";
}

std::string ToJson(const Evidence& evidence) {
  const Columns columns = ColumnsOf(evidence);
  std::string text = fmt::format("{{\"format\": \"fa-profile evidence\", \"version\": {},\n\"origin\": {},\n",
                                 kEvidenceVersion, Line(Clean(evidence.origin)));
  text += "\"environment\": " + Line(ToJson(evidence.environment)) + ",\n\"losses\": [";
  AppendLines(text, evidence.losses, [](const std::string& loss) { return Line(Clean(loss)); });
  text += "],\n\"columns\": {";
  AppendLines(text, columns, [](const auto& kind) {
    Json list = Json::array();
    for (const MetricKey& key : kind.second) list.push_back(Json::array({key.phase, key.metric}));
    return Line(Clean(kind.first)) + ": " + Line(list);
  });
  text += "},\n\"cases\": [";
  AppendLines(text, evidence.cases, [](const CaseFacts& facts) { return Line(ToJson(facts)); });
  text += "],\n\"processes\": [";
  AppendLines(text, evidence.processes,
              [&](const ProcessSample& process) { return Line(ToJson(process, evidence.cases.size(), columns)); });
  text += "]}\n";
  return text;
}

}  // namespace fa_profile

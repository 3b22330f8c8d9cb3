#include "evidence_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <set>

#include "fa_profile/error.h"

namespace fa_profile::gate {
namespace {

using Json = nlohmann::ordered_json;
using Columns = std::map<std::string, std::set<MetricKey>>;  // by kind of process

// A double represents every whole number below this.
constexpr double kExact = 9007199254740992.0;
constexpr std::size_t kHashDigits = 16;

// A number as stored in evidence: whole ones exact, others to 7 significant digits.
double Rounded(double value) {
  if (!std::isfinite(value)) throw Error("a value is not finite", "measure again; this is a bug of fa-profile");
  if (std::trunc(value) == value && std::abs(value) < kExact) return value;
  const std::string digits = fmt::format("{:.6e}", value);
  double rounded = value;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), rounded);
  return rounded;
}

// What is wrong with a column; empty: nothing.
std::string WhyNoColumn(const MetricKey& key) {
  if (key.metric.empty()) return "has no metric";
  if (key.metric.size() > kLongestMetric) return fmt::format("has a metric name of over {} bytes", kLongestMetric);
  if (key.phase.size() > kLongestPhase) return fmt::format("has a phase name of over {} bytes", kLongestPhase);
  return "";
}

// What is wrong with a value of this column; empty: nothing.
std::string WhyNoValue(const MetricKey& key, double value) {
  if (!std::isfinite(value)) return "is not finite";
  if ((key.metric == kDuration || key.metric == kCycles) && value <= 0) return "is a duration and must be above 0";
  constexpr double kWhole = 1.000001;  // a sum of shares may be off in the last digit
  if (key.metric == kPhaseTime && (value < 0 || value > kWhole)) return "is a share and must be from 0 to 1";
  return "";
}

std::string Line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Valid UTF-8 that is short enough for the reader.
std::string Clean(const std::string& text) {
  if (text.size() <= kLongestText / 3) return text;  // fits even if each byte is invalid and replaced
  std::string clean = Json::parse(Line(text)).get<std::string>();
  if (clean.size() <= kLongestText) return clean;
  constexpr std::string_view kCut = "...";
  std::size_t end = kLongestText - kCut.size();
  while (end > 0 && (static_cast<unsigned char>(clean[end]) & 0xC0U) == 0x80U) --end;
  return clean.substr(0, end).append(kCut);
}

Json JsonNumber(double value) {
  const double kept = Rounded(value);
  if (std::trunc(kept) == kept && std::abs(kept) < kExact) return static_cast<std::int64_t>(kept);
  return kept;
}

/// The fields of each struct, in file order: `Io` is a Writer, a Reader or Keys. Field() is left out of the file when
/// it has its default, Required() never.
template <typename T, typename Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

void Fields(auto& io, Is<Environment> auto& environment) {
  for (const EnvironmentField& field : kEnvironmentFields) {
    if (field.text != nullptr) io.Field(field.key, environment.*field.text);
    if (field.hertz != nullptr) io.Field(field.key, environment.*field.hertz);
  }
}

void Fields(auto& io, Is<Verification> auto& verification) {
  io.Required("draws", verification.draws);
  io.Required("draws_passed", verification.draws_passed);
  io.Required("max_abs_error", verification.max_abs_error);
  io.Required("max_error_ratio", verification.max_error_ratio);
  io.Field("nonfinite", verification.nonfinite);
  io.Field("unwritten", verification.unwritten);
  io.Field("error", verification.error);
}

void Fields(auto& io, Is<CodeFacts> auto& code) {
  io.Field("symbol", code.symbol);
  io.Field("name", code.name);
  io.Field("architecture", code.architecture);
  io.Field("code_hash", code.code_hash);
  io.Field("registers_per_thread", code.registers_per_thread);
  io.Field("stack_frame_bytes", code.stack_frame_bytes);
  io.Field("spill_bytes", code.spill_bytes);
  io.Field("local_array_bytes", code.local_array_bytes);
  io.Field("static_shared_memory_bytes", code.static_shared_memory_bytes);
  io.Field("threads_per_block", code.threads_per_block);
  io.Field("blocks_per_sm", code.blocks_per_sm);
  io.Field("externals", code.externals);
  io.Field("counts", code.counts);
}

void Fields(auto& io, Is<LaunchFacts> auto& launch) {
  io.Required("kernel_name", launch.kernel_name);
  io.Required("grid", launch.grid);
  io.Required("block", launch.block);
  io.Field("cluster", launch.cluster);
  io.Field("dynamic_shared_memory_bytes", launch.dynamic_shared_memory_bytes);
  io.Field("shared_memory_config_bytes", launch.shared_memory_config_bytes);
  io.Field("registers_per_thread", launch.registers_per_thread);
  io.Field("blocks_per_sm", launch.blocks_per_sm);
}

void Fields(auto& io, Is<SourcePlace> auto& place) {
  io.Required("file", place.file);
  io.Required("line", place.line);
}

void Fields(auto& io, Is<CaseFacts> auto& facts) {
  io.Required("kernel", facts.kernel);
  io.Field("shape", facts.shape);
  io.Field("verification", facts.verification);
  io.Field("refused", facts.refused);
  io.Field("untimed", facts.untimed);
  io.Field("launches", facts.launches);
  io.Field("compiler_warnings", facts.compiler_warnings);
  io.Field("places", facts.places);
  io.Field("findings", facts.findings);
  io.Field("architectures", facts.architectures);
  io.Field("host_code_hash", facts.host_code_hash);
  io.Field("phase_model", facts.phase_model);
  io.Field("code", facts.code);
}

template <typename T>
concept OptionalValue = requires(const T& value) {
  value.has_value();
};
template <typename T>
concept MapOfValues = requires {
  typename T::mapped_type;
};
template <typename T>
concept ListOfValues = requires {
  typename T::iterator;
}
&&!MapOfValues<T> && !std::same_as<T, std::string>;

class Writer {
 public:
  template <typename T>
  static Json ToJson(const T& value) {
    if constexpr (std::same_as<T, std::string>) {
      return Clean(value);
    } else if constexpr (std::same_as<T, double>) {
      return JsonNumber(value);
    } else if constexpr (std::integral<T>) {
      return value;
    } else if constexpr (OptionalValue<T>) {
      return ToJson(*value);
    } else if constexpr (MapOfValues<T>) {
      Json object = Json::object();
      for (const auto& [key, item] : value) object[Clean(key)] = ToJson(item);
      return object;
    } else if constexpr (ListOfValues<T>) {
      Json list = Json::array();
      for (const auto& item : value) list.push_back(ToJson(item));
      return list;
    } else {
      Writer writer;
      Fields(writer, value);
      return std::move(writer.json_);
    }
  }

  template <typename T>
  void Required(const char* key, const T& value) {
    json_[key] = ToJson(value);
  }
  template <typename T>
  void Field(const char* key, const T& value) {
    if constexpr (std::integral<T>) {
      if (value != T{}) Required(key, value);
    } else if constexpr (OptionalValue<T>) {
      if (value) Required(key, value);
    } else {
      if (!value.empty()) Required(key, value);
    }
  }

 private:
  Json json_ = Json::object();
};

/// The names of a struct's fields.
struct Keys {
  std::vector<const char*> names;
  void Required(const char* key, const auto&) { names.push_back(key); }
  void Field(const char* key, const auto&) { names.push_back(key); }
};

void Check(const JsonNode& node, const Verification& verification) {
  (void)node.At("draws_passed").Integer(0, verification.draws);
  for (const char* const key : {"max_abs_error", "max_error_ratio"}) {
    if (node.At(key).Number() < 0) node.At(key).Fail("must not be negative");
  }
}
void Check(const JsonNode& node, const CodeFacts& code) {
  if (!code.code_hash.empty()) RequireHexDigits(node.At("code_hash"), kHashDigits);
}
void Check(const JsonNode& node, const CaseFacts& facts) {
  if (facts.kernel.empty()) node.At("kernel").Fail("is empty");
  if (!facts.host_code_hash.empty()) RequireHexDigits(node.At("host_code_hash"), kHashDigits);
  for (const auto& [architecture, hash] : facts.architectures) {
    RequireHexDigits(node.At("architectures").At(architecture.c_str()), kHashDigits);
  }
}
void Check(const JsonNode&, const auto&) {}

class Reader {
 public:
  explicit Reader(const JsonNode& node) : node_(node) {}

  template <typename T>
  static T Read(const JsonNode& node) {
    T value{};
    if constexpr (std::same_as<T, std::string>) {
      value = node.Text();
    } else if constexpr (std::same_as<T, bool>) {
      value = node.Flag();
    } else if constexpr (std::same_as<T, double>) {
      value = node.Number();
    } else if constexpr (std::integral<T>) {
      value = static_cast<T>(node.Integer(0, std::numeric_limits<T>::max()));
    } else if constexpr (OptionalValue<T>) {
      value = Read<typename T::value_type>(node);
    } else if constexpr (MapOfValues<T>) {
      for (const auto& [key, item] : node.Members(kMostLines)) value[key] = Read<typename T::mapped_type>(item);
    } else if constexpr (std::same_as<T, std::array<int, 3>>) {
      const std::vector<JsonNode> items = node.Items(value.size());
      if (items.size() != value.size()) node.Fail("must be three numbers");
      std::ranges::transform(items, value.begin(), Read<int>);
    } else if constexpr (ListOfValues<T>) {
      for (const JsonNode& item : node.Items(kMostLines)) value.push_back(Read<typename T::value_type>(item));
    } else {
      Keys keys;
      Fields(keys, value);
      node.RequireOnly(keys.names);
      Reader reader(node);
      Fields(reader, value);
      Check(node, value);
    }
    return value;
  }

  template <typename T>
  void Required(const char* key, T& value) {
    value = Read<T>(node_.At(key));
  }
  template <typename T>
  void Field(const char* key, T& value) {
    if (const std::optional<JsonNode> found = node_.Find(key)) value = Read<T>(*found);
  }

 private:
  const JsonNode& node_;
};

// A row ends with its last value.
Json RowOf(const std::map<MetricKey, double>& values, const std::set<MetricKey>& columns) {
  Json row = Json::array();
  auto left = values.size();
  for (auto column = columns.begin(); left > 0; ++column) {
    const auto value = values.find(*column);
    row.push_back(value == values.end() ? Json(nullptr) : JsonNumber(value->second));
    if (value != values.end()) --left;
  }
  return row;
}

Json ProcessJson(const ProcessSample& process, std::size_t cases, const Columns& columns) {
  Json json{{"kind", Clean(process.kind)}};
  if (process.stage != 1) json["stage"] = process.stage;
  if (process.pair != -1) json["pair"] = process.pair;
  if (process.throttled) json["throttled"] = true;
  if (!process.gpu_uuid.empty()) json["gpu_uuid"] = Clean(process.gpu_uuid);
  if (process.sm_clock_hz) json["sm_clock_hz"] = JsonNumber(*process.sm_clock_hz);
  if (process.temperature_celsius) json["temperature_celsius"] = JsonNumber(*process.temperature_celsius);
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
      throw Error("a process of " + evidence.origin + " has values for more cases than exist",
                  "measure again; this is a bug of fa-profile");
    }
    for (std::size_t i = 0; i < process.values.size(); ++i) {
      for (const auto& [key, value] : process.values[i]) {
        std::string wrong = keys.insert(key).second ? WhyNoColumn(key) : "";
        if (wrong.empty()) wrong = WhyNoValue(key, value);
        if (wrong.empty()) continue;
        throw Error(fmt::format("{} of {} cannot be saved: it {}",
                                key.phase.empty() ? key.metric : key.phase + " " + key.metric,
                                CaseName(evidence.cases[i]), wrong),
                    "measure again, or shorten the phase's name in the phase map");
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

std::vector<MetricKey> ReadColumns(const JsonNode& node) {
  std::vector<MetricKey> columns;
  std::set<MetricKey> seen;
  for (const JsonNode& item : node.Items(kMostColumns)) {
    const std::vector<std::string> names = item.Texts(2);
    if (names.size() != 2) item.Fail("must be a phase and a metric");
    columns.push_back({names[0], names[1]});
    if (const std::string wrong = WhyNoColumn(columns.back()); !wrong.empty()) item.Fail(wrong);
    if (!seen.insert(columns.back()).second) item.Fail("is a duplicate column");
  }
  return columns;
}

std::map<MetricKey, double> ReadRow(const JsonNode& node, const std::vector<MetricKey>& columns) {
  // Most of a file is rows: they become nodes only for an error.
  std::map<MetricKey, double> values;
  const nlohmann::json& row = node.value();
  if (!row.is_array() || row.size() > columns.size()) {
    (void)node.Items(columns.size());
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].is_null()) continue;
    const double value = row[i].is_number() ? row[i].get<double>() : node.Items(columns.size())[i].Number();
    if (const std::string wrong = WhyNoValue(columns[i], value); !wrong.empty()) {
      node.Items(columns.size())[i].Fail(wrong);
    }
    values.emplace_hint(values.end(), columns[i], value);
  }
  return values;
}

ProcessSample ReadProcess(const JsonNode& node, std::size_t cases,
                          const std::map<std::string, std::vector<MetricKey>>& columns) {
  node.RequireOnly({"kind", "stage", "pair", "throttled", "gpu_uuid", "sm_clock_hz", "temperature_celsius", "values"});
  ProcessSample process;
  process.kind = node.At("kind").Text();
  const auto known = columns.find(process.kind);
  if (known == columns.end()) node.At("kind").Fail("is " + QuotedText(process.kind) + ", a kind without columns");
  if (const auto stage = node.Find("stage")) process.stage = static_cast<int>(stage->Integer(1, 2));
  if (const auto pair = node.Find("pair")) process.pair = static_cast<int>(pair->Integer(-1, kMostPairNumber));
  Reader reader(node);
  reader.Field("throttled", process.throttled);
  reader.Field("gpu_uuid", process.gpu_uuid);
  reader.Field("sm_clock_hz", process.sm_clock_hz);
  if (process.sm_clock_hz && *process.sm_clock_hz <= 0) node.At("sm_clock_hz").Fail("must be above 0");
  reader.Field("temperature_celsius", process.temperature_celsius);
  const JsonNode values = node.At("values");
  for (const JsonNode& row : values.Items(cases)) process.values.push_back(ReadRow(row, known->second));
  if (process.values.size() != cases) {
    values.Fail(fmt::format("has {} rows for {} cases", process.values.size(), cases));
  }
  return process;
}

}  // namespace

std::string ToJson(const Evidence& evidence) {
  const Columns columns = ColumnsOf(evidence);
  std::string text = fmt::format("{{\"format\": \"fa-profile evidence\", \"version\": {},\n\"origin\": {},\n",
                                 kEvidenceVersion, Line(Clean(evidence.origin)));
  text += "\"environment\": " + Line(Writer::ToJson(evidence.environment));
  if (evidence.unread_more > 0) text += fmt::format(",\n\"unread_more\": {}", evidence.unread_more);
  if (evidence.other_code) {
    text += ",\n\"other_code\": {";
    AppendLines(text, *evidence.other_code,
                [](const auto& file) { return Line(Clean(file.first)) + ": " + Line(Clean(file.second)); });
    text += '}';
  }
  text += ",\n\"losses\": [";
  AppendLines(text, evidence.losses, [](const std::string& loss) { return Line(Clean(loss)); });
  if (!evidence.unread_code.empty()) {
    text += "],\n\"unread_code\": [";
    AppendLines(text, evidence.unread_code, [](const std::string& line) { return Line(Clean(line)); });
  }
  text += "],\n\"columns\": {";
  AppendLines(text, columns, [](const auto& kind) {
    Json list = Json::array();
    for (const MetricKey& key : kind.second) list.push_back(Json::array({key.phase, key.metric}));
    return Line(Clean(kind.first)) + ": " + Line(list);
  });
  text += "},\n\"cases\": [";
  AppendLines(text, evidence.cases, [](const CaseFacts& facts) { return Line(Writer::ToJson(facts)); });
  text += "],\n\"processes\": [";
  AppendLines(text, evidence.processes,
              [&](const ProcessSample& process) { return Line(ProcessJson(process, evidence.cases.size(), columns)); });
  text += "]}\n";
  return text;
}

void RequireHexDigits(const JsonNode& node, std::size_t count) {
  const std::string digits = node.Text();
  if (digits.size() == count && digits.find_first_not_of("0123456789abcdef") == std::string::npos) return;
  node.Fail(fmt::format("must be {} hexadecimal digits", count));
}

Evidence ReadEvidence(const JsonNode& document) {
  RequireFormat(document, "fa-profile evidence", kEvidenceVersion);
  document.RequireOnly({"format", "version", "origin", "environment", "losses", "unread_code", "unread_more",
                        "other_code", "columns", "cases", "processes"});
  Evidence evidence;
  evidence.origin = document.At("origin").Text();
  evidence.environment = Reader::Read<Environment>(document.At("environment"));
  evidence.losses = document.At("losses").Texts(kMostLines);
  if (const auto unread = document.Find("unread_code")) evidence.unread_code = unread->Texts(kMostLines);
  if (const auto more = document.Find("unread_more"))
    evidence.unread_more = more->Integer(0, std::numeric_limits<std::int64_t>::max());
  if (const auto other = document.Find("other_code")) {
    evidence.other_code.emplace();
    for (const auto& [file, hash] : other->Members(kMostLines)) {
      RequireHexDigits(hash, kHashDigits);
      evidence.other_code->emplace(file, hash.Text());
    }
  }
  std::set<std::pair<std::string, std::string>> names;
  for (const JsonNode& item : document.At("cases").Items(kMostCases)) {
    evidence.cases.push_back(Reader::Read<CaseFacts>(item));
    const CaseFacts& facts = evidence.cases.back();
    if (!names.emplace(facts.kernel, facts.shape).second) item.Fail("repeats the kernel and shape of another case");
  }
  std::map<std::string, std::vector<MetricKey>> columns;
  for (const auto& [kind, list] : document.At("columns").Members(2)) {
    if (kind != "timing" && kind != "recording") list.Fail("must be \"timing\" or \"recording\"");
    columns[kind] = ReadColumns(list);
  }
  for (const JsonNode& item : document.At("processes").Items(kMostProcesses)) {
    evidence.processes.push_back(ReadProcess(item, evidence.cases.size(), columns));
  }
  return evidence;
}

Evidence EvidenceFromJson(const std::string& text, const std::string& name) {
  const JsonFile file{name, "restore the file, or measure it again: fa-profile gate --measure BUILD --save FILE"};
  return ReadEvidence(JsonNode(ParseStrictJson(text, file), file));
}

}  // namespace fa_profile::gate

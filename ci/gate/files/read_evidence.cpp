#include <fmt/format.h>

#include <limits>
#include <set>

#include "files/evidence_json.h"
#include "fa_profile/error.h"

namespace fa_profile {
namespace {

constexpr int kMostInt = std::numeric_limits<int>::max();
constexpr std::int64_t kMostInt64 = std::numeric_limits<std::int64_t>::max();

void Take(const JsonNode& node, const char* key, std::string& text) {
  if (const std::optional<JsonNode> found = node.Find(key)) text = found->Text();
}
void Take(const JsonNode& node, const char* key, std::vector<std::string>& texts) {
  if (const std::optional<JsonNode> found = node.Find(key)) texts = found->Texts(kMostLines);
}
void Take(const JsonNode& node, const char* key, bool& flag) {
  if (const std::optional<JsonNode> found = node.Find(key)) flag = found->Flag();
}
void Take(const JsonNode& node, const char* key, int& count, int low = 0, int high = kMostInt) {
  if (const std::optional<JsonNode> found = node.Find(key)) count = static_cast<int>(found->Integer(low, high));
}
void Take(const JsonNode& node, const char* key, std::int64_t& count) {
  if (const std::optional<JsonNode> found = node.Find(key)) count = found->Integer(0, kMostInt64);
}
template <typename Integer>
void Take(const JsonNode& node, const char* key, std::optional<Integer>& count) {
  if (node.Find(key)) Take(node, key, count.emplace());
}
void Take(const JsonNode& node, const char* key, std::optional<double>& number) {
  if (const std::optional<JsonNode> found = node.Find(key)) number = found->Number();
}

// Calls `read` with each key and value of an object that may be missing.
template <typename Read>
void TakeMembers(const JsonNode& node, const char* key, const Read& read) {
  if (const std::optional<JsonNode> found = node.Find(key)) {
    for (const auto& [name, member] : found->Members(kMostLines)) read(name, member);
  }
}
template <typename Read>
void TakeItems(const JsonNode& node, const char* key, const Read& read) {
  if (const std::optional<JsonNode> found = node.Find(key)) {
    for (const JsonNode& item : found->Items(kMostLines)) read(item);
  }
}

Environment ReadEnvironment(const JsonNode& node) {
  node.RequireOnly({"gpu_name", "gpu_uuid", "chip", "driver_version", "cuda_driver_version", "cuda_runtime_version",
                    "cupti_version", "sm_clock_max_hz", "memory_clock_max_hz", "tool_version", "tool_commit",
                    "taken_at"});
  Environment environment;
  Take(node, "gpu_name", environment.gpu_name);
  Take(node, "gpu_uuid", environment.gpu_uuid);
  Take(node, "chip", environment.chip);
  Take(node, "driver_version", environment.driver_version);
  Take(node, "cuda_driver_version", environment.cuda_driver_version);
  Take(node, "cuda_runtime_version", environment.cuda_runtime_version);
  Take(node, "cupti_version", environment.cupti_version);
  Take(node, "sm_clock_max_hz", environment.sm_clock_max_hz);
  Take(node, "memory_clock_max_hz", environment.memory_clock_max_hz);
  Take(node, "tool_version", environment.tool_version);
  Take(node, "tool_commit", environment.tool_commit);
  Take(node, "taken_at", environment.taken_at);
  return environment;
}

Verification ReadVerification(const JsonNode& node) {
  node.RequireOnly({"draws", "draws_passed", "max_abs_error", "max_error_ratio", "nonfinite", "unwritten", "error"});
  Verification verification;
  verification.draws = static_cast<int>(node.At("draws").Integer(0, kMostInt));
  verification.draws_passed = static_cast<int>(node.At("draws_passed").Integer(0, verification.draws));
  for (const auto& [key, field] : {std::pair{"max_abs_error", &verification.max_abs_error},
                                   std::pair{"max_error_ratio", &verification.max_error_ratio}}) {
    *field = node.At(key).Number();
    if (*field < 0) node.At(key).Fail("is an error below 0");
  }
  Take(node, "nonfinite", verification.nonfinite);
  Take(node, "unwritten", verification.unwritten);
  Take(node, "error", verification.error);
  return verification;
}

CodeFacts ReadCode(const JsonNode& node) {
  node.RequireOnly({"symbol", "name", "architecture", "code_hash", "registers_per_thread", "stack_frame_bytes",
                    "spill_bytes", "local_array_bytes", "static_shared_memory_bytes", "threads_per_block",
                    "blocks_per_sm", "externals", "counts"});
  CodeFacts code;
  Take(node, "symbol", code.symbol);
  Take(node, "name", code.name);
  Take(node, "architecture", code.architecture);
  Take(node, "code_hash", code.code_hash);
  constexpr std::size_t kCodeHashDigits = 16;
  if (!code.code_hash.empty() && (code.code_hash.size() != kCodeHashDigits ||
                                  code.code_hash.find_first_not_of("0123456789abcdef") != std::string::npos)) {
    node.At("code_hash").Fail(fmt::format("is not {} hexadecimal digits", kCodeHashDigits));
  }
  Take(node, "registers_per_thread", code.registers_per_thread);
  Take(node, "stack_frame_bytes", code.stack_frame_bytes);
  Take(node, "spill_bytes", code.spill_bytes);
  Take(node, "local_array_bytes", code.local_array_bytes);
  Take(node, "static_shared_memory_bytes", code.static_shared_memory_bytes);
  Take(node, "threads_per_block", code.threads_per_block);
  Take(node, "blocks_per_sm", code.blocks_per_sm);
  Take(node, "externals", code.externals);
  TakeMembers(node, "counts", [&](const std::string& phase, const JsonNode& counts) {
    for (const auto& [name, count] : counts.Members(kMostLines)) {
      code.counts[phase][name] = static_cast<int>(count.Integer(0, kMostInt));
    }
  });
  return code;
}

std::array<int, 3> ReadExtent(const JsonNode& node) {
  const std::vector<JsonNode> items = node.Items(3);
  if (items.size() != 3) node.Fail("is not three numbers");
  std::array<int, 3> extent{};
  for (std::size_t i = 0; i < extent.size(); ++i) extent[i] = static_cast<int>(items[i].Integer(0, kMostInt));
  return extent;
}

LaunchFacts ReadLaunch(const JsonNode& node) {
  node.RequireOnly(
      {"kernel_name", "grid", "block", "dynamic_shared_memory_bytes", "registers_per_thread", "blocks_per_sm"});
  LaunchFacts launch;
  launch.kernel_name = node.At("kernel_name").Text();
  launch.grid = ReadExtent(node.At("grid"));
  launch.block = ReadExtent(node.At("block"));
  Take(node, "dynamic_shared_memory_bytes", launch.dynamic_shared_memory_bytes);
  Take(node, "registers_per_thread", launch.registers_per_thread);
  Take(node, "blocks_per_sm", launch.blocks_per_sm);
  return launch;
}

CaseFacts ReadCase(const JsonNode& node) {
  node.RequireOnly({"kernel", "shape", "verification", "launches", "compiler_warnings", "places", "findings", "code"});
  CaseFacts facts;
  facts.kernel = node.At("kernel").Text();
  if (facts.kernel.empty()) node.At("kernel").Fail("is empty");
  Take(node, "shape", facts.shape);
  if (const std::optional<JsonNode> found = node.Find("verification")) facts.verification = ReadVerification(*found);
  TakeItems(node, "code", [&](const JsonNode& item) { facts.code.push_back(ReadCode(item)); });
  TakeItems(node, "launches", [&](const JsonNode& item) { facts.launches.push_back(ReadLaunch(item)); });
  Take(node, "compiler_warnings", facts.compiler_warnings);
  TakeMembers(node, "places", [&](const std::string& phase, const JsonNode& item) {
    item.RequireOnly({"file", "line"});
    facts.places[phase] = {item.At("file").Text(), static_cast<int>(item.At("line").Integer(0, kMostInt))};
  });
  TakeMembers(node, "findings", [&](const std::string& id, const JsonNode& item) { facts.findings[id] = item.Text(); });
  return facts;
}

std::vector<MetricKey> ReadColumns(const JsonNode& node) {
  std::vector<MetricKey> columns;
  std::set<MetricKey> seen;
  for (const JsonNode& item : node.Items(kMostColumns)) {
    const std::vector<std::string> names = item.Texts(2);
    if (names.size() != 2) item.Fail("is not a phase and a metric");
    columns.push_back({names[0], names[1]});
    if (const std::string wrong = WhyNoColumn(columns.back()); !wrong.empty()) item.Fail(wrong);
    if (!seen.insert(columns.back()).second) item.Fail("stands there twice");
  }
  return columns;
}

std::map<MetricKey, double> ReadRow(const JsonNode& node, const std::vector<MetricKey>& columns) {
  // Most of a file is rows: they are not taken apart into nodes, as long as they are right.
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
  node.RequireOnly({"kind", "stage", "pair", "throttled", "sm_clock_hz", "temperature_celsius", "values"});
  ProcessSample process;
  process.kind = node.At("kind").Text();
  const auto known = columns.find(process.kind);
  if (known == columns.end()) node.At("kind").Fail("is " + QuotedText(process.kind) + ", which has no columns");
  Take(node, "stage", process.stage, 1, 2);
  Take(node, "pair", process.pair, -1, kMostPairNumber);
  Take(node, "throttled", process.throttled);
  Take(node, "sm_clock_hz", process.sm_clock_hz);
  if (process.sm_clock_hz && *process.sm_clock_hz <= 0) node.At("sm_clock_hz").Fail("is a clock that is not above 0");
  Take(node, "temperature_celsius", process.temperature_celsius);
  const JsonNode values = node.At("values");
  for (const JsonNode& row : values.Items(cases)) process.values.push_back(ReadRow(row, known->second));
  if (process.values.size() != cases) {
    values.Fail(fmt::format("has {} rows, and there are {} cases", process.values.size(), cases));
  }
  return process;
}

}  // namespace

Evidence ReadEvidence(const JsonNode& document) {
  RequireFormat(document, "fa-profile evidence", kEvidenceVersion);
  document.RequireOnly({"format", "version", "origin", "environment", "losses", "columns", "cases", "processes"});
  Evidence evidence;
  evidence.origin = document.At("origin").Text();
  evidence.environment = ReadEnvironment(document.At("environment"));
  evidence.losses = document.At("losses").Texts(kMostLines);
  std::set<std::pair<std::string, std::string>> names;
  for (const JsonNode& item : document.At("cases").Items(kMostCases)) {
    evidence.cases.push_back(ReadCase(item));
    const CaseFacts& facts = evidence.cases.back();
    if (!names.emplace(facts.kernel, facts.shape).second) item.Fail("is the same kernel and shape as one before");
  }
  std::map<std::string, std::vector<MetricKey>> columns;
  for (const auto& [kind, list] : document.At("columns").Members(2)) {
    if (kind != "timing" && kind != "recording") list.Fail("is neither \"timing\" nor \"recording\"");
    columns[kind] = ReadColumns(list);
  }
  for (const JsonNode& item : document.At("processes").Items(kMostProcesses)) {
    evidence.processes.push_back(ReadProcess(item, evidence.cases.size(), columns));
  }
  return evidence;
}

Evidence EvidenceFromJson(const std::string& text, const std::string& name) {
  const JsonFile file{name, "restore the file, or make it again with fa-profile gate --measure BUILD --save"};
  return ReadEvidence(JsonNode(ParseStrictJson(text, file), file));
}

}  // namespace fa_profile

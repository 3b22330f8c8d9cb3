#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/evidence.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/static_metrics.h"
#include "fa_profile/thresholds.h"
#include "json_schema.h"
#include "threshold_texts.h"

namespace fa_profile::gate::thresholds_schema_test {
namespace {

using Json = nlohmann::json;

/// The value that a YAML 1.2 reader passes to a validator. Of duplicate keys the last remains.
Json ToJson(const YAML::Node& node) {
  if (node.IsMap()) {
    Json object = Json::object();
    for (const auto& item : node) object[item.first.Scalar()] = ToJson(item.second);
    return object;
  }
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const YAML::Node& item : node) list.push_back(ToJson(item));
    return list;
  }
  if (node.IsNull()) return nullptr;
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;
  if (text == ".inf") return std::numeric_limits<double>::infinity();
  const Json value = Json::parse(text, nullptr, false);  // numbers, true, false and null are written as in JSON
  return value.is_primitive() && !value.is_string() ? value : Json(text);
}

bool SchemaTakes(const std::string& text) {
  static const JsonSchema schema(Json::parse(ReadSourceFile("ci/thresholds.schema.json")));
  return schema.Validate(ToJson(YAML::Load(text))).empty();
}

TEST(ThresholdsSchemaTest, SchemaAndDocsHaveEverySetting) {
  const Json defaults =
      Json::parse(ReadSourceFile("ci/thresholds.schema.json"))["properties"]["defaults"]["properties"];
  const std::string docs = ReadSourceFile("docs/gate-reference.md");
  std::size_t in_schema = 0;
  for (const auto& [key, value] : defaults.items()) in_schema += value.value("properties", Json{{key, 1}}).size();
  EXPECT_EQ(in_schema, DefaultSettings().size());
  for (const DefaultSetting& setting : DefaultSettings()) {
    const std::string section(setting.section);
    const Json& parent = section.empty() ? defaults : defaults.at(section)["properties"];
    EXPECT_TRUE(parent.contains(std::string(setting.key))) << setting.Name();
    const std::size_t row = docs.find("| `" + setting.Name() + "` |");
    ASSERT_NE(row, std::string::npos) << setting.Name();
    const std::string line = docs.substr(row, docs.find('\n', row) - row);
    EXPECT_TRUE(line.ends_with("| " + std::string(setting.meaning) + " |")) << line;
  }
}

TEST(ThresholdsSchemaTest, SchemaAndParserAcceptTheSameFiles) {
  const std::string end = ", owner: ada, reason: why, expires: 2026-12-31";
  const std::vector<std::string> texts = {
      "version: 1\n",
      "version: 1\nrules: []\nexceptions: []\ndefaults: {}\n",
      "version: 2\n",
      "version: '1'\n",
      "rules: []\n",
      "[]\n",
      "5\n",
      "version: 1\nrule: []\n",
      "version: 1\nrules: {}\n",
      "version: 1\nrules:\n",
      "version: 1\nrules: [5]\n",
      "version: 1\nexceptions: [[]]\n",
      "version: 1\ndefaults: []\n",
      Defaults("duration: {relative: 2%, absolute: 0}"),
      Defaults("duration: {relative: 0.02, absolute: 0s}"),
      Defaults("duration: {relative: 2}"),
      Defaults("duration: {relative: 101%}"),
      Defaults("duration: {relative: 100%}"),
      Defaults("duration: {relative: 2us}"),
      Defaults("duration: {absolute: 2}"),
      Defaults("duration: {absolute: 2us}"),
      Defaults("duration: {absolut: 2us}"),
      Defaults("duration: 2%"),
      Defaults("short_calls: {below: 10us, relative: 5%, absolute: 1us}"),
      Defaults("phase_time: {relative: 5%, absolute: 1.5%}"),
      Defaults("phase_time: {absolute: 1us}"),
      Defaults("counters: {relative: 0.5%, aa_ranges: 3}"),
      Defaults("counters: {aa_ranges: 1000}"),
      Defaults("counters: {aa_ranges: 1001}"),
      Defaults("counters: {aa_ranges: 3%}"),
      Defaults("code: {instructions: 20%, registers: 25%}"),
      Defaults("code: {instructions: 0}"),
      Defaults("code: {registers: 128}"),
      Defaults("code: 20%"),
      Defaults("budget: 5%"),
      Defaults("budget: 5"),
      Defaults("budget: .inf"),
      Defaults("levels: {suspect: 0.05, regression: 0.01}"),
      Defaults("levels: {suspect: 0}"),
      Defaults("levels: {suspect: 0.6}"),
      Defaults("levels: {suspect: 5%}"),
      Defaults("most_dropped_pairs: 25%"),
      Defaults("most_dropped_pairs: -1"),
      Rule("metric: waves, maximum: 1"),
      Rule("kernel: mma, shape: '*', metric: tensor_core_utilization_ratio, minimum: 25%, severity: error, owner: k"),
      Rule("kernel: mma, phase: softmax, metric: phase_time_ratio, maximum: 45%, reason: why"),
      Rule("kernel: mma, metric: phase_time_ratio, maximum: 45%"),
      Rule("kernel: mma, phase: softmax, metric: waves, maximum: 45"),
      Rule("kernel: mma, phase: softmax, metric: static_instructions, maximum: 45"),
      Rule("kernel: mma, phase: softmax, metric: spill_bytes, maximum: 45"),
      Rule("metric: spill_bytes, maximum: 45"),
      Rule("metric: spill_bytes, maximum: 45B"),
      Rule("metric: spill_bytes, maximum: 45kB"),
      Rule("metric: spill_bytes, maximum: 4.5MiB"),
      Rule("metric: spill_bytes, maximum: 45%"),
      Rule("metric: spill_bytes, relative: 45%"),
      Rule("metric: spill_bytes, relative: 10000%"),
      Rule("metric: spill_bytes, relative: 10001%"),
      Rule("metric: spill_bytes, relative: 1.5"),
      Rule("metric: duration_cycles, absolute: 1000"),
      Rule("metric: duration_cycles, absolute: 10us"),
      Rule("metric: duration_seconds, absolute: 10us"),
      Rule("metric: duration_seconds, absolute: 10"),
      Rule("metric: duration_seconds, absolute: 0"),
      Rule("metric: duration_seconds, absolute: 1 us"),
      Rule("metric: duration_seconds, absolute: 1.us"),
      Rule("metric: duration_seconds, absolute: 1e1us"),
      Rule("metric: duration_seconds, absolute: 01us"),
      Rule("metric: duration_seconds, absolute: -1us"),
      Rule("metric: duration_seconds, absolute: \"1us\""),
      Rule("metric: l1_hit_ratio, minimum: 100.0%"),
      Rule("metric: l1_hit_ratio, minimum: 100.1%"),
      Rule("metric: l1_hit_ratio, minimum: 99.9%"),
      Rule("metric: l1_hit_ratio, minimum: 007%"),
      Rule("metric: l1_hit_ratio, minimum: 1.0"),
      Rule("metric: l1_hit_ratio, minimum: 1.1"),
      Rule("metric: l1_hit_ratio, absolute: 1.1"),
      Rule("metric: l1_hit_ratio, maximum: 1.1"),
      Rule("metric: waves, maximum: 1e18"),
      Rule("metric: waves, maximum: 1.1e18"),
      Rule("metric: waves, maximum: '1'"),
      Rule("metric: waves, maximum: -1"),
      Rule("metric: waves, maximum: true"),
      Rule("metric: waves, maximum: [1]"),
      Rule("metric: waves, maximum:"),
      Rule("metric: wave, maximum: 1"),
      Rule("metric: 5, maximum: 1"),
      Rule("metric: waves"),
      Rule("maximum: 5"),
      Rule("metric: waves, maximum: 1, unit: 5"),
      Rule("metric: waves, maximum: 1, expires: 2026-12-31"),
      Rule("metric: waves, maximum: 1, owner: 5"),
      Rule("metric: waves, maximum: 1, owner: '5'"),
      Rule("metric: waves, maximum: 1, owner: ' '"),
      Rule("metric: waves, maximum: 1, owner: ''"),
      Rule("metric: waves, maximum: 1, owner: \"a\\nb\""),
      Rule("metric: waves, maximum: 1, kernel: " + std::string(256, 'k')),
      Rule("metric: waves, maximum: 1, kernel: " + std::string(257, 'k')),
      Rule("metric: waves, maximum: 1, reason: " + std::string(500, 'k')),
      Rule("metric: waves, maximum: 1, reason: " + std::string(501, 'k')),
      Rule("metric: waves, severity: warning"),
      Rule("metric: waves, severity: fatal"),
      Rule("metric: waves, severity: off"),
      Rule("metric: waves, severity: off, reason: why"),
      Rule("metric: waves, severity: off, reason: why, maximum: 1"),
      Exception("metric: waves, maximum: 1" + end),
      Exception("metric: waves, severity: off" + end),
      Exception("metric: waves" + end),
      Exception("metric: waves, maximum: 1, owner: ada, reason: why"),
      Exception("metric: waves, maximum: 1, owner: ada, expires: 2026-12-31"),
      Exception("metric: waves, maximum: 1, reason: why, expires: 2026-12-31"),
      Exception("metric: waves, maximum: 1, owner: ada, reason: why, expires: 2026-13-31"),
      Exception("metric: waves, maximum: 1, owner: ada, reason: why, expires: tomorrow"),
      Exception("metric: waves, maximum: 1, owner: ada, reason: why, expires: 1999-12-31"),
      ReadSourceFile("ci/thresholds.yaml"),
  };
  int taken = 0;
  for (const std::string& text : texts) {
    const std::string error = ErrorOf(text);
    EXPECT_EQ(SchemaTakes(text), error == "no error") << text << error;
    taken += error == "no error" ? 1 : 0;
  }
  EXPECT_GT(taken, 30);
  EXPECT_GT(texts.size() - static_cast<std::size_t>(taken), 50U);
}

TEST(ThresholdsSchemaTest, NamesEveryMetricWithItsUnit) {
  const auto agree = [](const std::string& phase, std::string_view id, std::string_view unit) {
    const std::string name(id);
    for (const char* limit : {"25%", "25us", "25KiB", "25"}) {
      const std::string text = Rule(phase + "metric: " + name + ", maximum: " + limit);
      EXPECT_EQ(SchemaTakes(text), ErrorOf(text) == "no error") << text << unit;
    }
    EXPECT_TRUE(SchemaTakes(Rule(phase + "metric: " + name + ", relative: 5%"))) << name;
  };
  for (const CatalogueMetric& metric : MetricCatalogue()) agree("", metric.id, metric.unit);
  for (const CatalogueMetric& metric : PhaseCatalogue()) agree("phase: pv, ", metric.id, metric.unit);
  for (const StaticMetric& metric : StaticMetrics()) agree("", metric.id, metric.unit);
  agree("", kCycles, "cycles");
  const Json schema = Json::parse(ReadSourceFile("ci/thresholds.schema.json"));
  for (const auto& [branch, of_phase] : {std::pair("then", true), std::pair("else", false)}) {
    for (const Json& id :
         schema.at("definitions").at("demand").at("allOf").at(0).at(branch).at("properties").at("metric").at("enum")) {
      EXPECT_TRUE(UnitOf(of_phase ? "pv" : "", id.get<std::string>())) << id << " is no metric any more";
    }
  }
}

}  // namespace
}  // namespace fa_profile::gate::thresholds_schema_test

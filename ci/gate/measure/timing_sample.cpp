#include "fa_profile/timing_sample.h"

#include <limits>

#include "fa_profile/strict_json.h"

namespace fa_profile::gate {
namespace {

constexpr int kTimingSampleVersion = 1;
constexpr std::size_t kMostTimedCases = 5000;

double Positive(const JsonNode& node) {
  const double number = node.Number();
  if (number <= 0.0) node.Fail("must be above 0");
  return number;
}

std::optional<double> MaybePositive(const JsonNode& parent, const char* key) {
  const std::optional<JsonNode> node = parent.Find(key);
  return node && !node->value().is_null() ? std::optional(Positive(*node)) : std::nullopt;
}

TimingSample::Case ReadCase(const JsonNode& node) {
  TimingSample::Case one;
  one.kernel = node.At("kernel").Text();
  one.shape = node.At("shape").Text();
  const auto read = [&](const char* key, std::string& text) {
    const std::optional<JsonNode> found = node.Find(key);
    if (!found) return;
    text = found->Text();
    if (text.empty()) found->Fail("is empty");
  };
  read("error", one.error);
  read("refused", one.refused);
  read("untimed", one.untimed);
  if (!one.error.empty() || !one.refused.empty() || !one.untimed.empty()) return one;
  one.duration_seconds = Positive(node.At("duration_seconds"));
  one.duration_cycles = MaybePositive(node, "duration_cycles");
  return one;
}

TimingSample ReadSample(const JsonNode& node) {
  RequireVersion(node, kTimingSampleVersion);
  TimingSample sample;
  const JsonNode environment = node.At("environment");
  for (const EnvironmentField& field : kEnvironmentFields) {
    const JsonNode value = environment.At(field.key);
    if (field.text != nullptr) sample.environment.*field.text = value.Text();
    if (field.hertz != nullptr) {
      sample.environment.*field.hertz = value.Integer(0, std::numeric_limits<std::int64_t>::max());
    }
  }
  sample.throttled = node.At("throttled").Flag();
  sample.temperature_celsius = MaybePositive(node, "temperature_celsius");
  sample.sm_clock_hz = MaybePositive(node, "sm_clock_hz");
  for (const JsonNode& one : node.At("cases").Items(kMostTimedCases)) sample.cases.push_back(ReadCase(one));
  return sample;
}

}  // namespace

TimingSample ParseTimingSample(const std::string& output) {
  const JsonFile file{"invalid output of the timing process",
                      "run its command by hand: the last line must be a JSON object (docs/gate-reference.md)"};
  for (std::size_t end = output.size(); end > 0;) {
    const std::size_t newline = output.rfind('\n', end - 1);
    const std::size_t start = newline == std::string::npos ? 0 : newline + 1;
    if (start < end && output[start] == '{') {
      const auto json = nlohmann::json::parse(output.begin() + static_cast<std::ptrdiff_t>(start),
                                              output.begin() + static_cast<std::ptrdiff_t>(end), nullptr,
                                              /*allow_exceptions=*/false);
      if (json.is_object() && json.contains("version")) return ReadSample(JsonNode(json, file));
    }
    end = newline == std::string::npos ? 0 : newline;
  }
  const nlohmann::json none;
  JsonNode(none, file).Fail(output.empty() ? "it is empty" : "no line is a JSON object with a version");
}

}  // namespace fa_profile::gate

#include "fa_profile/timing_sample.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

using Json = nlohmann::json;

constexpr int kTimingSampleVersion = 1;

[[noreturn]] void Refuse(const std::string& what) {
  throw Error("what the timing process printed is no sample: " + what,
              "run its command by hand: the last line has to be one JSON object (docs/gate-pair.md)");
}

const Json& Member(const Json& object, const char* name) {
  const auto member = object.find(name);
  if (member == object.end()) Refuse(std::string("'") + name + "' is missing");
  return *member;
}

std::string Text(const Json& object, const char* name) {
  const Json& member = Member(object, name);
  if (!member.is_string()) Refuse(std::string("'") + name + "' is no text");
  return member.get<std::string>();
}

double Positive(const Json& value, const char* name) {
  if (!value.is_number()) Refuse(std::string("'") + name + "' is no number");
  const double number = value.get<double>();
  if (!std::isfinite(number) || number <= 0.0) Refuse(std::string("'") + name + "' is not above 0");
  return number;
}

std::optional<double> MaybePositive(const Json& object, const char* name) {
  const auto member = object.find(name);
  if (member == object.end() || member->is_null()) return std::nullopt;
  return Positive(*member, name);
}

std::int64_t Hertz(const Json& object, const char* name) {
  const Json& member = Member(object, name);
  if (!member.is_number_integer() || member.get<std::int64_t>() < 0) Refuse(std::string("'") + name + "' is no clock");
  return member.get<std::int64_t>();
}

Environment ReadEnvironment(const Json& json) {
  if (!json.is_object()) Refuse("'environment' is no object");
  Environment environment;
  environment.gpu_name = Text(json, "gpu_name");
  environment.gpu_uuid = Text(json, "gpu_uuid");
  environment.chip = Text(json, "chip");
  environment.driver_version = Text(json, "driver_version");
  environment.cuda_driver_version = Text(json, "cuda_driver_version");
  environment.cuda_runtime_version = Text(json, "cuda_runtime_version");
  environment.cupti_version = Text(json, "cupti_version");
  environment.sm_clock_max_hz = Hertz(json, "sm_clock_max_hz");
  environment.memory_clock_max_hz = Hertz(json, "memory_clock_max_hz");
  environment.tool_version = Text(json, "tool_version");
  environment.tool_commit = Text(json, "tool_commit");
  environment.taken_at = Text(json, "taken_at");
  return environment;
}

TimingSample::Case ReadCase(const Json& json) {
  if (!json.is_object()) Refuse("a case is no object");
  TimingSample::Case one;
  one.kernel = Text(json, "kernel");
  one.shape = Text(json, "shape");
  if (json.contains("error")) {
    one.error = Text(json, "error");
    if (one.error.empty()) Refuse("'error' is empty");
    return one;
  }
  one.duration_seconds = Positive(Member(json, "duration_seconds"), "duration_seconds");
  one.duration_cycles = MaybePositive(json, "duration_cycles");
  return one;
}

TimingSample ReadSample(const Json& json) {
  const Json& version = Member(json, "version");
  if (version != kTimingSampleVersion) Refuse("version " + version.dump() + " is not known");
  TimingSample sample;
  sample.environment = ReadEnvironment(Member(json, "environment"));
  const Json& throttled = Member(json, "throttled");
  if (!throttled.is_boolean()) Refuse("'throttled' is neither true nor false");
  sample.throttled = throttled.get<bool>();
  sample.temperature_celsius = MaybePositive(json, "temperature_celsius");
  sample.sm_clock_hz = MaybePositive(json, "sm_clock_hz");
  const Json& cases = Member(json, "cases");
  if (!cases.is_array()) Refuse("'cases' is no list");
  for (const Json& one : cases) sample.cases.push_back(ReadCase(one));
  return sample;
}

}  // namespace

TimingSample ParseTimingSample(const std::string& output) {
  for (std::size_t end = output.size(); end > 0;) {
    const std::size_t newline = output.rfind('\n', end - 1);
    const std::size_t start = newline == std::string::npos ? 0 : newline + 1;
    if (start < end && output[start] == '{') {
      const Json json = Json::parse(output.begin() + static_cast<std::ptrdiff_t>(start),
                                    output.begin() + static_cast<std::ptrdiff_t>(end), nullptr,
                                    /*allow_exceptions=*/false);
      if (json.is_object() && json.contains("version")) return ReadSample(json);
    }
    end = newline == std::string::npos ? 0 : newline;
  }
  Refuse(output.empty() ? "it printed nothing" : "no line of it is a JSON object with a version");
}

}  // namespace fa_profile

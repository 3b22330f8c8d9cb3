#include "fa_profile/timing_sample.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fa_profile/error.h"

namespace fa_profile::gate::timing_sample_test {
namespace {

using Json = nlohmann::json;

Json Sample() {
  return {{"version", 1},
          {"environment",
           {{"gpu_name", "NVIDIA H200"},
            {"gpu_uuid", "GPU-1"},
            {"chip", "GH100"},
            {"driver_version", "580.1"},
            {"cuda_driver_version", "13.0"},
            {"cuda_runtime_version", "13.0"},
            {"cupti_version", "13.0"},
            {"sm_clock_max_hz", 1980000000},
            {"memory_clock_max_hz", 3201000000},
            {"tool_version", "1"},
            {"tool_commit", "c"},
            {"taken_at", "2026-11-21T00:00:00Z"}}},
          {"throttled", false},
          {"temperature_celsius", 41.0},
          {"sm_clock_hz", 1.98e9},
          {"cases",
           {{{"kernel", "gate_reference"}, {"shape", ""}, {"duration_seconds", 5e-5}, {"duration_cycles", 99000}},
            {{"kernel", "mma"}, {"shape", "1,8,512,64"}, {"duration_seconds", 6e-6}},
            {{"kernel", "wmma"}, {"shape", "1,8,512,64"}, {"error", "it does not launch"}}}}};
}

std::string Refusal(const std::string& output) {
  try {
    (void)ParseTimingSample(output);
  } catch (const Error& error) {
    return error.message().substr(error.message().find(": ") + 2);
  }
  return "";
}

TEST(TimingSampleTest, ContainsWhatAProcessMeasured) {
  const TimingSample sample = ParseTimingSample(Sample().dump() + "\n");
  EXPECT_EQ(sample.environment.gpu_uuid, "GPU-1");
  EXPECT_EQ(sample.environment.sm_clock_max_hz, 1980000000);
  EXPECT_FALSE(sample.throttled);
  EXPECT_EQ(sample.temperature_celsius, 41.0);
  EXPECT_EQ(sample.sm_clock_hz, 1.98e9);
  ASSERT_EQ(sample.cases.size(), 3U);
  EXPECT_EQ(sample.cases[0].kernel, kReferenceKernel);
  EXPECT_EQ(sample.cases[0].duration_cycles, 99000.0);
  EXPECT_EQ(sample.cases[1].duration_seconds, 6e-6);
  EXPECT_FALSE(sample.cases[1].duration_cycles);
  EXPECT_EQ(sample.cases[2].error, "it does not launch");
}

TEST(TimingSampleTest, ContainsWhatTheJudgeSays) {
  Json json = Sample();
  json["cases"][1] = {{"kernel", "mine"}, {"shape", "n=2"}, {"untimed", "another process works on this GPU"}};
  json["cases"][2] = {{"kernel", "mine"}, {"shape", "n=4"}, {"refused", "timed calls do less"}};
  const TimingSample sample = ParseTimingSample(json.dump());
  EXPECT_EQ(sample.cases[1].untimed, "another process works on this GPU");
  EXPECT_EQ(sample.cases[2].refused, "timed calls do less");
  json["cases"][2]["refused"] = "";
  EXPECT_NE(Refusal(json.dump()), "");
}

TEST(TimingSampleTest, TheLastValidLineOfTheOutputIsRead) {
  Json before = Sample();
  before["throttled"] = true;
  EXPECT_FALSE(ParseTimingSample("x\n" + before.dump() + "\n{\"a\": 1}\n" + Sample().dump() + "\n{ no\n\n").throttled);
  EXPECT_TRUE(ParseTimingSample(before.dump()).throttled) << "without a newline";
}

TEST(TimingSampleTest, InvalidSamplesAreRefusedWithTheReason) {
  EXPECT_EQ(Refusal(""), "it is empty");
  EXPECT_EQ(Refusal("hello\n"), "no line is a JSON object with a version");
  EXPECT_EQ(Refusal("[1]\n"), "no line is a JSON object with a version");
  EXPECT_EQ(Refusal(std::string(100000, '{')), "no line is a JSON object with a version");
  const auto with = [](const char* pointer, const Json& value) {
    Json json = Sample();
    json[Json::json_pointer(pointer)] = value;
    return Refusal(json.dump());
  };
  EXPECT_EQ(with("/version", 2), "version 2, and this one reads up to 1");  // follows "... by a newer fa-profile: "
  EXPECT_EQ(with("/environment", 1), "/environment: lacks \"gpu_name\"");
  EXPECT_EQ(with("/environment/gpu_uuid", 1), "/environment/gpu_uuid: is a number, not text");
  EXPECT_EQ(with("/environment/sm_clock_max_hz", -1),
            "/environment/sm_clock_max_hz: is not from 0 to 9223372036854775807");
  EXPECT_EQ(with("/environment/sm_clock_max_hz", 1e300),
            "/environment/sm_clock_max_hz: is a number where a whole number is expected");
  EXPECT_EQ(with("/throttled", 0), "/throttled: is a number, not true or false");
  EXPECT_EQ(with("/sm_clock_hz", "fast"), "/sm_clock_hz: is text, not a number");
  EXPECT_EQ(with("/sm_clock_hz", nullptr), "");
  EXPECT_EQ(with("/cases", Json::object()), "/cases: is an object, not a list");
  EXPECT_EQ(with("/cases/0", 1), "/cases/0: lacks \"kernel\"");
  EXPECT_EQ(with("/cases/0/duration_seconds", 0), "/cases/0/duration_seconds: must be above 0");
  EXPECT_EQ(with("/cases/0/duration_seconds", -1.0), "/cases/0/duration_seconds: must be above 0");
  EXPECT_EQ(with("/cases/0/duration_cycles", 0), "/cases/0/duration_cycles: must be above 0");
  EXPECT_EQ(with("/cases/2/error", ""), "/cases/2/error: is empty");
  for (const char* const member : {"environment", "throttled", "cases"}) {
    Json json = Sample();
    json.erase(member);
    EXPECT_EQ(Refusal(json.dump()), std::string("lacks \"") + member + "\"");
  }
  Json no_duration = Sample();
  no_duration["cases"][1].erase("duration_seconds");
  EXPECT_EQ(Refusal(no_duration.dump()), "/cases/1: lacks \"duration_seconds\"");
}

}  // namespace
}  // namespace fa_profile::gate::timing_sample_test

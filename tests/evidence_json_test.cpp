#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "evidence_fixture.h"
#include "fa_profile/error.h"
#include "fa_profile/evidence.h"
#include "json_schema.h"
#include "test_files.h"

namespace fa_profile::gate::evidence_json_test {
namespace {

using Json = nlohmann::json;

std::string MessageOf(const std::string& text) {
  try {
    (void)EvidenceFromJson(text, "e.json");
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return "accepted";
}

// The message for the sample with something changed in it.
std::string MessageOf(const std::function<void(Json&)>& change) {
  Json json = Json::parse(ToJson(SampleEvidence()));
  change(json);
  return MessageOf(json.dump());
}

TEST(EvidenceTest, CaseNameIsKernelAndShape) {
  EXPECT_EQ(CaseName({.kernel = "mma",
                      .shape = "1,8,512,64",
                      .verification = {},
                      .code = {},
                      .host_code_hash = {},
                      .phase_model = {},
                      .launches = {},
                      .compiler_warnings = {},
                      .places = {},
                      .findings = {}}),
            "mma 1,8,512,64");
  CaseFacts facts;
  facts.kernel = "mma";
  EXPECT_EQ(CaseName(facts), "mma");
}

TEST(EvidenceTest, WhyACaseWasRefusedComesBack) {
  Evidence evidence = SampleEvidence();
  evidence.cases[1].refused = "timed calls do less";
  const Evidence after = EvidenceFromJson(ToJson(evidence), "test");
  EXPECT_EQ(after.cases[1].refused, "timed calls do less");
  EXPECT_EQ(after.cases[0].refused, "");
}

TEST(EvidenceTest, FindsACaseByKernelAndShape) {
  const Evidence evidence = SampleEvidence();
  EXPECT_EQ(FindCase(evidence, "naive", "1,8,512,64"), 1u);
  EXPECT_EQ(FindCase(evidence, kReferenceKernel, ""), 2u);
  EXPECT_EQ(FindCase(evidence, "naive", ""), std::nullopt);
  EXPECT_EQ(FindCase(evidence, "other", "1,8,512,64"), std::nullopt);
}

TEST(EvidenceTest, ValuesComeFromTheProcessesOfTheKindThatMeasuredThem) {
  Evidence evidence = SampleEvidence(2);
  evidence.processes[0].values[1].clear();
  using Found = std::vector<std::pair<std::size_t, double>>;
  EXPECT_EQ(Values(evidence, 0, "recording", {"", kDuration}), (Found{{2, 1.0e-5}}));
  EXPECT_EQ(Values(evidence, 1, "timing", {"", kDuration}),
            (Found{{1, evidence.processes[1].values[1].at({"", kDuration})}}));
  EXPECT_TRUE(Values(evidence, 0, "timing", {"qk", kDuration}).empty());
  EXPECT_TRUE(Values(evidence, 9, "timing", {"", kDuration}).empty());
}

TEST(EvidenceJsonTest, ARoundTripPreservesTheText) {
  const std::string text = ToJson(SampleEvidence());
  EXPECT_EQ(ToJson(EvidenceFromJson(text, "e.json")), text);
  const std::string empty = ToJson(Evidence{});
  EXPECT_EQ(ToJson(EvidenceFromJson(empty, "e.json")), empty);
}

TEST(EvidenceJsonTest, EveryFieldSurvives) {
  const Evidence before = SampleEvidence();
  const Evidence after = EvidenceFromJson(ToJson(before), "e.json");
  EXPECT_EQ(after.origin, before.origin);
  EXPECT_EQ(after.environment.gpu_uuid, "GPU-1");
  EXPECT_EQ(after.environment.cuda_driver_version, "13.0");
  EXPECT_EQ(after.environment.sm_clock_max_hz, 1'980'000'000);
  EXPECT_EQ(after.environment.taken_at, "2026-11-21T12:00:00Z");
  ASSERT_EQ(after.cases.size(), 3u);
  const CaseFacts& mma = after.cases[0];
  ASSERT_TRUE(mma.verification);
  EXPECT_TRUE(mma.verification->correct());
  EXPECT_DOUBLE_EQ(mma.verification->max_abs_error, 4.1e-4);
  EXPECT_EQ(mma.code[0].spill_bytes, 16);
  EXPECT_EQ(mma.code[0].registers_per_thread, 168);
  EXPECT_EQ(mma.code[0].stack_frame_bytes, 0);
  EXPECT_EQ(mma.code[0].externals, std::vector<std::string>{"vprintf"});
  EXPECT_EQ(mma.code[0].counts, before.cases[0].code[0].counts);
  EXPECT_EQ(mma.launches, before.cases[0].launches);
  EXPECT_EQ(mma.compiler_warnings, before.cases[0].compiler_warnings);
  EXPECT_EQ(mma.places.at("softmax").line, 88);
  EXPECT_EQ(mma.findings, before.cases[0].findings);
  EXPECT_EQ(mma.host_code_hash, "0123456789abcdef");
  EXPECT_EQ(mma.phase_model, "inferred");
  EXPECT_EQ(after.cases[1].host_code_hash + after.cases[1].phase_model, "");
  EXPECT_EQ(after.cases[1].code[0].registers_per_thread, std::nullopt);
  EXPECT_EQ(after.cases[1].code[0].stack_frame_bytes, std::nullopt);
  EXPECT_FALSE(after.cases[2].verification);
  ASSERT_EQ(after.processes.size(), 9u);
  EXPECT_EQ(after.processes[5].pair, 2);
  EXPECT_EQ(after.processes[3].stage, 1);
  EXPECT_EQ(after.processes[4].stage, 2);
  EXPECT_EQ(after.processes[5].temperature_celsius, 41.5);
  EXPECT_EQ(after.processes[8].kind, "recording");
  EXPECT_EQ(after.processes[8].pair, -1);
  EXPECT_EQ(after.processes[8].sm_clock_hz, std::nullopt);
  EXPECT_EQ(after.processes[8].values[0], before.processes[8].values[0]);
  EXPECT_TRUE(after.processes[8].values[2].empty());
}

TEST(EvidenceJsonTest, WholeNumbersAreExactAndOthersHaveSevenDigits) {
  Evidence evidence = SampleEvidence(0);
  std::map<MetricKey, double>& values = evidence.processes[0].values[0];
  const MetricKey key{"", "m"};
  for (const auto& [before, after] : {std::pair{123456789012.0, 123456789012.0},
                                      {9007199254740991.0, 9007199254740991.0},
                                      {0.123456789, 0.1234568},
                                      {1234567.89, 1234568.0},
                                      {12345678.5, 12345680.0},
                                      {-0.0, 0.0},
                                      {-2.5, -2.5},
                                      {1.7976931348623157e308, 1.797693e308},
                                      {5e-324, 5e-324}}) {
    values[key] = before;
    const std::string text = ToJson(evidence);
    const Evidence read = EvidenceFromJson(text, "e.json");
    EXPECT_EQ(read.processes[0].values[0].at(key), after) << before;
    EXPECT_EQ(ToJson(read), text) << before;
  }
}

TEST(EvidenceJsonTest, EachCaseAndEachProcessIsOneLine) {
  const std::string text = ToJson(SampleEvidence(3));
  int processes = 0;
  int cases = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("{\"kind\"")) ++processes;
    if (line.starts_with("{\"kernel\"")) ++cases;
  }
  EXPECT_EQ(processes, 4);
  EXPECT_EQ(cases, 3);
  EXPECT_TRUE(text.ends_with("]}\n"));
}

TEST(EvidenceJsonTest, FitsItsSchema) {
  const JsonSchema schema(Json::parse(ReadSourceFile("docs/evidence.schema.json")));
  const auto validate = [&](const std::string& text) { return schema.Validate(Json::parse(text)); };
  EXPECT_EQ(validate(ToJson(SampleEvidence())), std::vector<std::string>{});
  EXPECT_EQ(validate(ToJson(Evidence{})), std::vector<std::string>{});
  Json wrong = Json::parse(ToJson(SampleEvidence()));
  wrong["cases"][0]["cost"] = 1;
  EXPECT_TRUE(Contains(schema.Validate(wrong).at(0), "cost"));
  wrong = Json::parse(ToJson(SampleEvidence()));
  wrong["processes"][0]["values"][0][0] = "slow";
  EXPECT_FALSE(schema.Validate(wrong).empty());
}

TEST(EvidenceJsonTest, TwoHundredProcessesStaySmall) {
  Evidence evidence = SampleEvidence(0);
  evidence.processes.clear();
  const CaseFacts one = evidence.cases[0];
  evidence.cases.clear();
  for (int c = 0; c < 14; ++c) {
    evidence.cases.push_back(one);
    evidence.cases.back().kernel = "kernel_" + std::to_string(c);
  }
  for (int i = 0; i < 200; ++i) {
    ProcessSample process;
    process.kind = "timing";
    process.sm_clock_hz = 1.98e9;
    for (int c = 0; c < 14; ++c) {
      const double seconds = 1e-5 * (1 + std::fmod(0.618 * (i * 14 + c), 1.0));
      process.values.push_back(
          {{{"", kDuration}, seconds}, {{"", kCycles}, seconds * 1.9e9}, {{"", "other"}, seconds}});
    }
    evidence.processes.push_back(process);
  }
  const std::string text = ToJson(evidence);
  RecordProperty("timing_bytes", std::to_string(text.size()));
  EXPECT_LT(text.size(), 150'000u);

  for (ProcessSample& process : evidence.processes) {  // 60 values a case, of phases
    process.kind = "recording";
    for (std::map<MetricKey, double>& values : process.values) {
      for (int m = 0; m < 60; ++m) {
        values[{"phase_" + std::to_string(m % 6), "metric_" + std::to_string(m)}] = std::fmod(0.618 * m, 1.0);
      }
    }
  }
  const std::string large = ToJson(evidence);
  EXPECT_EQ(ToJson(EvidenceFromJson(large, "e.json")), large);
  RecordProperty("phases_bytes", std::to_string(large.size()));
  EXPECT_LT(large.size(), 1'200'000u);
}

TEST(EvidenceJsonTest, LongAndInvalidTextIsShortenedAndMadeValidUtf8) {
  Evidence evidence = SampleEvidence(0);
  evidence.losses = {std::string(5000, 'x'), std::string(4000, '\xFF'), "\x1B[31m \xE2\x82"};
  for (int i = 0; i < 3000; ++i) evidence.origin += "\xC3\xA4";
  const std::string text = ToJson(evidence);
  const Evidence read = EvidenceFromJson(text, "e.json");
  EXPECT_EQ(read.losses[0], std::string(4093, 'x') + "...");
  EXPECT_LE(read.origin.size(), 4096u);
  EXPECT_TRUE(read.origin.ends_with("\xC3\xA4..."));
  EXPECT_EQ(ToJson(read), text);
}

TEST(EvidenceJsonTest, ValuesThatJsonCannotRepresentAreNotWritten) {
  const auto refuses = [](const std::function<void(Evidence&)>& change) {
    Evidence evidence = SampleEvidence();
    change(evidence);
    try {
      (void)ToJson(evidence);
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refuses([](Evidence&) {}));
  const MetricKey other{"", "m"};
  EXPECT_TRUE(refuses([&](Evidence& e) { e.processes[0].values[0][other] = std::nan(""); }));
  EXPECT_TRUE(refuses([&](Evidence& e) { e.processes[0].values[0][other] = std::numeric_limits<double>::infinity(); }));
  EXPECT_TRUE(refuses([](Evidence& e) { e.processes[0].values[0][{"", kDuration}] = 0; }));
  EXPECT_TRUE(refuses([](Evidence& e) { e.processes[0].values[0][{"", kCycles}] = -1; }));
  EXPECT_TRUE(refuses([](Evidence& e) { e.processes[0].values[0][{"", kPhaseTime}] = 1.001; }));
  EXPECT_TRUE(refuses([](Evidence& e) { e.processes[0].sm_clock_hz = std::nan(""); }));
  EXPECT_TRUE(refuses([](Evidence& e) { e.processes[0].values.resize(4); }));
  EXPECT_TRUE(refuses([](Evidence& e) { e.processes[0].values[0][{"", ""}] = 1; }));
  EXPECT_TRUE(refuses([](Evidence& e) { e.processes[0].values[0][{std::string(129, 'p'), "m"}] = 1; }));
  EXPECT_FALSE(refuses([](Evidence& e) { e.processes[0].values[0][{std::string(128, 'p'), "m"}] = 1; }));
}

TEST(EvidenceJsonTest, InvalidJsonIsAnErrorWithItsLine) {
  EXPECT_EQ(MessageOf(""), "e.json is empty");
  EXPECT_EQ(MessageOf("{\"format\": \"fa-profile evidence\",\n\"version\": NaN}"),
            "e.json:2:12: not valid JSON from this point");
  EXPECT_NE(MessageOf("\x7F"
                      "ELF")
                .find("e.json:1:1: not valid JSON"),
            std::string::npos);
  EXPECT_NE(MessageOf("{\"origin\": \"\xFF\"}").find("not valid JSON"), std::string::npos);
  EXPECT_NE(MessageOf("{\"a\": Infinity}").find("not valid JSON"), std::string::npos);
  EXPECT_NE(MessageOf("{\"a\": -1e999}").find("number out of range"), std::string::npos);
  EXPECT_EQ(MessageOf("[]"), "e.json is not in the format 'fa-profile evidence'");
  EXPECT_EQ(MessageOf("{\"format\": \"fa-profile baseline\"}"), "e.json is not in the format 'fa-profile evidence'");
}

TEST(EvidenceJsonTest, DuplicateKeysAndOtherLenientJsonAreRefused) {
  std::string twice = ToJson(SampleEvidence());
  twice.insert(1, "\"version\": 1, ");
  EXPECT_EQ(MessageOf(twice), "e.json: duplicate key \"version\" in an object");
  EXPECT_EQ(MessageOf(std::string(16, '[') + std::string(16, ']')),
            "e.json is not in the format 'fa-profile evidence'");
  EXPECT_EQ(MessageOf(std::string(17, '[') + std::string(17, ']')), "e.json is nested deeper than 16 levels");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "[";
  EXPECT_EQ(MessageOf(deep), "e.json is nested deeper than 16 levels");
  EXPECT_EQ(MessageOf([](Json& e) { e["origin"] = std::string(4097, 'x'); }),
            "e.json has text of more than 4096 bytes");
  EXPECT_EQ(MessageOf([](Json& e) { e["origin"] = std::string(4096, 'x'); }), "accepted");
  std::string many = "[0";
  for (int i = 0; i < 2'000'000; ++i) many += ",0";
  EXPECT_EQ(MessageOf(many + "]"), "e.json has more than 2000000 values");
  EXPECT_EQ(MessageOf(std::string((64U << 20U) + 1, ' ')), "e.json is larger than 64 MiB");
}

TEST(EvidenceJsonTest, AHashOfHostCodeHas16Digits) {
  EXPECT_EQ(MessageOf([](Json& e) { e["cases"][0]["host_code_hash"] = "12"; }),
            "e.json: /cases/0/host_code_hash: must be 16 hexadecimal digits");
}

TEST(EvidenceJsonTest, ANewerVersionIsNamed) {
  EXPECT_EQ(MessageOf([](Json& e) { e["version"] = 5; }),
            "e.json was written by a newer fa-profile: version 5, and this one reads up to 4");
  EXPECT_NE(MessageOf([](Json& e) { e["version"] = 0; }).find("/version"), std::string::npos);
  EXPECT_NE(MessageOf([](Json& e) { e["version"] = "1"; }).find("/version"), std::string::npos);
}

TEST(EvidenceJsonTest, AWrongValueIsAnErrorWithItsPath) {
  const auto says = [](const std::string& place, const std::function<void(Json&)>& change) {
    const std::string message = MessageOf(change);
    return message.starts_with("e.json: " + place + ": ") ? "" : message;
  };
  EXPECT_EQ(says("/processes/3/values/1/0", [](Json& e) { e["processes"][3]["values"][1][0] = -1.0; }), "");
  EXPECT_EQ(says("/processes/3/values/1/1", [](Json& e) { e["processes"][3]["values"][1][1] = 0; }), "");
  EXPECT_EQ(says("/processes/3/values/1/1", [](Json& e) { e["processes"][3]["values"][1][1] = "1"; }), "");
  EXPECT_EQ(says("/processes/3/values/1", [](Json& e) { e["processes"][3]["values"][1] = {1, 2, 3}; }), "");
  EXPECT_EQ(says("/processes/3/values/1", [](Json& e) { e["processes"][3]["values"][1] = 5; }), "");
  EXPECT_EQ(says("/processes/3/values", [](Json& e) { e["processes"][3]["values"].push_back(Json::array()); }), "");
  EXPECT_EQ(says("/processes/3/values", [](Json& e) { e["processes"][3]["values"].erase(0); }), "");
  EXPECT_EQ(says("/processes/8/values/0/2", [](Json& e) { e["processes"][8]["values"][0][2] = -0.1; }), "");
  EXPECT_EQ(says("/processes/0/kind", [](Json& e) { e["processes"][0]["kind"] = "other"; }), "");
  EXPECT_EQ(says("/processes/0/stage", [](Json& e) { e["processes"][0]["stage"] = 3; }), "");
  EXPECT_EQ(says("/processes/0/pair", [](Json& e) { e["processes"][0]["pair"] = -2; }), "");
  EXPECT_EQ(says("/processes/0/pair", [](Json& e) { e["processes"][0]["pair"] = 18446744073709551615U; }), "");
  EXPECT_EQ(says("/processes/0/throttled", [](Json& e) { e["processes"][0]["throttled"] = 1; }), "");
  EXPECT_EQ(says("/processes/0/sm_clock_hz", [](Json& e) { e["processes"][0]["sm_clock_hz"] = 0; }), "");
  EXPECT_EQ(says("/cases/1", [](Json& e) { e["cases"][1]["kernel"] = "mma"; }), "");
  EXPECT_EQ(says("/cases/1/kernel", [](Json& e) { e["cases"][1]["kernel"] = ""; }), "");
  EXPECT_EQ(says("/cases/0/code/0/code_hash", [](Json& e) { e["cases"][0]["code"][0]["code_hash"] = "xyz"; }), "");
  EXPECT_EQ(says("/cases/0/code/0/registers_per_thread",
                 [](Json& e) { e["cases"][0]["code"][0]["registers_per_thread"] = 2147483648; }),
            "");
  EXPECT_EQ(says("/cases/0/code/0/spill_bytes", [](Json& e) { e["cases"][0]["code"][0]["spill_bytes"] = -1; }), "");
  EXPECT_EQ(says("/cases/0/launches/0/grid", [](Json& e) { e["cases"][0]["launches"][0]["grid"] = {1, 2}; }), "");
  EXPECT_EQ(says("/cases/0/launches/0/grid/1", [](Json& e) { e["cases"][0]["launches"][0]["grid"][1] = 1.5; }), "");
  EXPECT_EQ(
      says("/cases/0/verification/draws_passed", [](Json& e) { e["cases"][0]["verification"]["draws_passed"] = 11; }),
      "");
  EXPECT_EQ(says("/cases/0/verification/max_abs_error",
                 [](Json& e) { e["cases"][0]["verification"]["max_abs_error"] = -1.0; }),
            "");
  EXPECT_EQ(says("/columns/timing/1", [](Json& e) { e["columns"]["timing"][1] = e["columns"]["timing"][0]; }), "");
  EXPECT_EQ(says("/columns/timing/0", [](Json& e) { e["columns"]["timing"][0] = {"", ""}; }), "");
  EXPECT_EQ(says("/columns/timing/0", [](Json& e) { e["columns"]["timing"][0] = {"", std::string(65, 'm')}; }), "");
  EXPECT_EQ(says("/columns/timing/0", [](Json& e) { e["columns"]["timing"][0] = {""}; }), "");
  EXPECT_EQ(says("/columns/warm",
                 [](Json& e) {
                   e["columns"]["warm"] = Json::array();
                   e["columns"].erase("timing");
                 }),
            "");
  EXPECT_EQ(says("/columns/timing",
                 [](Json& e) {
                   for (int i = 0; i < 1000; ++i) e["columns"]["timing"].push_back({"p", "m" + std::to_string(i)});
                 }),
            "");
  EXPECT_EQ(says("/environment/sm_clock_max_hz", [](Json& e) { e["environment"]["sm_clock_max_hz"] = 1e9; }), "");
  EXPECT_EQ(says("/losses", [](Json& e) { e["losses"] = "none"; }), "");
}

TEST(EvidenceJsonTest, UnknownAndMissingKeysAreNamedWithoutControlCharacters) {
  EXPECT_EQ(MessageOf([](Json& e) { e["cases"][0]["kernal"] = "x"; }),
            "e.json: /cases/0: unknown key \"kernal\"; did you mean kernel?");
  EXPECT_EQ(MessageOf([](Json& e) { e["\x1B[31m"] = 1; }), "e.json: unknown key \"\\u001b[31m\"");
  EXPECT_EQ(MessageOf([](Json& e) { e.erase("processes"); }), "e.json: lacks \"processes\"");
  EXPECT_EQ(MessageOf([](Json& e) { e["cases"][0].erase("kernel"); }), "e.json: /cases/0: lacks \"kernel\"");
}

}  // namespace
}  // namespace fa_profile::gate::evidence_json_test

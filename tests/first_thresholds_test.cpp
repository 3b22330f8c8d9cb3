#include "fa_profile/first_thresholds.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/thresholds.h"
#include "test_files.h"

namespace fa_profile::gate::first_thresholds_test {
namespace {

CaseFacts Case(const std::string& kernel, const std::string& shape, std::int64_t spill_bytes = 0) {
  CaseFacts facts;
  facts.kernel = kernel;
  facts.shape = shape;
  CodeFacts code;
  code.name = kernel;
  code.architecture = "sm_90a";
  code.registers_per_thread = 64;
  code.spill_bytes = spill_bytes;
  facts.code.push_back(code);
  return facts;
}

Evidence Of(const std::string& origin, std::vector<CaseFacts> cases) {
  Evidence evidence;
  evidence.origin = origin;
  evidence.cases = std::move(cases);
  return evidence;
}

// For a user who wants every proposed rule.
std::string WithEveryRule(const std::string& text) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    const bool proposed =
        line.starts_with("#rules:") || line.starts_with("#exceptions:") || line.starts_with("#  ") || line == "#";
    all += (proposed ? line.substr(1) : line) + "\n";
  }
  return all;
}

TEST(FirstThresholdsTest, TheFileLimitsNoMoreThanNoFile) {
  const std::string text = FirstThresholds({Of("libmine.so", {Case("mine", "1,8,512,64")})});
  const Thresholds read = ParseThresholds(text, "t.yaml");
  EXPECT_TRUE(read.rules.empty());
  Thresholds written = read;
  Thresholds defaults;
  for (const DefaultSetting& setting : DefaultSettings()) {
    EXPECT_DOUBLE_EQ(setting.value(written), setting.value(defaults)) << setting.Name();
    EXPECT_TRUE(read.default_lines.contains(setting.Name())) << setting.Name();
  }
}

TEST(FirstThresholdsTest, WhatWasFoundIsListedWithItsCode) {
  const std::string text = FirstThresholds(
      {Of("libmine.so", {Case("mine", ""), Case("other", "", 16)}), Of("run.fap", {Case("mma", "1,8,512,64")})});
  EXPECT_TRUE(Contains(text,
                       "#  # In \"libmine.so\":\n#  #   \"mine\": sm_90a, 64 registers, no spills\n"
                       "#  #   \"other\": sm_90a, 64 registers, 16 bytes spilled\n"));
  EXPECT_TRUE(Contains(text, "#  #   \"mma\", shape \"1,8,512,64\": sm_90a"));
  EXPECT_TRUE(Contains(FirstThresholds({Of("empty.fap", {})}), "#  #   no kernel\n"));
}

TEST(FirstThresholdsTest, TheProposedRulesAreValidAndHoldForWhatWasFound) {
  const std::vector<Evidence> found = {Of("a.so", {Case("mine", ""), Case("spills", "", 16), Case("f(float*)", "")}),
                                       Of("a.fap", {Case("mine", "1,8,512,64"), Case("mine", "2,8,512,64")})};
  const Thresholds read = ParseThresholds(WithEveryRule(FirstThresholds(found)), "t.yaml");
  EXPECT_EQ(read.rules.size(), 6U);  // two for all, one of each name, one exception
  std::vector<std::pair<std::string, std::string>> cases;
  for (const Evidence& evidence : found) {
    for (const CaseFacts& facts : evidence.cases) cases.emplace_back(facts.kernel, facts.shape);
  }
  RequireRulesMatch(read, cases);
  EXPECT_EQ(FindDemand(read, "mine", "", "", "spill_bytes", "2026-01-01").maximum, 0.0);
  EXPECT_EQ(FindDemand(read, "spills", "", "", "registers_per_thread", "2026-01-01").maximum, 64.0);
  EXPECT_EQ(FindDemand(read, "f(float*)", "", "", "spill_bytes", "2026-01-01").rules.size(), 1U);
}

TEST(FirstThresholdsTest, ANameCannotLeaveItsComment) {
  for (const std::string name :
       {"a\nrules: [{}]", "a\r\"b", "\xe2\x80\xa8rules:", "\xff\xfe", "tab\there", "\\", "é"}) {
    const std::string text = FirstThresholds({Of(name, {Case(name, name)})});
    EXPECT_TRUE(ParseThresholds(text, "t.yaml").rules.empty()) << name;
    EXPECT_NO_THROW((void)ParseThresholds(WithEveryRule(text), "t.yaml")) << name;
  }
}

TEST(FirstThresholdsTest, ALibraryOfHundredsIsCounted) {
  std::vector<CaseFacts> cases;
  for (int i = 0; i < 500; ++i) cases.push_back(Case("kernel" + std::to_string(i), ""));
  const std::string text = FirstThresholds({Of("big.so", cases)});
  EXPECT_TRUE(Contains(text, "#  #   and 460 more\n"));
  EXPECT_LT(text.size(), 10'000U);
}

TEST(FirstThresholdsTest, TheReferenceKernelOfTheGateIsNotOneOfTheUsers) {
  EXPECT_FALSE(Contains(FirstThresholds({Of("a.json", {Case(kReferenceKernel, "1,1,1,1")})}), kReferenceKernel));
}

}  // namespace
}  // namespace fa_profile::gate::first_thresholds_test

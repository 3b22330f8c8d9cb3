#include "fa_profile/selftest_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "sample_recording.h"

namespace fa_profile::exporters::selftest_report_test {
namespace {

using Verdict = TruthCheck::Verdict;

SelftestReport OneOfEach() {
  SelftestReport report;
  report.session = sample::FullSession();
  report.device = sample::H200();
  const Truth exact{TruthSource::kSass, "smsp__sass_inst_executed", "LDS", "alpha", 13107200.0, 0.0, {}};
  const Truth share{TruthSource::kShare, "time_share", {}, "beta", 0.5, 0.01, "by the kernel's own clock reads"};
  const Truth counter{
      TruthSource::kCounter, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", {}, {}, 3041280000.0, 0.0, {}};
  report.kernels = {{"conflict_32",
                     "shared-memory wavefronts of 32-way bank conflicts",
                     {{exact, 13107200.0, Verdict::kPass},
                      {share, 0.5123, Verdict::kFail},
                      {counter, 2.0, Verdict::kFail},
                      {counter, std::nullopt, Verdict::kUnavailable}}}};
  report.known_lies = {{"phases_50_30_20", "sm__inst_executed_pipe_tensor.sum", "counts HFMA2", 0.0, 1056.0, true},
                       {"occupancy_1", "tpc__honest.sum", "counts twice", 8.0, 8.0, false},
                       {"occupancy_1", "tpc__gone.sum", "counts twice", std::nullopt, std::nullopt, std::nullopt}};
  report.losses = {{"samples_dropped", "conflict_32", "the hardware dropped some", 3}};
  return report;
}

std::string Text(const SelftestReport& report) {
  std::ostringstream out;
  WriteTextSelftest(out, report);
  return out.str();
}

TEST(SelftestReportTest, EachCheckIsALineWithItsNumbers) {
  const std::string text = Text(OneOfEach());
  for (const char* const part :
       {"alpha LDS: instructions ", "13,107,200    13,107,200          0  pass",
        "50.00 %       51.23 %   +1.23 pt  FAIL", "by the kernel's own clock reads", "-3.04e+09  FAIL",
        "n/a             n/a",
        "sm__inst_executed_pipe_tensor.sum reported 1,056 for phases_50_30_20; the true value is 0: it\n  counts HFMA2",
        "it is correct here", "tpc__gone.sum was not measured here", "the hardware dropped some",
        "FAIL: 1 of 3 checks passed, 1 of metrics that this chip lacks"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(SelftestReportTest, NoLineIsWiderThan100Columns) {
  std::istringstream lines(Text(OneOfEach()));
  for (std::string line; std::getline(lines, line);) {
    std::size_t columns = 0;
    for (const char c : line) columns += (c & 0xC0) != 0x80 ? 1 : 0;  // UTF-8
    EXPECT_LE(columns, 100U) << line;
    EXPECT_EQ(line.find("..."), std::string::npos) << line;
  }
}

TEST(SelftestReportTest, ItPassesWhenSomethingPassedAndNothingFailed) {
  SelftestReport report = OneOfEach();
  report.kernels[0].checks.resize(1);
  EXPECT_NE(Text(report).find("PASS: 1 of 1 checks passed"), std::string::npos);
  report.kernels.clear();
  EXPECT_NE(Text(report).find("FAIL: 0 of 0 checks passed"), std::string::npos);
}

TEST(SelftestReportTest, JsonHasEveryNumberUnrounded) {
  std::ostringstream out;
  WriteJsonSelftest(out, OneOfEach());
  const nlohmann::json json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json["passed"], 1);
  EXPECT_EQ(json["failed"], 2);
  EXPECT_EQ(json["unavailable"], 1);
  const nlohmann::json& checks = json["kernels"][0]["checks"];
  EXPECT_EQ(checks[0]["opcode"], "LDS");
  EXPECT_EQ(checks[1]["measured"], 0.5123);
  EXPECT_EQ(checks[1]["verdict"], "fail");
  EXPECT_TRUE(checks[3]["measured"].is_null());
  EXPECT_EQ(json["known_lies"][0]["still_lies"], true);
  EXPECT_EQ(json["losses"][0]["count"], 3);
}

}  // namespace
}  // namespace fa_profile::exporters::selftest_report_test

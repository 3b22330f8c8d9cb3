#include "fa_profile/metrics_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::top::metrics_text_test {
namespace {

std::vector<MetricSample> Read(std::string_view text) {
  std::vector<MetricSample> samples;
  ReadMetricsText(text, [&](const MetricSample& sample) { samples.push_back(sample); });
  return samples;
}

double ValueOf(const std::string& number) { return Read("a " + number).at(0).value; }

TEST(MetricsTextTest, SamplesHaveNamesLabelsAndValues) {
  const auto samples = Read(
      "# HELP a:b Some text. With \"quotes\" and {braces}\n"
      "# TYPE a:b counter\n"
      "a:b 1\n"
      "\n"
      "  a_total { gpu = \"0\" , kernel=\"x\",} 2.5e3 1700000000000 \t\n"
      "b{} -1\n"
      "# EOF\n"
      "last 7");
  ASSERT_EQ(samples.size(), 4U);
  EXPECT_EQ(samples[0].name, "a:b");
  EXPECT_TRUE(samples[0].labels.empty());
  EXPECT_EQ(samples[1].name, "a_total");
  EXPECT_EQ(samples[1].Label("gpu"), "0");
  EXPECT_EQ(samples[1].Label("kernel"), "x");
  EXPECT_EQ(samples[1].Label("phase"), "");
  EXPECT_EQ(samples[1].value, 2500.0);
  EXPECT_EQ(samples[2].value, -1.0);
  EXPECT_EQ(samples[3].value, 7.0);
}

TEST(MetricsTextTest, NumbersAreThoseOfGo) {
  EXPECT_EQ(ValueOf("1e+06"), 1e6);
  EXPECT_EQ(ValueOf("+0.5"), 0.5);
  EXPECT_EQ(ValueOf("+Inf"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(ValueOf("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(ValueOf("NaN")));
}

TEST(MetricsTextTest, EscapesInLabelsAreUndone) {
  EXPECT_EQ(Read(R"(a{x="\\ \" \n"} 1)").at(0).Label("x"), "\\ \" \n");
}

TEST(MetricsTextTest, WhatIsNotASampleIsAnErrorThatNamesTheLine) {
  for (const char* const line : {"a",
                                 "a ",
                                 "9a 1",
                                 "a{x=\"1\" 1",
                                 "a{x=\"1\"",
                                 "a{x=\"1\"}",
                                 "a{x=1} 1",
                                 "a{x} 1",
                                 "a{=\"1\"} 1",
                                 "a{,} 1",
                                 "a{x=\"1\"y=\"2\"} 1",
                                 "a{x=\"1\",x=\"2\"} 1",
                                 R"(a{x="\t"} 1)",
                                 "a{x=\"1} 1",
                                 "a 1 2 3",
                                 "a 1 2.5",
                                 "a one",
                                 "a 1x",
                                 "a ++1",
                                 "a 0x",
                                 "a 1e999",
                                 "a-b 1",
                                 "a{x:y=\"1\"} 1",
                                 "<html>",
                                 "a{x=\"\xff\"} 1",
                                 "\x1b[2J"}) {
    try {
      (void)Read(std::string("good 1\n") + line + "\n");
      ADD_FAILURE() << line;
    } catch (const Error& error) {
      EXPECT_TRUE(Contains(error.message(), "line 2 is not a metric: "));
      EXPECT_EQ(error.message().find('\x1b'), std::string::npos);
    }
  }
}

TEST(MetricsTextTest, ALongLineIsNotRepeatedInTheError) {
  try {
    (void)Read(std::string(1000000, 'x'));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_LT(error.message().size(), 120U);
  }
}

}  // namespace
}  // namespace fa_profile::top::metrics_text_test

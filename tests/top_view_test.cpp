#include "fa_profile/top_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/text.h"
#include "test_files.h"

namespace fa_profile::top::top_view_test {
namespace {

using exporters::Bars;
using exporters::ReportOptions;

/// A page with a GPU, two kernels and two phases. `mma_seconds`: of the first.
std::string Page(const std::string& mma_seconds, const std::string& more = "") {
  return "faprof_build_info{version=\"1.2.3\",commit=\"x\"} 1\n"
         "faprof_exporter_recordings_total{result=\"counted\"} 7\n"
         "faprof_exporter_last_collection_timestamp_seconds 1000\n"
         "faprof_exporter_last_recording_timestamp_seconds 910\n"
         "faprof_gpu_info{gpu=\"0\",uuid=\"u\",name=\"Test GPU\"} 1\n"
         "faprof_device_busy_ratio{gpu=\"0\"} 0.5\n"
         "faprof_device_power_watts{gpu=\"0\"} 250\n"
         "faprof_device_power_limit_watts{gpu=\"0\"} 700\n"
         "faprof_device_throttled{gpu=\"0\",reason=\"hw_thermal\"} 1\n"
         "faprof_device_throttled{gpu=\"0\",reason=\"sw_thermal\"} 0\n"
         "faprof_kernel_duration_seconds_sum{gpu=\"0\",kernel=\"mma\",shape=\"le_512\"} " +
         mma_seconds +
         "\n"
         "faprof_kernel_duration_seconds_count{gpu=\"0\",kernel=\"mma\",shape=\"le_512\"} 10\n"
         "faprof_kernel_launches_total{gpu=\"0\",kernel=\"mma\",shape=\"le_512\"} 10\n"
         "faprof_kernel_duration_seconds_sum{gpu=\"0\",kernel=\"wmma\",shape=\"le_512\"} 2\n"
         "faprof_kernel_duration_seconds_sum{gpu=\"0\",kernel=\"wmma\",shape=\"le_2048\"} 1\n"
         "faprof_phase_cycles_total{gpu=\"0\",kernel=\"mma\",phase=\"qk\"} 300\n"
         "faprof_phase_cycles_total{gpu=\"0\",kernel=\"mma\",phase=\"softmax\"} 700\n"
         "faprof_phase_stall_cycles_total{gpu=\"0\",kernel=\"mma\",phase=\"softmax\",reason=\"memory\"} 25\n"
         "faprof_phase_stall_cycles_total{gpu=\"0\",kernel=\"mma\",phase=\"softmax\",reason=\"issue\"} 75\n"
         "go_goroutines 8\nfaprof_of_a_newer_version{x=\"y\"} 3\n" +
         more;
}

std::string All(const TopView& view, const ReportOptions& look = {.width = 120}) {
  std::ostringstream out;
  view.WriteAll(out, look);
  return out.str();
}

std::string OnScreen(const TopView& view, std::size_t height, const ReportOptions& look = {.width = 120}) {
  std::ostringstream out;
  view.WriteScreen(out, look, height);
  return out.str();
}

TopView ViewOf(const std::string& page) {
  TopView view("http://server/metrics");
  view.Add(ReadTopPage(page));
  return view;
}

/// Where the text has the first of these words in front of the second.
bool InOrder(const std::string& text, const std::string& first, const std::string& second) {
  return text.find(first) < text.find(second) && text.find(second) != std::string::npos;
}

TEST(TopViewTest, GpusKernelsAndPhasesAreShown) {
  const std::string text = All(ViewOf(Page("1")));
  EXPECT_TRUE(Contains(text, "http://server/metrics \u00B7 serve 1.2.3 \u00B7 7 recordings, the newest 90 s ago"));
  EXPECT_TRUE(Contains(text, "Test GPU"));
  EXPECT_TRUE(Contains(text, "250/700 W"));
  EXPECT_TRUE(Contains(text, "throttled: hw_thermal\n"));
  EXPECT_TRUE(Contains(text, "Kernels by GPU time"));
  EXPECT_TRUE(InOrder(text, "wmma", " mma"));  // 3 s of 4, over both shapes
  EXPECT_TRUE(Contains(text, "  75  3.00 s"));
  EXPECT_TRUE(Contains(text, "  25  1.00 s        10  100 ms"));
  EXPECT_TRUE(Contains(text, "softmax 70%"));
  EXPECT_TRUE(Contains(text, "Phases of mma on GPU 0"));
  EXPECT_TRUE(Contains(text, "issue 75, memory 25"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(TopViewTest, KernelsAreSortedByTheTimeThatTheNewestRecordingsAdded) {
  TopView view = ViewOf(Page("1"));
  view.Add(ReadTopPage(Page("1.5")));
  const std::string text = All(view);
  EXPECT_TRUE(Contains(text, "Kernels by newest GPU time"));
  EXPECT_TRUE(InOrder(text, " mma", "wmma"));
  EXPECT_TRUE(Contains(text, " 100  500 ms  1.50 s"));
  view.Add(ReadTopPage(Page("1.5")));  // nothing new
  EXPECT_TRUE(InOrder(All(view), " mma", "wmma"));
  view.NextOrder();
  EXPECT_TRUE(InOrder(All(view), "wmma", " mma"));
  view.NextOrder();
  EXPECT_TRUE(Contains(All(view), "Kernels by launches"));
  view.NextOrder();
  EXPECT_TRUE(Contains(All(view), "Kernels by name"));
  view.NextOrder();
  EXPECT_TRUE(Contains(All(view), "Kernels by newest GPU time"));
}

TEST(TopViewTest, ACounterThatFellBeganAnew) {
  const TopGain gain = GainBetween(ReadTopPage(Page("100")), ReadTopPage(Page("0.25")));
  EXPECT_EQ(gain.seconds, (std::map<TopKey, double>{{{"0", "mma"}, 0.25}}));
  EXPECT_TRUE(gain.phase_cycles.empty());
}

TEST(TopViewTest, AKernelThatIsNewGainedAllItHas) {
  const TopGain gain = GainBetween(ReadTopPage("faprof_build_info 1\n"), ReadTopPage(Page("1")));
  EXPECT_EQ(gain.seconds.at({"0", "wmma"}), 3.0);
  EXPECT_EQ(gain.phase_cycles.at({"0", "mma"}).at("softmax"), 700.0);
}

TEST(TopViewTest, AScreenHasAsManyKernelsAsFitAndThePhasesOfTheSelectedOne) {
  std::string many;
  for (int i = 0; i < 60; ++i) {
    const std::string labels = "{gpu=\"1\",kernel=\"k" + std::to_string(i) + "\",shape=\"none\"} ";
    many += "faprof_kernel_duration_seconds_sum" + labels + "0." + std::to_string(99 - i) + "\n";
  }
  TopView view = ViewOf(Page("1", many));
  for (const std::size_t height : {20U, 24U, 60U}) {
    const std::string text = OnScreen(view, height);
    EXPECT_LE(static_cast<std::size_t>(std::ranges::count(text, '\n')), height);
    EXPECT_TRUE(Contains(text, " of 62"));
    EXPECT_TRUE(Contains(text, "q: end"));
  }
  EXPECT_TRUE(Contains(OnScreen(view, 24), "wmma"));
  EXPECT_FALSE(Contains(OnScreen(view, 24), "Phases of"));  // wmma has none
  view.Select(1);
  EXPECT_TRUE(Contains(OnScreen(view, 24), "> mma"));
  EXPECT_TRUE(Contains(OnScreen(view, 24), "Phases of mma"));
  view.Select(1000);
  EXPECT_TRUE(Contains(OnScreen(view, 24), "> k59"));
  EXPECT_TRUE(Contains(OnScreen(view, 24), " to 62 of 62"));
  view.Select(-1000);
  EXPECT_TRUE(Contains(OnScreen(view, 24), "> wmma"));
}

TEST(TopViewTest, WhatAPageNamesCannotReachTheTerminal) {
  const std::string hostile = "\x1b]0;owned\x07\x1b[2J\u202E\u009B31m\\n\r";
  const std::string page =
      "faprof_gpu_info{gpu=\"" + hostile + "\",name=\"" + hostile + "\"} 1\n" + "faprof_device_throttled{gpu=\"" +
      hostile + "\",reason=\"" + hostile + "\"} 1\n" + "faprof_build_info{version=\"" + hostile +
      "\"} 1\nfaprof_exporter_up{collector=\"" + hostile + "\"} 0\n" + "faprof_kernel_launches_total{gpu=\"" + hostile +
      "\",kernel=\"" + hostile + "\"} 1\n" + "faprof_phase_cycles_total{gpu=\"" + hostile + "\",kernel=\"" + hostile +
      "\",phase=\"" + hostile + "\"} 1\n" + "faprof_phase_stall_cycles_total{gpu=\"" + hostile + "\",kernel=\"" +
      hostile + "\",phase=\"" + hostile + "\",reason=\"" + hostile + "\"} 1\n";
  TopView view = ViewOf(page);
  view.set_problem("it said " + hostile);
  for (const std::string& text : {All(view), OnScreen(view, 40)}) {
    for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << text;
    EXPECT_EQ(text.find("\u202E"), std::string::npos);
    EXPECT_EQ(text.find("\u009B"), std::string::npos);
    EXPECT_TRUE(Contains(text, "\\x1B]0;owned"));
  }
}

TEST(TopViewTest, LinesFitTheWidthWithBarsToo) {
  for (const Bars bars : {Bars::kNone, Bars::kAscii, Bars::kBlocks}) {
    for (const int width : {40, 60, 100, 160}) {
      std::istringstream lines(All(ViewOf(Page("1")), {.width = width, .bars = bars}));
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(DisplayWidth(line), static_cast<std::size_t>(width)) << line;
      }
    }
  }
  EXPECT_TRUE(Contains(All(ViewOf(Page("1")), {.width = 120, .bars = Bars::kAscii}), "#####"));
}

TEST(TopViewTest, ValuesThatAreNotFiniteAreLeftOut) {
  const std::string text = All(ViewOf(Page("NaN", "faprof_device_temperature_celsius{gpu=\"0\"} +Inf\n")));
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(text.find("inf"), std::string::npos);
}

TEST(TopViewTest, AProblemIsShownAboveTheNewestPage) {
  TopView view("http://server/metrics");
  view.set_problem("it did not answer");
  EXPECT_TRUE(Contains(OnScreen(view, 24), "it did not answer"));
  view.Add(ReadTopPage(Page("1")));
  EXPECT_TRUE(InOrder(OnScreen(view, 24), "it did not answer", "mma"));
  view.set_problem("");
  EXPECT_FALSE(Contains(OnScreen(view, 24), "it did not answer"));
}

TEST(TopViewTest, APageOfAnotherProgramIsRefused) {
  EXPECT_THROW((void)ReadTopPage("go_goroutines 8\n"), Error);
  EXPECT_THROW((void)ReadTopPage("<html></html>"), Error);
  EXPECT_THROW((void)ReadTopPage(""), Error);
}

}  // namespace
}  // namespace fa_profile::top::top_view_test

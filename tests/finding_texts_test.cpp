#include "finding_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/findings.h"
#include "fa_profile/lint.h"

namespace fa_profile::analyze::finding_texts_test {
namespace {

std::set<std::string> FilesIn(const std::string& folder) {
  std::set<std::string> ids;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(FA_PROFILE_SOURCE) + "/profiler/analyze/findings/" + folder)) {
    EXPECT_EQ(entry.path().extension(), ".md") << entry.path();
    ids.insert(entry.path().stem().string());
  }
  return ids;
}

std::set<std::string> Ids(const std::vector<FindingRule>& rules) {
  std::set<std::string> ids;
  for (const FindingRule& rule : rules) ids.insert(rule.id);
  return ids;
}

TEST(FindingTextsTest, EachFindingHasAFileAndEachFileAFinding) {
  EXPECT_EQ(FilesIn("report"), Ids(FindingRules()));
  EXPECT_EQ(FilesIn("lint"), Ids(LintRules()));
  EXPECT_EQ(FindingTexts().size(), FindingRules().size() + LintRules().size()) << "all of them are compiled in";
}

TEST(FindingTextsTest, EachFileHasEverySectionOnceInOrder) {
  for (const EmbeddedText& text : FindingTexts()) {
    SCOPED_TRACE(text.id);
    EXPECT_TRUE(text.text.starts_with("# "));
    std::string headings;
    for (std::size_t at = 0; (at = text.text.find("\n## ", at)) != std::string_view::npos; ++at) {
      headings += std::string(text.text.substr(at + 4, text.text.find('\n', at + 1) - at - 4)) + ";";
    }
    if (text.id == "bottleneck-phase") {
      EXPECT_TRUE(headings.ends_with("By stall reason;"));
      headings.resize(headings.size() - std::string("By stall reason;").size());
    }
    const bool is_lint = FindRule(LintRules(), text.id) != nullptr;
    EXPECT_EQ(headings, is_lint ? "Fires when;Source;What to do;" : "Fires when;Weight;Source;What to do;");
  }
}

TEST(FindingTextsTest, LinesOfAParagraphAreJoinedAndThresholdsFilledIn) {
  const FindingRule rule = ReadFindingText("serial-phase");
  EXPECT_EQ(rule.title, "A few threads compute a phase while the others wait");
  EXPECT_EQ(rule.condition,
            "a phase other than softmax: at most 4 of 32 threads per instruction and at least 20 % of the time");
  EXPECT_EQ(rule.weight, "the phase's share of the kernel's time");
  EXPECT_EQ(std::count(rule.story.begin(), rule.story.end(), '\n'), 1) << "two paragraphs: " << rule.story;
  EXPECT_EQ(ReadFindingText("tensor-absent").condition,
            "an attention kernel of 100 M FLOPs or more without any tensor instruction, on compute capability 7.0 or "
            "later");
}

TEST(FindingTextsTest, TheBottleneckHasACureForEachStallReason) {
  const auto cures = ReadFindingText("bottleneck-phase").cure_of_stall;
  EXPECT_EQ(cures.size(), 16U);
  EXPECT_EQ(
      cures.at("short_scoreboard"),
      "it waits for shared memory or special functions: fewer and wider accesses, more independent work in between");
  EXPECT_EQ(cures.at("imc_miss"), "constants miss their cache: index them alike in all threads, or load them once");
}

TEST(FindingTextsTest, AFindingWithoutATextIsAnError) { EXPECT_THROW((void)ReadFindingText("no-such"), Error); }

}  // namespace
}  // namespace fa_profile::analyze::finding_texts_test

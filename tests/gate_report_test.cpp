#include "fa_profile/gate_report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "fa_profile/page.h"
#include "gate_samples.h"
#include "json_schema.h"
#include "test_files.h"

namespace fa_profile::gate::gate_report_test {
namespace {

using nlohmann::json;

const std::string kRate = "0 of 20,000 comparisons of equal code, at most 0.02 %";

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

/// Every report of a result, by format.
std::map<std::string, std::string> Reports(const GateResult& result, const std::string& rate = kRate) {
  return {{"text", GateText(result)},       {"markdown", GateMarkdown(result, rate)},
          {"sarif", GateSarif(result)},     {"annotations", GateAnnotations(result)},
          {"junit", GateJunit(result)},     {"json", GateJson(result)},
          {"jsonl", GateJsonLines(result)}, {"prom", prom::GateTextfile(GateStateOf(result))}};
}

/// Texts in every field, unchanged and after a word.
std::vector<GateResult> HostileResults() {
  std::vector<GateResult> results;
  for (const std::string& text : sample::HostileTexts()) {
    results.push_back(sample::WithTexts(sample::Regression(), text));
    results.push_back(sample::WithTexts(sample::Regression(), "mma " + text + " end"));
    results.push_back(sample::WithTexts(sample::Improved(), text));
    results.push_back(sample::WithTexts(sample::ControlFailed(), text));
  }
  return results;
}

GateResult OneCase(const Comparison& comparison) {
  GateResult result;
  CaseVerdict verdict;
  verdict.kernel = "mma";
  verdict.comparisons = {comparison};
  verdict.verdict = comparison.verdict;
  result.cases = {verdict};
  result.verdict = comparison.verdict;
  return result;
}

TEST(GateReportTest, ReportsEqualTheGoldenFiles) {
  const GateResult result = sample::Regression();
  ExpectGolden("tests/data/golden/gate.txt", GateText(result));
  ExpectGolden("tests/data/golden/gate.md", GateMarkdown(result, kRate));
  ExpectGolden("tests/data/golden/gate.annotations", GateAnnotations(result));
  ExpectGolden("tests/data/golden/gate.sarif", GateSarif(result));
  ExpectGolden("tests/data/golden/gate_junit.xml", GateJunit(result));
  ExpectGolden("tests/data/golden/gate.json", GateJson(result));
  // The commit that built the test is not part of the review.
  ExpectGolden("tests/data/golden/gate.prom", std::regex_replace(prom::GateTextfile(GateStateOf(result)),
                                                                 std::regex("commit=\"[^\"]*\""), "commit=\"COMMIT\""));
  ExpectGolden("tests/data/golden/gate_static.md", GateMarkdown(sample::Static(), kRate));
}

TEST(GateReportTest, TheSameResultGivesTheSameBytes) {
  EXPECT_EQ(Reports(sample::Regression()), Reports(sample::Regression()));
}

TEST(GateReportTest, ValuesHaveTheUnitsOfTheirMetric) {
  const auto row = [](const std::string& metric, const std::string& unit, double base, double candidate) {
    const std::string text =
        GateMarkdown(OneCase(sample::Compared("", metric, unit, 1, base, candidate, Verdict::kRegression)), "");
    std::string found = "no row";  // the last: of other comparisons, or of times
    for (const std::string& line : Lines(text)) {
      if (line.starts_with("| REGRESSION |") || line.starts_with("| **REGRESSION** |")) found = line;
    }
    return found;
  };
  EXPECT_TRUE(Contains(row(kDuration, "seconds", 5.864e-6, 1.25e-3), "| 5.86 us -> 1.25 ms |"));
  EXPECT_TRUE(Contains(row(kDuration, "seconds", 999.6e-9, 2.0), "| 1.00 us -> 2.00 s |"));
  EXPECT_TRUE(Contains(row(kCycles, "cycles", 156875, 190235), "| 156,875 -> 190,235 |"));
  EXPECT_TRUE(Contains(row(kPhaseTime, "ratio", 0.31, 0.542), "| 31.0 % | 54.2 % | +23.2 points |"));
  EXPECT_TRUE(Contains(row("x", "ratio", 0.5, 0.6), "| 50.0 % | 60.0 % | +20.0 % |"));
  EXPECT_TRUE(Contains(row("x", "count", 999, 1310720), "| 999 | 1,310,720 |"));
  EXPECT_TRUE(Contains(row("x", "count", 1000, 12.5), "| 1,000 | 12.5 |"));
  EXPECT_TRUE(Contains(row("x", "bytes", 4096, 2.5e6), "| 4,096 B | 2.50 MB |"));
  EXPECT_TRUE(Contains(row("x", "hertz", 1.98e9, 1.5e9), "| 1.98 GHz | 1.50 GHz |"));
  EXPECT_TRUE(Contains(row("x", "count", -1234567, 1), "| -1,234,567 | 1 |"));
}

TEST(GateReportTest, ChangesKeepTheDecisiveDigits) {
  const auto change = [](double value) {
    Comparison c = sample::Compared("", kDuration, "seconds", 2, 1.0, 2.0, Verdict::kRegression);
    c.change = value;
    const std::string text = GateMarkdown(OneCase(c), "");
    const std::size_t at = text.find("| 1.00 s -> 2.00 s | ") + std::string("| 1.00 s -> 2.00 s | ").size();
    return text.substr(at, text.find(" |", at) - at);
  };
  EXPECT_EQ(change(0.118), "+11.8 %");
  EXPECT_EQ(change(-0.0042), "-0.42 %");
  EXPECT_EQ(change(-0.00001), "+0.00 %");
  EXPECT_EQ(change(2.5), "+250 %");
  EXPECT_EQ(change(std::numeric_limits<double>::infinity()), "-");
}

TEST(GateReportTest, AbsentValuesAreNotPrintedAsNumbers) {
  Comparison c;
  c.metric = kDuration;
  c.unit = "seconds";
  c.verdict = Verdict::kInconclusive;
  for (const auto& [format, text] : Reports(OneCase(c))) {
    for (const char* const wrong : {"nan", "inf ", "NaN", "Infinity", "0.00 ns"}) {
      EXPECT_FALSE(Contains(text, wrong)) << format << ": " << text;
    }
  }
  EXPECT_TRUE(Contains(GateMarkdown(OneCase(c), ""), "| INCONCLUSIVE | `mma` | - | - | - | - |"));
  EXPECT_FALSE(Contains(prom::GateTextfile(GateStateOf(OneCase(c))), "faprof_gate_change_ratio{"));
}

TEST(GateReportTest, InfiniteBoundsAreReportedAsUnknown) {
  const std::string text = GateMarkdown(sample::Regression(), "");
  EXPECT_TRUE(Contains(text, "+3.1 % (? to +5.1 %)"));
  const json parsed = json::parse(GateJson(sample::Regression()));
  EXPECT_TRUE(parsed["cases"][2]["comparisons"][0]["change_low"].is_null());
}

TEST(GateReportTest, MarkdownPutsTheWorstFirst) {
  const std::string text = GateMarkdown(sample::Regression(), "");
  std::size_t last = 0;
  for (const char* const row :
       {"| **REGRESSION** | `wmma 1,8,512,64` | wrong result |",
        "| **REGRESSION** | `mma 1,8,512,64` | 5.86 us -> 6.55 us | +11.8 % (+11.2 to +12.4 %) | 11,603 -> 12,960 |",
        "| SUSPECT |", "| MISSING |", "| IMPROVED |", "| PASS | `minimal 1,8,512,64` | same machine code |", "**Why**",
        "**Trust:**", "<details><summary>2 other comparisons, 2 notes, environment, commands</summary>",
        "| REGRESSION | `mma 1,8,512,64` | instructions |", "| warning | `mma 1,8,512,64` | registers per thread |"}) {
    const std::size_t place = text.find(row);
    EXPECT_NE(place, std::string::npos) << row;
    EXPECT_GE(place, last) << row;
    last = place;
  }
}

/// The part visible before unfolding anything.
std::vector<std::string> Unfolded(const std::string& markdown) {
  std::vector<std::string> lines = Lines(markdown.substr(0, markdown.find("<details>")));
  if (Contains(markdown, "<details>")) lines.insert(lines.end(), {"<details><summary>", "</details>"});
  return lines;
}

/// Sample cases under other names, worst first.
GateResult ManyKernels(std::size_t count) {
  GateResult result = sample::Regression();
  std::vector<CaseVerdict> samples = std::move(result.cases);
  result.cases.clear();
  for (std::size_t i = 0; i < count; ++i) {
    CaseVerdict& verdict = result.cases.emplace_back(samples[i * samples.size() / count]);
    verdict.kernel += std::to_string(i);
  }
  return result;
}

TEST(GateReportTest, AtMostFortyLinesAreUnfoldedAndNoneTwice) {
  std::vector<GateResult> results = {sample::Regression(),   sample::Passed(),        sample::Improved(),
                                     sample::Incomparable(), sample::ControlFailed(), sample::Static()};
  for (const std::size_t count : {1, 2, 6, 10, 300}) results.push_back(ManyKernels(count));
  GateResult long_story = ManyKernels(10);
  for (CaseVerdict& verdict : long_story.cases) {
    for (int i = 0; i < 100; ++i) verdict.why.push_back("reason " + std::to_string(i) + " of " + verdict.kernel);
    verdict.findings.assign(50, {"serial-softmax", "again"});
  }
  long_story.incomparable.assign(100, "another GPU");
  results.push_back(long_story);
  for (const GateResult& result : results) {
    const std::vector<std::string> lines = Unfolded(GateMarkdown(result, kRate));
    EXPECT_LE(lines.size(), 40U) << result.cases.size() << " kernels";
    std::set<std::string> seen;
    for (const std::string& line : lines) {
      EXPECT_TRUE(line.empty() || seen.insert(line).second) << line;
    }
  }
}

TEST(GateReportTest, OfManyKernelsTheWorstAreShownAndTheOthersAreFolded) {
  const std::string text = GateMarkdown(ManyKernels(300), kRate);
  EXPECT_TRUE(
      Contains(text, "And 292 more, folded below: 92 REGRESSION, 50 SUSPECT, 50 MISSING, 50 IMPROVED, 50 PASS."))
      << text.substr(0, 3000);
  const std::size_t fold = text.find("<details>");
  EXPECT_LT(text.find("`wmma0 1,8,512,64` | wrong result"), fold);
  EXPECT_GT(text.find("`wmma8 1,8,512,64` | wrong result"), fold);
  EXPECT_TRUE(Contains(text.substr(fold), "`minimal299 1,8,512,64`")) << "it fits";
}

TEST(GateReportTest, NoNumberOfACommentIsThereTwice) {
  const std::string text = GateMarkdown(sample::Regression(), kRate);
  for (const char* const once :
       {"31.0 -> 54.2 %", "+11.8 % (", "11,603 -> 12,960", "threads per instruction in softmax",
        "resident blocks per SM 3 -> 1", "over the 2 % allowed", "12 of 32768"}) {
    EXPECT_EQ(Count(text, once), 1U) << once;
  }
}

TEST(GateReportTest, AFindingIsFollowedByItsCure) {
  const std::string cure = "share a row among the threads of a warp: shuffles for maximum and sum";
  EXPECT_TRUE(Contains(GateMarkdown(sample::Regression(), ""),
                       "with 1.0 of 32 threads per instruction\n    - What to do: " + cure));
  EXPECT_TRUE(Contains(GateText(sample::Regression()), "    what to do: " + cure));
  const json findings = json::parse(GateJson(sample::Regression()))["cases"][1]["findings"];
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0]["id"], "serial-softmax");
  EXPECT_TRUE(findings[0]["cure"].get<std::string>().starts_with(cure));
  GateResult result = sample::Regression();
  result.cases[1].findings = {{"bottleneck-phase", "softmax takes 54 % of the time: barrier 40 %, wait 9.0 % of ..."}};
  EXPECT_TRUE(Contains(GateMarkdown(result, ""), "- What to do: its warps wait for each other: even out their work"));
  result.cases[1].findings = {{"of-another-version", "something"}};
  EXPECT_TRUE(Contains(GateMarkdown(result, ""), "of-another-version: something"));
  EXPECT_TRUE(json::parse(GateJson(result))["cases"][1]["findings"][0]["cure"].is_null());
  EXPECT_TRUE(Contains(GateMarkdown(sample::Static(), ""), "- What to do: fewer live values"));
}

TEST(GateReportTest, AWarningThatTimeOverruledIsNotFolded) {
  for (const std::string& text : {GateMarkdown(sample::Improved(), ""), GateText(sample::Improved())}) {
    const std::size_t place = text.find("- resident blocks per SM 3 -> 1, and 52.0 % faster all the same\n");
    EXPECT_NE(place, std::string::npos) << text;
    EXPECT_LT(place, text.find("<details>"));
  }
}

TEST(GateReportTest, OneLineTellsWhyToTrustTheTimes) {
  const auto trust = [](const GateResult& result) {
    for (const std::string& line : Lines(GateMarkdown(result, kRate))) {
      if (line.starts_with("**Trust:**")) return line;
    }
    return std::string();
  };
  EXPECT_EQ(
      trust(sample::Passed()),
      "**Trust:** NVIDIA H200; 14 pairs of fresh processes; controls passed (the baseline against itself: 0 of 24 "
      "judged worse; reference kernel: +0.04 %); error rate of this gate: " +
          kRate + ".");
  EXPECT_TRUE(
      Contains(trust(sample::ControlFailed()),
               "controls failed (the baseline against itself: 3 of 24 judged worse; reference kernel: +4.10 %): the "
               "reference kernel became 4.1 % slower"));
  GateResult result = sample::Passed();
  result.complete = false;
  EXPECT_TRUE(Contains(trust(result), "not everything was compared, see the notes"));
  result.cases[0].comparisons.push_back(
      sample::Paired(sample::Compared("", kCycles, "cycles", 2, 1.0, 1.0, Verdict::kPass), 0.01, 0.5));
  result.cases[0].comparisons.back().pairs = 8;
  EXPECT_TRUE(Contains(trust(result), "; 8 to 14 pairs of fresh processes;"));
}

TEST(GateReportTest, MarkdownBeginsWithTheMarkerAndHasItOnce) {
  for (const GateResult& result : HostileResults()) {
    const std::string text = GateMarkdown(result, kRate);
    EXPECT_TRUE(text.starts_with(std::string(kCommentMarker) + "\n"));
    for (const std::string& line : Lines(text.substr(1))) EXPECT_NE(line, kCommentMarker);
  }
}

TEST(GateReportTest, MarkdownShowsHowToPromoteOnlyForAnImprovement) {
  EXPECT_TRUE(Contains(GateMarkdown(sample::Improved(), ""), "fa-profile baseline promote"));
  for (const GateResult& result : {sample::Regression(), sample::Passed(), sample::Static()}) {
    EXPECT_FALSE(Contains(GateMarkdown(result, ""), "promote"));
  }
}

TEST(GateReportTest, MarkdownStatesTheErrorRateWhenKnown) {
  EXPECT_TRUE(Contains(GateMarkdown(sample::Passed(), kRate), "error rate of this gate: " + kRate));
  EXPECT_FALSE(Contains(GateMarkdown(sample::Passed(), ""), "error rate"));
}

TEST(GateReportTest, ACommandCannotEndItsCodeBlock) {
  GateResult result = sample::Passed();
  result.reproduce = "fa-profile gate ``` ````` --candidate x";
  const std::string text = GateMarkdown(result, "");
  EXPECT_TRUE(Contains(text, "\n``````sh\n" + result.reproduce + "\n``````\n"));
  result.reproduce = "a\n```\n# b";
  EXPECT_TRUE(Contains(GateMarkdown(result, ""), "\n````sh\na ``` # b\n````\n"));
}

TEST(GateReportTest, MarkdownFitsIntoACommentAndCountsOmittedCases) {
  const GateResult result = ManyKernels(3000);
  const std::string text = GateMarkdown(result, kRate);
  EXPECT_LE(text.size(), 65536U);
  EXPECT_GT(text.size(), 60000U);
  std::map<std::size_t, std::size_t> rows;  // by their bars
  for (const std::string& line : Lines(text)) {
    if (!line.starts_with("|")) continue;
    EXPECT_TRUE(line.ends_with("|")) << line;
    ++rows[Count(line, "|")];
  }
  // Six cells: kernels, in two tables; nine: other comparisons; three: the environment.
  EXPECT_EQ(rows.size(), 3U);
  EXPECT_TRUE(Contains(text, std::to_string(3000 - (rows[7] - 4)) + " more kernels do not fit"));
  EXPECT_TRUE(Contains(text, std::to_string(1000 - (rows[10] - 2)) + " other comparisons do not fit"));
  EXPECT_TRUE(Contains(text, "more reasons do not fit"));
  EXPECT_TRUE(Contains(text, "To reproduce"));
}

TEST(GateReportTest, MarkdownFitsIntoACommentForAnyText) {
  std::string spaced, solid;  // made of the longest characters
  for (int i = 0; i < 5000; ++i) {
    spaced += i % 2 == 0 ? "\360\237\224\245" : " ";
    solid += "\360\237\224\245";
  }
  for (const std::string& wide : {spaced, solid}) {
    GateResult result = sample::WithTexts(sample::ControlFailed(), wide);
    result.notes.assign(500, wide);
    result.incomparable.assign(500, wide);
    while (result.cases.size() < 300) result.cases.push_back(result.cases[0]);
    const std::string text = GateMarkdown(result, wide);
    EXPECT_LE(text.size(), 65536U);
    EXPECT_TRUE(Contains(text, "more kernels do not fit"));
  }
  for (const GateResult& each : HostileResults()) EXPECT_LE(GateMarkdown(each, kRate).size(), 65536U);
}

TEST(GateReportTest, AtMostTenAnnotationsWorstFirst) {
  GateResult result = sample::Regression();
  EXPECT_EQ(Lines(GateAnnotations(result)).size(), 5U);
  result.cases.insert(result.cases.begin(), 20, CaseVerdict(result.cases[3]));
  const std::vector<std::string> lines = Lines(GateAnnotations(result));
  ASSERT_EQ(lines.size(), 10U);
  EXPECT_TRUE(lines[0].starts_with("::error "));
  EXPECT_TRUE(lines[1].starts_with("::error "));
  for (std::size_t i = 2; i < lines.size(); ++i) EXPECT_TRUE(lines[i].starts_with("::warning ")) << lines[i];
}

TEST(GateReportTest, AnnotationsNameTheirFileAndLine) {
  GateResult result = sample::Regression();
  EXPECT_TRUE(Contains(GateAnnotations(result),
                       "::error file=kernels/mma.cu,line=118,title=REGRESSION mma 1%2C8%2C512%2C64::11.8 %25 slower: "
                       "softmax costs 95 %25 more: 31.0 -> 54.2 %25 of the time; "));
  for (const char* const file :
       {"/etc/passwd", "../x.cu", "a/../../x", "C:/x.cu", "a\\b", "~/x", "", "a//b", "./a", "a\nb", "https://x/y"}) {
    result.cases[1].place = SourcePlace{file, 118};
    EXPECT_FALSE(Contains(GateAnnotations(result), "file=")) << file;
    EXPECT_FALSE(Contains(GateSarif(result), "\"startLine\": 118")) << file;
  }
  result.cases[1].place = SourcePlace{"kernels/mma.cu", 0};
  EXPECT_FALSE(Contains(GateAnnotations(result), "file="));
  result.cases[1].place = SourcePlace{"..a/b..cu", 1};
  EXPECT_TRUE(Contains(GateAnnotations(result), "file=..a/b..cu,line=1,"));
}

TEST(GateReportTest, ATitleCannotEndItsPropertyOrTheCommand) {
  GateResult result = sample::Passed();
  result.cases.resize(1);
  result.cases[0].kernel = "fa::mma, 2%";
  result.cases[0].shape = "";
  result.cases[0].place.reset();
  result.cases[0].verdict = Verdict::kRegression;
  result.cases[0].headline = "a::b, 5%";
  EXPECT_EQ(GateAnnotations(result), "::error title=REGRESSION fa%3A%3Amma%2C 2%25::a::b, 5%25\n");
}

TEST(GateReportTest, AWarningOfACaseThatPassesIsAnnotated) {
  GateResult result = sample::Passed();
  EXPECT_EQ(GateAnnotations(result), "");
  result.cases[0].comparisons.push_back(
      sample::Compared("", "registers_per_thread", "count", 0, 168, 172, Verdict::kRegression));
  result.cases[0].comparisons.back().blocking = false;
  const std::vector<std::string> lines = Lines(GateAnnotations(result));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].starts_with("::warning file=kernels/mma.cu,line=118,title=Warning mma"));
}

TEST(GateReportTest, AnInconclusiveRunWithoutAnnotatedCasesIsAnnotated) {
  const std::vector<std::string> lines = Lines(GateAnnotations(sample::ControlFailed()));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], "::warning title=INCONCLUSIVE::INCONCLUSIVE: the machine moved, not the code");
}

TEST(GateReportTest, MeasuredTextCannotBecomeAWorkflowCommand) {
  for (const GateResult& result : HostileResults()) {
    for (const std::string& line : Lines(GateText(result))) {
      const std::size_t first = line.find_first_not_of(' ');
      EXPECT_FALSE(first != std::string::npos && line.substr(first).starts_with("::")) << line;
      EXPECT_FALSE(Contains(line, "##[")) << line;
    }
    for (const std::string& line : Lines(GateAnnotations(result))) {
      EXPECT_TRUE(line.starts_with("::error ") || line.starts_with("::warning ")) << line;
      // How the runner reads it: properties up to the next "::", split at commas.
      const std::size_t start = line.find(' ') + 1;
      std::istringstream properties(line.substr(start, line.find("::", start) - start));
      std::set<std::string> names;
      for (std::string each; std::getline(properties, each, ',');) {
        EXPECT_TRUE(names.insert(each.substr(0, each.find('='))).second) << line;
      }
      EXPECT_TRUE(names == (std::set<std::string>{"title"}) ||
                  names == (std::set<std::string>{"file", "line", "title"}))
          << line;
      EXPECT_FALSE(Contains(line, "%0A::")) << line;
    }
  }
}

TEST(GateReportTest, WhatBlocksIsUnderTheHeadlineALineEach) {
  const std::vector<std::string> lines = Lines(GateText(sample::Regression()));
  EXPECT_EQ(lines[1], "blocked by");
  EXPECT_EQ(lines[2], "  - wmma 1,8,512,64: not correct: 12 of 32768 values are not finite");
  EXPECT_EQ(lines[3], "  - mma 1,8,512,64: duration 5.86 us -> 6.55 us, +11.8 %; allowed: 2 % (ci/thresholds.yaml:12)");
  EXPECT_TRUE(lines[4].starts_with("  - mma 1,8,512,64: cycles 11,603 -> 12,960, +11.7 %; ")) << lines[4];
  EXPECT_TRUE(lines[5].starts_with("  - mma 1,8,512,64: ")) << lines[5];
  EXPECT_EQ(lines[6], "  - mma 1,8,512,64: instructions 1,310,720 -> 1,441,792, +10.0 %; allowed: 0.5 %");
  EXPECT_EQ(lines[7], "") << "the warning does not block";
  GateResult many = sample::Regression();
  many.cases.resize(2);
  for (int i = 0; i < 30; ++i) many.cases.push_back(many.cases[1]);
  const std::string text = GateText(many);
  EXPECT_TRUE(Contains(text, "\n  - 109 more; --json FILE writes all\n")) << text;
  EXPECT_EQ(Count(text, "; allowed: "), 15U);
  EXPECT_FALSE(Contains(GateText(sample::Improved()), "blocked by"));
}

TEST(GateReportTest, TextFitsItsColumns) {
  for (const std::string& line : Lines(GateText(sample::Regression()))) {
    if (Contains(line, "; allowed: ")) continue;  // what blocks is a line each
    EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(GateReportTest, ReportsHaveNoControlCharactersAndNoInvalidUtf8) {
  for (const GateResult& result : HostileResults()) {
    for (const auto& [format, text] : Reports(result, "rate \033[2J\377")) {
      EXPECT_NO_THROW((void)json(text).dump()) << format << " is not UTF-8";
      for (const char c : text) EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 && c != '\n') << format;
      for (const char* const hidden : {"\342\200\256", "\342\201\246", "\342\200\213", "\302\233", "\357\273\277",
                                       "\363\240\201\201", "\357\277\276"}) {
        EXPECT_FALSE(Contains(text, hidden)) << format;
      }
    }
  }
}

TEST(GateReportTest, SarifFingerprintsDependOnNamesOnly) {
  const auto prints = [](const GateResult& result) {
    std::vector<std::string> found;
    const json log = json::parse(GateSarif(result));
    for (const json& each : log["runs"][0]["results"]) {
      found.push_back(each["partialFingerprints"]["faProfileGate/v1"]);
    }
    return found;
  };
  const std::vector<std::string> before = prints(sample::Regression());
  EXPECT_EQ(std::set<std::string>(before.begin(), before.end()).size(), before.size());
  GateResult moved = sample::Regression();
  moved.cases[1].place->line = 7;
  moved.cases[1].headline = "another";
  for (CaseVerdict& v : moved.cases) {
    for (Comparison& c : v.comparisons) c.candidate = 1.0, c.change = 0.5;
  }
  EXPECT_EQ(prints(moved), before);
  moved.cases[1].comparisons[0].phase = "pv";
  EXPECT_NE(prints(moved)[0], before[0]);
  moved = sample::Regression();
  moved.cases[1].shape = "1,8,1024,64";
  EXPECT_NE(prints(moved)[0], before[0]);
  moved = sample::Regression();
  moved.cases[1].comparisons[0].metric = kCycles;
  EXPECT_NE(prints(moved)[0], before[0]);
}

TEST(GateReportTest, SarifLevelsFollowTheVerdict) {
  const auto level = [](Verdict verdict, bool blocking) {
    Comparison c = sample::Compared("", kDuration, "seconds", 2, 1.0, 2.0, verdict);
    c.blocking = blocking;
    GateResult result = OneCase(c);
    if (!blocking) result.cases[0].verdict = Verdict::kPass;
    const json results = json::parse(GateSarif(result))["runs"][0]["results"];
    return results.empty() ? "none" : results.size() == 1 ? results[0]["level"].get<std::string>() : "several";
  };
  EXPECT_EQ(level(Verdict::kRegression, true), "error");
  EXPECT_EQ(level(Verdict::kRegression, false), "warning");
  for (const Verdict verdict : {Verdict::kSuspect, Verdict::kInconclusive, Verdict::kIncomparable, Verdict::kMissing}) {
    EXPECT_EQ(level(verdict, true), "note");
  }
  EXPECT_EQ(level(Verdict::kPass, true), "none");
  EXPECT_EQ(level(Verdict::kImproved, true), "none");
}

TEST(GateReportTest, SarifListsCasesWithoutAComparison) {
  std::map<std::string, std::string> whole;
  const json log = json::parse(GateSarif(sample::Regression()));
  for (const json& each : log["runs"][0]["results"]) {
    if (!each.contains("properties")) whole[each["ruleId"]] = each["level"];
  }
  EXPECT_EQ(whole, (std::map<std::string, std::string>{{"correctness", "error"}, {"missing", "note"}}));
}

TEST(GateReportTest, SarifFallsBackToTheRuleWhenTheLineIsNotKnown) {
  const json place =
      json::parse(GateSarif(sample::Static()))["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "ci/thresholds.yaml");
  EXPECT_EQ(place["region"]["startLine"], 20);
}

TEST(GateReportTest, JunitMapsEveryVerdict) {
  const auto element = [](Verdict verdict, bool incorrect) {
    GateResult result = sample::Passed();
    result.verdict = verdict;
    result.cases.resize(1);
    result.cases[0].verdict = verdict;
    result.cases[0].incorrect = incorrect;
    const std::string text = GateJunit(result);
    std::string found;
    for (const char* const name : {"failure", "error", "skipped"}) {
      if (Contains(text, std::string("<") + name + " ")) found += name;
    }
    EXPECT_EQ(Count(text, "<testcase "), 1U) << text;
    EXPECT_EQ(Count(text, "tests=\"1\""), 2U) << text;
    EXPECT_EQ(Count(text, "failures=\"1\""), found == "failure" ? 2U : 0U) << text;
    EXPECT_EQ(Count(text, "errors=\"1\""), found == "error" ? 2U : 0U) << text;
    EXPECT_EQ(Count(text, "skipped=\"1\""), found == "skipped" ? 1U : 0U) << text;
    return found;
  };
  EXPECT_EQ(element(Verdict::kPass, false), "");
  EXPECT_EQ(element(Verdict::kImproved, false), "");
  EXPECT_EQ(element(Verdict::kRegression, false), "failure");
  EXPECT_EQ(element(Verdict::kRegression, true), "error");
  for (const Verdict verdict : {Verdict::kSuspect, Verdict::kInconclusive, Verdict::kIncomparable, Verdict::kMissing}) {
    EXPECT_EQ(element(verdict, false), "skipped");
  }
}

TEST(GateReportTest, JunitKeepsTheWarningsOfACaseThatPasses) {
  GateResult result = sample::Passed();
  result.cases.resize(1);
  ASSERT_EQ(result.cases[0].verdict, Verdict::kPass);
  EXPECT_FALSE(Contains(GateJunit(result), "<system-out>"));
  Comparison warning = sample::Compared("", "registers_per_thread", "", 0, 168, 172, Verdict::kRegression);
  warning.blocking = false;
  warning.reason = "<more>";
  result.cases[0].comparisons.push_back(warning);
  const std::string text = GateJunit(result);
  EXPECT_TRUE(Contains(text, "<system-out>warning: registers per thread 168 -&gt; 172")) << text;
  EXPECT_TRUE(Contains(text, ": &lt;more&gt;</system-out>\n    </testcase>")) << text;
  EXPECT_EQ(Count(text, "failures=\"0\""), 2U) << text;
}

TEST(GateReportTest, OnlyPairedRunsAreCalledPaired) {
  for (const char* const design : {"pairs", "recordings", "baseline"}) {
    GateResult result = sample::Regression();
    result.design = design;
    result.cases[1].comparisons[1].told = false;  // so that the comment has its row
    const bool pairs = result.design == "pairs";
    for (const std::string& text : {GateText(result), GateMarkdown(result, ""), GateSarif(result)}) {
      const bool table = !text.starts_with("REGRESSION");  // the text names no other tier of times
      EXPECT_EQ(Contains(text, "| times |") || Contains(text, "\"times\""), table && !pairs) << text;
      EXPECT_EQ(Contains(text, ", paired") || Contains(text, "| paired |") || Contains(text, "\"paired\""), pairs);
    }
  }
}

TEST(GateReportTest, AnAnnotationStatesItsFirstReasonOnce) {
  GateResult result = sample::Regression();
  result.cases.resize(1);
  result.cases[0].headline = "shared wavefronts 1 -> 2 in qk";
  result.cases[0].why = {"shared wavefronts 1 -> 2 in qk", "spills 0 -> 8"};
  EXPECT_TRUE(Contains(GateAnnotations(result), "::shared wavefronts 1 -> 2 in qk; spills 0 -> 8\n"));
}

TEST(GateReportTest, JunitFailsWhenNothingWasJudged) {
  GateResult result;
  result.verdict = Verdict::kInconclusive;
  result.headline = "nothing could be measured";
  EXPECT_TRUE(Contains(GateJunit(result), "<skipped type=\"INCONCLUSIVE\" message=\"nothing could be measured\">"));
  EXPECT_TRUE(Contains(GateJunit(sample::ControlFailed()), "name=\"the run as a whole\">\n      <skipped"));
}

TEST(GateReportTest, JsonFitsItsSchema) {
  const JsonSchema schema(json::parse(ReadSourceFile("docs/gate.schema.json")));
  std::vector<GateResult> results = HostileResults();
  for (const GateResult& result : {sample::Regression(), sample::Passed(), sample::Improved(), sample::Incomparable(),
                                   sample::ControlFailed(), sample::Static(), GateResult{}}) {
    results.push_back(result);
  }
  for (const GateResult& result : results) {
    EXPECT_EQ(schema.Validate(json::parse(GateJson(result))), std::vector<std::string>{});
  }
  json wrong = json::parse(GateJson(sample::Regression()));
  wrong["verdict"] = "FINE";
  EXPECT_FALSE(schema.Validate(wrong).empty());
}

TEST(GateReportTest, JsonPreservesTexts) {
  const std::string text = "a <b> & \"c\" \342\200\256 @d";
  const json parsed = json::parse(GateJson(sample::WithTexts(sample::Regression(), text)));
  EXPECT_EQ(parsed["cases"][0]["kernel"], text);
}

TEST(GateReportTest, TextfileHasTheNewestVerdictOfEachCaseAndItsChange) {
  const std::string text = prom::GateTextfile(GateStateOf(sample::Regression()));
  EXPECT_TRUE(Contains(text, "faprof_gate_verdict{case=\"mma 1,8,512,64\",verdict=\"REGRESSION\"} 1\n"));
  EXPECT_TRUE(Contains(text, "faprof_gate_verdict{case=\"mma 1,8,512,64\",verdict=\"PASS\"} 0\n"));
  EXPECT_TRUE(Contains(text, "faprof_gate_verdict{case=\"scalar 1,8,512,64 causal\",verdict=\"SUSPECT\"} 1\n"));
  EXPECT_TRUE(Contains(text, "faprof_gate_verdict{case=\"tiled 1,8,512,64\",verdict=\"MISSING\"} 1\n"));
  EXPECT_TRUE(Contains(text, "faprof_gate_change_ratio{case=\"mma 1,8,512,64\"} 0.117"));
  EXPECT_FALSE(Contains(text, "faprof_gate_change_ratio{case=\"tiled"));
  EXPECT_TRUE(Contains(text, "faprof_gate_aa_trials_total 24\n"));
  EXPECT_TRUE(Contains(text, "faprof_gate_aa_false_positives_total 0\n"));
}

TEST(GateReportTest, EqualCodeIsCountedApartFromTheBaselineAgainstItself) {
  GateResult result = sample::Regression();
  EXPECT_FALSE(Contains(GateText(result), "equal machine code:"));
  result.control->equal_code_trials = 10;
  result.control->equal_code_worse = 2;
  const std::string counts = "the baseline against itself: 0 of 24 judged worse; equal machine code: 2 of 10";
  EXPECT_TRUE(Contains(GateText(result), counts));
  EXPECT_TRUE(Contains(GateMarkdown(result, kRate), counts));
  const std::string page = prom::GateTextfile(GateStateOf(result));  // for the same code, whichever of the two
  EXPECT_TRUE(Contains(page, "faprof_gate_aa_trials_total 34\n"));
  EXPECT_TRUE(Contains(page, "faprof_gate_aa_false_positives_total 2\n"));
}

}  // namespace
}  // namespace fa_profile::gate::gate_report_test

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/static_metrics.h"
#include "fa_profile/thresholds.h"
#include "rungs.h"
#include "threshold_texts.h"

namespace fa_profile::gate::threshold_rules_test {
namespace {

using Cases = std::vector<std::pair<std::string, std::string>>;

TEST(ThresholdRulesTest, GlobsMatchWholeNames) {
  EXPECT_TRUE(GlobMatches("mma", "mma"));
  EXPECT_FALSE(GlobMatches("mma", "wmma"));
  EXPECT_FALSE(GlobMatches("mma", "mma2"));
  EXPECT_TRUE(GlobMatches("*mma", "wmma"));
  EXPECT_TRUE(GlobMatches("*mma", "mma"));
  EXPECT_TRUE(GlobMatches("m*a", "mxmaa"));
  EXPECT_FALSE(GlobMatches("m*a", "mxmab"));
  EXPECT_TRUE(GlobMatches("?mma", "wmma"));
  EXPECT_FALSE(GlobMatches("?mma", "mma"));
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("", ""));
  EXPECT_FALSE(GlobMatches("", "a"));
  EXPECT_FALSE(GlobMatches("?", ""));
  EXPECT_TRUE(GlobMatches("**a**", "xxaxx"));
  EXPECT_TRUE(GlobMatches("*ab*ab", "abcabab"));
  EXPECT_TRUE(GlobMatches("1,8,*,64", "1,8,512,64"));
  EXPECT_TRUE(GlobMatches("f(float*, [a.b])", "f(float*, [a.b])")) << "all else is itself";
  EXPECT_FALSE(GlobMatches("a.b", "axb"));
  EXPECT_FALSE(GlobMatches("MMA", "mma"));
}

TEST(ThresholdRulesTest, PatternsWithManyStarsEnd) {  // which one that backtracks does not
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "*a";
  EXPECT_FALSE(GlobMatches(pattern + "b", std::string(100'000, 'a')));
}

Thresholds Layers() {
  return ParseThresholds(
      "version: 1\n"
      "rules:\n"
      "  - {metric: instructions, relative: 1%, absolute: 10, severity: warning}\n"
      "  - {kernel: mma, metric: instructions, relative: 2%}\n"
      "  - {kernel: mma, shape: '1,*', metric: instructions, maximum: 1000}\n"
      "  - {kernel: mma, metric: static_instructions, maximum: 100}\n"
      "  - {kernel: mma, phase: '*', metric: static_instructions, maximum: 7}\n"
      "  - {kernel: mma, phase: softmax, metric: static_instructions, maximum: 9}\n"
      "exceptions:\n"
      "  - {kernel: mma, metric: instructions, relative: 10%, owner: ada, reason: why, expires: 2026-11-30}\n",
      "t.yaml");
}

std::vector<int> Lines(const std::vector<const ThresholdRule*>& rules) {
  std::vector<int> lines;
  for (const ThresholdRule* rule : rules) lines.push_back(rule->line);
  return lines;
}

TEST(ThresholdRulesTest, ForEachDemandTheLastMatchingRuleWins) {
  const Thresholds layers = Layers();
  const Demand later = FindDemand(layers, "mma", "1,8,512,64", "", "instructions", "2026-12-01");
  EXPECT_EQ(later.relative, 0.02);
  EXPECT_EQ(later.absolute, 10.0);
  EXPECT_EQ(later.maximum, 1000.0);
  EXPECT_FALSE(later.minimum);
  EXPECT_EQ(later.severity, Severity::kWarning);
  EXPECT_EQ(Lines(later.rules), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(later.RuleOf(&ThresholdRule::relative)->line, 4);
  EXPECT_EQ(later.RuleOf(&ThresholdRule::absolute)->line, 3);
  EXPECT_EQ(later.RuleOf(&ThresholdRule::severity)->line, 3);
  EXPECT_EQ(later.RuleOf(&ThresholdRule::minimum), nullptr);

  const Demand other_shape = FindDemand(layers, "mma", "2,8,512,64", "", "instructions", "2026-12-01");
  EXPECT_FALSE(other_shape.maximum);
  EXPECT_EQ(Lines(other_shape.rules), (std::vector<int>{3, 4}));
  const Demand other_kernel = FindDemand(layers, "wmma", "1,8,512,64", "", "instructions", "2026-12-01");
  EXPECT_EQ(other_kernel.relative, 0.01);
  EXPECT_EQ(Lines(other_kernel.rules), std::vector<int>{3});
  const Demand other_metric = FindDemand(layers, "mma", "1,8,512,64", "", "waves", "2026-12-01");
  EXPECT_TRUE(other_metric.rules.empty());
  EXPECT_EQ(other_metric.severity, Severity::kError);
}

TEST(ThresholdRulesTest, AnExceptionIsValidThroughItsLastDay) {
  const Thresholds layers = Layers();
  const Demand last_day = FindDemand(layers, "mma", "1,8,512,64", "", "instructions", "2026-11-30");
  EXPECT_EQ(last_day.relative, 0.10);
  EXPECT_EQ(Lines(last_day.rules), (std::vector<int>{3, 5, 10})) << "line 4 no longer says anything";
  EXPECT_TRUE(Expired(layers, "2026-11-30").empty());
  EXPECT_EQ(Lines(Expired(layers, "2026-12-01")), std::vector<int>{10});
}

TEST(ThresholdRulesTest, APhasePatternDoesNotMatchTheWholeKernel) {
  const Thresholds layers = Layers();
  const auto maximum = [&](const std::string& phase) {
    return FindDemand(layers, "mma", "1,8,512,64", phase, "static_instructions", "2026-11-21").maximum;
  };
  EXPECT_EQ(maximum(""), 100.0);
  EXPECT_EQ(maximum("softmax"), 9.0);
  EXPECT_EQ(maximum("pv"), 7.0);
}

std::string Unmatched(const std::string& words, const Cases& cases, const std::vector<std::string>& phases = {}) {
  const Thresholds thresholds = ParseThresholds(Rule(words), "t.yaml");
  try {
    RequireRulesMatch(thresholds, cases, phases);
    return "no error";
  } catch (const Error& error) {
    return error.message() + " | " + error.hint();
  }
}

TEST(ThresholdRulesTest, ARuleThatMatchesNoCaseIsAnError) {
  const Cases cases = {{"mma", "1,8,512,64"}, {"wmma", "1,8,512,64"}, {"wmma", "4,16,1024,64"}};
  EXPECT_EQ(Unmatched("kernel: '*mma', metric: waves, maximum: 1", cases), "no error");
  EXPECT_EQ(
      Unmatched("kernel: wmna, metric: waves, maximum: 1", cases),
      "t.yaml:3: 'wmna' matches no kernel, so this rule checks nothing; did you mean wmma or mma? | "
      "known names: mma; wmma; correct the pattern or remove the rule, or give --thresholds none, or FILE (default: "
      "ci/thresholds.yaml, if it exists)");
  EXPECT_EQ(Unmatched("kernel: 'mma?*', metric: waves, maximum: 1", cases).substr(0, 82),
            "t.yaml:3: 'mma?*' matches no kernel, so this rule checks nothing; did you mean mma");
  EXPECT_EQ(Unmatched("kernel: wmma, shape: '4,*', metric: waves, maximum: 1", cases), "no error");
  EXPECT_EQ(Unmatched("kernel: mma, shape: '4,*', metric: waves, maximum: 1", cases).substr(0, 69),
            "t.yaml:3: '4,*' matches no shape of 'mma', so this rule checks nothin");
  EXPECT_EQ(Unmatched("kernel: '*', metric: waves, maximum: 1", {}),
            "t.yaml:3: '*' matches no kernel, so this rule checks nothing | there are no names to match; correct the "
            "pattern or remove the rule, or give --thresholds none, or FILE (default: "
            "ci/thresholds.yaml, if it exists)");
  // Static evidence has no shape: there a rule for one is not wrong.
  EXPECT_EQ(Unmatched("kernel: mma, shape: '4,*', metric: waves, maximum: 1", {{"mma", ""}}), "no error");
  EXPECT_EQ(Unmatched("kernel: wmna, metric: waves, maximum: 1", {{"mma", ""}}).substr(0, 31),
            "t.yaml:3: 'wmna' matches no ker");
}

TEST(ThresholdRulesTest, AFileWhoseRulesNameKernelsAndMatchNoneIsAboutOtherKernels) {
  const auto about_others = [](const std::vector<std::string>& patterns, const Cases& cases) {
    Thresholds thresholds;
    for (const std::string& pattern : patterns) thresholds.rules.emplace_back().kernel = pattern;
    return AreAboutOtherKernels(thresholds, cases);
  };
  const Cases cases = {{"mine", "1,8,512,64"}};
  EXPECT_TRUE(about_others({"mma"}, cases));
  EXPECT_TRUE(about_others({"*", "mma", "*mma"}, cases)) << "a rule for every kernel does not tell";
  EXPECT_FALSE(about_others({"mma", "mi*"}, cases));
  EXPECT_FALSE(about_others({"*"}, cases));
  EXPECT_FALSE(about_others({}, cases));
  EXPECT_TRUE(about_others({"mine"}, {}));
}

TEST(ThresholdRulesTest, ARuleForAMissingPhaseIsAnError) {
  const std::string rule = "phase: sofmax, metric: phase_time_ratio, maximum: 45%";
  EXPECT_EQ(Unmatched(rule, {{"mma", ""}}), "no error") << "no phases are given";
  EXPECT_EQ(
      Unmatched(rule, {{"mma", ""}}, {"qk", "softmax"}),
      "t.yaml:3: 'sofmax' matches no phase, so this rule checks nothing; did you mean softmax? | "
      "known names: qk; softmax; correct the pattern or remove the rule, or give --thresholds none, or FILE (default: "
      "ci/thresholds.yaml, if it exists)");
  EXPECT_EQ(Unmatched("phase: 's*', metric: phase_time_ratio, maximum: 45%", {{"mma", ""}}, {"qk", "softmax"}),
            "no error");
  EXPECT_EQ(Unmatched("metric: waves, maximum: 1", {{"mma", ""}}, {"qk", "softmax"}), "no error");
}

TEST(ThresholdRulesTest, ExplainsEachLimitWithItsSource) {
  Thresholds layers = ParseThresholds(
      "version: 1\n"
      "defaults: {budget: 8%}\n"
      "rules:\n"
      "  - {metric: instructions, relative: 1%, absolute: 10, severity: warning}\n"
      "  - {kernel: mma, phase: softmax, metric: phase_time_ratio, maximum: 45%, owner: kernels}\n"
      "  - {kernel: mma, metric: waves, severity: off, reason: a test}\n"
      "  - {kernel: mma, metric: dram_bytes, maximum: 48KiB}\n"
      "  - {kernel: mma, metric: duration_seconds, absolute: 1500ns}\n"
      "exceptions:\n"
      "  - {kernel: w*, metric: instructions, relative: 10%, owner: ada, reason: why, expires: 2026-11-30}\n"
      "  - {kernel: mma, metric: waves, severity: error, owner: bob, reason: b, expires: 2026-11-01}\n",
      "t.yaml");
  const std::string text =
      ExplainThresholds(layers, {{"mma", "1,8,512,64"}, {"mma", "4,8,512,64"}, {"wmma", "1,8,512,64"}}, "2026-11-21");
  EXPECT_EQ(text,
            "limits on 2026-11-21, from t.yaml and the defaults\n"
            "\n"
            "worse means worse by both limits of a pair\n"
            "  a call's time and cycles: worse by                   2 %     default\n"
            "    and by                                             100 ns  default\n"
            "  a phase's time: worse by                             5 %     default\n"
            "    and by, of the kernel's time in the base           1.5 %   default\n"
            "  a deterministic counter: worse by                    0.5 %   default\n"
            "    and by, in ranges of equal code                    3       default\n"
            "  instructions in a kernel's code: suspect if more by  20 %    default\n"
            "  a kernel's registers per thread: suspect if more by  25 %    default\n"
            "  drift from the promoted baseline                     8 %     t.yaml:2\n"
            "  standard deviation between GPUs, at least            2.4 %   default\n"
            "  p of a suspicion, at most                            0.1     default\n"
            "  p of a regression, at most                           0.01    default\n"
            "  dropped pairs, at most                               25 %    default\n"
            "\n"
            "mma 1,8,512,64; mma 4,8,512,64\n"
            "  dram_bytes                at most 48 KiB                    t.yaml:7\n"
            "  duration_seconds          may get worse by 1.5 us           t.yaml:8\n"
            "  instructions              may get worse by 1 %              t.yaml:4\n"
            "  instructions              may get worse by 10 instructions  t.yaml:4\n"
            "  instructions              only warns                        t.yaml:4\n"
            "  waves                     not compared                      t.yaml:6: a test\n"
            "  softmax phase_time_ratio  at most 45 %                      t.yaml:5, kernels\n"
            "\n"
            "wmma 1,8,512,64\n"
            "  instructions  may get worse by 10 %             t.yaml:10, ada, until 2026-11-30: why\n"
            "  instructions  may get worse by 10 instructions  t.yaml:4\n"
            "  instructions  only warns                        t.yaml:4\n"
            "\n"
            "expired, without effect\n"
            "  waves t.yaml:11, bob, until 2026-11-01: b\n");
  EXPECT_THROW((void)ExplainThresholds(layers, {{"mma", "1,8,512,64"}}, "2026-11-21"), Error) << "w* matches nothing";
  const std::string bare = ExplainThresholds(Thresholds{}, {{"mma", ""}}, "2026-11-21");
  EXPECT_TRUE(bare.starts_with("limits on 2026-11-21, from the defaults\n")) << bare;
  EXPECT_TRUE(bare.ends_with("\nmma\n  only the defaults\n")) << bare;
}

TEST(ThresholdRulesTest, TheValuesOfStaticMetricsComeFromTheCode) {
  CodeFacts code;
  code.spill_bytes = 8;
  code.local_array_bytes = 16;
  code.static_shared_memory_bytes = 1024;
  EXPECT_EQ(StaticValue(code, "", "spill_bytes"), 8.0);
  EXPECT_EQ(StaticValue(code, "", "local_array_bytes"), 16.0);
  EXPECT_EQ(StaticValue(code, "", "static_shared_memory_bytes"), 1024.0);
  EXPECT_FALSE(StaticValue(code, "softmax", "spill_bytes"));
  for (const char* id : {"registers_per_thread", "stack_frame_bytes", "blocks_per_sm", "static_instructions"}) {
    EXPECT_FALSE(StaticValue(code, "", id)) << id << ": the code does not say";
  }
  code.registers_per_thread = 128;
  code.stack_frame_bytes = 32;
  code.blocks_per_sm = 2;
  code.counts = {{"qk", {{"instructions", 10}, {"tensor", 4}}}, {"softmax", {{"instructions", 7}}}};
  EXPECT_EQ(StaticValue(code, "", "registers_per_thread"), 128.0);
  EXPECT_EQ(StaticValue(code, "", "stack_frame_bytes"), 32.0);
  EXPECT_EQ(StaticValue(code, "", "blocks_per_sm"), 2.0);
  EXPECT_EQ(StaticValue(code, "", "static_instructions"), 17.0);
  EXPECT_EQ(StaticValue(code, "", "static_tensor_instructions"), 4.0);
  EXPECT_EQ(StaticValue(code, "qk", "static_tensor_instructions"), 4.0);
  EXPECT_EQ(StaticValue(code, "softmax", "static_tensor_instructions"), 0.0);
  EXPECT_EQ(StaticValue(code, "pv", "static_instructions"), 0.0);
  code.counts[""] = {{"instructions", 18}};
  EXPECT_EQ(StaticValue(code, "", "static_instructions"), 18.0) << "what the code says of the whole";
  for (const StaticMetric& metric : StaticMetrics()) {
    const bool is_of_releases = metric.id.ends_with("local_accesses");
    EXPECT_EQ(StaticValue(code, "", metric.id).has_value(), !is_of_releases) << metric.id;
  }
}

TEST(ThresholdRulesTest, TheShippedFileAppliesToTheLadder) {
  const Thresholds ours = ParseThresholds(ReadSourceFile("ci/thresholds.yaml"), "ci/thresholds.yaml");
  Cases cases;
  for (const auto& [number, kernel] : RungsOfFiles(FA_PROFILE_SOURCE)) cases.emplace_back(kernel, "1,8,512,64");
  RequireRulesMatch(ours, cases, {"load_q", "load_kv", "sync", "qk", "softmax", "rescale", "pv", "epilogue"});
  for (const auto& [kernel, shape] : cases) {
    EXPECT_EQ(FindDemand(ours, kernel, shape, "", "spill_bytes", "2026-11-21").maximum, 0.0) << kernel;
  }
}

}  // namespace
}  // namespace fa_profile::gate::threshold_rules_test

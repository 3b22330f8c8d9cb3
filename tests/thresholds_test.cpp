#include "fa_profile/thresholds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fa_profile/evidence.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/static_metrics.h"
#include "threshold_texts.h"

namespace fa_profile::gate::thresholds_test {
namespace {

ThresholdRule OneRule(const std::string& words) {
  const Thresholds thresholds = ParseThresholds(Rule(words), "t.yaml");
  EXPECT_EQ(thresholds.rules.size(), 1U);
  return thresholds.rules.at(0);
}

TEST(ThresholdsTest, ReadsDefaultsRulesAndExceptions) {
  const Thresholds read = ParseThresholds(
      "exceptions:\n"
      "  - {kernel: wmma, metric: instructions, relative: 10%, reason: 'wider masks, #42', owner: ada, "
      "expires: 2026-12-31}\n"
      "version: 1\n"
      "defaults:\n"
      "  duration: {relative: 3%, absolute: 2us}\n"
      "  phase_time: {relative: 7%, absolute: 2.5%}\n"
      "  counters: {relative: 1%, aa_ranges: 4}\n"
      "  budget: 8%\n"
      "  code: {instructions: 30%, registers: 35%}\n"
      "  levels: {suspect: 0.1, regression: 0.02}\n"
      "  most_dropped_pairs: 50%\n"
      "rules:\n"
      "  - kernel: mma*\n"
      "    shape: 1,8,*\n"
      "    phase: softmax\n"
      "    metric: phase_time_ratio\n"
      "    maximum: 45%\n"
      "    minimum: 1%\n"
      "    absolute: 3%\n"
      "    owner: kernels\n"
      "  - {metric: registers_per_thread, relative: 0%, absolute: 8, severity: warning}\n",
      "dir/t.yaml");
  EXPECT_EQ(read.file, "dir/t.yaml");
  EXPECT_DOUBLE_EQ(read.duration.relative, 0.03);
  EXPECT_DOUBLE_EQ(read.duration.absolute, 2e-6);
  EXPECT_DOUBLE_EQ(read.phase_time.relative, 0.07);
  EXPECT_DOUBLE_EQ(read.phase_time.absolute, 0.025);
  EXPECT_DOUBLE_EQ(read.counter_relative, 0.01);
  EXPECT_DOUBLE_EQ(read.counter_aa_ranges, 4.0);
  EXPECT_DOUBLE_EQ(read.budget, 0.08);
  EXPECT_DOUBLE_EQ(read.code_instructions, 0.3);
  EXPECT_DOUBLE_EQ(read.code_registers, 0.35);
  EXPECT_DOUBLE_EQ(read.suspect_level, 0.1);
  EXPECT_DOUBLE_EQ(read.regression_level, 0.02);
  EXPECT_DOUBLE_EQ(read.most_dropped_pairs, 0.5);
  EXPECT_EQ(read.default_lines.at("duration.absolute"), 5);
  EXPECT_EQ(read.default_lines.at("budget"), 8);

  ASSERT_EQ(read.rules.size(), 3U) << "exceptions come after the rules, wherever they stand";
  EXPECT_EQ(read.rules[0].kernel, "mma*");
  EXPECT_EQ(read.rules[0].shape, "1,8,*");
  EXPECT_EQ(read.rules[0].phase, "softmax");
  EXPECT_EQ(read.rules[0].metric, "phase_time_ratio");
  EXPECT_DOUBLE_EQ(read.rules[0].maximum.value(), 0.45);
  EXPECT_DOUBLE_EQ(read.rules[0].minimum.value(), 0.01);
  EXPECT_DOUBLE_EQ(read.rules[0].absolute.value(), 0.03);
  EXPECT_FALSE(read.rules[0].relative);
  EXPECT_FALSE(read.rules[0].severity);
  EXPECT_FALSE(read.rules[0].exception);
  EXPECT_EQ(read.rules[0].line, 13);
  EXPECT_EQ(PlaceOf(read, read.rules[0]), "dir/t.yaml:13");
  EXPECT_EQ(read.rules[1].kernel, "*");
  EXPECT_EQ(read.rules[1].shape, "*");
  EXPECT_EQ(read.rules[1].phase, "");
  EXPECT_DOUBLE_EQ(read.rules[1].relative.value(), 0.0);
  EXPECT_DOUBLE_EQ(read.rules[1].absolute.value(), 8.0);
  EXPECT_EQ(read.rules[1].severity, Severity::kWarning);
  EXPECT_EQ(read.rules[1].line, 21);
  EXPECT_EQ(read.rules[2].kernel, "wmma");
  EXPECT_TRUE(read.rules[2].exception);
  EXPECT_EQ(read.rules[2].owner, "ada");
  EXPECT_EQ(read.rules[2].reason, "wider masks, #42");
  EXPECT_EQ(read.rules[2].expires, "2026-12-31");
  EXPECT_EQ(read.rules[2].line, 2);
}

TEST(ThresholdsTest, WithoutAFileTheDocumentedDefaultsApply) {
  const Thresholds none;
  const Thresholds bare = ParseThresholds("version: 1\n", "t.yaml");
  const Thresholds ours = ParseThresholds(ReadSourceFile("ci/thresholds.yaml"), "ci/thresholds.yaml");
  EXPECT_TRUE(bare.default_lines.empty());
  EXPECT_EQ(ours.default_lines.size(), 12U) << "ours spells out each";
  for (const Thresholds& t : {none, bare, ours}) {
    EXPECT_EQ(t.duration.relative, 0.02);
    EXPECT_DOUBLE_EQ(t.duration.absolute, 1e-7);
    EXPECT_EQ(t.phase_time.relative, 0.05);
    EXPECT_EQ(t.phase_time.absolute, 0.015);
    EXPECT_EQ(t.counter_relative, 0.005);
    EXPECT_EQ(t.counter_aa_ranges, 3.0);
    EXPECT_EQ(t.code_instructions, 0.2);
    EXPECT_EQ(t.code_registers, 0.25);
    EXPECT_EQ(t.budget, 0.05);
    EXPECT_EQ(t.suspect_level, 0.10);
    EXPECT_EQ(t.regression_level, 0.01);
    EXPECT_EQ(t.most_dropped_pairs, 0.25);
  }
}

TEST(ThresholdsTest, NumbersAreInTheUnitOfTheirMetric) {
  EXPECT_DOUBLE_EQ(OneRule("metric: tensor_core_utilization_ratio, minimum: 25%").minimum.value(), 0.25);
  EXPECT_DOUBLE_EQ(OneRule("metric: tensor_core_utilization_ratio, minimum: 0.25").minimum.value(), 0.25);
  EXPECT_DOUBLE_EQ(OneRule("metric: tensor_core_utilization_ratio, minimum: 100%").minimum.value(), 1.0);
  EXPECT_DOUBLE_EQ(OneRule("metric: duration_seconds, maximum: 500ns").maximum.value(), 500e-9);
  EXPECT_DOUBLE_EQ(OneRule("metric: duration_seconds, maximum: 12.5us").maximum.value(), 12.5e-6);
  EXPECT_DOUBLE_EQ(OneRule("metric: duration_seconds, maximum: 3ms").maximum.value(), 3e-3);
  EXPECT_DOUBLE_EQ(OneRule("metric: duration_seconds, maximum: 2s").maximum.value(), 2.0);
  EXPECT_DOUBLE_EQ(OneRule("metric: duration_seconds, absolute: 0").absolute.value(), 0.0);
  EXPECT_DOUBLE_EQ(OneRule("metric: dram_bytes, maximum: 512").maximum.value(), 512.0);
  EXPECT_DOUBLE_EQ(OneRule("metric: dram_bytes, maximum: 16B").maximum.value(), 16.0);
  EXPECT_DOUBLE_EQ(OneRule("metric: dram_bytes, maximum: 48KiB").maximum.value(), 48.0 * 1024);
  EXPECT_DOUBLE_EQ(OneRule("metric: dram_bytes, maximum: 2MiB").maximum.value(), 2.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(OneRule("metric: duration_cycles, absolute: 1e3").absolute.value(), 1000.0);
  EXPECT_DOUBLE_EQ(OneRule("metric: dram_bytes, relative: 150%").relative.value(), 1.5);
  EXPECT_DOUBLE_EQ(OneRule("phase: '*', metric: phase_global_bytes, absolute: 1KiB").absolute.value(), 1024.0);

  EXPECT_EQ(ErrorOf(Rule("metric: waves, minimum: 25%")),
            "t.yaml:3:30: 'minimum' of waves is in the wrong unit: '25%'");
  EXPECT_EQ(ErrorOf(Rule("metric: duration_seconds, maximum: 5%")),
            "t.yaml:3:41: 'maximum' of duration_seconds is in the wrong unit: '5%'");
  EXPECT_EQ(ErrorOf(Rule("metric: duration_seconds, relative: 5us")),
            "t.yaml:3:42: 'relative' of duration_seconds is in the wrong unit: '5us'");
  EXPECT_EQ(ErrorOf(Rule("metric: dram_bytes, maximum: 5us")),
            "t.yaml:3:35: 'maximum' of dram_bytes is in the wrong unit: '5us'");
  EXPECT_EQ(ErrorOf(Rule("metric: l1_hit_ratio, minimum: 5KiB")),
            "t.yaml:3:37: 'minimum' of l1_hit_ratio is in the wrong unit: '5KiB'");
  EXPECT_EQ(ErrorOf(Rule("metric: duration_seconds, maximum: 10")),
            "t.yaml:3:41: 'maximum' of duration_seconds has no unit: 10");
  EXPECT_EQ(ErrorOf(Rule("metric: duration_seconds, relative: 5")),
            "t.yaml:3:42: 'relative' of duration_seconds is 5, which is 500 %");
  EXPECT_EQ(HintOf(Rule("metric: duration_seconds, relative: 5")), "did you mean 5%?");
  EXPECT_EQ(ErrorOf(Rule("metric: l1_hit_ratio, minimum: 25")),
            "t.yaml:3:37: 'minimum' of l1_hit_ratio is 25, which is 2500 %");
  EXPECT_EQ(OneRule("metric: l1_hit_ratio, minimum: 1").minimum.value(), 1.0);
}

TEST(ThresholdsTest, RefusesInvalidNumbers) {
  for (const char* number : {".nan", ".NaN", "nan",    ".inf", "inf", "Infinity", "0x10",  "0o17",    "010", "1_000",
                             ".5",   "1.",   "+1",     "1e",   "1e+", "1e1%",     "'1'",   "\"0.5\"", "''",  "~",
                             "true", "[1]",  "{a: 1}", "5 %",  "5%%", "5x",       "1e999", "1e-999",  "five"}) {
    SCOPED_TRACE(number);
    const std::string error = ErrorOf(Rule(std::string("metric: waves, maximum: ").append(number)));
    EXPECT_TRUE(error.starts_with("t.yaml:3:30: 'maximum' of waves must be a number, not '")) << error;
  }
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: -1")), "t.yaml:3:30: 'maximum' of waves is negative: '-1'");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: -.inf")), "t.yaml:3:30: 'maximum' of waves is negative: '-.inf'");
  EXPECT_EQ(OneRule("metric: waves, maximum: 1e18").maximum.value(), 1e18);
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1.1e18")), "t.yaml:3:30: 'maximum' of waves is too large: '1.1e18'");
  EXPECT_EQ(OneRule("metric: waves, relative: 10000%").relative.value(), 100.0);
  EXPECT_EQ(ErrorOf(Rule("metric: waves, relative: 10001%")),
            "t.yaml:3:31: 'relative' of waves is too large: '10001%'");
  EXPECT_EQ(ErrorOf(Rule("metric: l1_hit_ratio, maximum: 100.1%")),
            "t.yaml:3:37: 'maximum' of l1_hit_ratio is too large: '100.1%'");
}

TEST(ThresholdsTest, DefaultsMustBeWithinTheirRanges) {
  EXPECT_EQ(ErrorOf(Defaults("budget: 101%")), "t.yaml:2:20: budget is too large: '101%'");
  EXPECT_EQ(ErrorOf(Defaults("duration: {relative: 2us}")),
            "t.yaml:2:33: duration.relative is in the wrong unit: '2us'");
  EXPECT_EQ(ErrorOf(Defaults("duration: {absolute: 2%}")), "t.yaml:2:33: duration.absolute is in the wrong unit: '2%'");
  EXPECT_EQ(ErrorOf(Defaults("phase_time: {absolute: 1us}")),
            "t.yaml:2:35: phase_time.absolute is in the wrong unit: '1us'");
  EXPECT_EQ(ErrorOf(Defaults("counters: {aa_ranges: 1000}")), "no error");
  EXPECT_EQ(ErrorOf(Defaults("counters: {aa_ranges: 1001}")), "t.yaml:2:34: counters.aa_ranges is too large");
  EXPECT_EQ(ErrorOf(Defaults("levels: {suspect: 0.5}")), "no error");
  EXPECT_EQ(ErrorOf(Defaults("levels: {suspect: 0.51}")), "t.yaml:2:30: levels.suspect is too large");
  EXPECT_EQ(ErrorOf(Defaults("levels: {regression: 0.05}")), "no error") << "as strict as the first stage";
  EXPECT_EQ(ErrorOf(Defaults("levels: {regression: 0.11}")),
            "t.yaml:2:20: levels.regression must not be above levels.suspect");
  EXPECT_EQ(ErrorOf(Defaults("levels: {regression: 0}")), "t.yaml:2:20: a level must be above 0: no test can reach 0");
  EXPECT_EQ(ErrorOf(Defaults("levels: {suspect: 0}")), "t.yaml:2:20: a level must be above 0: no test can reach 0");
  EXPECT_EQ(ErrorOf(Defaults("levels: {suspect: 5%}")), "t.yaml:2:30: levels.suspect is in the wrong unit: '5%'");
}

TEST(ThresholdsTest, UnknownNamesAreErrorsWithNearMatches) {
  EXPECT_EQ(ErrorOf("versoin: 1\n"), "t.yaml:1:1: unknown key 'versoin'; did you mean version?");
  EXPECT_EQ(ErrorOf("version: 1\nrule: []\n"), "t.yaml:2:1: unknown key 'rule'; did you mean rules?");
  EXPECT_EQ(ErrorOf(Defaults("durations: {}")), "t.yaml:2:12: unknown key 'durations'; did you mean duration?");
  EXPECT_EQ(ErrorOf(Defaults("levels: {suspekt: 1}")), "t.yaml:2:21: unknown key 'suspekt'; did you mean suspect?");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, minimun: 1")), "t.yaml:3:21: unknown key 'minimun'; did you mean minimum?");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, minimum: 1, expires: 2026-12-31")), "t.yaml:3:33: unknown key 'expires'")
      << "a rule does not expire";
  EXPECT_EQ(ErrorOf(Rule("metric: spil_bytes, maximum: 0")).substr(0, 61),
            "t.yaml:3:14: unknown metric 'spil_bytes'; did you mean spill_");
  EXPECT_EQ(ErrorOf(Rule("metric: duration_cycle, maximum: 0")).substr(0, 67),
            "t.yaml:3:14: unknown metric 'duration_cycle'; did you mean duration");
  EXPECT_EQ(ErrorOf(Rule("phase: pv, metric: phase_flop, maximum: 0")).substr(0, 63),
            "t.yaml:3:25: unknown metric 'phase_flop'; did you mean phase_fl");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, severity: warn")),
            "t.yaml:3:31: unknown severity 'warn'; did you mean warning?");
  EXPECT_EQ(ErrorOf(Rule("metric: \"*\", maximum: 1")), "t.yaml:3:14: unknown metric '*'") << "a metric is no pattern";
}

TEST(ThresholdsTest, OnlyPhaseMetricsHaveAPhaseAndTheyRequireIt) {
  EXPECT_EQ(ErrorOf(Rule("metric: phase_time_ratio, maximum: 45%")),
            "t.yaml:3:14: phase_time_ratio is a metric of phases");
  EXPECT_EQ(ErrorOf(Rule("phase: pv, metric: duration_seconds, maximum: 1us")),
            "t.yaml:3:25: duration_seconds is a metric of whole kernels");
  EXPECT_EQ(ErrorOf(Rule("phase: pv, metric: duration_cycles, maximum: 1")),
            "t.yaml:3:25: duration_cycles is a metric of whole kernels");
  EXPECT_EQ(ErrorOf(Rule("phase: pv, metric: spill_bytes, maximum: 1")),
            "t.yaml:3:25: spill_bytes is a metric of whole kernels");
  EXPECT_EQ(ErrorOf(Rule("phase: pv, metric: static_instructions, maximum: 1")), "no error");
  EXPECT_EQ(ErrorOf(Rule("metric: static_instructions, maximum: 1")), "no error");
  // The metric may stand before the phase, and a limit before both.
  EXPECT_EQ(ErrorOf(Rule("maximum: 45%, metric: phase_time_ratio, phase: pv")), "no error");
}

TEST(ThresholdsTest, EveryMetricCanBeNamed) {
  for (const CatalogueMetric& metric : MetricCatalogue()) EXPECT_EQ(UnitOf("", metric.id), metric.unit) << metric.id;
  for (const CatalogueMetric& metric : PhaseCatalogue()) EXPECT_EQ(UnitOf("pv", metric.id), metric.unit) << metric.id;
  for (const StaticMetric& metric : StaticMetrics()) {
    EXPECT_EQ(UnitOf("", metric.id), metric.unit) << metric.id;
    EXPECT_EQ(UnitOf("pv", metric.id).has_value(), metric.of_phases) << metric.id;
    // With one name there is one meaning.
    const CatalogueMetric* same = FindMetric(metric.id);
    EXPECT_TRUE(same == nullptr || (same->unit == metric.unit && same->polarity == metric.polarity)) << metric.id;
  }
  EXPECT_EQ(UnitOf("", kCycles), "cycles");
  EXPECT_EQ(UnitOf("", kDuration), "seconds");
  EXPECT_EQ(UnitOf("pv", kPhaseTime), "ratio");
  EXPECT_FALSE(UnitOf("", "no_such"));
}

TEST(ThresholdsTest, ARuleMustDemandSomethingPossible) {
  EXPECT_EQ(ErrorOf(Rule("kernel: mma, maximum: 1")), "t.yaml:3:5: 'metric' is missing");
  EXPECT_EQ(ErrorOf(Rule("kernel: mma, metric: waves, owner: ada")),
            "t.yaml:3:5: the rule has no limit and no severity");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, minimum: 2, maximum: 2")), "no error");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, minimum: 3, maximum: 2")), "t.yaml:3:5: the minimum is above the maximum");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, severity: error")), "no error");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, severity: off")), "t.yaml:3:5: severity: off needs a reason");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, severity: off, reason: noisy")), "no error");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, severity: off, reason: noisy, maximum: 2")),
            "t.yaml:3:5: limits have no effect with severity: off");
}

TEST(ThresholdsTest, AnExceptionRequiresAnOwnerAReasonAndAnEnd) {
  const std::string demand = "metric: waves, relative: 10%";
  EXPECT_EQ(ErrorOf(Exception(demand + ", reason: why, expires: 2026-12-31")),
            "t.yaml:3:5: an exception needs 'owner'");
  EXPECT_EQ(ErrorOf(Exception(demand + ", owner: ada, expires: 2026-12-31")),
            "t.yaml:3:5: an exception needs 'reason'");
  EXPECT_EQ(ErrorOf(Exception(demand + ", owner: ada, reason: why")), "t.yaml:3:5: an exception needs 'expires'");
  EXPECT_EQ(ErrorOf(Exception(demand + ", owner: ada, reason: why, expires: 2028-02-29")), "no error");
  for (const char* date :
       {"2026-02-29", "2026-13-01", "2026-00-01", "2026-1-1", "2026-12-32", "26-12-31", "tomorrow", "2026-12-31T00:00",
        "2026/12/31", "-026-12-31", "1999-12-31", "31.12.2026", "'2026-12- 1'"}) {
    SCOPED_TRACE(date);
    const std::string error = ErrorOf(Exception(demand + ", owner: ada, reason: why, expires: " + date));
    EXPECT_NE(error.find("is not a date"), std::string::npos) << error;
  }
}

TEST(ThresholdsTest, ARuleThatALaterRuleReplacesIsAnError) {
  const std::string a = "version: 1\nrules:\n  - {kernel: mma, metric: waves, minimum: 1}\n";
  EXPECT_EQ(ErrorOf(a + "  - {kernel: mma, metric: waves, minimum: 2}\n"),
            "t.yaml:4:5: line 3 already sets 'minimum' for the same cases and metric");
  EXPECT_EQ(ErrorOf(a + "  - {kernel: mma, metric: waves, maximum: 2}\n"), "no error") << "another demand";
  EXPECT_EQ(ErrorOf(a + "  - {kernel: mma, metric: waves, shape: '1,*', minimum: 2}\n"), "no error");
  EXPECT_EQ(ErrorOf(a + "  - {kernel: 'mm?', metric: waves, minimum: 2}\n"), "no error");
  EXPECT_EQ(ErrorOf(a + "exceptions:\n  - {kernel: mma, metric: waves, minimum: 2, owner: a, reason: b, "
                        "expires: 2026-12-31}\n"),
            "no error")
      << "that is what an exception is for";
}

TEST(ThresholdsTest, RefusesTextThatDisplaysDifferentlyThanItReads) {
  EXPECT_EQ(ErrorOf("version: 1\nversion: 1\n"), "t.yaml:2:1: duplicate key 'version'");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, maximum: 2")), "t.yaml:3:33: duplicate key 'maximum'");
  EXPECT_EQ(ErrorOf(Defaults("budget: 1%, budget: 2%")), "t.yaml:2:24: duplicate key 'budget'");
  EXPECT_EQ(ErrorOf("version: &v 1\n"), "t.yaml:1:10: anchors (&name) are not allowed");
  EXPECT_EQ(ErrorOf("version: &v\n"), "t.yaml:1:10: anchors (&name) are not allowed");
  EXPECT_EQ(ErrorOf("version: 1\nrules: &r []\n"), "t.yaml:2:8: anchors (&name) are not allowed");
  EXPECT_EQ(ErrorOf("&r version: 1\n"), "t.yaml:1:1: anchors (&name) are not allowed");
  EXPECT_EQ(ErrorOf("version: !!str 1\n"), "t.yaml:1:10: tags (!name) are not allowed");
  EXPECT_EQ(ErrorOf("version: !x 1\n"), "t.yaml:1:10: tags (!name) are not allowed");
  EXPECT_EQ(ErrorOf("version: 1\nrules: !!seq []\n"), "t.yaml:2:8: tags (!name) are not allowed");
  EXPECT_EQ(ErrorOf("version: 1\ndefaults: !!map {}\n"), "t.yaml:2:11: tags (!name) are not allowed");
  EXPECT_EQ(ErrorOf("version: 1\n<<: {rules: []}\n"), "t.yaml:2:1: unknown key '<<'");
  EXPECT_EQ(ErrorOf("version: 1\n---\nversion: 1\n"), "t.yaml:2:1: only one YAML document is expected");
  EXPECT_EQ(ErrorOf("---\nversion: 1\n...\n"), "no error");
  EXPECT_EQ(ErrorOf("version: 1 # \t\n"), "t.yaml:1:14: contains a tab");
  EXPECT_EQ(ErrorOf("version: 1\r\nrules: []\r\n"), "no error");
  EXPECT_EQ(ErrorOf("version: 1\r# rules:\n"), "t.yaml:1:11: contains the invisible character U+000D");
  EXPECT_EQ(ErrorOf("version: 1 # a\x1b[2K\n"), "t.yaml:1:15: contains the invisible character U+001B");
  EXPECT_EQ(ErrorOf(std::string("version: 1\n\0", 12)), "t.yaml:2:1: contains the invisible character U+0000");
  EXPECT_EQ(ErrorOf("version: 1 # \xE2\x80\xAE\n"), "t.yaml:1:14: contains the invisible character U+202E");
  EXPECT_EQ(ErrorOf("version: 1 # \xC2\x85\n"), "t.yaml:1:14: contains the invisible character U+0085");
  EXPECT_EQ(ErrorOf("\xEF\xBB\xBFversion: 1\n"), "t.yaml:1:1: contains the invisible character U+FEFF");
  EXPECT_EQ(ErrorOf("version: 1 # gr\xC3\xB6\xC3\x9F"
                    "er, \xE2\x89\xA4, \xF0\x9F\x98\x80\n"),
            "no error");
  for (const char* bytes : {"\xFF", "\xC0\x80", "\xC3", "\xED\xA0\x80", "\xE0\x80\x80", "\xF5\x80\x80\x80",
                            "\xF4\x90\x80\x80", "\x80", "\xE2\x89"}) {
    EXPECT_EQ(ErrorOf(std::string("version: 1\n# ").append(bytes).append("\n")), "t.yaml:2:3: is not UTF-8");
  }
}

TEST(ThresholdsTest, RefusesAliasBombsAndLargeFiles) {
  std::string bomb = "a: &a [x, x]\n";
  for (char c = 'b'; c < 'z'; ++c) bomb += fmt::format("{}: &{} [*{}, *{}]\n", c, c, char(c - 1), char(c - 1));
  EXPECT_EQ(ErrorOf(bomb), "t.yaml:1:4: anchors (&name) are not allowed");
  EXPECT_EQ(ErrorOf("version: 1\nrules: [{kernel: *a}]\n"),
            "t.yaml:2:18: is not YAML: the referenced anchor is "
            "not defined");
  EXPECT_EQ(HintOf("version: 1\nrules: [{kernel: *, metric: waves}]\n"),
            "a pattern that begins with * has to be quoted: \"*\"");
  EXPECT_NE(ErrorOf(std::string(1 << 19, '[')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(ErrorOf("version: " + std::string(8, '[') + std::string(8, ']')).find("nested too deeply"),
            std::string::npos);
  EXPECT_NE(ErrorOf("version: " + std::string(7, '[') + std::string(7, ']')).find("must be a number"),
            std::string::npos);
  std::string nodes = "version: 1\nrules: [";
  for (int i = 0; i < 100'000; ++i) nodes += "1,";
  EXPECT_NE(ErrorOf(nodes + "1]\n").find("the file has too many values"), std::string::npos);
  const std::string comment = "version: 1\n#" + std::string((1 << 20) - 12, 'x');
  EXPECT_EQ(ErrorOf(comment), "no error");
  EXPECT_EQ(ErrorOf(comment + "x"), "t.yaml is larger than 1 MiB");

  const auto rules = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("  - {{kernel: k{}, metric: waves, maximum: 1}}\n", i);
    return text;
  };
  EXPECT_EQ(ErrorOf("version: 1\nrules:\n" + rules(1000)), "no error");
  EXPECT_EQ(ErrorOf("version: 1\nrules:\n" + rules(1001)), "t.yaml:3:3: 'rules' has more than 1000 items");
  EXPECT_EQ(ErrorOf("version: 1\nrules:\n" + rules(1000) +
                    "exceptions:\n  - {metric: waves, maximum: 1, owner: a, reason: b, expires: 2026-12-31}\n"),
            "t.yaml:1:1: the file has more than 1000 rules and exceptions");
}

TEST(ThresholdsTest, TextsMustBeOnePrintableLine) {
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, owner: 5")), "t.yaml:3:40: 'owner' must be text");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, owner: '5'")), "no error");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, owner: ")), "t.yaml:3:40: 'owner' must be text");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, owner: true")), "t.yaml:3:40: 'owner' must be text");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, kernel: 0x1F")), "t.yaml:3:41: 'kernel' must be text");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, kernel: -1.5e3")), "t.yaml:3:41: 'kernel' must be text");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, kernel: 1e3x")), "no error");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, kernel: [mma]")), "t.yaml:3:41: 'kernel' must be text");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, owner: '  '")), "t.yaml:3:40: 'owner' is empty");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, owner: \"a\\nb\"")),
            "t.yaml:3:40: 'owner' contains a line break or another invisible character");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, owner: \"a\\u202Eb\"")),
            "t.yaml:3:40: 'owner' contains a line break or another invisible character");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, owner: " + std::string(256, 'o'))), "no error");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, owner: " + std::string(257, 'o'))),
            "t.yaml:3:40: 'owner' is longer than 256 characters");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, reason: " + std::string(500, 'o'))), "no error");
  EXPECT_EQ(ErrorOf(Rule("metric: waves, maximum: 1, reason: " + std::string(501, 'o'))),
            "t.yaml:3:41: 'reason' is longer than 500 characters");
  EXPECT_EQ(ErrorOf(Rule("metric: \"\\e[31m\", maximum: 1")),
            "t.yaml:3:14: 'metric' contains a line break or another invisible character");
  EXPECT_EQ(ErrorOf(Rule("\"\\e[31m\": 1")), "t.yaml:3:6: unknown key '\xEF\xBF\xBD[31m'") << "no terminal obeys it";
}

TEST(ThresholdsTest, OtherErrorsNameLineAndColumn) {
  EXPECT_EQ(ErrorOf("version: [1\n"), "t.yaml:2:1: is not YAML: end of sequence flow not found");
  EXPECT_EQ(ErrorOf("- 1\n"), "t.yaml:1:1: a threshold file must be a mapping");
  EXPECT_EQ(ErrorOf("").substr(0, 6), "t.yaml");
  EXPECT_EQ(ErrorOf("rules: []\n"), "t.yaml:1:1: 'version' is missing");
  EXPECT_EQ(ErrorOf("version: 2\n"), "t.yaml:1:10: unknown version '2'");
  EXPECT_EQ(ErrorOf("version: '1'\n"), "t.yaml:1:10: the version must be a number, not '1'");
  EXPECT_EQ(ErrorOf("version: 1\nrules: {}\n"), "t.yaml:2:8: 'rules' must be a list");
  EXPECT_EQ(ErrorOf("version: 1\nrules: [mma]\n"), "t.yaml:2:9: a rule must be a mapping");
  EXPECT_EQ(ErrorOf("version: 1\nexceptions: [[]]\n"), "t.yaml:2:14: an exception must be a mapping");
  EXPECT_EQ(ErrorOf("version: 1\ndefaults: 5\n"), "t.yaml:2:11: 'defaults' must be a mapping");
  EXPECT_EQ(ErrorOf("version: 1\n? [a]\n: 1\n"), "t.yaml:2:3: a key must be text");
}

}  // namespace
}  // namespace fa_profile::gate::thresholds_test

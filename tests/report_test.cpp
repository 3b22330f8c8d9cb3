#include "fa_profile/report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "fa_profile/analyze.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/phase_map.h"
#include "json_schema.h"
#include "sample_recording.h"
#include "test_files.h"
#include "timeline_samples.h"

namespace fa_profile::exporters::report_test {
namespace {

Profile SampleProfile() { return analyze::Analyze(sample::MakeRecording()); }

/// The sample with `mma` slower and with more instructions, and without `tiled`.
Profile ChangedProfile() {
  Recording recording = sample::MakeRecording();
  for (double& duration : recording.timings[0].durations_ns) duration *= 1.07;
  recording.ranges[0].metrics["smsp__inst_executed.sum"] *= 1.5;
  recording.samplings[0].samples[4].samples["mio_throttle"] *= 3;
  recording.samplings[0].total_samples += 1400;
  recording.countings[0].counts[4].values["smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared"] *= 2;
  recording.cases.pop_back();
  return analyze::Analyze(recording);
}

std::string Text(const Profile& profile, const ReportOptions& options = {}) {
  std::ostringstream out;
  WriteTextReport(out, profile, options);
  return out.str();
}

std::string JsonText(const Profile& profile) {
  std::ostringstream out;
  WriteJsonReport(out, profile);
  return out.str();
}

std::string Csv(const Profile& profile) {
  std::ostringstream out;
  WriteCsvReport(out, profile);
  return out.str();
}

std::string TextDiff(const Profile& before, const Profile& after, const ReportOptions& options = {}) {
  std::ostringstream out;
  WriteTextDiff(out, analyze::Diff(before, after), before, after, options);
  return out.str();
}

/// watch's output for the first profile, then for the second.
std::string Watched(const Profile& before, const Profile& after, const ReportOptions& options = {},
                    const std::map<std::string, bool>& same_code = {}) {
  std::ostringstream out;
  WriteTextMeasured(out, before, options);
  WriteTextMoved(out, analyze::Diff(before, after), same_code, before, after, options);
  return out.str();
}

std::string JsonDiff(const Profile& before, const Profile& after) {
  std::ostringstream out;
  WriteJsonDiff(out, analyze::Diff(before, after), before, after);
  return out.str();
}

/// Characters of the longest line; the sample has no wide ones.
std::size_t LongestLine(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::size_t width = 0;
    for (const char c : line) width += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
    longest = std::max(longest, width);
  }
  return longest;
}

std::vector<std::string> SchemaErrors(const std::string& json) {
  const JsonSchema schema(nlohmann::json::parse(ReadSourceFile("docs/report.schema.json")));
  return schema.Validate(nlohmann::json::parse(json));
}

/// The lines of --format jsonl. Fails for one that does not fit the schema, and for two with the same id.
std::vector<nlohmann::json> CheckedLines(const std::string& text) {
  static const JsonSchema schema(nlohmann::json::parse(ReadSourceFile("docs/jsonl.schema.json")));
  std::vector<nlohmann::json> lines;
  std::set<std::string> ids;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(nlohmann::json::parse(line));
    EXPECT_EQ(schema.Validate(lines.back()), std::vector<std::string>{}) << line;
    EXPECT_TRUE(ids.insert(lines.back().at("id")).second) << line;
  }
  return lines;
}

std::vector<nlohmann::json> ReportLines(const Profile& profile) {
  std::ostringstream out;
  WriteJsonLinesReport(out, profile);
  return CheckedLines(out.str());
}

std::vector<nlohmann::json> DiffLines(const Profile& before, const Profile& after) {
  std::ostringstream out;
  WriteJsonLinesDiff(out, analyze::Diff(before, after), before, after);
  return CheckedLines(out.str());
}

/// Every string of the recording replaced by this.
Recording WithStrings(const std::string& text) {
  Recording recording = sample::MakeRecording();
  Session& s = recording.session;
  for (std::string* field : {&s.tool_version, &s.tool_commit, &s.created_at, &s.command_line, &s.metric_set,
                             &s.replay_mode, &s.cache_policy}) {
    *field = text;
  }
  Device& d = recording.device;
  for (std::string* field : {&d.name, &d.chip, &d.uuid, &d.driver_version, &d.cuda_driver_version,
                             &d.cuda_runtime_version, &d.cupti_version}) {
    *field = text;
  }
  for (Case& value : recording.cases) value.kernel = value.origin = text;
  for (Verification& value : recording.verifications) value.error = text;
  for (Timing& value : recording.timings) value.method = text;
  for (Launch& value : recording.launches) value.kernel_name = text;
  for (Range& value : recording.ranges) value.part = text;
  for (DeviceFunction& value : recording.functions) {
    value.name = text;
    for (Instruction& instruction : value.instructions) {
      instruction.predicate = instruction.opcode = instruction.operands = text;
      for (InlineFrame& frame : instruction.frames) frame.file = text;
    }
  }
  for (PcSampling& value : recording.samplings) {
    for (PcSample& sample : value.samples) sample.samples[text] = 12345;
  }
  for (DataLoss& value : recording.losses) value.kind = value.subject = value.reason = text;
  return recording;
}

// Octal escapes end after three digits, so a letter may follow.
const std::string kHostile[] = {
    std::string("\033]0;owned\007\033[2J\r\n\t\0\177", 19),
    "\377\376\303\050 \355\240\200 \365\200\200\200 \300\257 cut \342\202",
    "\342\200\256reversed \342\200\213 zero width \302\23331m \357\273\277",
    "wide \346\274\242\345\255\227 \360\237\224\245",
    "quotes \" and , and ; and {braces} and %s %n",
    std::string(5000, 'x'),
    std::string(200, ' '),
    "",
};

TEST(ReportTest, BarsAndATrendAreDrawnWhereAskedFor) {
  const std::string plain = Text(SampleProfile(), {.width = 112});
  EXPECT_EQ(plain.find("trend"), std::string::npos);
  for (const auto& [bars, longest] : {std::pair{Bars::kAscii, "##########"}, {Bars::kBlocks, "██████████"}}) {
    const std::string text = Text(SampleProfile(), {.width = 112, .bars = bars});
    EXPECT_TRUE(Contains(text, longest));
    EXPECT_TRUE(Contains(text, ", in the order taken"));
    EXPECT_LE(LongestLine(text), 112U);
    for (const int narrow : {40, 60, 80}) {
      EXPECT_LE(LongestLine(Text(SampleProfile(), {.width = narrow, .bars = bars})), static_cast<std::size_t>(narrow));
    }
  }
}

TEST(ReportTest, AClockAboveWhatTheGpuCanHaveIsExplained) {
  Profile profile = SampleProfile();
  profile.device.sm_clock_max_hz = 1980000000;
  const auto one_line = [&](double hertz) {
    profile.entries[0].timing->sm_clock_hz = hertz;
    profile.entries[0].timing->median_cycles = 20000.0;
    return Text(profile, {.width = 1000});
  };
  EXPECT_NE(one_line(2.06e9).find("20.0 k cycles at 2.06 GHz (an estimate: the GPU's highest clock is 1.98)"),
            std::string::npos);
  EXPECT_NE(one_line(1.98e9).find("20.0 k cycles at 1.98 GHz\n"), std::string::npos);
}

TEST(ReportTest, APhaseMapIsSuggestedWherePhasesAreOpcodeClasses) {
  Profile profile = SampleProfile();
  EXPECT_EQ(Text(profile).find("--phase-map"), std::string::npos);
  for (ProfileEntry& entry : profile.entries) {
    if (entry.phases) entry.phases->attribution = kOpcodePhasesName;
  }
  EXPECT_NE(Text(profile).find("phases by opcode classes; --phase-map FILE gives your own"), std::string::npos);
}

TEST(ReportTest, InferredPhasesSayHowSureTheyAreOrWhyThereAreNone) {
  Profile profile = SampleProfile();
  PhaseInference inference;
  inference.weighed_by = "samples";
  inference.direct_ratio = 0.83;
  inference.derived_ratio = 0.16;
  inference.guess_ratio = 0.01;
  inference.qk_to_pv_ratio = 1.0;
  inference.multiply_adds_per_exponential = 62.1;
  for (ProfileEntry& entry : profile.entries) {
    if (!entry.phases) continue;
    entry.phases->attribution = kInferredPhasesName;
    entry.phases->inference = inference;
  }
  const ReportOptions wide{.width = 400};
  EXPECT_NE(Text(profile, wide)
                .find("phases inferred from machine code: 83 % of samples direct, 16 % derived, 1.0 % "
                      "guessed; QK:PV 1.00; 62 multiply-adds an exponential"),
            std::string::npos);
  EXPECT_EQ(SchemaErrors(JsonText(profile)), std::vector<std::string>{});
  for (ProfileEntry& entry : profile.entries) {
    if (!entry.phases) continue;
    entry.phases->attribution = kOpcodePhasesName;
    entry.phases->inference.emplace().refusal = "no loop over keys holds both products";
  }
  EXPECT_NE(Text(profile, wide)
                .find("phases by opcode classes, not inferred from machine code: no loop over keys holds "
                      "both products; --phase-map FILE gives your own"),
            std::string::npos);
  EXPECT_EQ(SchemaErrors(JsonText(profile)), std::vector<std::string>{});
}

TEST(ReportTest, TextReportEqualsTheGoldenFile) { ExpectGolden("tests/data/golden/report.txt", Text(SampleProfile())); }
TEST(ReportTest, JsonReportEqualsTheGoldenFile) {
  ExpectGolden("tests/data/golden/report.json", JsonText(SampleProfile()));
}
TEST(ReportTest, CsvReportEqualsTheGoldenFile) { ExpectGolden("tests/data/golden/report.csv", Csv(SampleProfile())); }
TEST(ReportTest, ADiffOfWhatCannotBeComparedJudgesNothing) {
  Profile other = ChangedProfile();
  other.device.driver_version = "590.10";
  const std::string text = TextDiff(SampleProfile(), other);
  EXPECT_TRUE(Contains(text, "not comparable: driver: 580.159.04 before, 590.10 after"));
  for (const char* const judgement : {"worse", "better", "the same", "noise"}) {
    EXPECT_FALSE(Contains(text, judgement)) << judgement;
  }
  EXPECT_TRUE(Contains(text, " equal values"));
}

TEST(ReportTest, TextDiffEqualsTheGoldenFile) {
  ExpectGolden("tests/data/golden/diff.txt", TextDiff(SampleProfile(), ChangedProfile()));
}
TEST(ReportTest, JsonDiffEqualsTheGoldenFile) {
  ExpectGolden("tests/data/golden/diff.json", JsonDiff(SampleProfile(), ChangedProfile()));
}

// tests/data/golden/watch.txt has a session with real kernels.
TEST(ReportTest, WatchEqualsTheGoldenFile) {
  ExpectGolden("tests/data/golden/watch_sample.txt", Watched(SampleProfile(), ChangedProfile(), {.width = 80}));
}

TEST(ReportTest, WatchCallsNothingAMovementThatDiffCallsTheSame) {
  const std::string text = Watched(SampleProfile(), SampleProfile());
  EXPECT_EQ(text.find("better"), std::string::npos) << text;
  EXPECT_EQ(text.find("worse"), std::string::npos) << text;
  EXPECT_EQ(text.find("changed  "), std::string::npos) << text;
  EXPECT_TRUE(Contains(text, "Nothing moved by more than two measurements of one kernel differ."));
}

TEST(ReportTest, WatchPrintsATableOfACallWithOtherOrUnknownCodeAlone) {
  const std::string call = "mma@1,8,512,64";
  const std::string same = Watched(SampleProfile(), ChangedProfile(), {}, {{call, true}});
  EXPECT_TRUE(
      Contains(same, "The same machine code, launched as before: 10.6 us, before 9.92 us. What differs is noise."));
  EXPECT_EQ(same.find("+7.0 %"), std::string::npos) << same;
  EXPECT_TRUE(Contains(Watched(SampleProfile(), ChangedProfile(), {}, {{call, false}}), "its launch changed"));
  EXPECT_TRUE(Contains(Watched(SampleProfile(), ChangedProfile()), "machine code was not compared"));
}

TEST(ReportTest, WatchPrintsAKernelThatBecameWrongFirst) {
  Recording recording = sample::MakeRecording();
  recording.verifications[0].draws_passed = 1;
  recording.verifications[0].max_error_ratio = 100;
  recording.verifications[0].max_abs_error = 0.25;
  std::ostringstream out;
  const Profile before = SampleProfile();
  const Profile after = analyze::Analyze(recording);
  WriteTextMoved(out, analyze::Diff(before, after), {{"mma@1,8,512,64", true}}, before, after);
  EXPECT_TRUE(
      out.str().starts_with("\nNOT CORRECT: mma@1,8,512,64\n  1 of 100 draws, worst error 100 of the tolerance; "
                            "largest error 0.25."))
      << out.str();
  EXPECT_TRUE(Contains(out.str(), "The last time that it was correct it took 9.92 us."));
}

TEST(ReportTest, NoLineIsLongerThanTheWidth) {
  for (const int width : {40, 60, 80, 99, 100, 132, 200}) {
    const ReportOptions options{.width = width};
    EXPECT_LE(LongestLine(Text(SampleProfile(), options)), static_cast<std::size_t>(width));
    EXPECT_LE(LongestLine(TextDiff(SampleProfile(), ChangedProfile(), options)), static_cast<std::size_t>(width));
    EXPECT_LE(LongestLine(Watched(SampleProfile(), ChangedProfile(), options)), static_cast<std::size_t>(width));
  }
}

TEST(ReportTest, AnInvalidWidthIsTakenAsTheNarrowest) {
  for (const int width : {-1, 0, 1, 39}) EXPECT_LE(LongestLine(Text(SampleProfile(), {.width = width})), 40U);
}

TEST(ReportTest, TheAsciiReportHasOnlyAscii) {
  for (const std::string& hostile : kHostile) {
    const std::string text = Text(analyze::Analyze(WithStrings(hostile)), {.ascii = true});
    for (const char c : text) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F)) << static_cast<int>(c);
  }
}

TEST(ReportTest, ColourIsUsedOnlyOnRequest) {
  EXPECT_EQ(Text(SampleProfile()).find('\x1b'), std::string::npos);
  EXPECT_NE(Text(SampleProfile(), {.color = true}).find("\x1b[31m NO"), std::string::npos);
}

TEST(ReportTest, DetailsCanBeLeftOut) {
  const std::string text = Text(SampleProfile(), {.details = false});
  EXPECT_EQ(text.find("occupancy  "), std::string::npos);
  EXPECT_NE(text.find("what is missing"), std::string::npos) << "what is missing is never left out";
}

/// `mma` at two shapes and `tiled`, with findings made up.
Profile ProfileWithFindings() {
  Profile profile = SampleProfile();
  profile.entries.resize(1);
  profile.entries[0].kernel = "first";
  profile.entries[0].part = "";
  profile.entries[0].verification.reset();
  profile.entries[0].findings = {{"symptom", "qk", "qk is slow", "see cause", 0.9, "cause"},
                                 {"rare", "", "once", "cure rare", 0.5},
                                 {"cause", "qk", "a little", "cure cause", 0.4}};
  ProfileEntry again = profile.entries[0];
  again.shape = AttentionShape{2, 16, 2048, 128};
  again.findings = {{"cause", "qk", "a lot", "cure cause", 0.45}};
  ProfileEntry fine = profile.entries[0];
  fine.kernel = "fine";
  fine.findings.clear();
  profile.entries.push_back(again);
  profile.entries.push_back(fine);
  return profile;
}

std::string ActionsOf(const Profile& profile) {
  const std::string text = Text(profile, {.details = false});
  const std::size_t begin = text.find("what to act on");
  return begin == std::string::npos ? "" : text.substr(text.find('\n', begin) + 1);
}

TEST(ReportTest, FindingsOfAKernelAreRankedOverItsShapesWithoutWhatAnotherOneExplains) {
  EXPECT_TRUE(ActionsOf(ProfileWithFindings())
                  .starts_with("first\n"
                               "  cause at 2,16,2048,128 and 1 other shape: a lot. Cure: cure cause.\n"
                               "  rare at 1,8,512,64: once. Cure: cure rare.\n\n"))
      << ActionsOf(ProfileWithFindings());
}

TEST(ReportTest, OfManyKernelsOneFindingIsShownInFullAndOfTooManyTheNumber) {
  Profile profile = ProfileWithFindings();
  const ProfileEntry entry = profile.entries[0];
  for (int i = 0; i < 9; ++i) {
    profile.entries.push_back(entry);
    profile.entries.back().kernel = "k" + std::to_string(i);
  }
  const std::string actions = ActionsOf(profile);
  EXPECT_TRUE(Contains(actions, "k0\n  rare at 1,8,512,64: once. Cure: cure rare.\n  also: cause\n")) << actions;
  EXPECT_TRUE(Contains(actions, "\nand 2 more kernels\n")) << actions;
}

TEST(ReportTest, TheShortReportCountsNamesThatAreNotCountersAndHasTwelveLinesOfWhatIsMissing) {
  Profile profile = SampleProfile();
  profile.losses.clear();
  for (const char* const metric : {"first", "second", "third", "fourth"}) {
    profile.losses.push_back({"metric_not_a_counter", metric, "a fact about the device", 1});
    profile.losses.push_back({"metric_unavailable", metric, "refused", 1});
  }
  for (int i = 0; i < 9; ++i) profile.losses.push_back({"loss", "subject", "reason " + std::to_string(i), 1});
  EXPECT_NE(Text(profile).find("first, second, third, fourth"), std::string::npos);
  for (const int width : {40, 80, 100, 120}) {
    const std::string text = Text(profile, {.width = width, .details = false});
    const std::size_t begin = text.find("what is missing");
    const std::string missing = text.substr(begin, text.find("\n\n", begin) - begin);
    EXPECT_LE(std::ranges::count(missing, '\n') + 1, 12) << missing;
    EXPECT_TRUE(Contains(missing, "loss: 1, reason 0\n  subject\n")) << missing;
    EXPECT_TRUE(Contains(missing, "\nand 6 more\n4 names of the set are not counters")) << missing;
  }
  std::erase_if(profile.losses, [](const DataLoss& loss) { return loss.kind == "loss"; });
  EXPECT_TRUE(Contains(Text(profile, {.details = false}), "first, second and 2 more\n4 names of the set"));
}

TEST(ReportTest, OnlyTheShortReportNamesTheOptionsThatShowMore) {
  EXPECT_TRUE(Contains(Text(SampleProfile(), {.details = false}), "\nMore: --details shows everything"));
  EXPECT_FALSE(Contains(Text(SampleProfile()), "--details"));
}

TEST(ReportTest, HostileStringsAreEscapedInText) {
  for (const std::string& hostile : kHostile) {
    const Profile profile = analyze::Analyze(WithStrings(hostile));
    const std::string text =
        Text(profile) + TextDiff(profile, SampleProfile()) + Watched(profile, profile) + Watched(profile, Profile{});
    for (const char c : text) ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
    for (const char* unsafe : {"\xff", "\xe2\x80\xae", "\xe2\x80\x8b", "\xc2\x9b", "\xef\xbb\xbf", "\x7f"}) {
      EXPECT_EQ(text.find(unsafe), std::string::npos);
    }
    EXPECT_LE(LongestLine(text), 100U);
    const std::string csv = Csv(profile);
    EXPECT_EQ(csv.find('\x1b'), std::string::npos);
  }
}

TEST(ReportTest, HostileStringsAreStillValidJson) {
  for (const std::string& hostile : kHostile) {
    const Profile profile = analyze::Analyze(WithStrings(hostile));
    EXPECT_EQ(SchemaErrors(JsonText(profile)), std::vector<std::string>{});
    EXPECT_EQ(SchemaErrors(JsonDiff(profile, SampleProfile())), std::vector<std::string>{});
  }
}

TEST(ReportTest, HostileStringsAreStillJsonLines) {
  for (const std::string& hostile : kHostile) {
    const Profile profile = analyze::Analyze(WithStrings(hostile));
    std::size_t lines = 1 + profile.entries.size() + profile.losses.size();
    for (const ProfileEntry& entry : profile.entries) lines += entry.findings.size();
    EXPECT_EQ(ReportLines(profile).size(), lines);
    EXPECT_FALSE(DiffLines(profile, SampleProfile()).empty());
  }
}

TEST(ReportTest, JsonLinesOfARecordingWithoutKernelsOrGpuSayWhatIsNotKnown) {
  const std::vector<nlohmann::json> nothing = ReportLines(analyze::Analyze(Recording{}));
  EXPECT_EQ(nothing.at(0).at("kind"), "recording");
  EXPECT_TRUE(nothing.at(0).at("gpu").is_null());
  EXPECT_EQ(nothing.at(0).at("cannot_say").at(0), "the GPU: the recording does not name it");

  Recording unnamed = sample::MakeRecording();
  unnamed.device = Device{};
  for (const nlohmann::json& line : ReportLines(analyze::Analyze(unnamed))) EXPECT_TRUE(line.at("gpu").is_null());
}

TEST(ReportTest, JsonLinesLeaveOutWhatIsNotFinite) {
  Profile profile = SampleProfile();
  for (ProfileEntry& entry : profile.entries) {
    for (auto& [id, value] : entry.metrics) value = std::numeric_limits<double>::quiet_NaN();
    if (entry.timing) entry.timing->p95_ns = std::numeric_limits<double>::infinity();
  }
  for (const nlohmann::json& line : ReportLines(profile)) {
    if (line.at("kind") != "kernel") continue;
    EXPECT_TRUE(line.at("numbers").empty()) << line;
  }
}

TEST(ReportTest, JsonLinesOfAKernelThatIsNotCorrectHaveNoTime) {
  Recording recording = sample::MakeRecording();
  recording.verifications.at(0).draws_passed = 0;
  const std::vector<nlohmann::json> lines = ReportLines(analyze::Analyze(recording));
  EXPECT_EQ(lines.at(1).at("severity"), "error");
  EXPECT_EQ(lines.at(1).at("correct"), false);
  EXPECT_TRUE(Contains(lines.at(1).at("cannot_say").dump(), "its time: the speed of a kernel that is not correct"));
  EXPECT_EQ(lines.at(2).at("finding"), "not-correct");
  EXPECT_EQ(lines.at(2).at("severity"), "error");
}

TEST(ReportTest, JsonFitsItsSchema) {
  EXPECT_EQ(SchemaErrors(JsonText(SampleProfile())), std::vector<std::string>{});
  EXPECT_EQ(SchemaErrors(JsonText(analyze::Analyze(Recording{}))), std::vector<std::string>{});
  EXPECT_EQ(SchemaErrors(JsonDiff(SampleProfile(), ChangedProfile())), std::vector<std::string>{});
}

TEST(ReportTest, ATimelineIsALineInTextAndWholeInJson) {
  Recording recording = sample::MakeRecording();
  EXPECT_FALSE(Contains(Text(analyze::Analyze(recording)), "timeline"));
  sample::AddTimeline(recording, 1);
  const Profile profile = analyze::Analyze(recording);
  const std::string text = std::regex_replace(Text(profile), std::regex("\\n {13}"), " ");  // paragraphs as one line
  // The call takes 9.92 us; what was sampled went on for longer.
  EXPECT_TRUE(Contains(text,
                       "  timeline   9 metrics over a call of 9.92 us (the GPU was active for 1.01 ms in the longest "
                       "sampled launch); SMs active, of their largest value: the last 200 us"));
  EXPECT_TRUE(Contains(text, "the last 40.0 us (4.0 %) below 50 %"));
  EXPECT_EQ(SchemaErrors(JsonText(profile)), std::vector<std::string>());
  const auto json = nlohmann::json::parse(JsonText(profile)).at("entries");
  EXPECT_TRUE(json.at(1).at("timeline").is_null());
  const auto& series = json.at(0).at("timeline").at("series");
  EXPECT_EQ(series.at(0).at("label"), "SMs active");
  EXPECT_EQ(series.at(0).at("ratio").at(85), 0.6);
  EXPECT_EQ(series.at(8).at("start_ns").size(), 90U);
}

TEST(ReportTest, TheSchemaRefusesWhatDoesNotFit) {
  using nlohmann::json;
  const json good = json::parse(JsonText(SampleProfile()));
  const auto refused = [&](const char* pointer, const json& value) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    return !SchemaErrors(bad.dump()).empty();
  };
  EXPECT_TRUE(refused("/version", 2));
  EXPECT_TRUE(refused("/unexpected", 1));
  EXPECT_TRUE(refused("/entries/0/bottleneck", "bad luck"));
  EXPECT_TRUE(refused("/entries/0/timing/median_ns", 0));
  EXPECT_TRUE(refused("/entries/0/metrics/instructions", "many"));
  EXPECT_TRUE(refused("/entries/0/launches/0/grid", json::array({1, 1})));
  EXPECT_TRUE(refused("/entries/0/shape/causal", nullptr));
  EXPECT_TRUE(refused("/entries/0/phases/phases/0/metrics/phase_time_ratio", "most"));
  EXPECT_TRUE(refused("/entries/0/phases/closures/0/closes", nullptr));
  EXPECT_TRUE(refused("/entries/0/findings/0/weight", -1));
  json bad = good;
  bad["entries"][0].erase("stalls");
  EXPECT_FALSE(SchemaErrors(bad.dump()).empty());
}

TEST(ReportTest, AbsentValuesAreNullInJsonAndMarkedInText) {
  const nlohmann::json report = nlohmann::json::parse(JsonText(SampleProfile()));
  const nlohmann::json& broken = report["entries"][5];
  ASSERT_EQ(broken["kernel"], "broken");
  EXPECT_TRUE(broken["timing"].is_null());
  EXPECT_TRUE(broken["metrics"]["duration_seconds"].is_null());
  EXPECT_TRUE(broken["launches"][0]["duration_ns"].is_null());
  EXPECT_TRUE(report["device"]["l2_bytes"].is_null());
  EXPECT_EQ(broken["metrics"].size(), MetricCatalogue().size()) << "every metric is there, if only as null";
}

/// `mma` as a library's kernel that was certified with 9.9 us a call.
Recording JudgedRecording() {
  Recording recording = sample::MakeRecording();
  Judgement judgement;
  judgement.case_id = 1;
  judgement.verdict = Judgement::Verdict::kCertified;
  judgement.calls = 312;
  judgement.durations_ns = {9'900, 9'800, 10'000};
  judgement.calls_a_graph = 100;
  judgement.verified.instructions = judgement.timed.instructions = *ExecutedInstructions(recording.ranges[0].metrics);
  recording.judgements = {judgement};
  return recording;
}

TEST(ReportTest, TheVerdictOfTheJudgeIsInTheKernelsLineAndInJson) {
  const Profile profile = analyze::Analyze(JudgedRecording());
  const std::string text = Text(profile);
  EXPECT_TRUE(std::regex_search(text, std::regex("mma .*1,8,512,64.*certified 9.90 us"))) << text;
  EXPECT_NE(text.find("certified: 9.9 us a call, 0 of 312 calls wrong (95 %: under 0.96 %)"), std::string::npos);
  const nlohmann::json entry = nlohmann::json::parse(JsonText(profile))["entries"][0];
  EXPECT_EQ(entry["judgement"]["verdict"], "certified");
  EXPECT_EQ(entry["judgement"]["call_ns"], 9'900);
  EXPECT_EQ(entry["not_as_certified"], nullptr);
  EXPECT_EQ(SchemaErrors(JsonText(profile)), std::vector<std::string>{});
}

TEST(ReportTest, ASpeedThatIsRefusedOrContradictedIsShownNowhere) {
  Recording refused = JudgedRecording();
  refused.judgements[0].verdict = Judgement::Verdict::kRefused;
  refused.judgements[0].reason = "timed calls do less";
  Recording faster = JudgedRecording();
  faster.judgements[0].durations_ns = {50'000};
  Recording lazier = JudgedRecording();
  lazier.judgements[0].timed.instructions = lazier.judgements[0].verified.instructions *= 3;
  for (const Recording& recording : {refused, faster, lazier}) {
    const Profile profile = analyze::Analyze(recording);
    const ProfileEntry& entry = profile.entries[0];
    EXPECT_EQ(entry.correct(), false);
    EXPECT_FALSE(entry.timing);
    EXPECT_FALSE(entry.metrics.contains("duration_seconds"));
    EXPECT_NE(Text(profile).find("NOT CERTIFIED: its speed is not a result"), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(JsonText(profile))["entries"][0]["timing"], nullptr);
  }
  EXPECT_NE(Text(analyze::Analyze(refused)).find("REFUSED: timed calls do less"), std::string::npos);
  EXPECT_NE(Text(analyze::Analyze(faster)).find("the measured time 9.92 us is not the certified 50 us"),
            std::string::npos);
  EXPECT_NE(Text(analyze::Analyze(lazier)).find("a measured call executes"), std::string::npos);
}

TEST(ReportTest, AnIncorrectKernelShowsNoSpeedAnywhere) {
  Recording recording = sample::MakeRecording();
  recording.cases = {recording.cases[2]};  // 100 ns in its timing and its launch
  const Profile profile = analyze::Analyze(recording);
  EXPECT_NE(Text(profile).find("NOT CORRECT"), std::string::npos);
  EXPECT_EQ(Text(profile).find("100 ns"), std::string::npos);
  EXPECT_EQ(Csv(profile).find("_per_second"), std::string::npos);
  EXPECT_EQ(Csv(profile).find("seconds"), std::string::npos);
}

TEST(ReportTest, AKernelLibrarysParametersAreItsShapeAndItsWorkIsCounted) {
  Recording recording = sample::MakeRecording();
  recording.cases[0].shape = Shape({{"m", 4096}, {"n", 512}});
  recording.cases[0].work = {1e9, 3e6};
  recording.verifications[0].where = "c[3,17]: 0.5, expected 1.25";
  const Profile profile = analyze::Analyze(recording);
  EXPECT_NE(Text(profile).find("m=4096,n=512"), std::string::npos);
  EXPECT_NE(Text(profile).find("; c[3,17]: 0.5, expected 1.25"), std::string::npos);
  EXPECT_NE(Csv(profile).find(",,,,,\"m=4096,n=512\",shape_flops,1000000000,"), std::string::npos);
  const nlohmann::json report = nlohmann::json::parse(JsonText(profile));
  EXPECT_EQ(report["entries"][0]["shape"], (nlohmann::json{{"m", 4096}, {"n", 512}}));
  EXPECT_EQ(report["entries"][0]["verification"]["where"], "c[3,17]: 0.5, expected 1.25");
  EXPECT_EQ(SchemaErrors(JsonText(profile)), std::vector<std::string>{});
}

TEST(ReportTest, AnEmptyProfileIsReportedAsEmpty) {
  const std::string text = Text(Profile{});
  EXPECT_NE(text.find("No kernel was recorded."), std::string::npos);
  EXPECT_NE(text.find("n/a"), std::string::npos);
  EXPECT_EQ(Csv(Profile{}),
            "kernel,part,batch,num_heads,seqlen,head_dim,causal,parameters,metric,value,unit,phase\r\n");
  EXPECT_NE(TextDiff(Profile{}, Profile{}).find("The recordings have no kernel in common."), std::string::npos);
}

TEST(ReportTest, EveryPhaseHasEveryPhaseMetric) {
  const nlohmann::json report = nlohmann::json::parse(JsonText(SampleProfile()));
  const nlohmann::json& phases = report["entries"][0]["phases"]["phases"];
  EXPECT_EQ(phases[0]["metrics"].size(), PhaseCatalogue().size()) << "every metric is there, if only as null";
  EXPECT_EQ(phases.back()["phase"], kUnattributed);
  EXPECT_TRUE(report["entries"][1]["phases"].is_null());
  EXPECT_NE(Csv(SampleProfile()).find(",phase_threads_per_instruction,1,threads,softmax\r\n"), std::string::npos);
}

TEST(ReportTest, AnUnusualPhaseTableKeepsTheWidthAndMarksOpenSums) {
  Profile profile = SampleProfile();
  PhaseTable& table = *profile.entries[0].phases;
  table.phases.clear();
  for (int i = 0; i < 40; ++i) {
    PhaseEntry phase{std::string(static_cast<std::size_t>(i), 'p'), {}, {}};
    for (const CatalogueMetric& metric : PhaseCatalogue())
      phase.metrics[std::string(metric.id)] = i % 2 == 0 ? 1e300 : -1e-300;
    phase.stalls = {{std::string(200, 's'), 0.9}, {"wait", 0.1}};
    table.phases.push_back(phase);
  }
  table.closures = {{"instructions", 90.0, 100.0, 0.0}, {"samples", 99.5, 100.0, 0.01}, {"nothing", 1.0, 0.0, 0.0}};
  for (const int width : {40, 60, 100}) {
    EXPECT_LE(LongestLine(Text(profile, {.width = width})), static_cast<std::size_t>(width));
  }
  const std::string text = Text(profile, {.width = 400});
  EXPECT_NE(text.find("NOT closed: instructions 90 in the phases, 100 in the kernel (differ by 10.0 %)"),
            std::string::npos);
  EXPECT_NE(text.find("samples differ by 0.5 % (limit 1.0 %)"), std::string::npos);
  EXPECT_NE(text.find("NOT closed: nothing 1 in the phases, 0 in the kernel"), std::string::npos);
}

TEST(ReportTest, WaitsForAsynchronousWorkAreListedWithWhatRanBesideIt) {
  Profile profile = SampleProfile();
  ProfileEntry& entry = profile.entries[0];
  entry.metrics["warps_active_cycles"] = 1e6;
  entry.phases->async_waits = {
      {"mbarrier", "sync", "schedule.h:121", 1000.0, 150.0, {}, {}, {}},
      {"matrix", "pv", "forward.cuh:284", 1000.0, 20.0, 180.0, {{"softmax", 150.0}, {"qk", 30.0}}, {}},
      {"copy", "load_kv", "0x0040", 10.0, 1.0, 1.0, {{"qk", 1.0}}, {}}};
  entry.phases->overlap = ProductOverlap{0.9, {{"softmax", 0.75}, {"qk", 0.15}}};
  const std::string text = Text(profile);
  EXPECT_NE(text.find("  sync      mbarrier  schedule.h:121   1.00 k     150      15\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  pv        matrix    forward.cuh:284  1.00 k      20     2.0     180       90  softmax 83"),
            std::string::npos);
  EXPECT_EQ(text.find("0x0040"), std::string::npos) << "too little of the time";
  EXPECT_NE(text.find("warps do other work in 90 %\n             of the cycles (softmax 75 %)"), std::string::npos);
  const nlohmann::json report = nlohmann::json::parse(JsonText(profile));
  EXPECT_TRUE(SchemaErrors(report.dump()).empty());
  const nlohmann::json& waits = report["entries"][0]["phases"]["async_waits"];
  ASSERT_EQ(waits.size(), 3U) << "all of them";
  EXPECT_TRUE(waits[0]["hidden_ratio"].is_null());
  EXPECT_DOUBLE_EQ(waits[1]["hidden_ratio"], 0.9);
  EXPECT_DOUBLE_EQ(waits[1]["beside_cycles"]["softmax"], 150.0);
  EXPECT_DOUBLE_EQ(report["entries"][0]["phases"]["overlap"]["work_ratio"], 0.9);
  entry.phases->async_waits[0].copies = {{"load_kv", "schedule.h:81"}, {"load_kv", "schedule.h:83"}};
  EXPECT_NE(Text(profile).find("  sync      load_kv :81 :83  schedule.h:121   1.00 k     150      15\n"),
            std::string::npos)
      << Text(profile);
  entry.phases->async_waits[0].copies = {{"k", "t.h:7"}, {"v", "0x0040"}, {"v", "0x0050"}};
  EXPECT_NE(Text(profile).find(" k t.h:7 v 0x0040 ... "), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(JsonText(profile))["entries"][0]["phases"]["async_waits"][0]["copies"][1],
            (nlohmann::json{{"phase", "v"}, {"place", "0x0040"}}));
  EXPECT_TRUE(SchemaErrors(JsonText(profile)).empty());
  entry.phases->async_waits.resize(10, entry.phases->async_waits[0]);
  EXPECT_NE(Text(profile).find("  ... 1 more, with --format json or html\n"), std::string::npos);
  entry.metrics["warps_active_cycles"] = 0.0;
  EXPECT_EQ(Text(profile).find("waits in"), std::string::npos) << "shares of nothing";
}

TEST(ReportTest, ADiffListsWaitsThatChangedUnderTheirOwnEntry) {
  Profile before = SampleProfile();
  before.entries.resize(1);
  ProfileEntry& entry = before.entries[0];
  entry.metrics["warps_active_cycles"] = 1e6;
  entry.phases->samples = 1000;
  entry.phases->phases[0].metrics["phase_instructions"] = 1000.0;
  entry.phases->async_waits = {{"mbarrier", "sync", "schedule.h:121", 1000.0, 50.0, {}, {}, {}}};
  before.entries.push_back(before.entries[0]);  // with the same name
  Profile after = before;
  after.entries[1].phases->async_waits = {
      {"mbarrier", "sync", "schedule.h:124", 1000.0, 200.0, {}, {}, {{"load_kv", "schedule.h:84"}}},
      {"copy", "sync", "tma.h:9", 10.0, 5000.0, {}, {}, {}}};
  const ProfileDiff diff = analyze::Diff(before, after);
  std::ostringstream out;
  WriteTextDiff(out, diff, before, after);
  const std::string text = out.str();
  EXPECT_NE(text.find("  sync      load_kv :84  schedule.h:121 -> 124  1.00 k  50 -> 200  5.0 -> 20  worse\n"
                      "  sync      copy         tma.h:9                    10     5.00 k        5.0  new\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("waits in"), text.rfind("waits in")) << "the other entry has none that changed";
  std::ostringstream json;
  WriteJsonDiff(json, diff, before, after);
  EXPECT_TRUE(SchemaErrors(json.str()).empty());
  const nlohmann::json waits = nlohmann::json::parse(json.str())["waits"];
  ASSERT_EQ(waits.size(), 3U);
  EXPECT_EQ(waits[0]["entry"], 0);
  EXPECT_EQ(waits[2]["entry"], 1);
}

TEST(ReportTest, CsvQuotesAsRfc4180Says) {
  Recording recording = sample::MakeRecording();
  recording.cases.resize(1);
  recording.cases[0].kernel = "a,\"b\"";
  const std::string csv = Csv(analyze::Analyze(recording));
  EXPECT_NE(csv.find("\r\n\"a,\"\"b\"\"\",,1,8,512,64,0,,correct,1,bool,\r\n"), std::string::npos)
      << csv.substr(0, 300);
}

TEST(ReportTest, CsvKeepsEveryDigitOfAValue) {
  Recording recording = sample::MakeRecording();
  recording.ranges[0].metrics["smsp__thread_inst_executed_per_inst_executed.ratio"] = 0.1 + 0.2;
  EXPECT_NE(Csv(analyze::Analyze(recording)).find("threads_per_instruction,0.30000000000000004,threads"),
            std::string::npos);
}

TEST(ReportTest, HugeAndTinyValuesKeepTheWidth) {
  Recording recording = sample::MakeRecording();
  for (Range& range : recording.ranges) {
    for (auto& [name, value] : range.metrics) value = name.size() % 2 == 0 ? 1e300 : -1e-300;
  }
  for (Verification& value : recording.verifications) {
    value.max_error_ratio = std::numeric_limits<double>::infinity();
    value.nonfinite = std::numeric_limits<std::int64_t>::max();
  }
  const Profile profile = analyze::Analyze(recording);
  EXPECT_LE(LongestLine(Text(profile)), 100U);
  EXPECT_LE(LongestLine(TextDiff(SampleProfile(), profile)), 100U);
  EXPECT_LE(LongestLine(Watched(SampleProfile(), profile)), 100U);
  EXPECT_TRUE(nlohmann::json::accept(JsonText(profile)));
}

// A time that grows with the square of a name's length would be hours here: ctest would end this test.
TEST(ReportTest, NamesOf4MegabytesAreReportedInLinearTimeAndCut) {
  const std::string name(std::size_t{4} << 20U, 'x');
  Profile profile = SampleProfile();
  profile.device.name = profile.session.tool_version = name;
  for (ProfileEntry& entry : profile.entries) {
    entry.kernel += name;
    entry.origin = "./" + name;
    for (Launch& launch : entry.launches) launch.kernel_name = name;
    if (entry.verification && !entry.verification->correct()) entry.verification->error = name;
    if (entry.timing) entry.timing->method = name;
    for (Finding& finding : entry.findings) finding.evidence = name;
  }
  for (DataLoss& loss : profile.losses) loss.reason = loss.subject = name;
  const std::string text = Text(profile);
  EXPECT_LE(LongestLine(text), 100U);
  EXPECT_LT(text.size(), 200'000U);
  EXPECT_NE(text.find("xxx..."), std::string::npos);
  EXPECT_LT(TextDiff(profile, ChangedProfile()).size(), 200'000U);
}

}  // namespace
}  // namespace fa_profile::exporters::report_test

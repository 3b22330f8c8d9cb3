// The reports of a watched program.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fa_profile/analyze.h"
#include "fa_profile/report.h"
#include "fa_profile/text.h"
#include "json_schema.h"
#include "program_recording.h"
#include "test_files.h"

namespace fa_profile::exporters::program_report_test {
namespace {

template <typename... Arguments>
std::string Written(void (*write)(std::ostream&, Arguments...), std::type_identity_t<Arguments>... arguments) {
  std::ostringstream out;
  write(out, arguments...);
  return out.str();
}

std::string Text(const Recording& recording, const ReportOptions& options = {}) {
  return Written(WriteTextReport, analyze::Analyze(recording), options);
}

nlohmann::json Json(const Recording& recording) {
  nlohmann::json json = nlohmann::json::parse(Written(WriteJsonReport, analyze::Analyze(recording), ReportOptions{}));
  const JsonSchema schema(nlohmann::json::parse(ReadSourceFile("docs/report.schema.json")));
  EXPECT_EQ(schema.Validate(json), std::vector<std::string>{});
  return json;
}

std::string Csv(const Recording& recording) {
  return Written(WriteCsvReport, analyze::Analyze(recording), ReportOptions{});
}

std::string DiffText(const Recording& before, const Recording& after) {
  const Profile a = analyze::Analyze(before);
  const Profile b = analyze::Analyze(after);
  return Written(WriteTextDiff, analyze::Diff(a, b), a, b, ReportOptions{});
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The lines below the rule with this title, up to the next empty one.
std::vector<std::string> Section(const std::string& text, const std::string& title) {
  std::vector<std::string> section;
  bool inside = false;
  for (const std::string& line : Lines(text)) {
    if (inside && line.empty()) break;
    if (inside) section.push_back(line);
    if (line.find("\u2500\u2500 " + title + " ") == 0) inside = true;
  }
  return section;
}

bool Has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

TEST(ProgramReportTest, TextReportEqualsTheGoldenFile) {
  ExpectGolden("tests/data/golden/program.txt", Text(sample::MakeProgramRecording()));
}

TEST(ProgramReportTest, ARangeThatIsAskedForHasABlockWithItsKernelsAndFindings) {
  Profile profile = analyze::Analyze(sample::MakeProgramRecording());
  profile.entries[0].findings = {
      {"bank-conflicts", "qk", "half of the wavefronts repeat an access", "pad the rows", 1}};
  ReportOptions options;
  options.nvtx_ranges = {"step", "step / torch: mlp", "load"};
  const std::string text = Written(WriteTextReport, profile, options);
  const std::size_t begin = text.find("\n\u2500\u2500 NVTX range step ");
  ExpectGolden("tests/data/golden/program_nvtx.txt",
               text.substr(begin, text.find("\n\u2500\u2500 Kernels with") - begin));
  EXPECT_FALSE(Has(text, "NVTX range step / attn"));
}

TEST(ProgramReportTest, MoreRangesThanAReaderLooksAtAreCounted) {
  Recording recording = sample::MakeProgramRecording();
  ReportOptions options;
  for (int i = 0; i < 30; ++i) {
    recording.nvtx_work.push_back({1, "range " + std::to_string(i), 0, 1, 10, 1, 1000});
    options.nvtx_ranges.insert("range " + std::to_string(i));
  }
  const std::string text = Written(WriteTextReport, analyze::Analyze(recording), options);
  EXPECT_TRUE(Has(text, "and 10 more ranges"));
}

TEST(ProgramReportTest, JsonHoldsNoCharacterThatATerminalObeysOrHides) {
  Profile profile = analyze::Analyze(sample::MakeProgramRecording());
  const std::string name =
      "a\xC2\x9B"
      "31m\x7F\xE2\x80\xAE\xD8\x9C\xEF\xBB\xBF\u00e9\U0001F600";
  profile.entries[0].kernel = name;
  const std::string text = Written(WriteJsonReport, profile, ReportOptions{});
  EXPECT_TRUE(Has(text, "a\\u009b31m\\u007f\\u202e\\u061c\\ufeff\u00e9\U0001F600")) << text.substr(0, 3000);
  EXPECT_EQ(nlohmann::json::parse(text)["entries"][0]["kernel"], name);
}

// Three ranks; the second is slow, the third was killed early.
RankReport ThreeRanks() {
  std::vector<std::pair<std::string, Profile>> profiles;
  for (int rank = 0; rank < 3; ++rank) {
    Recording recording = sample::MakeProgramRecording();
    recording.device.uuid = "GPU-rank-000" + std::to_string(rank);
    if (rank == 1) {
      for (KernelWork& work : recording.kernel_work) work.total_ns += work.case_id == 4 ? work.total_ns / 2 : 0;
      recording.nvtx_work.push_back({2, "step / torch: sync", 1, 5, 1000, 1, 7'000'000});
    }
    if (rank == 2) {
      recording.session.complete = false;
      std::erase_if(recording.kernel_work, [](const KernelWork& work) { return work.window_id == 2; });
    }
    profiles.emplace_back("run-" + std::to_string(rank) + ".fap", analyze::Analyze(recording));
  }
  return analyze::JoinRanks(profiles);
}

TEST(ProgramReportTest, RanksStandSideBySideWithTheirSpread) {
  const RankReport report = ThreeRanks();
  ASSERT_EQ(report.kernels.size(), 6U);
  EXPECT_EQ(report.kernels[0].total_ns, (std::vector<std::int64_t>{320'000'000, 320'000'000, 200'000'000}));
  EXPECT_DOUBLE_EQ(report.kernels[0].mean_ns, 280'000'000);
  EXPECT_DOUBLE_EQ(report.kernels[0].spread_ratio, 120.0 / 280.0);
  EXPECT_EQ(report.kernels[0].least, 2U);
  EXPECT_EQ(report.kernels[1].most, 1U);
  ASSERT_EQ(report.ranges.size(), 5U);
  EXPECT_EQ(report.ranges[3].name, "torch: sync") << "behind the others in 'step', before 'load'";
  EXPECT_EQ(report.ranges[3].level, 1);
  EXPECT_EQ(report.ranges[3].total_ns, (std::vector<std::int64_t>{0, 7'000'000, 0}));
  ExpectGolden("tests/data/golden/ranks.txt", Written(WriteTextRanks, report, ReportOptions{}));
}

TEST(ProgramReportTest, ARankThatWasKilledNamesTheOneStartedInItsPlace) {
  std::vector<std::pair<std::string, Profile>> profiles;
  for (const char* const name : {"r0.fap", "r1.fap", "r0.fap.part.10", "r0.fap.part.9", "r1.fap.part", "r2.fap.part"}) {
    Recording recording = sample::MakeProgramRecording();
    recording.session.complete = std::string(name).find(".part") == std::string::npos;
    profiles.emplace_back(name, analyze::Analyze(recording));
  }
  const RankReport report = analyze::JoinRanks(profiles);
  std::vector<std::string> next;
  for (const Rank& rank : report.ranks) next.push_back(rank.next);
  EXPECT_EQ(next, (std::vector<std::string>{"", "", "r0.fap", "r0.fap.part.10", "r1.fap", ""}));
  const std::string text = Written(WriteTextRanks, report, ReportOptions{});
  EXPECT_TRUE(Has(text, "r0.fap.part.9 (restarted: r0.fap.part.10)")) << text;
  EXPECT_TRUE(Has(text, "r2.fap.part (killed)")) << text;
}

TEST(ProgramReportTest, AProcessKilledBeforeItsFirstWindowIsAProgramWhoseKernelsAreNotKnown) {
  Recording recording = sample::MakeProgramRecording();
  recording.session.complete = false;
  recording.watch_windows = {{1, 5'000, 5'000}};
  recording.kernel_work.clear();
  recording.memory_work.clear();
  recording.nvtx_work.clear();
  recording.nvtx_kernel_work.clear();
  const Profile profile = analyze::Analyze(recording);
  ASSERT_TRUE(profile.program);
  EXPECT_TRUE(Has(Written(WriteTextReport, profile, ReportOptions{}), "the recording ended before its first kernel."));
}

TEST(ProgramReportTest, RanksAsJsonFollowTheSchema) {
  const nlohmann::json json = nlohmann::json::parse(Written(WriteJsonRanks, ThreeRanks(), ReportOptions{}));
  const JsonSchema schema(nlohmann::json::parse(ReadSourceFile("docs/report.schema.json")));
  EXPECT_EQ(schema.Validate(json), std::vector<std::string>{});
  EXPECT_EQ(json["ranks"][2]["complete"], false);
  EXPECT_EQ(json["kernels"][0]["total_ns"].size(), 3U);
}

TEST(ProgramReportTest, JsonReportHasTheProgramAndTheFullNames) {
  const nlohmann::json json = Json(sample::MakeProgramRecording());
  nlohmann::json part = {{"program", json["program"]}};
  for (const nlohmann::json& entry : json["entries"]) {
    part["classes"].push_back({{"kernel", entry["kernel"]},
                               {"full_name", entry["launches"][0]["kernel_name"]},
                               {"use", entry["use"]},
                               {"timing", entry["timing"]}});
  }
  ExpectGolden("tests/data/golden/program.json", part.dump(2) + "\n");
}

TEST(ProgramReportTest, CsvHasRowsOfTheProgramItsClassesItsMemoryAndItsRanges) {
  const std::string csv = Csv(sample::MakeProgramRecording());
  for (const char* row : {"\r\n,,,,,,,,watched_seconds,0.9,seconds,\r\n", "\r\n,,,,,,,,launches,5603,count,\r\n",
                          "\r\n\"flash_fwd_kernel<<<64, 128>>>\",,,,,,,,launches,1600,count,\r\n",
                          "\r\n\"flash_fwd_kernel<<<64, 128>>>\",,,,,,,,kernel_time_share_ratio,0.64,ratio,\r\n",
                          "\r\n,copy host to device,,,,,,,memory_bytes,15000000,bytes,\r\n",
                          "\r\n,step / attn,,,,,,,nvtx_gpu_share_ratio,0.64,ratio,\r\n"}) {
    EXPECT_TRUE(Has(csv, row)) << row;
  }
  for (const std::string& line : Lines(csv)) {
    std::size_t commas = 0;
    bool quoted = false;
    for (const char c : line) {
      quoted ^= c == '"';
      commas += c == ',' && !quoted ? 1 : 0;
    }
    EXPECT_EQ(commas, 11u) << line;
  }
}

/// The words of a column that begins at `title`, over all lines of the table.
std::string Column(const std::vector<std::string>& table, const std::string& title) {
  const std::size_t begin = table[0].find(title);
  std::string words;
  for (const std::string& line : table) {
    if (line.size() > begin) words += line.substr(begin) + " ";
  }
  return words;
}

TEST(ProgramReportTest, WhyAKernelTakesItsTimeIsReadableAtAnyWidth) {
  Profile profile = analyze::Analyze(sample::MakeProgramRecording());
  profile.entries[0].kernel = "a_kernel_with_a_name_of_more_columns_than_half_a_page<of, arguments>";
  profile.entries[0].findings = {{"a-finding-with-a-long-name", "", "", "", 1}};
  profile.program->nvtx[0].kernels = {{profile.entries[0].case_id, profile.entries[0].kernel, 1, 1, 1.0}};
  for (const int width : {80, 100, 120}) {
    ReportOptions options{.width = width};
    options.nvtx_ranges = {profile.program->nvtx[0].path};
    const std::string text = Written(WriteTextReport, profile, options);
    std::vector<std::string> top = Lines(text);
    top.erase(top.begin(), std::ranges::find_if(top, [](const std::string& line) { return Has(line, "top kernels"); }));
    top.resize(4);
    const std::vector<std::string> range = Section(text, "NVTX range " + profile.program->nvtx[0].path);
    const auto head = std::ranges::find_if(range, [](const std::string& line) { return Has(line, " why"); });
    for (const std::vector<std::string>& table : {top, std::vector<std::string>(head, range.end())}) {
      ASSERT_FALSE(table.empty());
      EXPECT_TRUE(Has(Column(table, "why"), "latency")) << text;
      EXPECT_TRUE(Has(Column(table, "why"), "a-finding-with-a-long-name ")) << text;
      for (const std::string& line : table) EXPECT_FALSE(Has(line, "...")) << line;
    }
  }
}

TEST(ProgramReportTest, TheFirstTenLinesNameProgramGpuKernelsMemoryAndRanges) {
  const std::vector<std::string> lines = Lines(Text(sample::MakeProgramRecording()));
  std::string first;
  std::size_t count = 1;  // after the title
  for (; count < lines.size() && !lines[count].empty(); ++count) first += lines[count] + " ";
  EXPECT_LE(count - 1, 10u);
  EXPECT_TRUE(Has(first, "python3 decode.py: watched 900 ms, GPU busy 71.1 %, 5,603 kernel launches of 6 classes"));
  EXPECT_TRUE(Has(first, "(5,000 in CUDA graphs)"));
  EXPECT_TRUE(Has(first, "64.0 %"));
  EXPECT_TRUE(Has(first, "bound by latency"));
  EXPECT_TRUE(Has(first, "copy host to device"));
  EXPECT_TRUE(Has(first, "96.0 % of the kernels' time is inside ranges; most of it in 'step / attn' (64.0 %)"));
  EXPECT_FALSE(Has(first, "fill_kernel")) << "0.008 % of the time";
}

TEST(ProgramReportTest, ClassesUnderAThousandthAreFoldedIntoOneLine) {
  Recording recording = sample::MakeProgramRecording();
  for (std::int64_t id = 100; id < 150; ++id) {
    sample::AddClass(recording, id, "tiny" + std::to_string(id), "tiny()");
    recording.kernel_work.push_back({1, id, 3, 1, 300, 100, 100});
  }
  const std::vector<std::string> kernels = Section(Text(recording), "Kernels");
  ASSERT_EQ(kernels.size(), 7u) << "a header, the five classes that are always shown, and the rest";
  EXPECT_TRUE(Has(kernels.back(), "and 51 more"));
  EXPECT_TRUE(Has(kernels.back(), "152")) << "50 times 3 launches, and 2";
}

TEST(ProgramReportTest, AtMostAHundredClassesHaveARow) {
  Recording recording = sample::EmptyProgram();
  for (std::int64_t id = 1; id <= 300; ++id) {
    sample::AddClass(recording, id, "k" + std::to_string(id), "k()");
    recording.kernel_work.push_back({1, id, 1, 0, 1000, 1000, 1000});
  }
  const std::vector<std::string> kernels = Section(Text(recording), "Kernels");
  ASSERT_EQ(kernels.size(), 102u);
  EXPECT_TRUE(Has(kernels.back(), "66.7 %"));
  EXPECT_TRUE(Has(kernels.back(), "and 200 more"));
}

TEST(ProgramReportTest, OneClassOfNoTimeIsStillShown) {
  Recording recording = sample::EmptyProgram();
  sample::AddClass(recording, 1, "k", "k()");
  recording.kernel_work = {{1, 1, 7, 0, 0, 0, 0}};
  const std::vector<std::string> kernels = Section(Text(recording), "Kernels");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_TRUE(Has(kernels[1], "n/a"));
  EXPECT_TRUE(Has(kernels[1], "k<<<64, 128>>>"));
}

TEST(ProgramReportTest, WhatIsAbsentHasNoTable) {
  Recording recording = sample::MakeProgramRecording();
  recording.nvtx_work.clear();
  recording.memory_work.clear();
  const std::string text = Text(recording);
  EXPECT_FALSE(Has(text, "NVTX"));
  EXPECT_FALSE(Has(text, "Memory"));
  EXPECT_FALSE(Has(text, "Copies and sets"));
  EXPECT_TRUE(Has(text, "\u2500 Kernels \u2500"));
}

TEST(ProgramReportTest, AProgramWithoutKernelsSaysSo) {
  const std::string text = Text(sample::EmptyProgram());
  EXPECT_TRUE(Has(text, "no kernel was launched"));
  EXPECT_FALSE(Has(text, "\u2500 Kernels \u2500"));
  EXPECT_FALSE(Has(text, "No kernel was recorded"));
}

TEST(ProgramReportTest, OnlyKernelsWithCountersOrFindingsHaveABlock) {
  const std::string text = Text(sample::MakeProgramRecording());
  EXPECT_TRUE(Has(text, "\u2500\u2500 flash_fwd_kernel<<<64, 128>>>"));
  EXPECT_TRUE(Has(text, "void flash::flash_fwd_kernel<Traits<64, 128>, false>(flash::Params) grid 64x1x1"));
  EXPECT_TRUE(Has(text, "1,600 (1,500 in CUDA graphs), 320 ms in all, each 180 us to 260 us, 64.0 % of the"));
  EXPECT_FALSE(Has(text, "\u2500\u2500 fill_kernel"));
  EXPECT_FALSE(Has(text, "not verified"));
}

TEST(ProgramReportTest, AClassThatWasNotSeenInAnyWindowIsNotShownUnlessItHasCounters) {
  Recording recording = sample::MakeProgramRecording();
  sample::AddClass(recording, 50, "unseen", "unseen()");
  EXPECT_FALSE(Has(Text(recording), "unseen"));
  recording.ranges.push_back({50, 50, "", "unseen", 0, 0, sample::FullCounters(1)});
  EXPECT_TRUE(Has(Text(recording), "\u2500\u2500 unseen<<<64, 128>>>"));
  EXPECT_TRUE(Section(Text(recording), "Kernels").size() == 7u);
}

TEST(ProgramReportTest, SummaryLeavesOutTheBlocksAndKeepsTheTables) {
  const std::string text = Text(sample::MakeProgramRecording(), {.details = false});
  EXPECT_FALSE(Has(text, "\u2500\u2500 flash_fwd_kernel"));
  for (const char* title : {"Kernels", "Memory", "NVTX ranges"}) EXPECT_FALSE(Section(text, title).empty()) << title;
}

TEST(ProgramReportTest, TheShortReportFoldsMoreThanTenKernelsAndRanges) {
  Recording recording = sample::EmptyProgram();
  for (std::int64_t id = 1; id <= 30; ++id) {
    sample::AddClass(recording, id, "k" + std::to_string(id), "k()");
    recording.kernel_work.push_back({1, id, 1, 0, 1000, 1000, 1000});
    recording.nvtx_work.push_back({1, "range " + std::to_string(id), 0, 1, 10, 1, 1000});
  }
  for (const char* const title : {"Kernels", "NVTX ranges"}) {
    const std::vector<std::string> section = Section(Text(recording, {.details = false}), title);
    ASSERT_EQ(section.size(), 12u) << title;
    EXPECT_TRUE(Has(section.back(), "and 20 more")) << section.back();
    EXPECT_EQ(Section(Text(recording), title).size(), 31u);
  }
}

TEST(ProgramReportTest, RangesAreIndentedByTheirLevel) {
  const std::vector<std::string> ranges = Section(Text(sample::MakeProgramRecording()), "NVTX ranges");
  ASSERT_EQ(ranges.size(), 5u);
  EXPECT_TRUE(ranges[1].ends_with("  step"));
  EXPECT_TRUE(ranges[2].ends_with("    attn"));
  EXPECT_TRUE(ranges[3].ends_with("    torch: mlp"));
  EXPECT_TRUE(ranges[4].ends_with("  load")) << "no GPU work, but a thirtieth of the watched time";
}

TEST(ProgramReportTest, ManyRangesAreFoldedAndKeepTheRangesAroundThem) {
  Recording recording = sample::EmptyProgram();
  sample::AddClass(recording, 1, "k", "k()");
  recording.kernel_work = {{1, 1, 500, 0, 500'000, 1000, 1000}};
  recording.nvtx_work = {{1, "train", 0, 1, 1000, 500, 500'000}};
  for (int i = 0; i < 500; ++i) {
    recording.nvtx_work.push_back({1, "train / step " + std::to_string(i), 1, 1, 10, 1, 1000});
  }
  const std::vector<std::string> ranges = Section(Text(recording), "NVTX ranges");
  ASSERT_EQ(ranges.size(), 62u);
  EXPECT_TRUE(ranges[1].ends_with("  train"));
  EXPECT_TRUE(Has(ranges.back(), "and 441 more"));
}

TEST(ProgramReportTest, MoreBusyThanWatchedIsShownAsAllAndAsMissing) {
  Recording recording = sample::MakeProgramRecording();
  for (WatchWindow& window : recording.watch_windows) window.busy_ns = 9'000'000'000;
  const std::string text = Text(recording);
  EXPECT_TRUE(Has(text, "GPU busy 100.0 %"));
  EXPECT_TRUE(Has(text, "clocks_disagree: 2, the GPU was busy for longer than it was watched"));
  EXPECT_EQ(Json(recording)["program"]["idle_ratio"], 0.0);
}

TEST(ProgramReportTest, WindowsOfNoLengthGiveNoRatio) {
  Recording recording = sample::MakeProgramRecording();
  for (WatchWindow& window : recording.watch_windows) window.end_ns = window.start_ns;
  EXPECT_TRUE(Has(Text(recording), "GPU busy n/a"));
  EXPECT_TRUE(Json(recording)["program"]["busy_ratio"].is_null());
  EXPECT_FALSE(Has(Csv(recording), "gpu_busy_ratio"));
}

TEST(ProgramReportTest, AKilledRunSaysSoAtOnce) {
  Recording recording = sample::MakeProgramRecording();
  recording.session.complete = false;
  const std::vector<std::string> lines = Lines(Text(recording));
  const auto line = std::ranges::find_if(lines, [](const auto& text) { return Has(text, "The run ended early"); });
  EXPECT_LT(line - lines.begin(), 4);
  EXPECT_TRUE(Has(Text(recording), "recording_incomplete"));
}

TEST(ProgramReportTest, HostileNamesAreEscapedAndKeepTheWidth) {
  for (const std::string& hostile :
       {std::string("\033]0;owned\007\033[2J\r\n\t\0\177", 19), std::string("\377\376\303\050 \342\200\256x"),
        std::string(10'000, 'T'), "f<" + std::string(10'000, '<') + ">", std::string(3000, ' '), std::string(),
        std::string("wide \346\274\242\345\255\227"), std::string("a / b / c / / "), std::string("q\"u,o;te{}%s")}) {
    Recording recording = sample::MakeProgramRecording();
    recording.session.command_line = "fa-profile -- " + hostile;
    for (Case& item : recording.cases) item.kernel = hostile;
    for (Launch& launch : recording.launches) launch.kernel_name = hostile + std::to_string(launch.id);
    for (MemoryWork& work : recording.memory_work) work.kind = hostile;
    for (NvtxWork& work : recording.nvtx_work) work.path += " / " + hostile;
    for (const int width : {40, 100}) {
      const std::string text =
          Text(recording, {.width = width}) + Text(recording, {.width = width, .ascii = true}) + "\n";
      for (const std::string& line : Lines(text)) {
        EXPECT_LE(DisplayWidth(line), static_cast<std::size_t>(width)) << line;
        for (const char c : line) ASSERT_GE(static_cast<unsigned char>(c), 0x20);
        EXPECT_FALSE(Has(line, "\xff") || Has(line, "\xe2\x80\xae") || Has(line, "\x7f"));
      }
    }
    (void)Json(recording);
    EXPECT_FALSE(Has(Csv(recording), "\x1b"));
    EXPECT_TRUE(Has(DiffText(recording, recording), "No difference."));
  }
}

TEST(ProgramReportTest, HugeNumbersKeepTheWidth) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  Recording recording = sample::MakeProgramRecording();
  for (WatchWindow& window : recording.watch_windows) window = {window.id, 0, kMost, kMost, 1};
  for (KernelWork& work : recording.kernel_work) work.launches = work.graph_launches = work.total_ns = kMost;
  for (MemoryWork& work : recording.memory_work) work.operations = work.bytes = work.total_ns = kMost;
  for (NvtxWork& work : recording.nvtx_work) work.ranges = work.host_ns = work.launches = work.gpu_ns = kMost;
  for (const std::string& line : Lines(Text(recording))) EXPECT_LE(DisplayWidth(line), 100u) << line;
  (void)Json(recording);
}

TEST(ProgramReportTest, TheDiffOfEqualProgramsSaysNoDifference) {
  const std::string text = DiffText(sample::MakeProgramRecording(), sample::MakeProgramRecording());
  EXPECT_TRUE(Has(text, "6 kernels without a difference"));
  EXPECT_TRUE(Has(text, "No difference."));
  EXPECT_FALSE(Has(text, "flash_fwd_kernel"));
}

TEST(ProgramReportTest, AFindingThatIsNewIsADifference) {
  Profile before = analyze::Analyze(sample::MakeProgramRecording());
  Profile after = before;
  after.entries[1].findings.push_back({"low-occupancy", "", "24 % of the warps", "", 0.1});
  const std::string text = Written(WriteTextDiff, analyze::Diff(before, after), before, after, ReportOptions{});
  EXPECT_TRUE(Has(text, "  new        low-occupancy: 24 % of the warps\n"));
  EXPECT_TRUE(Has(text, "5 kernels without a difference"));
  EXPECT_FALSE(Has(text, "No difference."));
}

TEST(ProgramReportTest, TheDiffShowsOnlyKernelsThatChanged) {
  Recording slower = sample::MakeProgramRecording();
  for (double& duration : slower.timings[4].durations_ns) duration *= 1.5;
  for (KernelWork& work : slower.kernel_work) work.total_ns = work.total_ns * (work.case_id == 4 ? 150 : 100) / 100;
  slower.watch_windows[0].busy_ns += 75'000'000;
  const std::string text = DiffText(sample::MakeProgramRecording(), slower);
  EXPECT_TRUE(Has(text, "gemm_kernel<<<64, 128>>>"));
  EXPECT_TRUE(Has(text, "share of the time of all kernels"));
  EXPECT_TRUE(Has(text, "GPU busy"));
  EXPECT_FALSE(Has(text, "fill_kernel"));
  EXPECT_FALSE(Has(text, "No difference."));
}

}  // namespace
}  // namespace fa_profile::exporters::program_report_test

#include "fa_profile/gate_history.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "evidence_fixture.h"
#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/history_report.h"
#include "test_files.h"

namespace fa_profile::gate::gate_history_test {
namespace {

namespace fs = std::filesystem;

MeasuredNight NightOn(int day, const std::string& card = "GPU-1", const std::string& content = "a") {
  Evidence evidence = SampleEvidence();
  evidence.environment.gpu_uuid = card;
  evidence.environment.taken_at = "2026-11-" + std::to_string(10 + day) + "T03:00:00Z";
  evidence.environment.tool_commit = "commit" + std::to_string(day);
  return NightsOf(evidence, "night.json", content).front();
}

class GateHistoryTest : public FolderTest {
 protected:
  std::string MessageOf(const std::string& path) const {
    try {
      (void)ReadHistory(path);
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return "read";
  }
  void Sql(const std::string& path, const std::string& sql) const {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }
  const std::string file_ = folder_ / "h.db";
};

TEST(NightsTest, ANightHasTimesPhasesAndExactCounters) {
  Evidence evidence = SampleEvidence();
  evidence.processes.back().values[0][{"", "instructions"}] = 1000.0;
  const MeasuredNight night = NightsOf(evidence, "n.json", "00").front();
  const auto value = [&](const MetricKey& key) -> const NightValue* {
    for (const NightValue& one : night.values) {
      if (one.kernel == "mma" && one.key == key) return &one;
    }
    return nullptr;
  };
  ASSERT_NE(value({"", kDuration}), nullptr);
  EXPECT_EQ(value({"", kDuration})->processes, 8);  // timing processes, not the recording
  EXPECT_NEAR(value({"", kDuration})->median, 9.923456789e-6 * 1.0035, 1e-12);
  EXPECT_GT(value({"", kDuration})->spread, 0.0);
  EXPECT_NE(value({"", kCycles}), nullptr);
  EXPECT_NEAR(value({"softmax", kPhaseSeconds})->median, 0.31 * 1.0e-5, 1e-12);
  EXPECT_EQ(value({"", "instructions"})->median, 1000.0);
  EXPECT_EQ(value({"", "instructions_count"}), nullptr);  // not in the catalogue
  for (const NightValue& one : night.values) EXPECT_NE(one.kernel, kReferenceKernel);
}

TEST(NightsTest, WhatCannotBeASeriesIsRefused) {
  const auto refused = [](const std::function<void(Evidence&)>& change) {
    Evidence evidence = SampleEvidence();
    change(evidence);
    try {
      (void)NightsOf(evidence, "n.json", "00");
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return std::string("taken");
  };
  EXPECT_TRUE(Contains(refused([](Evidence& e) { e.environment.gpu_uuid.clear(); }), "does not name the card"));
  EXPECT_TRUE(Contains(refused([](Evidence& e) { e.environment.taken_at = "yesterday"; }), "does not say when"));
  EXPECT_TRUE(Contains(refused([](Evidence& e) {
                         for (ProcessSample& process : e.processes) process.throttled = true;
                       }),
                       "has no times"));
}

TEST(NightsTest, SeveralCardsAreSeveralNights) {
  Evidence evidence = SampleEvidence();
  evidence.environment.gpu_uuid.clear();
  for (std::size_t i = 0; i < evidence.processes.size(); ++i) {
    evidence.processes[i].gpu_uuid = i < 4 ? "GPU-1" : "GPU-2";
  }
  const std::vector<MeasuredNight> nights = NightsOf(evidence, "n.json", "00");
  ASSERT_EQ(nights.size(), 2u);
  EXPECT_EQ(nights[1].night.gpu_uuid, "GPU-2");
  EXPECT_EQ(nights[0].values.front().processes, 4);
}

TEST_F(GateHistoryTest, NightsComeBackInTheOrderOfTime) {
  EXPECT_EQ(AddNights(file_, {NightOn(3), NightOn(1, "GPU-2")}, false).added, 2u);
  EXPECT_EQ(AddNights(file_, {NightOn(2)}, false).added, 1u);
  const History history = ReadHistory(file_);
  ASSERT_EQ(history.nights.size(), 3u);
  EXPECT_EQ(history.nights[1].commit, "commit2");
  EXPECT_EQ(history.nights[1].driver_version, "580.159.04");
  ASSERT_FALSE(history.series.empty());
  const HistorySeries& series = history.series.front();
  EXPECT_EQ(series.gpu_uuid, "GPU-1");
  ASSERT_EQ(series.points.size(), 2u);
  EXPECT_EQ(series.points[0].night, 1u);
  EXPECT_EQ(series.points[1].night, 2u);
}

TEST_F(GateHistoryTest, TheSameEvidenceCountsOnceAndAnotherNeedsReplace) {
  (void)AddNights(file_, {NightOn(1)}, false);
  const std::string before = ReadFile(file_);
  const AddedNights again = AddNights(file_, {NightOn(1)}, false);
  EXPECT_EQ(again.added, 0u);
  EXPECT_EQ(again.known, 1u);
  MeasuredNight other = NightOn(1, "GPU-1", "b");
  other.values.resize(1);
  EXPECT_THROW((void)AddNights(file_, {NightOn(2), other}, false), Error);
  EXPECT_EQ(ReadHistory(file_).nights.size(), 1u);  // all or none
  EXPECT_EQ(AddNights(file_, {other}, true).added, 1u);
  EXPECT_EQ(ReadHistory(file_).series.size(), 1u);
}

TEST_F(GateHistoryTest, NightsThatAreAddedAtOnceAreAllThere) {
  std::vector<pid_t> writers;  // processes: threads of one share their locks
  for (int i = 0; i < 8; ++i) {
    writers.push_back(fork());
    if (writers.back() != 0) continue;
    int status = 1;
    try {
      status = AddNights(file_, {NightOn(i), NightOn(i, "GPU-2")}, false).added == 2 ? 0 : 2;
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
    }
    _exit(status);
  }
  for (const pid_t writer : writers) {
    int status = -1;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(ReadHistory(file_).nights.size(), 16u);
}

TEST_F(GateHistoryTest, AFullDiskLeavesWhatWasThere) {
  IgnoreFileSizeSignal();
  const auto refusal = [&](const std::vector<MeasuredNight>& nights) -> std::string {
    const rlimit limit{.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
    const rlimit unlimited{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    std::string text;
    try {
      (void)AddNights(file_, nights, false);
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    return text;
  };
  EXPECT_TRUE(Contains(refusal({NightOn(1)}), "cannot be written: "));
  EXPECT_TRUE(fs::is_empty(folder_));
  (void)AddNights(file_, {NightOn(1)}, false);
  EXPECT_TRUE(Contains(refusal({NightOn(2)}), "nothing was added"));
  EXPECT_EQ(ReadHistory(file_).nights.size(), 1u);
}

TEST_F(GateHistoryTest, OtherFilesAreRefusedAndStayAsTheyAre) {
  const auto refused = [&](const std::string& path, const std::string& what) {
    const bool file = fs::is_regular_file(path);
    const std::string before = file ? ReadFile(path) : "";
    EXPECT_TRUE(Contains(MessageOf(path), what));
    EXPECT_THROW((void)AddNights(path, {NightOn(1)}, false), Error) << what;
    if (file) {
      EXPECT_EQ(ReadFile(path), before);
    }
    EXPECT_FALSE(fs::exists(path + "-wal"));
  };
  WriteFile(folder_ / "text.db", std::string(200, 'x'));
  refused(folder_ / "text.db", "is not a history of the gate");
  Sql(folder_ / "other.db", "CREATE TABLE t (x)");
  refused(folder_ / "other.db", "but another SQLite file");
  refused(folder_, "is a directory");
  EXPECT_TRUE(Contains(MessageOf(folder_ / "none.db"), "No such file"));
  WriteFile(folder_ / "empty.db", "");
  EXPECT_TRUE(Contains(MessageOf(folder_ / "empty.db"), "it is empty"));
  const auto changed = [&](const std::string& name, const std::string& sql, const std::string& what) {
    const std::string path = folder_ / (name + ".db");
    (void)AddNights(path, {NightOn(1)}, false);
    Sql(path, sql);
    refused(path, what);
  };
  changed("newer", "PRAGMA user_version=9", "has version 9, and this program reads up to 1");
  changed("wal", "PRAGMA journal_mode=WAL", "write-ahead log");
  changed("trigger", "CREATE TRIGGER t AFTER INSERT ON night BEGIN DELETE FROM night; END", "it holds a trigger t");
  changed("table", "DROP TABLE point", "it lacks the table point");
}

TEST_F(GateHistoryTest, BadValuesAndDamageAreOneError) {
  for (const auto& [sql, what] : std::vector<std::pair<std::string, std::string>>{
           {"UPDATE point SET median='x'", "another type"},
           {"UPDATE point SET median=9e999", "not finite"},
           {"UPDATE point SET night_id=99 WHERE series_id=1", "has no night or no name"},
           {"UPDATE night SET taken_at='now'", "a night has no time"},
           {"UPDATE night SET gpu_uuid=''", "a night has no card"},
           {"UPDATE series SET kernel=CAST(x'ff' AS TEXT) WHERE id=1", "not UTF-8"}}) {
    fs::remove(file_);
    (void)AddNights(file_, {NightOn(1)}, false);
    Sql(file_, sql);
    EXPECT_TRUE(Contains(MessageOf(file_), what)) << sql;
  }
  fs::remove(file_);
  (void)AddNights(file_, {NightOn(1)}, false);
  const std::string good = ReadFile(file_);
  for (std::size_t at = 100; at < good.size(); at += 97) {  // never a crash
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    WriteFile(file_, damaged);
    (void)MessageOf(file_);
  }
  WriteFile(file_, good.substr(0, good.size() / 2));
  EXPECT_NE(MessageOf(file_), "read");
}

/// Thirty nights of a kernel that gets 5 % slower with a hostile name.
HistoryReport SampleReport() {
  std::vector<MeasuredNight> nights;
  History history;
  for (std::size_t i = 0; i < 30; ++i) {
    Night night = NightOn(static_cast<int>(i % 10)).night;
    night.driver_version = i < 15 ? "580.1" : "590.1";
    night.commit = i < 15 ? "aaaaaaaaaaaaaaa" : "<b>&\"'\x1B[31m";
    history.nights.push_back(night);
  }
  HistorySeries series{"GPU-1", "<script>alert('x')</script>&\x1B[2J", "1,8,512,64", {"", kDuration}, {}};
  for (std::size_t i = 0; i < 30; ++i) {
    series.points.push_back(
        {i, 1e-5 * (i < 15 ? 1.0 : 1.05) * (1.0 + 1e-4 * static_cast<double>(i * 7 % 5)), 1e-8, 20});
  }
  history.series.push_back(series);
  return AnalyzeHistory(history, {});
}

TEST(HistoryReportTest, NamesNightCommitsSizeAndWhatElseChanged) {
  const HistoryReport report = SampleReport();
  ASSERT_EQ(report.changes.size(), 1u);
  const std::string text = HistoryText(report);
  EXPECT_TRUE(Contains(text, "duration  +5.0 % (95 %: +"));
  EXPECT_TRUE(Contains(text, "p 0.0001; aaaaaaaaaaaa -> "));
  EXPECT_TRUE(Contains(text, "driver 580.1 -> 590.1"));
  EXPECT_EQ(text.find('\x1B'), std::string::npos);
  const std::string json = HistoryJson(report);
  EXPECT_TRUE(Contains(json, "\"format\": \"fa-profile gate history\""));
  EXPECT_TRUE(Contains(json, "\"before\": {"));
  EXPECT_EQ(json.find('\x1B'), std::string::npos);
}

TEST(HistoryReportTest, ThePictureEscapesNamesAndHasTitles) {
  const std::string svg = HistorySvg(SampleReport());
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_EQ(svg.find('\x1B'), std::string::npos);
  EXPECT_TRUE(Contains(svg, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;"));
  EXPECT_TRUE(Contains(svg, "prefers-color-scheme: dark"));
  EXPECT_TRUE(Contains(svg, "<title>Durations night by night</title>"));
  EXPECT_TRUE(Contains(svg, "class=\"worse\""));
  EXPECT_TRUE(Contains(svg, "+5.0 %"));
}

}  // namespace
}  // namespace fa_profile::gate::gate_history_test

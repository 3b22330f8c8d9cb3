// `fa-profile baseline` as a user meets it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "evidence_fixture.h"
#include "fa_profile/baseline.h"
#include "fa_profile/sha256.h"
#include "run_program.h"
#include "test_files.h"

namespace fa_profile::cli::cli_baseline_test {
namespace {

namespace fs = std::filesystem;

class CliBaselineTest : public FolderTest {
 protected:
  void SetUp() override {
    WriteEvidence("run.json", [](gate::Evidence&) {});
  }
  void WriteEvidence(const std::string& name, const std::function<void(gate::Evidence&)>& change) const {
    gate::Evidence evidence = SampleEvidence();
    change(evidence);
    std::ofstream(folder_ / name) << gate::ToJson(evidence);
  }

  // As if started by hand, even when these tests run for a pull request.
  Outcome Run(const std::string& arguments, const std::string& environment = "") const {
    return RunInShell(folder_, "unset GITHUB_EVENT_NAME CI_MERGE_REQUEST_IID; " + environment +
                                   " HOME=/nonexistent " FA_PROFILE_PROGRAM " baseline " + arguments);
  }

  void ExpectRefused(const std::string& arguments, const std::string& what, const std::string& cure,
                     const std::string& environment = "") const {
    fa_profile::ExpectRefused(Run(arguments, environment), arguments, what, cure);
  }

  const std::string promote_ = "promote run.json --reason 'faster softmax' --by 'A. B. <a@b>'";
  const std::string file_ = "ci/baselines/nvidia-h200/ladder.json";
};

TEST_F(CliBaselineTest, PromoteWritesTheFileAndPrintsItsReceipt) {
  const Outcome outcome = Run(promote_);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const gate::PromotedBaseline baseline = gate::ParseBaseline(ReadFile(folder_ / file_), file_);
  EXPECT_EQ(baseline.receipt.reason, "faster softmax");
  EXPECT_EQ(baseline.receipt.promoted_by, "A. B. <a@b>");
  EXPECT_EQ(baseline.receipt.sources,
            std::vector<std::string>{"run.json sha256:" + Sha256(ReadFile(folder_ / "run.json"))});
  for (const std::string& said :
       {"promoted " + file_, std::string("faster softmax"), baseline.receipt.sha256,
        std::string("nvidia-h200_580_cuda-13.0_1980MHz"), std::string("8 timing, 1 recording"),
        std::string("nothing: the first of its lineage")}) {
    EXPECT_NE(outcome.out.find(said), std::string::npos) << said << "\n" << outcome.out;
  }
}

TEST_F(CliBaselineTest, TheNextBaselineNamesTheOneItReplaces) {
  ASSERT_EQ(Run(promote_).exit_code, 0);
  const std::string first = gate::ParseBaseline(ReadFile(folder_ / file_), file_).receipt.sha256;
  const Outcome outcome = Run(promote_ + " --format json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["receipt"]["previous"], first);
  EXPECT_EQ(json["path"], file_);
  EXPECT_EQ(Run("verify").exit_code, 0);
}

TEST_F(CliBaselineTest, ThePromoterDefaultsToGitsUser) {
  ASSERT_EQ(Run("promote run.json --reason r",
                "GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=Ann "
                "GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=ann@x")
                .exit_code,
            0);
  EXPECT_EQ(gate::ParseBaseline(ReadFile(folder_ / file_), file_).receipt.promoted_by, "Ann <ann@x>");
}

TEST_F(CliBaselineTest, APullRequestNeverPromotes) {
  for (const char* const variable :
       {"GITHUB_EVENT_NAME=pull_request", "GITHUB_EVENT_NAME=pull_request_target", "CI_MERGE_REQUEST_IID=7"}) {
    ExpectRefused(promote_, "a pull request cannot promote", "promote by hand", variable);
  }
  EXPECT_FALSE(fs::exists(folder_ / "ci"));
  EXPECT_EQ(Run(promote_, "GITHUB_EVENT_NAME=push CI_MERGE_REQUEST_IID=").exit_code, 0);
}

TEST_F(CliBaselineTest, UnsuitableEvidenceIsRefusedAndNoFileIsWritten) {
  WriteEvidence("wrong.json", [](gate::Evidence& e) { e.cases[0].verification->draws_passed = 0; });
  ExpectRefused("promote wrong.json --reason r", "mma 1,8,512,64 is not correct", "hint: ");
  ExpectRefused("promote run.json", "--reason", "hint: ");
  ExpectRefused("promote run.json --reason ' '", "needs a reason", "give it with --reason");
  ExpectRefused("promote run.json --reason r --suite ../x", "invalid suite name", "a-z");
  fs::copy(folder_ / "run.json", folder_ / "copy.json");
  ExpectRefused("promote run.json copy.json --reason r", "copy.json has the same content as run.json",
                "each process once");
  ExpectRefused("promote none.json --reason r", "none.json cannot be read: No such file", "hint: ");
  ExpectRefused("promote /dev/zero --reason r", "/dev/zero is not a regular file", "hint: ");
  ExpectRefused("promote run.json --reason r --baselines ../x", "contains \"..\"", "hint: ");
  std::ofstream(folder_ / "text.json") << "hello";
  ExpectRefused("promote text.json --reason r", "text.json", "hint: ");
  EXPECT_FALSE(fs::exists(folder_ / file_));
}

TEST_F(CliBaselineTest, ARefusedPromotionLeavesNothing) {
  const auto left = [&](const fs::path& below) {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / below)) names.push_back(entry.path());
    return names;
  };
  const auto before = left("");
  ExpectRefused("promote run.json --reason r --suite 'A b' --baselines new/deep/baselines", "invalid suite name",
                "a-z");
  EXPECT_EQ(Run("promote run.json --reason '  '").exit_code, 2);
  EXPECT_EQ(left(""), before);
  // A limit on the size of files stops the write in the middle; the folders stay away then, too.
  EXPECT_EQ(RunInShell(folder_, "ulimit -f 1; " FA_PROFILE_PROGRAM " baseline " + promote_).exit_code, 2);
  EXPECT_EQ(left(""), before);
  ASSERT_EQ(Run(promote_).exit_code, 0);
  const auto promoted = left("ci");
  WriteEvidence("run.json", [](gate::Evidence& e) { e.environment.driver_version = "590.1"; });
  EXPECT_EQ(RunInShell(folder_, "ulimit -f 1; " FA_PROFILE_PROGRAM " baseline " + promote_).exit_code, 2);
  EXPECT_EQ(left("ci"), promoted);
}

TEST_F(CliBaselineTest, ListShowsEachBaselineWithItsReceipt) {
  EXPECT_EQ(Run("list").exit_code, 2);  // there is no such folder
  ASSERT_EQ(Run(promote_).exit_code, 0);
  WriteEvidence("new.json", [](gate::Evidence& e) { e.environment.driver_version = "590.1"; });
  ASSERT_EQ(Run("promote new.json --reason driver").exit_code, 0);
  const Outcome text = Run("list");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* const said :
       {"NVIDIA H200", "nvidia-h200_580_cuda-13.0_1980MHz", "nvidia-h200_590_cuda-13.0_1980MHz", "faster softmax",
        "0123456789ab", "A. B. <a@b>"}) {
    EXPECT_NE(text.out.find(said), std::string::npos) << said << "\n" << text.out;
  }
  const nlohmann::json json = nlohmann::json::parse(Run("list --format json").out);
  ASSERT_EQ(json["baselines"].size(), 2u);
  EXPECT_EQ(json["baselines"][0]["lineage"], "nvidia-h200_590_cuda-13.0_1980MHz");
  EXPECT_EQ(json["baselines"][1]["processes"], 9);
}

TEST_F(CliBaselineTest, ShowPrintsTheTimeOfEachCase) {
  ASSERT_EQ(Run(promote_).exit_code, 0);
  const Outcome text = Run("show nvidia-h200");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(Run("show " + file_).out, text.out);
  for (const char* const said : {"mma 1,8,512,64", "9.96 us", "0.35 %", "8 timing", "softmax 31.0 %", "qk 33.3 %"}) {
    EXPECT_NE(text.out.find(said), std::string::npos) << said << "\n" << text.out;
  }
  const nlohmann::json json = nlohmann::json::parse(Run("show nvidia-h200 --format json").out);
  EXPECT_EQ(json["cases"][0]["kernel"], "mma");
  EXPECT_NEAR(json["cases"][0]["duration_seconds"].get<double>(), 9.923456789e-6 * 1.0035, 1e-11);
  EXPECT_NEAR(json["cases"][0]["spread_ratio"].get<double>(), 0.0035 / 1.0035, 1e-6);
  EXPECT_EQ(json["cases"][0]["phases"]["softmax"], 0.31);
  EXPECT_EQ(Run("show ci/baselines/nvidia-h200/").out, text.out);
  ExpectRefused("show nvidia-h100", "no baseline of nvidia-h100 in ci/baselines; did you mean nvidia-h200?",
                "there are: nvidia-h200; fa-profile baseline list");
  ExpectRefused("show h200", "no baseline of h200 in ci/baselines; did you mean nvidia-h200?", "baseline list");
  ExpectRefused("show nvidia-h200 --suite other", "no baseline of suite 'other' in ci/baselines/nvidia-h200",
                "the files there: ladder.json");
  ExpectRefused("show nvidia-h200 --baselines none", "no baseline of nvidia-h200 in none", "baseline promote makes");
  ExpectRefused("show run.fap", "run.fap is a recording, not a baseline", "fa-profile report shows it");
  ExpectRefused("show run.json", "is not in the format 'fa-profile baseline'",
                "what fa-profile baseline promote writes");
}

TEST_F(CliBaselineTest, CardsOfOneModelAreOneBaseline) {
  WriteEvidence("other.json", [](gate::Evidence& e) { e.environment.gpu_uuid = "GPU-2"; });
  const Outcome outcome = Run("promote run.json other.json --reason 'two cards'");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("2: GPU-1, GPU-2"), std::string::npos) << outcome.out;
  gate::PromotedBaseline baseline = gate::ParseBaseline(ReadFile(folder_ / file_), file_);
  EXPECT_EQ(gate::CardsOf(baseline.evidence), (std::vector<std::string>{"GPU-1", "GPU-2"}));
  EXPECT_EQ(baseline.evidence.environment.gpu_uuid, "");
  EXPECT_EQ(baseline.evidence.processes.size(), 18u);
  // A third card joins the file that is there.
  WriteEvidence("third.json", [](gate::Evidence& e) { e.environment.gpu_uuid = "GPU-3"; });
  ASSERT_EQ(Run("promote " + file_ + " third.json --reason 'three cards'").exit_code, 0);
  baseline = gate::ParseBaseline(ReadFile(folder_ / file_), file_);
  EXPECT_EQ(gate::CardsOf(baseline.evidence).size(), 3u);
  EXPECT_EQ(Run("verify").exit_code, 0);
}

TEST_F(CliBaselineTest, EachCardHasToBeMeasuredWellAndNamed) {
  WriteEvidence("few.json", [](gate::Evidence& e) {
    e.environment.gpu_uuid = "GPU-2";
    e.processes.resize(7);
  });
  ExpectRefused("promote run.json few.json --reason r", "too few: mma 1,8,512,64: 7 on \"GPU-2\"", "hint: ");
  WriteEvidence("other.json", [](gate::Evidence& e) { e.environment.gpu_uuid = "GPU-2"; });
  WriteEvidence("unknown.json", [](gate::Evidence& e) { e.environment.gpu_uuid.clear(); });
  ExpectRefused("promote run.json other.json unknown.json --reason r", "does not name the card", "promote it alone");
  WriteEvidence("model.json", [](gate::Evidence& e) { e.environment.gpu_name = "NVIDIA H100"; });
  ExpectRefused("promote run.json model.json --reason r", "different environments: GPU NVIDIA H200", "one GPU");
}

TEST_F(CliBaselineTest, ControlCharactersOfAFileDoNotReachTheTerminal) {
  WriteEvidence("run.json", [](gate::Evidence& e) {
    e.cases[0].kernel = "\x1B]0;x\x07\n";
    e.environment.gpu_uuid = "\x1B[2J";
  });
  ASSERT_EQ(Run("promote run.json --by $'\\e[31mred' --reason $'a\\nb'").exit_code, 0);
  for (const char* const command :
       {"list", "show nvidia-h200", "list --format json", "show nvidia-h200 --format json"}) {
    const Outcome outcome = Run(command);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out.find_first_of("\x1B\x07"), std::string::npos) << command;
  }
}

TEST_F(CliBaselineTest, VerifyNamesEachBadFileAndExitsWith2) {
  ExpectRefused("verify", "ci/baselines cannot be read", "hint: ");
  ASSERT_EQ(Run(promote_).exit_code, 0);
  const Outcome good = Run("verify");
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_EQ(good.out, "1 baseline verified, 0 problems\n");
  std::string text = ReadFile(folder_ / file_);
  text.replace(text.find("faster"), 6, "slower");
  std::ofstream(folder_ / file_) << text;
  for (const std::string& where : {std::string(), std::string("ci/baselines"), file_}) {
    const Outcome bad = Run("verify " + where);
    EXPECT_EQ(bad.exit_code, 2) << where;
    EXPECT_NE(bad.out.find("BAD  " + file_ + ": its content does not match its receipt"), std::string::npos) << bad.out;
  }
  const nlohmann::json json = nlohmann::json::parse(Run("verify --format json").out);
  EXPECT_EQ(json["checked"], 1);
  EXPECT_EQ(json["bad"][0]["path"], file_);
  fs::remove(folder_ / file_);
  ExpectRefused("verify", "no baseline to verify", "promote");
}

}  // namespace
}  // namespace fa_profile::cli::cli_baseline_test

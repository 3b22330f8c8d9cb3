// report --instructions and --source, on the bundled recordings.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fa_profile/recording_file.h"
#include "random_recording.h"
#include "run_program.h"
#include "sample_recording.h"
#include "test_files.h"

namespace fa_profile::cli::cli_code_views_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class CliCodeViewsTest : public FolderTest {
 protected:
  Outcome Run(const std::string& arguments) const {
    return RunInShell(folder_, "CUDA_VISIBLE_DEVICES= " FA_PROFILE_PROGRAM " report " + arguments);
  }

  json Json(const std::string& arguments) const {
    const Outcome outcome = Run(arguments + " --format json");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json::parse(outcome.out);
  }

  void ExpectRefused(const std::string& arguments, const std::string& what, const std::string& cure) const {
    fa_profile::ExpectRefused(Run(arguments), arguments, what, cure);
  }

  /// The sample recording with the code of `mma` in this source file.
  std::string WriteSample(const std::string& name, const std::string& source) const {
    RandomRecording sample{sample::MakeRecording(), {}};
    for (Range& range : sample.recording.ranges) range.image_id = 0;
    for (Instruction& instruction : sample.recording.functions[0].instructions) {
      for (InlineFrame& frame : instruction.frames) frame.file = source;
    }
    store::RecordingWriter writer(folder_ / name, true);
    WriteAll(sample, writer);
    writer.Finish();
    return name;
  }

  const std::string ladder_ = FA_PROFILE_BUNDLED_RECORDING;
  const std::string pytorch_ = FA_PROFILE_PYTORCH_RECORDING;
  const std::string mma_ = ladder_ + " --kernel '^mma$' --shape 1,8,512,64 ";
};

TEST_F(CliCodeViewsTest, InstructionsAreAllThereByAddress) {
  const json kernels = Json(mma_ + "--instructions").at("kernels");
  ASSERT_EQ(kernels.size(), 1U);
  const json& listed = kernels[0].at("instructions");
  EXPECT_EQ(listed.size(), 1280U);
  EXPECT_EQ(kernels[0].at("of_instructions"), 1280);
  double shares = 0.0;
  int last = -1;
  for (const json& each : listed) {
    EXPECT_GT(each.at("offset").get<int>(), last);
    last = each["offset"];
    shares += each.at("share_ratio").get<double>();
    EXPECT_EQ(each.at("grade").is_null(), each.at("phase") == "(unattributed)");
    EXPECT_TRUE(each["grade"].is_null() || each["grade"] == "named");
  }
  EXPECT_NEAR(shares, 1.0, 1e-9);
}

// What the report says about phases is the sum of what the instructions say.
TEST_F(CliCodeViewsTest, InstructionsAddUpToTheReport) {
  for (const std::string& recording : {mma_, mma_ + "--phase-from code ", pytorch_ + " --kernel flash_fwd "}) {
    std::map<std::string, double> shares;
    for (const json& each : Json(recording + "--instructions").at("kernels")[0].at("instructions")) {
      shares[each.at("phase")] += each.at("share_ratio").get<double>();
    }
    for (const json& phase : Json(recording).at("entries")[0].at("phases").at("phases")) {
      EXPECT_NEAR(shares[phase.at("phase")], phase.at("metrics").at("phase_warp_time_ratio").get<double>(), 1e-9)
          << recording << phase["phase"];
    }
  }
}

TEST_F(CliCodeViewsTest, InferredInstructionsSayWhy) {
  const json kernel = Json(pytorch_ + " --kernel flash_fwd --instructions").at("kernels")[0];
  EXPECT_EQ(kernel.at("attribution"), "inference from machine code");
  const std::string documented = ReadSourceFile("docs/phases.md");
  std::map<std::string, double> grades;
  for (const json& each : kernel.at("instructions")) {
    if (each.at("grade").is_null()) continue;
    grades[each["grade"]] += each.at("share_ratio").get<double>();
    const std::string reason = each.at("reason");
    EXPECT_NE(reason, "");
    EXPECT_EQ(reason.find(' '), std::string::npos) << reason;
    EXPECT_NE(documented.find("`" + reason + "`"), std::string::npos) << reason << " is not in docs/phases.md";
  }
  const json& inference = kernel.at("inference");
  // The list has samples where they were taken; the report moves those after a taken branch back to it.
  EXPECT_NEAR(grades["direct"], inference.at("direct_ratio").get<double>(), 0.01);
  EXPECT_NEAR(grades["derived"], inference.at("derived_ratio").get<double>(), 0.01);
  EXPECT_NEAR(grades["guess"], inference.at("guess_ratio").get<double>(), 0.01);
}

TEST_F(CliCodeViewsTest, TextIsForPeopleAndCsvForPrograms) {
  const std::string text = Run(mma_ + "--instructions --limit 10").out;
  for (const char* const part : {"the 10 hottest of 1280 instructions", "why       named function, for all",
                                 "long_scoreboard", "HMMA.16816.F32", "sm80.cuh:", " more\n"}) {
    EXPECT_TRUE(Contains(text, part)) << text;
  }
  const Outcome csv = Run(mma_ + "--instructions --format csv");
  EXPECT_EQ(csv.exit_code, 0);
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 1281);
  EXPECT_TRUE(csv.out.starts_with(
      "kernel,part,batch,num_heads,seqlen,head_dim,causal,parameters,function,offset,phase,grade,"));
}

TEST_F(CliCodeViewsTest, ManyKernelsNeedALimitOrASelection) {
  ExpectRefused(ladder_ + " --instructions", "--instructions would print", "--limit N");
  EXPECT_EQ(Run(ladder_ + " --instructions --limit 1").exit_code, 0);
  EXPECT_EQ(Run(ladder_ + " --instructions --format csv").exit_code, 0) << "a program reads any number";
}

TEST_F(CliCodeViewsTest, KernelsWithoutCodeSaySo) {
  for (const char* const view : {"--instructions", "--source"}) {
    const Outcome outcome = Run(pytorch_ + " --kernel cudnn " + view);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(Contains(outcome.out, "kernels without code")) << view;
    EXPECT_TRUE(Contains(outcome.out, "redact left out the")) << view;
  }
}

TEST_F(CliCodeViewsTest, SourceListsTheHottestLines) {
  const json kernel = Json(mma_ + "--source").at("kernels")[0];
  ASSERT_EQ(kernel.at("lines").size(), 20U);
  EXPECT_GT(kernel.at("of_lines"), 20);
  double last = 1.0;
  for (const json& line : kernel["lines"]) {
    EXPECT_LE(line.at("share_ratio").get<double>(), last);
    last = line["share_ratio"];
    EXPECT_FALSE(line.at("phases").empty());
  }
  EXPECT_EQ(Json(mma_ + "--source --limit 3").at("kernels")[0].at("lines").size(), 3U);
}

TEST_F(CliCodeViewsTest, CodeWithoutLinesIsListedByInstruction) {
  const json kernel = Json(pytorch_ + " --kernel flash_fwd --source --limit 7").at("kernels")[0];
  EXPECT_TRUE(kernel.at("lines").empty());
  EXPECT_EQ(kernel.at("instructions").size(), 7U);
  EXPECT_TRUE(Contains(Run(pytorch_ + " --kernel flash_fwd --source").out, "nvcc -lineinfo adds it"));
}

TEST_F(CliCodeViewsTest, ASourceThatIsThereIsShown) {
  std::string text;
  for (int i = 1; i <= 90; ++i) text += "  line " + std::to_string(i) + ";\n";
  WriteFile(folder_ / "mma.cu", text);
  const std::string recording = WriteSample("a.fap", folder_ / "mma.cu");
  const Outcome outcome = Run(recording + " --kernel mma --source");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.out, "mma.cu:60 line 60;") || Contains(outcome.out, "mma.cu:60  line 60;"))
      << outcome.out;
  EXPECT_TRUE(Contains(outcome.out, "changed after the recording was made"));
}

// A recording from outside must not put the reader's files into a page that is sent on.
TEST_F(CliCodeViewsTest, FilesOutsideTheFolderAreNotReadUnlessItIsNamed) {
  fs::create_directories(folder_ / "secret");
  fs::create_directories(folder_ / "work");
  std::string text;
  for (int i = 1; i <= 90; ++i) text += "password" + std::to_string(i) + "\n";
  WriteFile(folder_ / "secret" / "settings.py", text);
  const std::string recording = WriteSample("a.fap", folder_ / "secret" / "settings.py");
  const std::string from_work = "../a.fap --kernel mma ";
  const auto run = [&](const std::string& arguments) {
    return RunInShell(folder_ / "work", "CUDA_VISIBLE_DEVICES= " FA_PROFILE_PROGRAM " report " + from_work + arguments);
  };
  for (const char* const view : {"--source", "--source --format json"}) {
    const Outcome outcome = run(view);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_FALSE(Contains(outcome.out, "password")) << view;
    EXPECT_TRUE(Contains(outcome.err, "not below this folder: " + std::string(folder_ / "secret"))) << outcome.err;
    EXPECT_TRUE(Contains(outcome.err, "--source-root DIR")) << outcome.err;
  }
  EXPECT_TRUE(Contains(run("--source --source-root ..").out, "password60"));
  Outcome page = run("--format html -o a.html");
  EXPECT_FALSE(Contains(page.err, "in the page")) << page.err;
  page = run("--format html -o b.html --source-root ../secret");
  EXPECT_TRUE(Contains(page.err, "source of this machine that is in the page: ")) << page.err;
  ExpectRefused(recording + " --source-root .", "--source-root has no effect on a report without source", "--source");
  ExpectRefused(recording + " --instructions --source-root .", "--source-root has no effect with --instructions",
                "leave");
  ExpectRefused(recording + " --source --source-root none", "none", "");
}

TEST_F(CliCodeViewsTest, SourcesThatCannotBeReadAreNotShown) {
  WriteFile(folder_ / "victim", "mine");
  for (const std::string& source : {std::string("/no/such/mma.cu"), std::string("../../etc/passwd"),
                                    std::string("/etc/passwd"), std::string(folder_ / "victim")}) {
    const Outcome outcome = Run(WriteSample("a.fap", source) + " --kernel mma --source --source-root /");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_FALSE(Contains(outcome.out, "root:")) << source;
    EXPECT_FALSE(Contains(outcome.out, "mine")) << source;
  }
}

TEST_F(CliCodeViewsTest, WhatMakesNoSenseTogetherIsRefused) {
  ExpectRefused(mma_ + "--instructions --source", "--source has no effect with --instructions",
                "leave one of them out");
  ExpectRefused(mma_ + "--summary --source", "--summary has no effect with --source", "leave");
  ExpectRefused(mma_ + "--explain small-grid --instructions", "--explain has no effect with --instructions", "leave");
  ExpectRefused(mma_ + "--limit 5", "--limit has no effect on a report without source", "--instructions or --source");
  ExpectRefused(mma_ + "--instructions --limit 0", "--limit", "");
  ExpectRefused(mma_ + "--instructions --limit x", "--limit", "");
  ExpectRefused(ladder_ + " --kernel nothing --instructions", "nothing", "");
  for (const char* const view : {"--instructions", "--source"}) {
    ExpectRefused(pytorch_ + " " + pytorch_ + " " + view, "has no effect on several recordings", "report one");
  }
  EXPECT_FALSE(fs::exists(folder_ / "x"));
}

}  // namespace
}  // namespace fa_profile::cli::cli_code_views_test

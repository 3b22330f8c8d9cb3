#include "fa_profile/gate_outputs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fa_profile/error.h"
#include "fa_profile/gate_report.h"
#include "fa_profile/page.h"
#include "gate_samples.h"
#include "test_files.h"

namespace fa_profile::gate::gate_outputs_test {
namespace {

namespace fs = std::filesystem;

GateOutputs Outputs() {
  GateOutputs outputs;
  outputs.render_textfile = [](const GateResult& result) { return prom::GateTextfile(GateStateOf(result)); };
  return outputs;
}

class GateOutputsTest : public FolderTest {
 protected:
  void SetUp() override {
    unsetenv("GITHUB_ACTIONS");
    unsetenv("GITHUB_STEP_SUMMARY");
  }
  std::string At(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t Files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  /// Returns what is printed to stdout.
  std::string Write(const GateOutputs& outputs) const {
    testing::internal::CaptureStdout();
    std::string error;
    try {
      WriteGateOutputs(result_, outputs);
    } catch (const Error& e) {
      error = e.message();
    }
    const std::string printed = testing::internal::GetCapturedStdout();
    if (!error.empty()) throw Error(error);
    return printed;
  }
  std::string WhyNot(const GateOutputs& outputs) const {
    try {
      (void)Write(outputs);
    } catch (const Error& e) {
      return e.message();
    }
    return "";
  }

  GateResult result_ = sample::Regression();
};

TEST_F(GateOutputsTest, WithoutOutputOptionsNothingIsWritten) {
  EXPECT_EQ(Write({}), "");
  EXPECT_EQ(Files(), 0U);
}

TEST_F(GateOutputsTest, EveryFileContainsItsReport) {
  GateOutputs outputs = Outputs();
  outputs.markdown = At("a.md");
  outputs.sarif = At("a.sarif");
  outputs.junit = At("a.xml");
  outputs.json = At("a.json");
  outputs.textfile = At("a.prom");
  outputs.error_rate = "none found";
  EXPECT_EQ(Write(outputs), "");
  EXPECT_EQ(ReadFile(outputs.markdown), GateMarkdown(result_, "none found"));
  EXPECT_EQ(ReadFile(outputs.sarif), GateSarif(result_));
  EXPECT_EQ(ReadFile(outputs.junit), GateJunit(result_));
  EXPECT_EQ(ReadFile(outputs.json), GateJson(result_));
  EXPECT_EQ(ReadFile(outputs.textfile), prom::GateTextfile(GateStateOf(result_)));
  EXPECT_EQ(Files(), 5U);
}

TEST_F(GateOutputsTest, AFileThatCannotBeWrittenIsNamedAndTheOthersAreUnchanged) {
  std::ofstream(At("a.md")) << "before";
  GateOutputs outputs = Outputs();
  outputs.markdown = At("a.md");
  outputs.json = At("no/such/folder.json");
  EXPECT_EQ(WhyNot(outputs), outputs.json + " cannot be written: folder " + At("no/such") + " not found");
  EXPECT_EQ(ReadFile(outputs.markdown), "before");
  EXPECT_EQ(Files(), 1U);
  outputs.json = folder_.string();
  EXPECT_EQ(WhyNot(outputs), outputs.json + " cannot be written: it is a directory");
  EXPECT_EQ(Files(), 1U);
}

TEST_F(GateOutputsTest, TwoReportsAndAnInputAreDifferentFiles) {
  GateOutputs outputs = Outputs();
  outputs.json = outputs.html = At("a");
  EXPECT_EQ(WhyNot(outputs), "--json and --html are the same file, " + At("a"));
  outputs.html = "";
  outputs.save = At("./a");
  EXPECT_EQ(WhyNot(outputs), "--json and --save are the same file, " + At("./a"));
  outputs.save = "";
  outputs.inputs = {At("a")};
  EXPECT_EQ(WhyNot(outputs), "--json " + At("a") + " is an input of this command");
  EXPECT_EQ(Files(), 0U);
}

TEST_F(GateOutputsTest, AFullDiskIsAnError) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  GateOutputs outputs = Outputs();
  outputs.json = "/dev/full";
  EXPECT_EQ(WhyNot(outputs), "/dev/full cannot be written: No space left on device");
}

TEST_F(GateOutputsTest, ASymbolicLinkIsReplacedAndNotFollowed) {
  std::ofstream(At("elsewhere")) << "before";
  fs::create_symlink(At("elsewhere"), At("a.json"));
  GateOutputs outputs = Outputs();
  outputs.json = At("a.json");
  EXPECT_EQ(Write(outputs), "");
  EXPECT_EQ(ReadFile(At("elsewhere")), "before");
  EXPECT_FALSE(fs::is_symlink(At("a.json")));
}

TEST_F(GateOutputsTest, ADeviceIsWrittenToAndNotReplaced) {
  GateOutputs outputs = Outputs();
  outputs.json = "/dev/null";
  EXPECT_EQ(Write(outputs), "");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(GateOutputsTest, ADashMeansStdout) {
  GateOutputs outputs = Outputs();
  outputs.json = "-";
  EXPECT_EQ(Write(outputs), GateJson(result_));
}

TEST_F(GateOutputsTest, ATextfileMustHaveANameThatNodeExporterReads) {
  GateOutputs outputs = Outputs();
  outputs.textfile = At("a.txt");
  EXPECT_EQ(WhyNot(outputs), outputs.textfile + " does not end in .prom: node_exporter would not read it");
  EXPECT_EQ(Files(), 0U);
}

TEST_F(GateOutputsTest, TheSummaryIsAppended) {
  GateOutputs outputs = Outputs();
  outputs.summary = true;
  EXPECT_EQ(WhyNot(outputs), "--summary needs GITHUB_STEP_SUMMARY, which is not set");
  std::ofstream(At("summary")) << "before\n";
  setenv("GITHUB_STEP_SUMMARY", At("summary").c_str(), 1);
  EXPECT_EQ(Write(outputs), "");
  EXPECT_EQ(ReadFile(At("summary")), "before\n" + GateMarkdown(result_, "") + "\n");
}

TEST_F(GateOutputsTest, AnnotationsArePrintedOnRequestAndOnGitHub) {
  GateOutputs outputs = Outputs();
  outputs.annotations = true;
  EXPECT_EQ(Write(outputs), GateAnnotations(result_));
  setenv("GITHUB_ACTIONS", "true", 1);
  EXPECT_EQ(Write({}), GateAnnotations(result_));
  outputs.annotations = false;
  outputs.json = "-";
  EXPECT_EQ(Write(outputs), GateJson(result_));
  setenv("GITHUB_ACTIONS", "false", 1);
  EXPECT_EQ(Write({}), "");
}

}  // namespace
}  // namespace fa_profile::gate::gate_outputs_test

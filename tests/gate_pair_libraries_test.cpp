// Pairs of kernel libraries, and of kernels in Python.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gate_pair_fixture.h"
#include "test_files.h"

namespace fa_profile::gate::gate_pair_libraries_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class GatePairLibrariesTest : public GatePairTest {};

TEST_F(GatePairLibrariesTest, KernelsOfTwoLibrariesAreMatchedAcrossTheSides) {
  const fs::path base(FA_PROFILE_FAKE_LIBRARY);
  const fs::path head(FA_PROFILE_FAKE_LIBRARY_2);
  for (const fs::path& library : {base, head}) {
    const bool is_base = library == base;
    knobs_["base"]["libraries"][library.filename()] = {
        {"name", is_base ? "base" : "head"},
        {"kernels", {{is_base ? "mine" : "mine_2", {{"hash", is_base ? "00000000000000aa" : "00000000000000bb"}}}}}};
  }
  knobs_["base"]["libraries"][head.filename()]["kernels"]["mine_2"]["factor"] = 1.2;
  options_.base = base;
  options_.candidate = head;
  options_.tool = folder_ / "base" / "fa-profile";
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kRegression) << result.headline;
  EXPECT_EQ(CaseOf(result, "mine").verdict, Verdict::kRegression);
  EXPECT_EQ(run_.candidate.losses.front(), "its kernel is named mine_2; it is compared with mine");
}

TEST_F(GatePairLibrariesTest, EqualMachineCodeOfLibrariesWithOtherHostCodeIsTimed) {
  const fs::path base(FA_PROFILE_FAKE_LIBRARY);
  const fs::path head(FA_PROFILE_FAKE_LIBRARY_AGAIN);
  const Json kernels = {{"mine", {{"hash", "00000000000000aa"}}}};
  knobs_["base"]["libraries"][base.filename()] = {{"name", "base"}, {"kernels", kernels}};
  knobs_["base"]["libraries"][head.filename()] = {{"name", "head"}, {"kernels", kernels}};
  options_.base = base;
  options_.candidate = head;
  options_.tool = folder_ / "base" / "fa-profile";
  GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.headline;
  EXPECT_EQ(Log("timing").size(), 2U + 3U * 8U);
  EXPECT_EQ(std::ranges::count(result.notes, "the same machine code, other host code: timed (mine 1,8,512,64)"), 1);

  knobs_["base"]["libraries"][head.filename()]["kernels"]["mine"]["factor"] = 1.2;
  result = Run();
  EXPECT_EQ(result.verdict, Verdict::kRegression) << result.headline;
  EXPECT_FALSE(CaseOf(result, "mine").identical);

  fs::copy(base, folder_ / base.filename());  // the same library in another folder
  std::ofstream(folder_ / "log").flush();
  options_.candidate = folder_ / base.filename();
  result = Run();
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.headline;
  EXPECT_EQ(CaseOf(result, "mine").headline, "the same machine code and host code");
  EXPECT_EQ(Log("timing").size(), 0U);
}

// Two files of kernels in Python, with two cases each: the base's function `norm`, and the head's, `function`.
void WritePythonFiles(const fs::path& folder, Json& knobs, const std::string& function) {
  for (const std::string name : {"base", "head"}) {
    WriteFile(folder / (name + ".py"), "");
    const std::string kernel = name == "base" ? "norm" : function;
    const std::string hash = name == "base" ? "00000000000000aa" : "00000000000000bb";
    Json kernels;
    for (const char* const label : {"@n=1", "@n=2"}) kernels[kernel + label] = {{"hash", hash}};
    knobs["libraries"][name + ".py:" + kernel] = {{"name", name}, {"kernels", kernels}};
  }
}

TEST_F(GatePairLibrariesTest, EqualMachineCodeOfAnotherPythonFileIsTimed) {
  WritePythonFiles(folder_, knobs_["base"], "norm");
  Json& head = knobs_["base"]["libraries"]["head.py:norm"]["kernels"];
  for (Json& kernel : head) kernel["hash"] = "00000000000000aa";
  options_.base = (folder_ / "base.py").string() + ":norm";
  options_.candidate = (folder_ / "head.py").string() + ":norm";
  options_.tool = folder_ / "base" / "fa-profile";
  EXPECT_EQ(Run().verdict, Verdict::kPass);
  EXPECT_EQ(Log("timing").size(), 0U) << "the two files are equal";

  WriteFile(folder_ / "head.py", "import time\n");
  head["norm@n=2"]["factor"] = 1.2;
  const GateResult result = Run();
  EXPECT_EQ(CaseOf(result, "norm@n=1").verdict, Verdict::kPass);
  EXPECT_EQ(CaseOf(result, "norm@n=2").verdict, Verdict::kRegression) << result.headline;
}

TEST_F(GatePairLibrariesTest, CasesOfTwoPythonFunctionsAreMatchedAcrossTheSides) {
  WritePythonFiles(folder_, knobs_["base"], "norm_2");
  knobs_["base"]["libraries"]["head.py:norm_2"]["kernels"]["norm_2@n=2"]["factor"] = 1.2;
  options_.base = (folder_ / "base.py").string() + ":norm";
  options_.candidate = (folder_ / "head.py").string() + ":norm_2";
  options_.candidate_note = "its tolerance is looser";
  options_.tool = folder_ / "base" / "fa-profile";
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kRegression) << result.headline;
  EXPECT_EQ(CaseOf(result, "norm@n=1").verdict, Verdict::kPass);
  EXPECT_EQ(CaseOf(result, "norm@n=2").verdict, Verdict::kRegression);
  EXPECT_EQ(run_.candidate.losses, (std::vector<std::string>{"its kernel is named norm_2; it is compared with norm",
                                                             "its tolerance is looser"}));
  // The second stage measures only the suspect, on both sides.
  EXPECT_EQ(Log("timing").back().kernels.substr(0, 4), "norm");
  EXPECT_FALSE(Contains(Log("timing").back().kernels, "n=1"));
}

TEST_F(GatePairLibrariesTest, AWrongPythonCaseIsNamed) {
  WritePythonFiles(folder_, knobs_["base"], "norm");
  knobs_["base"]["libraries"]["head.py:norm"]["kernels"]["norm@n=2"]["wrong"] = true;
  options_.base = (folder_ / "base.py").string() + ":norm";
  options_.candidate = (folder_ / "head.py").string() + ":norm";
  options_.tool = folder_ / "base" / "fa-profile";
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kRegression) << result.headline;
  EXPECT_TRUE(CaseOf(result, "norm@n=2").incorrect);
  EXPECT_FALSE(CaseOf(result, "norm@n=1").incorrect);
}

TEST_F(GatePairLibrariesTest, AKernelInPythonIsComparedWithAnotherOnly) {
  WriteBuilds();
  WriteFile(folder_ / "head.py", "");
  options_.base = folder_ / "base";
  options_.candidate = (folder_ / "head.py").string() + ":norm";
  EXPECT_TRUE(Contains(Refusal(), "a program and a kernel in Python cannot be compared"));
  options_.candidate = folder_ / "head.py";
  EXPECT_TRUE(Contains(Refusal(), "names no function"));
}

}  // namespace
}  // namespace fa_profile::gate::gate_pair_libraries_test

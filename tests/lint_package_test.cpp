#include "fa_profile/lint_package.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/child_process.h"
#include "fa_profile/descriptor.h"
#include "fa_profile/disassembly.h"
#include "sample_cubins.h"
#include "test_files.h"

namespace fa_profile::load::lint_package_test {
namespace {

namespace fs = std::filesystem;

class LintPackageTest : public FolderTest {
 protected:
  void SetUp() override {
    const auto nvdisasm = sass::FindNvdisasm();
    if (!nvdisasm) GTEST_SKIP() << "no nvdisasm here: ci/setup.sh fetches one";
    fs::create_directories(package());
    for (const char* const name : {"sm_90a.cubin", "lint_sm_90a.cubin"}) fs::copy(SampleCubinPath(name), package());
    std::ofstream(package() + "/broken.cubin", std::ios::binary)
        << ReadFile(SampleCubinPath("sm_80.cubin")).substr(0, 2000);
    const std::string script = (folder_ / "nvdisasm").string();
    std::ofstream(script) << "#!/bin/sh\necho run >> '" << runs() << "'\nexec '" << *nvdisasm << "' \"$@\"\n";
    fs::permissions(script, fs::perms::owner_all);
    setenv("FA_PROFILE_NVDISASM", script.c_str(), 1);
    // Every kernel is a row.
    request_.options.phase_map = PhaseMap{"map", {{"qk", {}, {}, {"EXIT"}}, {"pv", {}, {}, {"BRA"}}}};
  }
  void TearDown() override { unsetenv("FA_PROFILE_NVDISASM"); }

  std::string package() const { return (folder_ / "package").string(); }
  std::string runs() const { return (folder_ / "runs").string(); }
  int CountRuns() const {
    const std::string text = fs::exists(runs()) ? ReadFile(runs()) : "";
    return static_cast<int>(std::ranges::count(text, '\n'));
  }

  LintRequest request_;
};

std::vector<std::string> RowsOf(const PackageLint& lint) {
  std::vector<std::string> rows;
  for (const KernelLint& kernel : lint.attention) {
    rows.push_back(kernel.file + " " + kernel.symbol + " " + kernel.label + " " + std::to_string(kernel.phases.size()));
  }
  return rows;
}

TEST_F(LintPackageTest, CubinsWithMuchCodeTakeSeveralRunsAndTellTheSame) {
  PackageLimits limits;
  limits.lint.row_wait_s = 1e9;
  const PackageLint whole = LintPackage(package(), request_, {}, limits);
  EXPECT_EQ(CountRuns(), 1);
  limits.lint.run_code_bytes = 1;
  const PackageLint divided = LintPackage(package(), request_, {}, limits);
  EXPECT_EQ(CountRuns(), 1 + divided.kernels);
  EXPECT_GE(whole.attention.size(), 5U);
  EXPECT_EQ(RowsOf(divided), RowsOf(whole));
  EXPECT_EQ(divided.kernels, whole.kernels);
  EXPECT_EQ(divided.refused, whole.refused);
}

TEST_F(LintPackageTest, AKernelOfSeveralCubinsOfAFileIsToldApartByTheCubin) {
  const std::string cubin = ReadFile(SampleCubinPath("sm_90a.cubin"));
  std::string other = cubin;
  constexpr std::size_t kUnusedByteOfTheHeader = 15;
  other[kUnusedByteOfTheHeader] = 1;
  std::ofstream(package() + "/both.so", std::ios::binary) << cubin << other;
  std::set<std::string> rows;
  std::size_t kernels = 0;
  for (const KernelLint& kernel : LintPackage(package(), request_).attention) {
    if (kernel.file != "both.so") continue;
    ++kernels;
    rows.insert(kernel.architecture + " " + kernel.label);
  }
  EXPECT_GE(kernels, 2U);
  EXPECT_EQ(rows.size(), kernels);
}

TEST_F(LintPackageTest, ProgressCountsAllThatIsFound) {
  std::vector<std::pair<int, int>> counts;
  const PackageLint lint =
      LintPackage(package(), request_, {.progress = [&](int done, int total) { counts.emplace_back(done, total); }});
  ASSERT_EQ(counts.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(counts[static_cast<std::size_t>(i)].first, i + 1);
    const int total = counts[static_cast<std::size_t>(i)].second;
    EXPECT_TRUE(total == 3 || total == 0) << total << ": counted while the package is linted";
  }
  EXPECT_EQ(lint.found, 3);
  EXPECT_EQ(lint.read, 2);
}

TEST_F(LintPackageTest, CubinsThatAreTooLargeAreNamedAndCounted) {
  PackageLimits limits;
  limits.lint.cubin_bytes = fs::file_size(package() + "/lint_sm_90a.cubin") - 1;
  ASSERT_GT(limits.lint.cubin_bytes, fs::file_size(package() + "/sm_90a.cubin"));
  const PackageLint lint = LintPackage(package(), request_, {}, limits);
  EXPECT_EQ(lint.found, lint.read + lint.skipped_files);
  const auto large = std::ranges::find_if(
      lint.skipped, [](const SkippedFile& skipped) { return skipped.file.starts_with("lint_sm_90a.cubin"); });
  ASSERT_NE(large, lint.skipped.end());
  EXPECT_TRUE(large->why.starts_with("it has more than ")) << large->why;
}

TEST_F(LintPackageTest, RowsDoNotWaitForMoreCodeToFillARun) {
  PackageLimits limits;
  limits.lint.row_wait_s = 0.0;
  const PackageLint lint = LintPackage(package(), request_, {}, limits);
  EXPECT_EQ(CountRuns(), 2) << "one for each cubin";
  EXPECT_EQ(RowsOf(lint), RowsOf(LintPackage(package(), request_)));
}

TEST_F(LintPackageTest, AProgramThatWatchesNoProgressGetsTheSame) {
  const PackageLint watched = LintPackage(package(), request_, {.progress = [](int, int) {}});
  EXPECT_EQ(RowsOf(watched), RowsOf(LintPackage(package(), request_)));
}

TEST_F(LintPackageTest, ASignalThatEndsTheProgramEndsNvdisasmAndLeavesNoFile) {
  const std::string temporary = (folder_ / "temporary").string();
  fs::create_directories(temporary);
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  Pipe pipe = MakePipe();
  const pid_t program = fork();
  if (program == 0) {
    setenv("TMPDIR", temporary.c_str(), 1);
    const std::string script = (folder_ / "nvdisasm").string();
    std::ofstream(script) << "#!/bin/sh\necho $$ >/proc/" << getpid() << "/fd/" << pipe.write_end.get()
                          << "\nexec sleep 30\n";
    (void)LintPackage(package(), request_);
    _exit(0);
  }
  pipe.write_end.Close();
  char text[32] = {};
  ASSERT_GT(read(pipe.read_end.get(), text, sizeof text - 1), 0);
  EXPECT_EQ(kill(program, SIGTERM), 0);
  EXPECT_EQ(WTERMSIG(WaitForChild(program)), SIGTERM);
  EXPECT_EQ(WTERMSIG(WaitForChild(static_cast<pid_t>(std::stol(text)))), SIGKILL);
  EXPECT_TRUE(fs::is_empty(temporary));
  EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

}  // namespace
}  // namespace fa_profile::load::lint_package_test

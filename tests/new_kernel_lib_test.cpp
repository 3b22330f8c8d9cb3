// fa-profile new kernel-lib: what it writes is configured, built and loaded; without a GPU it is not launched.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "run_program.h"
#include "test_files.h"

namespace fa_profile::new_kernel_lib_test {
namespace {

namespace fs = std::filesystem;

class NewKernelLibTest : public FolderTest {
 protected:
  Outcome Shell(const std::string& command) const { return RunInShell(folder_, command); }
  Outcome New(const std::string& arguments, const std::string& before = "") const {
    return Shell(before + FA_PROFILE_PROGRAM " new kernel-lib " + arguments);
  }
  std::size_t Entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
};

TEST_F(NewKernelLibTest, ItsFilesBuildALibraryThatDescribesItself) {
  const Outcome made = New("My.Kernel");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_TRUE(Contains(made.out, "the kernel library my_kernel"));
  const std::string configure = "CMAKE_GENERATOR=Ninja CUDACXX=" FA_PROFILE_NVCC " " FA_PROFILE_CMAKE
                                " -S My.Kernel -B build -DCMAKE_CUDA_ARCHITECTURES=90-real "
                                "-DFA_PROFILE=" FA_PROFILE_PROGRAM;
  const Outcome without_header = Shell(configure);
  EXPECT_NE(without_header.exit_code, 0);
  EXPECT_TRUE(Contains(without_header.err, "kernel_abi_2.h was not found"));
  const Outcome configured = Shell(configure + " -DFA_PROFILE_INCLUDE_DIR=" FA_PROFILE_SOURCE "/kernels/include");
  ASSERT_EQ(configured.exit_code, 0) << configured.out << configured.err;
  const Outcome built = Shell(FA_PROFILE_CMAKE " --build build");
  ASSERT_EQ(built.exit_code, 0) << built.out << built.err;
  const Outcome listed = Shell(FA_PROFILE_PROGRAM " list kernels --match my_kernel --kernel-lib build/my_kernel.so");
  EXPECT_TRUE(Contains(listed.out, "--shape rows=4096,cols=1024")) << listed.err;
  EXPECT_TRUE(Contains(listed.out, "factors: fp32 (rows), input"));
  const Outcome verified = Shell(FA_PROFILE_PROGRAM " verify --kernel my_kernel --kernel-lib build/my_kernel.so");
  EXPECT_TRUE(verified.exit_code == 0 || Contains(verified.err, "verify needs a GPU")) << verified.err;
  const Outcome tested = Shell("ctest --test-dir build --output-on-failure");
  EXPECT_EQ(tested.exit_code, 0) << tested.out;
  EXPECT_TRUE(Contains(tested.out, "description"));
  const Outcome gated = Shell(FA_PROFILE_PROGRAM
                              " gate --strict --static build/my_kernel.so build/my_kernel.so"
                              " --thresholds My.Kernel/ci/thresholds.yaml");
  EXPECT_EQ(gated.exit_code, 0) << gated.out << gated.err;
}

TEST_F(NewKernelLibTest, ASemicolonAtWhichCMakeBreaksPathsIsRefused) {
  fs::create_directory(folder_ / "a;b");
  for (const char* const place : {"\"my lib's;x\"", "'a;b/mine'"}) {
    const Outcome refused = New(place);
    EXPECT_EQ(refused.exit_code, 2) << place;
    EXPECT_TRUE(Contains(refused.err, "its name has a ';'\n  hint: give a folder without ';'")) << refused.err;
  }
  EXPECT_EQ(New("mine", "cd 'a;b' && ").exit_code, 2);
  EXPECT_EQ(Entries(), 1U);
  EXPECT_EQ(New("\"my lib's x\"").exit_code, 0);
}

// As a user pastes them, with no GPU in sight.
TEST_F(NewKernelLibTest, ThePrintedCommandsConfigureBuildAndTestWithoutAGpu) {
  const Outcome made = New("mine", "CUDA_VISIBLE_DEVICES= ");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_TRUE(Contains(made.out, "this machine has no GPU: ctest skips what needs one"));
  const std::size_t begin = made.out.find("  cmake -S ");
  const std::string commands = made.out.substr(begin, made.out.find("  fa-profile --kernel-lib") - begin);
  EXPECT_TRUE(Contains(commands, " && ctest --test-dir ")) << made.out;
  const std::string tools =
      fs::path(FA_PROFILE_NVCC).parent_path().string() + ":" + fs::path(FA_PROFILE_CMAKE).parent_path().string();
  const Outcome done = Shell("set -e; export CUDA_VISIBLE_DEVICES= PATH=" + tools + ":$PATH\n" + commands);
  EXPECT_EQ(done.exit_code, 0) << commands << done.out << done.err;
  EXPECT_TRUE(Contains(done.out, "verify ...........................***Skipped")) << done.out;
  EXPECT_TRUE(Contains(done.out, "100% tests passed")) << done.out;
  // A program that was built without CUDA cannot load the library.
  WriteFile(
      folder_ / "no-cuda",
      "#!/bin/sh\necho \"fa-profile: error: $1 needs CUDA, and this program was built without it\" >&2; exit 2\n");
  const Outcome tested =
      Shell("chmod +x no-cuda && " FA_PROFILE_CMAKE " -DFA_PROFILE=$PWD/no-cuda mine/build && " FA_PROFILE_CMAKE
            " --build mine/build && ctest --test-dir mine/build -R description");
  EXPECT_EQ(tested.exit_code, 0) << tested.out;
  EXPECT_TRUE(Contains(tested.out, "***Skipped")) << tested.out;
}

TEST_F(NewKernelLibTest, TheExampleOfTheDocumentIsComplete) {
  const std::string document = ReadSourceFile("docs/kernels.md");
  const std::size_t begin = document.find("```cpp\n") + 7;
  WriteFile(folder_ / "double.cu", document.substr(begin, document.find("```", begin) - begin));
  const Outcome built = Shell(FA_PROFILE_NVCC
                              " -O1 -std=c++20 -arch=sm_90 -Xcompiler -fPIC,-fvisibility=hidden -shared"
                              " -I " FA_PROFILE_SOURCE "/kernels/include -o double.so double.cu");
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const Outcome listed = Shell(FA_PROFILE_PROGRAM " list kernels --match double --kernel-lib double.so");
  EXPECT_TRUE(Contains(listed.out, "--shape n=1000000")) << listed.err;
}

TEST_F(NewKernelLibTest, TheHeaderIsCWithoutAWarning) {
  WriteFile(folder_ / "mine.c", R"(
#include "fa_profile/kernel_abi_2.h"
static int Launch(const fa_profile_call* call, char* error, size_t size) { return call == 0 || error == 0 || size == 0; }
static const fa_profile_parameter parameters[] = {{.name = "m", .value = 4}};
static const fa_profile_tensor tensors[] = {
    {.name = "y", .dtype = FA_PROFILE_FP32, .role = FA_PROFILE_OUTPUT, .shape = "m", .file = "y.npy"}};
static const fa_profile_kernel kernel = {FA_PROFILE_KERNEL_SIZES, .name = "mine", .parameters = parameters,
                                         .parameter_count = 1, .tensors = tensors, .tensor_count = 1, .launch = Launch};
FA_PROFILE_EXPORT_KERNEL(kernel)
)");
  const Outcome built = Shell(FA_PROFILE_CXX
                              " -x c -std=c11 -Wall -Wextra -Wpedantic -Werror -fPIC -shared"
                              " -I " FA_PROFILE_SOURCE "/kernels/include -o mine.so mine.c");
  ASSERT_EQ(built.exit_code, 0) << built.err;
  EXPECT_EQ(Shell(FA_PROFILE_PROGRAM " list kernels --kernel-lib ./mine.so").exit_code, 0);
}

TEST_F(NewKernelLibTest, TheGateReadsItsLimitsWithoutBeingTold) {
  ASSERT_EQ(New("norm").exit_code, 0);
  ExpectRefused(Shell("cd norm && " FA_PROFILE_PROGRAM " gate init"), "gate init", "ci/thresholds.yaml already exists",
                "change it by hand");
}

TEST_F(NewKernelLibTest, ItsOtherFilesNameTheKernel) {
  ASSERT_EQ(New("norm").exit_code, 0);
  for (const char* const file : {"CMakeLists.txt", "kernel.cu", "ci/thresholds.yaml", ".github/workflows/gate.yml"}) {
    EXPECT_TRUE(Contains(ReadFile(folder_ / "norm" / file), "norm")) << file;
    EXPECT_FALSE(Contains(ReadFile(folder_ / "norm" / file), "@NAME@")) << file;
  }
  EXPECT_TRUE(
      Contains(ReadFile(folder_ / "norm/.github/workflows/gate.yml"), "gate --strict --pair ./base.so ./head.so"));
}

TEST_F(NewKernelLibTest, AnEmptyFolderIsTakenAndAFullOneIsRefused) {
  fs::create_directory(folder_ / "empty");
  EXPECT_EQ(New("empty/").exit_code, 0);
  ExpectRefused(New("empty"), "new", "is not empty", "name a folder");
  WriteFile(folder_ / "file", "");
  ExpectRefused(New("file"), "new", "is not a folder", "name a folder");
  fs::create_symlink("nowhere", folder_ / "link");
  ExpectRefused(New("link"), "new", "is not a folder", "name a folder");
  ExpectRefused(New("."), "new", "is not empty", "name a folder");
  ExpectRefused(New("z", "mkdir gone && cd gone && rmdir ../gone; "), "new", "this folder was deleted", "cd");
  ExpectRefused(New("no/such"), "new", "/no not found", "mkdir -p");
  ExpectRefused(New("'a\nb'"), "new", "cannot be a kernel's", "letters a to z");
  ExpectRefused(New("'\xc3\xa9'"), "new", "cannot be a kernel's", "letters a to z");
  ExpectRefused(Shell(FA_PROFILE_PROGRAM " new kernel x"), "new", "kernel-lib", "kernel-lib");
}

TEST_F(NewKernelLibTest, ItIsThereWholeOrNotAtAll) {
  const Outcome outcome = New("full", "ulimit -f 1; ");
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
  EXPECT_EQ(Entries(), 0U);
}

TEST_F(NewKernelLibTest, EveryFolderGivesAValidName) {
  for (const auto& [folder, name] : {std::pair{"9", "kernel_9"},
                                     {"test", "test_kernel"},
                                     {"preinstall", "preinstall_kernel"},
                                     {"'a b,c'", "a_b_c"}}) {
    const Outcome outcome = New(folder);
    EXPECT_TRUE(Contains(outcome.out, std::string("the kernel library ") + name + ".")) << outcome.out << outcome.err;
  }
  const Outcome outcome = New("\"it's\"");
  EXPECT_TRUE(Contains(outcome.out, "cmake --build 'it'\\''s/build' && ")) << outcome.out << outcome.err;
  EXPECT_TRUE(Contains(outcome.out, "GitHub reads workflows at the top of a repository alone"));
}

}  // namespace
}  // namespace fa_profile::new_kernel_lib_test

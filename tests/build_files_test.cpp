#include "build_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "code_facts.h"
#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::gate::build_files_test {
namespace {

namespace fs = std::filesystem;

class BuildFilesTest : public FolderTest {
 protected:
  // A file that looks as if it had GPU code, or not.
  void Make(const std::string& path, bool has_gpu_code = true) const {
    fs::create_directories((folder_ / path).parent_path());
    constexpr std::size_t kMachineOffset = 18;
    const std::string elf = "\177ELF\002";  // 64-bit
    std::string code = elf;
    code.resize(kMachineOffset);
    code += has_gpu_code ? std::string("\276\0", 2) : "..";  // EM_CUDA
    std::ofstream(folder_ / path) << elf << " ... " << code;
  }

  // "prefix=path" of each file found, '*' for the ladder, '-' for a file that is not compared.
  std::vector<std::string> Found() const {
    std::vector<std::string> found;
    for (const BuildFile& file : FindBuildFiles(folder_.string())) {
      const std::string path = fs::path(file.path).lexically_relative(folder_).string();
      found.push_back((!file.compared ? "-" : file.ladder ? "*" : file.prefix + "=") + path);
    }
    return found;
  }

  using Names = std::vector<std::string>;
};

TEST_F(BuildFilesTest, AFileArgumentIsTakenAsItIs) {
  Make("x.o");
  const auto files = FindBuildFiles((folder_ / "x.o").string());
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].prefix, "");
  EXPECT_FALSE(files[0].ladder);
}

TEST_F(BuildFilesTest, TheLadderIsTheLibraryNearestToTheRootElseTheProgram) {
  Make("fa-profile", false);  // a launcher
  EXPECT_THROW((void)Found(), Error);
  Make("cli/fa-profile");
  EXPECT_EQ(Found(), Names{"*cli/fa-profile"});
  Make("a/b/c/libfa_kernels.a");
  EXPECT_EQ(Found(), Names{"*a/b/c/libfa_kernels.a"});
  Make("kernels/libfa_kernels.a");
  EXPECT_EQ(Found(), Names{"*kernels/libfa_kernels.a"});
}

TEST_F(BuildFilesTest, LibrariesAndCubinsWithGpuCodeAreNamedAfterThemselves) {
  Make("z/mine.so");
  Make("a/other.cubin", false);
  Make("host.so", false);
  EXPECT_EQ(Found(), (Names{"other/=a/other.cubin", "mine/=z/mine.so"}));
  Make("b/other.so");
  EXPECT_EQ(Found(), (Names{"a/other/=a/other.cubin", "b/other/=b/other.so", "mine/=z/mine.so"}));
}

TEST_F(BuildFilesTest, FilesThatDifferInTheEndingAloneAreTwo) {
  Make("x.so.1");
  Make("x.so.2");
  Make("q.cubin");
  Make("q.fatbin");
  EXPECT_EQ(Found(), (Names{"q.cubin/=q.cubin", "q.fatbin/=q.fatbin", "x.so.1/=x.so.1", "x.so.2/=x.so.2"}));
}

TEST_F(BuildFilesTest, VersionedLibrariesAndFatbinsCountAndOtherFilesWithCodeAreListed) {
  Make("object.o");
  EXPECT_THROW((void)Found(), Error);
  Make("lib.so.1.2");
  Make("code.fatbin");
  Make("host.o", false);
  EXPECT_EQ(Found(), (Names{"code/=code.fatbin", "lib/=lib.so.1.2", "-object.o"}));
  Make("libfa_kernels.a");
  EXPECT_EQ(Found(), (Names{"*libfa_kernels.a", "code/=code.fatbin", "lib/=lib.so.1.2"}));
}

TEST_F(BuildFilesTest, LibrariesOfWindowsAreComparedAndOtherFilesAreSearchedWhateverTheyBeginWith) {
  Make("k.cp312-win_amd64.pyd");
  Make("l.dll");
  Make("o.o");
  Make("code");
  fs::copy(folder_ / "code", folder_ / "data.bin");
  std::ofstream(folder_ / "data.bin", std::ios::binary) << "abc" << ReadFile(folder_ / "code");
  fs::remove(folder_ / "code");
  EXPECT_EQ(Found(), (Names{"k/=k.cp312-win_amd64.pyd", "l/=l.dll", "-data.bin", "-o.o"}));
  Make("libfa_kernels.a");  // an object may be linked into the ladder
  EXPECT_EQ(Found(), (Names{"*libfa_kernels.a", "k/=k.cp312-win_amd64.pyd", "l/=l.dll", "-data.bin"}));
}

TEST_F(BuildFilesTest, ArchivesAreListed) {
  Make("a.zip");
  Make("b.so");
  const auto is_archive = [](const std::string& path) { return path.ends_with(".zip"); };
  const std::vector<BuildFile> files = FindBuildFiles(folder_.string(), is_archive);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_FALSE(files[0].archive);
  EXPECT_TRUE(files[1].archive);
  EXPECT_EQ(files[1].path, (folder_ / "a.zip").string());
}

TEST_F(BuildFilesTest, AnExtensionForAnotherPythonIsTheSameLibrary) {
  Make("x.cpython-311-x86_64-linux-gnu.so");
  Make("y.abi3.so");
  Make("z.1.so");
  EXPECT_EQ(Found(), (Names{"x/=x.cpython-311-x86_64-linux-gnu.so", "y/=y.abi3.so", "z.1/=z.1.so"}));
  Make("x.cpython-312-x86_64-linux-gnu.so");  // both: the whole names distinguish them
  EXPECT_EQ(FindBuildFiles(folder_.string())[0].prefix, "x.cpython-311-x86_64-linux-gnu/");
}

TEST_F(BuildFilesTest, HiddenFoldersCMakeFilesAndLinksAreSkipped) {
  Make(".cache/a.so");
  Make("CMakeFiles/b.so");
  Make("lib/c.so");
  fs::create_symlink("c.so", folder_ / "lib" / "d.so");
  fs::create_directory_symlink("lib", folder_ / "again");
  EXPECT_EQ(Found(), Names{"c/=lib/c.so"});
}

TEST_F(BuildFilesTest, AnEmptyOrMissingFolderIsAnErrorWithAHint) {
  EXPECT_THROW((void)Found(), Error);
  try {
    (void)FindBuildFiles((folder_ / "nowhere").string());
    FAIL();
  } catch (const Error& problem) {
    EXPECT_FALSE(problem.hint().empty());
  }
}

TEST_F(BuildFilesTest, TheBuildLogOfAFolderHasAFixedName) {
  EXPECT_FALSE(FindBuildLog(folder_.string()));
  Make("sub/fa-profile-build.log");
  EXPECT_FALSE(FindBuildLog(folder_.string()));
  Make("fa-profile-build.log");
  EXPECT_EQ(FindBuildLog(folder_.string()), (folder_ / "fa-profile-build.log").string());
  EXPECT_FALSE(FindBuildLog((folder_ / "fa-profile-build.log").string()));
}

TEST(LastingNameTest, IsThatOfTheSameKernelOfAnotherBuild) {
  EXPECT_EQ(LastingName("_INTERNAL_4d2a_6_foo_cu_77::ns::f(int*)"), "ns::f(int*)");
  EXPECT_EQ(LastingName("void cub::CUB_200700_750_800_900a_NS::Scan<cub::CUB_200700_750_800_900a_NS::P<4> >(int)"),
            "void cub::Scan<cub::P<4> >(int)");
  EXPECT_EQ(LastingName("thrust::THRUST_200700_NS::g<int>()"), "thrust::g<int>()");
  EXPECT_EQ(LastingName("CUB_sum::f(int)"), "CUB_sum::f(int)");
}

}  // namespace
}  // namespace fa_profile::gate::build_files_test

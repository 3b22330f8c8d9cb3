#include "fa_profile/gpu_code.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "cuda_tool.h"
#include "fa_profile/cubin.h"
#include "fa_profile/error.h"
#include "sample_cubins.h"

namespace fa_profile::sass::gpu_code_test {
namespace {

constexpr const char* kNoCuobjdump = "no cuobjdump here: ci/setup.sh fetches one";

std::string ErrorOf(const std::string& path, const std::string& architecture = {}) {
  try {
    ReadGpuCode(path, architecture);
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty()) << error.message();
    return error.message();
  }
  return "no error";
}

TEST(GpuCodeTest, ACubinIsReturnedUnchanged) {
  const auto cubins = ReadGpuCode(SampleCubinPath("sm_90a.cubin"));
  ASSERT_EQ(cubins.size(), 1);
  EXPECT_EQ(cubins[0].name, "sm_90a.cubin");
  EXPECT_EQ(cubins[0].architecture, "sm_90");
  EXPECT_EQ(cubins[0].bytes, SampleCubin("sm_90a.cubin"));
}

TEST(GpuCodeTest, OnlyTheRequestedArchitectureIsRead) {
  const std::string path = SampleCubinPath("sm_90a.cubin");
  for (const char* asked : {"90", "sm_90", "sm_90a"}) EXPECT_EQ(ReadGpuCode(path, asked).size(), 1) << asked;
  EXPECT_NE(ErrorOf(path, "sm_80").find("only for sm_90"), std::string::npos);
}

TEST(GpuCodeTest, AnUnreadableFileIsAnError) {
  EXPECT_NE(ErrorOf("/no/such/file").find("/no/such/file cannot be read"), std::string::npos);
  EXPECT_NE(ErrorOf("/").find("is a directory"), std::string::npos);
}

TEST(GpuCodeTest, AFileWithoutGpuCodeIsAnError) {
  if (!FindCuobjdump()) GTEST_SKIP() << kNoCuobjdump;
  EXPECT_NE(ErrorOf("/bin/true").find("holds no GPU code"), std::string::npos);
  EXPECT_NE(ErrorOf(SampleCubinPath("kernels.cu")).find("holds no GPU code"), std::string::npos);
}

TEST(GpuCodeTest, AMissingCuobjdumpIsAnErrorWithAHint) {
  const char* path = std::getenv("PATH");
  const std::string saved = path == nullptr ? "" : path;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH", "HOME", "FA_PROFILE_CUOBJDUMP"}) unsetenv(name);
  setenv("PATH", "/no/such/folder", 1);
  setenv("XDG_CACHE_HOME", "/no/such/folder", 1);
  // /usr/local/cuda is always looked at: a toolkit that has one there has it.
  const std::string expected = FindCuobjdump() ? "holds no GPU code" : "cuobjdump is missing";
  const std::string message = ErrorOf("/bin/true");
  setenv("PATH", saved.c_str(), 1);
  unsetenv("XDG_CACHE_HOME");
  EXPECT_NE(message.find(expected), std::string::npos) << message;
}

}  // namespace
}  // namespace fa_profile::sass::gpu_code_test

#include "fa_profile/gpu_code.h"

#include <gtest/gtest.h>

#include "fa_profile/error.h"
#include "sample_cubins.h"

namespace fa_profile::sass::gpu_code_test {
namespace {

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
  EXPECT_EQ(cubins[0].name, "cubin sm_90 at 0x0");
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
  EXPECT_NE(ErrorOf("/bin/true").find("holds no GPU code"), std::string::npos);
  EXPECT_NE(ErrorOf(SampleCubinPath("kernels.cu")).find("holds no GPU code"), std::string::npos);
}

}  // namespace
}  // namespace fa_profile::sass::gpu_code_test

#include "fa_profile/cupti_api.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace fa_profile::collect {
namespace {

constexpr const char* kNvtxLibrary = "NVTX_INJECTION64_PATH";

TEST(CuptiApiTest, NvtxIsSentToCuptisOwnFileAndNotToTheProgram) {
  unsetenv(kNvtxLibrary);
  PrepareProcessForNvtx();
  const char* const path = std::getenv(kNvtxLibrary);
  ASSERT_NE(path, nullptr);
  void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_NE(dlsym(library, "InitializeInjectionNvtx2"), nullptr) << path;
  unsetenv(kNvtxLibrary);
}

TEST(CuptiApiTest, TheUsersOwnLibraryForNvtxIsKept) {
  setenv(kNvtxLibrary, "/opt/other.so", 1);
  PrepareProcessForNvtx();
  EXPECT_STREQ(std::getenv(kNvtxLibrary), "/opt/other.so");
  unsetenv(kNvtxLibrary);
}

}  // namespace
}  // namespace fa_profile::collect

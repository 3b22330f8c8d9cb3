#include "fa_profile/cuda_toolkits.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "test_files.h"

namespace fa_profile::cuda_toolkits_test {
namespace {

namespace fs = std::filesystem;

// No toolkit except those that a test makes in its folder; whatever is in /usr/local stays.
class CudaToolkitsTest : public FolderTest {
 protected:
  CudaToolkitsTest() {
    for (const char* const name : {"CUDA_HOME", "CUDA_PATH", "XDG_CACHE_HOME", "VIRTUAL_ENV", "CONDA_PREFIX"}) {
      unsetenv(name);
    }
    Set("HOME", folder_ / "home");
    Set("PATH", folder_ / "no-such-bin");
  }

  static void Set(const char* name, const fs::path& value) { setenv(name, value.c_str(), 1); }

  fs::path Make(const std::string& path) const {
    fs::create_directories(folder_ / path);
    return folder_ / path;
  }

  // Those in the test's folder.
  std::vector<fs::path> Found() const {
    std::vector<fs::path> found = CudaToolkits();
    std::erase_if(found, [&](const fs::path& path) { return !path.string().starts_with(folder_.string()); });
    return found;
  }
};

TEST_F(CudaToolkitsTest, TheFolderThatTheUserNamesIsTheFirst) {
  const fs::path named = Make("toolkit");
  Set("CUDA_HOME", named);
  EXPECT_EQ(CudaToolkits().front(), named);
}

TEST_F(CudaToolkitsTest, WhatDoesNotExistIsLeftOut) {
  Set("CUDA_HOME", folder_ / "gone");
  EXPECT_TRUE(Found().empty());
}

TEST_F(CudaToolkitsTest, PythonsPackagesAreFoundInTheEnvironmentTheOneOnPathAndTheUsers) {
  const fs::path environment = Make("venv/lib/python3.12/site-packages/nvidia/cu13");
  const fs::path on_path = Make("conda/lib/python3.11/site-packages/nvidia/cu13");
  const fs::path of_user = Make("home/.local/lib/python3.12/site-packages/nvidia/cu13");
  WriteFile(Make("conda/bin") / "python3", "");
  Set("VIRTUAL_ENV", folder_ / "venv");
  EXPECT_EQ(Found(), (std::vector<fs::path>{environment, of_user}));
  setenv("PATH", ((folder_ / "empty").string() + ":" + (folder_ / "conda/bin").string()).c_str(), 1);
  EXPECT_EQ(Found(), (std::vector<fs::path>{environment, on_path, of_user}));
}

TEST_F(CudaToolkitsTest, TheNewestPythonComesFirst) {
  const fs::path old = Make("venv/lib/python3.9/site-packages/nvidia/cu13");
  const fs::path newer = Make("venv/lib/python3.12/site-packages/nvidia/cu13");
  Set("VIRTUAL_ENV", folder_ / "venv");
  EXPECT_EQ(Found(), (std::vector<fs::path>{newer, old}));
}

TEST_F(CudaToolkitsTest, ALibraryIsOpenedFromItsFolderUnderAToolkit) {
  // Any library will do: libm, under a name that the loader does not find by itself.
  Dl_info info{};
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "cos"), &info), 0);
  const fs::path folder = Make("toolkit/extras/CUPTI/lib64");
  fs::copy_file(info.dli_fname, folder / "libfa_profile_toolkit_test.so.13");
  EXPECT_EQ(OpenCudaLibrary("libfa_profile_toolkit_test.so.13", RTLD_LAZY | RTLD_LOCAL), nullptr);
  Set("CUDA_HOME", folder_ / "toolkit");
  EXPECT_NE(OpenCudaLibrary("libfa_profile_toolkit_test.so.13", RTLD_LAZY | RTLD_LOCAL), nullptr);
}

TEST_F(CudaToolkitsTest, AFileThatIsNotALibraryIsPassedOver) {
  const fs::path folder = Make("toolkit/lib64");
  WriteFile(folder / "libfa_profile_toolkit_test.so.14", "not ELF");
  Set("CUDA_HOME", folder_ / "toolkit");
  EXPECT_EQ(OpenCudaLibrary("libfa_profile_toolkit_test.so.14", RTLD_LAZY | RTLD_LOCAL), nullptr);
}

}  // namespace
}  // namespace fa_profile::cuda_toolkits_test

// With the real program, on libraries that need no GPU to go wrong.
#include "fa_profile/library_child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "fa_profile/error.h"
#include "run_program.h"
#include "test_files.h"

namespace fa_profile::library_child_test {
namespace {

std::string Library(const std::string& name) { return std::string(FA_PROFILE_KERNEL_LIBS) + "/" + name + ".so"; }

std::string ErrorOf(const std::string& library, const ChildLimits& limits = {}) {
  try {
    (void)AskForIdentity(library, {}, limits, FA_PROFILE_PROGRAM);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(LibraryChildTest, WhatALibraryPrintsIsNotItsAnswer) {
  EXPECT_EQ(AskForIdentity(Library("prints"), {}, {}, FA_PROFILE_PROGRAM).kernel, "prints");
}

TEST(LibraryChildTest, AnErrorOfTheChildIsTheParents) {
  const std::string error = ErrorOf("./missing.so");
  EXPECT_TRUE(error.starts_with(
      "kernel library ./missing.so cannot be read: No such file or directory\n  hint: --kernel-lib takes the path"))
      << error;
}

TEST(LibraryChildTest, AnInterruptIsNotTheLibrarysFault) {
  const std::atomic<bool> interrupted = true;
  ChildLimits limits;
  limits.interrupted = &interrupted;
  EXPECT_TRUE(ErrorOf(Library("hangs_in_constructor"), limits).starts_with("interrupted"));
}

TEST(LibraryChildTest, AConstructorThatHangsIsKilledAfterTheTimeLimitThatTheErrorNames) {
  ChildLimits limits;
  limits.seconds = 0.5;
  const std::string error = ErrorOf(Library("hangs_in_constructor"), limits);
  EXPECT_TRUE(Contains(error, "hangs_in_constructor.so did not load within 0.5")) << error;
  EXPECT_TRUE(Contains(error, "hint: a constructor or fa_profile_kernel_name() hangs")) << error;
}

// Without a GPU the run ends after the library was described, which runs its constructors.
TEST(LibraryChildTest, ALibraryCannotOpenTheJudgesMemoryWhenItIsLoaded) {
  const TestFolder folder;
  const std::string as_a_user = geteuid() == 0 ? "setpriv --bounding-set=-all --inh-caps=-all --no-new-privs " : "";
  for (const char* const command : {"verify", "gate-sample", ""}) {
    SCOPED_TRACE(command);
    const std::string report = folder / (std::string("report") + command);
    (void)RunInShell(folder.path(), "REPORT=" + report + " " + as_a_user + FA_PROFILE_PROGRAM + " " + command +
                                        " --kernel-lib " + Library("opens_its_parent"));
    const std::string found = std::filesystem::exists(report) ? ReadFile(report) : "";
    EXPECT_FALSE(Contains(found, "opened")) << found;
    EXPECT_TRUE(Contains(found, "refused") || std::string(command) != "verify") << found;
  }
}

TEST(LibraryChildTest, ALibraryThatEndsTheProcessWhileItLoadsIsAnErrorOfVerify) {
  const TestFolder folder;
  const auto verify = [&](const std::string& library) {
    return RunInShell(folder.path(), FA_PROFILE_PROGRAM " verify --kernel-lib " + Library(library));
  };
  ExpectRefused(verify("exits_in_name"), "exits_in_name",
                "exits_in_name.so ended the process in fa_profile_kernel_name()", "gdb");
  ExpectRefused(verify("quits_in_constructor"), "quits_in_constructor",
                "quits_in_constructor.so ended the process: it ended with exit code 0", "gdb");
  ExpectRefused(verify("crashes_in_constructor"), "crashes_in_constructor",
                "crashes_in_constructor.so crashed while it was loaded", "gdb");
  ExpectRefused(verify("missing_symbol"), "missing_symbol", "has no function fa_profile_kernel_description",
                "C linkage");
  ExpectRefused(verify("version_1"), "version_1", "version 1 of the kernel interface", "From version 1");
}

}  // namespace
}  // namespace fa_profile::library_child_test

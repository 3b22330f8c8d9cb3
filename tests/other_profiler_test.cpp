// A library of the program that uses CUPTI itself. What CUPTI answers does not matter: here it may find no driver.
#include "fa_profile/other_profiler.h"

#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "fa_profile/private_folder.h"
#include "own_process.h"

namespace fa_profile::collect::other_profiler_test {
namespace {

std::vector<std::string>& Callers() {
  static std::vector<std::string> callers;
  return callers;
}

bool Allow(const void* caller) noexcept {
  Callers().push_back(LibraryAt(caller));
  return true;
}

bool Refuse(const void* /*caller*/) noexcept { return false; }

int Begin(void* library) { return reinterpret_cast<int (*)()>(dlsym(library, "BeginProfile"))(); }

TEST(OtherProfilerTest, TheCallsOfALibraryAreAskedFor) {
  for (const bool late : {false, true}) {
    InAProcessOfItsOwn([&] {
      void* const before = late ? nullptr : dlopen(FA_PROFILE_OWN_PROFILER, RTLD_NOW);
      GuardCupti(Allow);
      void* const library = late ? dlopen(FA_PROFILE_OWN_PROFILER, RTLD_LAZY) : before;
      ASSERT_NE(library, nullptr) << dlerror();
      EXPECT_TRUE(Callers().empty());
      (void)Begin(library);
      ASSERT_FALSE(Callers().empty());
      EXPECT_EQ(Callers()[0], "libown_profiler.so");
    });
  }
}

TEST(OtherProfilerTest, ALibraryThatMayNotGetsAnErrorAndCuptiIsNotCalled) {
  InAProcessOfItsOwn([] {
    void* const library = dlopen(FA_PROFILE_OWN_PROFILER, RTLD_NOW);
    GuardCupti(Refuse);
    EXPECT_EQ(Begin(library), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  });
}

TEST(OtherProfilerTest, ASecondCuptiOfTheProcessIsNamed) {
  InAProcessOfItsOwn([] {
    EXPECT_EQ(OtherCuptis(), std::vector<std::string>{});
    const PrivateFolder folder;
    const std::string copy = (folder.path() / "libcupti.so.99").string();
    std::filesystem::copy_file(FA_PROFILE_OWN_PROFILER, copy);
    ASSERT_NE(dlopen(copy.c_str(), RTLD_NOW), nullptr) << dlerror();
    EXPECT_EQ(OtherCuptis(), std::vector{copy});
  });
}

TEST(OtherProfilerTest, WhoFindsTheFunctionByItsNameIsAskedForToo) {
  InAProcessOfItsOwn([] {
    ASSERT_NE(dlopen(FA_PROFILE_OWN_PROFILER, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();  // and libcupti with it
    GuardCupti(Allow);
    for (const char* const name :
         {"cuptiSubscribe", "cuptiSubscribe_v2", "cuptiPCSamplingEnable", "cuptiRangeProfilerEnable",
          "cuptiProfilerBeginSession", "cuptiPmSamplingEnable", "cuptiSassMetricsEnable",
          "cuptiActivityRegisterCallbacks", "cuptiActivityRegisterTimestampCallback", "cuptiActivityEnable",
          "cuptiActivityDisable", "cuptiActivityFlushAll", "cuptiActivityPushExternalCorrelationId",
          "cuptiActivityPopExternalCorrelationId"}) {
      EXPECT_NE(LibraryAt(dlsym(RTLD_DEFAULT, name)).find("collect_tests"), std::string::npos) << name;
    }
    auto* const subscribe = reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(RTLD_DEFAULT, "cuptiSubscribe"));
    CUpti_SubscriberHandle handle = nullptr;
    (void)subscribe(&handle, nullptr, nullptr);
    EXPECT_EQ(Callers().size(), 1U);
  });
}

TEST(OtherProfilerTest, OurOwnCallsAreNotAskedFor) {
  InAProcessOfItsOwn([] {
    GuardCupti(Refuse);
    CUpti_SubscriberHandle handle = nullptr;
    EXPECT_NE(cuptiSubscribe(&handle, nullptr, nullptr), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  });
}

}  // namespace
}  // namespace fa_profile::collect::other_profiler_test

// A function of one library, called from others that were linked in different ways.
#include "function_redirect.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "own_process.h"

namespace fa_profile::collect::function_redirect_test {
namespace {

using Probe = int (*)(int);

Probe the_original = nullptr;
int calls_of_ours = 0;

int OurProbe(int number) {
  ++calls_of_ours;
  return the_original(number) + 1000;
}

void* Open(const std::string& name, int how = RTLD_LAZY) {
  void* const library = dlopen((FA_PROFILE_REDIRECTED "libredirected_" + name + ".so").c_str(), how | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library;
}

Probe Caller(const std::string& name, int how = RTLD_LAZY) {
  return reinterpret_cast<Probe>(dlsym(Open(name, how), "call_probe"));
}

std::size_t Redirect(void* library, const char* function = "probe_function") {
  void* const original = dlsym(library, function);
  the_original = reinterpret_cast<Probe>(original);
  const Redirection redirection{original, reinterpret_cast<void*>(&OurProbe)};
  return RedirectFunctions({&redirection, 1});
}

std::string AccessTo(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    char* next = nullptr;
    const auto begin = std::strtoull(line.c_str(), &next, 16);
    const auto end = std::strtoull(next + 1, &next, 16);
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    if (place >= begin && place < end) return std::string(next + 1, 4);
  }
  return "";
}

TEST(FunctionRedirectTest, CallsOfLoadedLibrariesReachOursAndOursReachesTheOriginal) {
  for (const bool called_before : {false, true}) {
    InAProcessOfItsOwn([&] {
      const Probe lazy = Caller("caller_lazy");
      const Probe now = Caller("caller_now");
      const Probe without_table = Caller("caller_noplt");
      const Probe pointer = Caller("caller_pointer");
      if (called_before) {
        EXPECT_EQ(lazy(5), 106);
      }
      // The symbol, and the slots that are filled.
      EXPECT_EQ(Redirect(Open("probe")), called_before ? 5U : 4U);
      EXPECT_EQ(lazy(5), 1106);
      EXPECT_EQ(lazy(5), 1106);
      EXPECT_EQ(now(6), 1107);
      EXPECT_EQ(without_table(7), 1108);
      EXPECT_EQ(pointer(8), 1109);
      EXPECT_EQ(calls_of_ours, 5);
    });
  }
}

TEST(FunctionRedirectTest, WhatIsReadOnlyAfterRelocationIsSoAgain) {
  InAProcessOfItsOwn([] {
    const Probe now = Caller("caller_now");
    void* const probe = Open("probe");
    Dl_info info{};
    void* map = nullptr;
    ASSERT_NE(dladdr1(reinterpret_cast<const void*>(now), &info, &map, RTLD_DL_LINKMAP), 0);
    const void* const read_only = static_cast<const link_map*>(map)->l_ld;  // outside of the slots
    ASSERT_EQ(AccessTo(read_only), "r--p");
    void* symbol = nullptr;
    ASSERT_NE(dladdr1(dlsym(probe, "probe_function"), &info, &symbol, RTLD_DL_SYMENT), 0);
    const std::string symbols = AccessTo(symbol);
    EXPECT_EQ(Redirect(probe), 2U);
    EXPECT_EQ(AccessTo(read_only), "r--p");
    EXPECT_EQ(AccessTo(symbol), symbols);
    EXPECT_EQ(now(5), 1106);
  });
}

TEST(FunctionRedirectTest, LaterLibrariesAndDlsymFindOurs) {
  InAProcessOfItsOwn([] {
    void* const probe = Open("probe");
    EXPECT_EQ(Redirect(probe), 1U);
    EXPECT_EQ(Caller("caller_lazy")(5), 1106);
    EXPECT_EQ(Caller("caller_now")(5), 1106);
    EXPECT_EQ(dlsym(probe, "probe_function"), reinterpret_cast<void*>(&OurProbe));
  });
}

TEST(FunctionRedirectTest, AnotherCopyOfTheLibraryIsLeftAlone) {
  for (const int how : {RTLD_LAZY, RTLD_NOW}) {
    InAProcessOfItsOwn([&] {
      const Probe other = Caller("caller_other", how);
      const Probe lazy = Caller("caller_lazy", how);
      EXPECT_EQ(Redirect(Open("probe")), how == RTLD_NOW ? 2U : 1U);
      EXPECT_EQ(other(5), 107);
      EXPECT_EQ(lazy(5), 1106);
    });
  }
}

// As fa-profile does with itself: it continues to call the library, not its own function.
TEST(FunctionRedirectTest, CallsOfTheObjectThatHoldsOursReachTheOriginal) {
  InAProcessOfItsOwn([] {
    void* const libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    EXPECT_GE(Redirect(libc, "getppid"), 1U);
    EXPECT_EQ(dlsym(libc, "getppid"), reinterpret_cast<void*>(&OurProbe));
    EXPECT_GT(getppid(), 0);
    EXPECT_EQ(calls_of_ours, 0);
  });
}

}  // namespace
}  // namespace fa_profile::collect::function_redirect_test

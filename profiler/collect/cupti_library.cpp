#include "cupti_library.h"

#include <cupti_result.h>
#include <cupti_version.h>
#include <dlfcn.h>

#include <exception>

#include "cupti_functions.h"
#include "fa_profile/cuda_toolkits.h"

namespace fa_profile::collect {
namespace {

constexpr unsigned kVersionsPerMajor = 10'000;  // in CUPTI_API_VERSION: 130001

void* OpenCupti() noexcept {
  try {
    return OpenCudaLibrary(CuptiLibraryName(), RTLD_NOW | RTLD_LOCAL);
  } catch (const std::exception&) {
    return nullptr;
  }
}

void* Cupti() noexcept {
  static void* const library = OpenCupti();
  return library;
}

CUptiResult CuptiIsMissing() { return CUPTI_ERROR_NOT_INITIALIZED; }
CUptiResult ThisCuptiLacksIt() { return CUPTI_ERROR_NOT_SUPPORTED; }

}  // namespace
}  // namespace fa_profile::collect

// A caller's registers hold arguments for any function, so the first call of one saves them while libcupti is opened.
// The jump leaves registers and stack as the caller made them, so no signature is needed.
#define FA_PROFILE_SLOT(function) extern "C" __attribute__((visibility("hidden"))) void* fa_profile_slot_##function;
FA_PROFILE_CUPTI_FUNCTIONS(FA_PROFILE_SLOT)
extern "C" __attribute__((visibility("hidden"), used)) void fa_profile_fill_cupti_slots() noexcept;

asm(R"(
  .text
  .p2align 4
  .type fa_profile_first_cupti_call, @function
fa_profile_first_cupti_call:
  endbr64
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  push %r11
  call fa_profile_fill_cupti_slots
  pop %r11
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  jmp *(%r11)
  .size fa_profile_first_cupti_call, .-fa_profile_first_cupti_call
)");

#define FA_PROFILE_JUMP(function)                    \
  asm("  .text\n"                                    \
      "  .p2align 4\n"                               \
      "  .globl " #function                          \
      "\n"                                           \
      "  .hidden " #function                         \
      "\n"                                           \
      "  .type " #function ", @function\n" #function \
      ":\n"                                          \
      "  endbr64\n"                                  \
      "  lea fa_profile_slot_" #function             \
      "(%rip), %r11\n"                               \
      "  jmp *(%r11)\n"                              \
      "  .size " #function ", .-" #function          \
      "\n"                                           \
      "  .data\n"                                    \
      "  .p2align 3\n"                               \
      "  .globl fa_profile_slot_" #function          \
      "\n"                                           \
      "  .hidden fa_profile_slot_" #function         \
      "\n"                                           \
      "  .type fa_profile_slot_" #function           \
      ", @object\n"                                  \
      "  .size fa_profile_slot_" #function           \
      ", 8\n"                                        \
      "fa_profile_slot_" #function ": .quad fa_profile_first_cupti_call\n  .text\n");
FA_PROFILE_CUPTI_FUNCTIONS(FA_PROFILE_JUMP)

namespace fa_profile::collect {
namespace {

// Once, and before functions of libcupti are redirected (other_profiler.h).
bool FillSlots() noexcept {
  const auto find = [](const char* name) -> void* {
    if (Cupti() == nullptr) return reinterpret_cast<void*>(&CuptiIsMissing);
    void* const function = CuptiFunction(name);
    return function == nullptr ? reinterpret_cast<void*>(&ThisCuptiLacksIt) : function;
  };
#define FA_PROFILE_FILL(function) __atomic_store_n(&fa_profile_slot_##function, find(#function), __ATOMIC_RELEASE);
  FA_PROFILE_CUPTI_FUNCTIONS(FA_PROFILE_FILL)
  return Cupti() != nullptr;
}

}  // namespace

std::string CuptiLibraryName() { return "libcupti.so." + std::to_string(CUPTI_API_VERSION / kVersionsPerMajor); }

bool CuptiIsThere() noexcept {
  static const bool there = FillSlots();
  return there;
}

std::string CuptiPath() {
  Dl_info info{};
  void* const function = CuptiFunction("cuptiGetVersion");
  const bool found = function != nullptr && dladdr(function, &info) != 0 && info.dli_fname != nullptr;
  return found ? info.dli_fname : "";
}

void* CuptiFunction(const char* name) noexcept {
  if (Cupti() == nullptr) return nullptr;
  // As if it were linked: what the program has loaded globally comes before the library.
  void* const first = dlsym(RTLD_DEFAULT, name);
  return first != nullptr ? first : dlsym(Cupti(), name);
}

}  // namespace fa_profile::collect

void fa_profile_fill_cupti_slots() noexcept { (void)fa_profile::collect::CuptiIsThere(); }

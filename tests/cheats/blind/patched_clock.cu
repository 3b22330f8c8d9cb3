// Cheat: points the clock_gettime of every loaded library at a clock that runs at half speed, so that times that the
// judge measures on the CPU are halved.
#include <link.h>
#include <sys/mman.h>
#include <time.h>

#include <cstring>

#include "common.cuh"

static decltype(&clock_gettime) volatile original = clock_gettime;  // not through the patched slot
static int HalfSpeed(clockid_t clock, timespec* time) {
  static int64_t start = 0;
  const int result = original(clock, time);
  if (result != 0 || clock != CLOCK_MONOTONIC) return result;
  const int64_t now = time->tv_sec * int64_t{1000000000} + time->tv_nsec;
  if (start == 0) start = now;
  const int64_t slow = start + (now - start) / 2;
  *time = {slow / 1000000000, slow % 1000000000};
  return 0;
}
static int PatchObject(dl_phdr_info* info, size_t, void*) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  }
  ElfW(Addr) of[DT_NUM] = {};  // by tag
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag > 0 && dynamic->d_tag < DT_NUM) of[dynamic->d_tag] = dynamic->d_un.d_ptr;
  }
  if (of[DT_JMPREL] < info->dlpi_addr) return 0;
  const auto* calls = reinterpret_cast<const ElfW(Rela)*>(of[DT_JMPREL]);
  const auto* symbols = reinterpret_cast<const ElfW(Sym)*>(of[DT_SYMTAB]);
  for (size_t i = 0; i < of[DT_PLTRELSZ] / sizeof(*calls); ++i) {
    const auto* name = reinterpret_cast<const char*>(of[DT_STRTAB]) + symbols[ELF64_R_SYM(calls[i].r_info)].st_name;
    if (std::strcmp(name, "clock_gettime") != 0) continue;
    const uintptr_t slot = info->dlpi_addr + calls[i].r_offset;
    mprotect(reinterpret_cast<void*>(slot / 4096 * 4096), 4096, PROT_READ | PROT_WRITE);
    *reinterpret_cast<void**>(slot) = reinterpret_cast<void*>(HalfSpeed);
  }
  return 0;
}

LAUNCH {
  static const int patched = dl_iterate_phdr(PatchObject, nullptr);
  const Norm a = NormOf(call);
  LaunchNorm(a, 0, a.rows, Stream(call));
  return Done() + patched;
}
EXPORT_NORM("patched_clock")

#include "function_redirect.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

namespace fa_profile::collect {
namespace {

// Relocations that fill a slot with the address of a function.
#if defined(__x86_64__)
constexpr std::uint32_t kSlotTypes[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_64};
#elif defined(__aarch64__)
constexpr std::uint32_t kSlotTypes[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_ABS64};
#else
#error "which relocations fill a slot with the address of a function?"
#endif

using LoadedObject = dl_phdr_info;

// ELF stores addresses as integers.
std::byte* AddressOf(ElfW(Addr) address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

std::span<const ElfW(Phdr)> Headers(const LoadedObject& object) { return {object.dlpi_phdr, object.dlpi_phnum}; }

bool Holds(const LoadedObject& object, const void* address) {
  return std::ranges::any_of(Headers(object), [&](const ElfW(Phdr) & header) {
    const std::byte* const begin = AddressOf(object.dlpi_addr + header.p_vaddr);
    return header.p_type == PT_LOAD && address >= begin && address < begin + header.p_memsz;
  });
}

std::vector<LoadedObject> LoadedObjects() {
  std::vector<LoadedObject> objects;
  const auto add = [](dl_phdr_info* info, std::size_t, void* data) noexcept {
    try {
      static_cast<std::vector<LoadedObject>*>(data)->push_back(*info);
    } catch (const std::bad_alloc&) {
      return 1;
    }
    return 0;
  };
  (void)dl_iterate_phdr(add, &objects);
  return objects;
}

std::uintptr_t PageOf(ElfW(Addr) address) {
  static const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return address / page_bytes * page_bytes;
}

// Protection of the page as the loader left it.
int ProtectionOf(const LoadedObject& object, ElfW(Addr) address) {
  int protection = 0;
  bool after_relocation = false;
  for (const ElfW(Phdr) & header : Headers(object)) {
    const ElfW(Addr) begin = object.dlpi_addr + header.p_vaddr;
    const ElfW(Addr) end = begin + header.p_memsz;
    if (header.p_type == PT_LOAD && address >= begin && address < end) {
      protection = ((header.p_flags & PF_R) != 0 ? PROT_READ : 0) | ((header.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
                   ((header.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
    } else if (header.p_type == PT_GNU_RELRO) {
      after_relocation = address >= PageOf(begin) && address < PageOf(end);
    }
  }
  return after_relocation ? protection & ~PROT_WRITE : protection;
}

// Other threads may read the word at any time, so it is written in one go.
template <typename Word>
bool WriteWord(const LoadedObject& object, Word* place, Word value) {
  static_assert(sizeof(Word) == sizeof(void*));
  const auto address = reinterpret_cast<ElfW(Addr)>(place);
  const int protection = ProtectionOf(object, address);
  std::byte* const page = AddressOf(PageOf(address));
  constexpr std::size_t kBytes = 1;  // the whole page is changed
  if (mprotect(page, kBytes, protection | PROT_WRITE) != 0) return false;
  __atomic_store_n(place, value, __ATOMIC_RELEASE);
  if ((protection & PROT_WRITE) == 0) (void)mprotect(page, kBytes, protection);
  return true;
}

bool RedirectSymbol(std::span<const LoadedObject> objects, const Redirection& redirection) {
  Dl_info info{};
  void* found = nullptr;
  if (dladdr1(redirection.original, &info, &found, RTLD_DL_SYMENT) == 0 || found == nullptr) return false;
  const auto object =
      std::ranges::find_if(objects, [&](const LoadedObject& one) { return Holds(one, redirection.original); });
  auto& symbol = *static_cast<ElfW(Sym)*>(found);
  if (object == objects.end() || AddressOf(object->dlpi_addr + symbol.st_value) != redirection.original) return false;
  // An address relative to the library, deliberately outside of it.
  return WriteWord(*object, &symbol.st_value, reinterpret_cast<ElfW(Addr)>(redirection.ours) - object->dlpi_addr);
}

// The relocations of an object that are not merely relative to its own base.
struct SlotTables {
  std::span<const ElfW(Rela)> calls;
  std::span<const ElfW(Rela)> others;
};

SlotTables ReadSlotTables(const LoadedObject& object) {
  struct DynamicTable {
    const ElfW(Rela) * begin = nullptr;
    std::size_t bytes = 0;
    std::size_t relative = 0;  // this many come first
    std::span<const ElfW(Rela)> In(const LoadedObject& holder) const {
      const std::size_t count = bytes / sizeof(ElfW(Rela));
      if (begin == nullptr || relative >= count || !Holds(holder, begin) || !Holds(holder, begin + count - 1))
        return {};
      return {begin + relative, count - relative};
    }
  };
  DynamicTable calls;
  DynamicTable others;
  bool rela = true;
  // glibc has made addresses of most of these, and left the rest relative to the object.
  const auto at = [&](ElfW(Addr) value) {
    return reinterpret_cast<const ElfW(Rela)*>(AddressOf(value < object.dlpi_addr ? value + object.dlpi_addr : value));
  };
  for (const ElfW(Phdr) & header : Headers(object)) {
    if (header.p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(AddressOf(object.dlpi_addr + header.p_vaddr));
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_JMPREL) calls.begin = at(entry->d_un.d_ptr);
      if (entry->d_tag == DT_PLTRELSZ) calls.bytes = entry->d_un.d_val;
      if (entry->d_tag == DT_PLTREL) rela = entry->d_un.d_val == DT_RELA;
      if (entry->d_tag == DT_RELA) others.begin = at(entry->d_un.d_ptr);
      if (entry->d_tag == DT_RELASZ) others.bytes = entry->d_un.d_val;
      if (entry->d_tag == DT_RELACOUNT) others.relative = entry->d_un.d_val;
    }
  }
  return {rela ? calls.In(object) : std::span<const ElfW(Rela)>(), others.In(object)};
}

std::size_t RedirectSlots(const LoadedObject& object, std::span<const Redirection> redirections) {
  for (const Redirection& one : redirections) {
    if (Holds(object, one.original) || Holds(object, one.ours)) return 0;
  }
  std::size_t changed = 0;
  const SlotTables tables = ReadSlotTables(object);
  for (const std::span<const ElfW(Rela)> table : {tables.calls, tables.others}) {
    for (const ElfW(Rela) & relocation : table) {
      if (std::ranges::find(kSlotTypes, ELF64_R_TYPE(relocation.r_info)) == std::end(kSlotTypes)) continue;
      auto* const slot = reinterpret_cast<void**>(AddressOf(object.dlpi_addr + relocation.r_offset));
      if (!Holds(object, slot) || reinterpret_cast<std::uintptr_t>(slot) % alignof(void*) != 0) continue;
      const auto found = std::ranges::find(redirections, *slot, &Redirection::original);
      if (found != redirections.end() && WriteWord(object, slot, found->ours)) ++changed;
    }
  }
  return changed;
}

}  // namespace

std::size_t RedirectFunctions(std::span<const Redirection> redirections) noexcept {
  try {
    const std::vector<LoadedObject> objects = LoadedObjects();
    std::size_t changed = 0;
    // Symbols first: slots that the loader fills from now on then lead to ours.
    for (const Redirection& one : redirections) changed += RedirectSymbol(objects, one) ? 1 : 0;
    for (const LoadedObject& object : objects) changed += RedirectSlots(object, redirections);
    return changed;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

}  // namespace fa_profile::collect

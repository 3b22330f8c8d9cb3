// Overwrites the first bytes of a function of the CUDA driver with a jump to another one (x86-64).
#pragma once
#include <cuda_runtime.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>

namespace {

// `version`: the CUDA version in which this variant of the function came, 1000 * major + 10 * minor.
inline void* InDriver(const char* name, unsigned version, unsigned long long flags = cudaEnableLegacyStream) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion(name, &function, version, flags, &found);
  return function;
}
inline bool Replace(void* function, void* by) {
  if (function == nullptr) return false;
  unsigned char jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};  // mov rax, by; jmp rax
  std::memcpy(jump + 2, &by, sizeof(by));
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(function) / 4096 * 4096;
  if (mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  std::memcpy(function, jump, sizeof(jump));
  return true;
}

}  // namespace

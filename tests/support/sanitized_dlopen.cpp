// Part of every test program under AddressSanitizer: CUPTI opens its own libraries with RTLD_DEEPBIND, which the
// sanitizer refuses, because such a library would bring its own malloc. Without the flag CUPTI works and is watched
// too.
#include <dlfcn.h>

extern "C" void* dlopen(const char* file, int mode) {
  static const auto next = reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
  return next(file, mode & ~RTLD_DEEPBIND);
}

// Preloaded into a program (LD_PRELOAD), sets its time of day ahead by the seconds that the file $SET_CLOCK holds.
// Clocks that nobody can set stay as they are.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  static const auto real = reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  const char* const path = std::getenv("SET_CLOCK");
  if (result != 0 || clock != CLOCK_REALTIME || path == nullptr) return result;
  if (std::FILE* const file = std::fopen(path, "r")) {
    long seconds = 0;
    if (std::fscanf(file, "%ld", &seconds) == 1) time->tv_sec += seconds;
    (void)std::fclose(file);
  }
  return result;
}

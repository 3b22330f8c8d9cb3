// Preloaded into a program (LD_PRELOAD): the file $SET_CLOCK holds by how many seconds its time of day is ahead, and
// then by how many the clock that nobody can set is: time that passes. With $END_AT_START the program is sent SIGTERM
// before its main().
#include <dlfcn.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  static const auto real = reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  const char* const path = std::getenv("SET_CLOCK");
  if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) || path == nullptr) return result;
  if (std::FILE* const file = std::fopen(path, "r")) {
    long of_day = 0;
    long passed = 0;
    (void)std::fscanf(file, "%ld %ld", &of_day, &passed);
    time->tv_sec += clock == CLOCK_REALTIME ? of_day : passed;
    (void)std::fclose(file);
  }
  return result;
}

[[gnu::constructor]] static void EndAtStart() {
  if (std::getenv("END_AT_START") != nullptr) (void)std::raise(SIGTERM);
}

// Preloaded into a program (LD_PRELOAD): the file $SET_CLOCK holds by how many seconds its time of day is ahead, and
// then by how many the clock that cannot be set is: time that passes. With $END_AT_START the program is sent SIGTERM
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
    double of_day = 0;
    double steady = 0;
    const int numbers = std::fscanf(file, "%lf %lf", &of_day, &steady);
    if (clock == CLOCK_REALTIME) time->tv_sec += static_cast<time_t>(of_day);
    if (clock == CLOCK_MONOTONIC && numbers == 2) {
      time->tv_sec = static_cast<time_t>(steady);
      time->tv_nsec = static_cast<long>((steady - static_cast<double>(time->tv_sec)) * 1e9);
    }
    (void)std::fclose(file);
  }
  return result;
}

[[gnu::constructor]] static void EndAtStart() {
  if (std::getenv("END_AT_START") != nullptr) (void)std::raise(SIGTERM);
}

// `profiled_program MODE INJECTED OWN_PROFILER`: does what a program does into which the CUDA driver loads INJECTED and
// that profiles itself with OWN_PROFILER, which is loaded "early", or "late", or has subscribed "before". Or its GPU is
// "busy". Or it does not profile itself: "plain", or "limited", then with 32 MiB of address space left once the
// library gives back its reserve of 256 MiB.
#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace {

long Call(void* library, const char* name) {
  void* const function = library == nullptr ? nullptr : dlsym(library, name);
  return function == nullptr ? -1 : reinterpret_cast<int (*)()>(function)();
}

void LimitAddressSpace() {
  constexpr rlim_t kMebibyte = 1U << 20U;
  unsigned long pages = 0;
  FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) return;
  (void)std::fclose(file);
  const rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) - 256 * kMebibyte + 32 * kMebibyte;
  const rlimit limit{most, most};
  (void)setrlimit(RLIMIT_AS, &limit);
}

}  // namespace

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  const bool alone = mode == "plain" || mode == "limited";
  void* own = alone || mode == "late" ? nullptr : dlopen(arguments[3], RTLD_NOW | RTLD_LOCAL);
  if (mode == "before") (void)Call(own, "BeginProfile");
  if (Call(dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL), "InitializeInjection") != 1) return 9;
  if (mode == "late") own = dlopen(arguments[3], RTLD_NOW | RTLD_LOCAL);
  if (mode == "busy") (void)Call(dlopen(nullptr, RTLD_LAZY), "CreateContext");
  if (mode == "limited") LimitAddressSpace();
  (void)usleep(300'000);
  for (int round = 0; !alone && mode != "before" && round < 2; ++round) {
    const long begun = Call(own, "BeginProfile");
    (void)std::printf("began: %ld\n", begun);
    (void)std::fflush(stdout);
    (void)Call(own, "EndProfile");
  }
  return 7;
}

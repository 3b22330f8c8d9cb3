// `profiled_program early|late|before|busy INJECTED OWN_PROFILER`: does what a program does into which the CUDA driver
// loads INJECTED and that profiles itself with OWN_PROFILER, which is loaded early, or late, or has subscribed before.
// Or its GPU is busy.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace {

long Call(void* library, const char* name) {
  void* const function = library == nullptr ? nullptr : dlsym(library, name);
  return function == nullptr ? -1 : reinterpret_cast<int (*)()>(function)();
}

}  // namespace

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  void* own = mode == "late" ? nullptr : dlopen(arguments[3], RTLD_NOW | RTLD_LOCAL);
  if (mode == "before") (void)Call(own, "BeginProfile");
  if (Call(dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL), "InitializeInjection") != 1) return 9;
  if (mode == "late") own = dlopen(arguments[3], RTLD_NOW | RTLD_LOCAL);
  if (mode == "busy") (void)Call(dlopen(nullptr, RTLD_LAZY), "CreateContext");
  (void)usleep(300'000);
  for (int round = 0; mode != "before" && round < 2; ++round) {
    const long begun = Call(own, "BeginProfile");
    (void)std::printf("began: %ld\n", begun);
    (void)std::fflush(stdout);
    (void)Call(own, "EndProfile");
  }
  return 7;
}

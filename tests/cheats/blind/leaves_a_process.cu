// Cheat: leaves a process in a session of its own that waits for the end of this one and then fills memory of the GPU
// for a few percent of the time, so that a build that is judged next looks slower. It ends 20 s after its start. The
// calls themselves are honest.
#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "common.cuh"

constexpr int kSeconds = 20;
constexpr const char* kVariable = "LEAVES_A_PROCESS";  // the number of the process to outlive

template <typename Function>
static Function* Driver(void* library, const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define DRIVER(function) Driver(library, #function, static_cast<decltype(&(function))>(nullptr))
static void Disturb(std::chrono::steady_clock::time_point end) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return;
  const auto synchronize = DRIVER(cuCtxSynchronize);
  const auto fill = reinterpret_cast<CUresult (*)(CUdeviceptr, unsigned char, size_t)>(dlsym(library, "cuMemsetD8_v2"));
  const auto allocate = reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t)>(dlsym(library, "cuMemAlloc_v2"));
  constexpr size_t kBytes = size_t{32} << 20;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  if (DRIVER(cuInit)(0) != CUDA_SUCCESS || DRIVER(cuDeviceGet)(&device, 0) != CUDA_SUCCESS) return;
  if (DRIVER(cuDevicePrimaryCtxRetain)(&context, device) != CUDA_SUCCESS) return;
  if (DRIVER(cuCtxSetCurrent)(context) != CUDA_SUCCESS || allocate(&memory, kBytes) != CUDA_SUCCESS) return;
  while (std::chrono::steady_clock::now() < end) {
    if (fill(memory, 0, kBytes) != CUDA_SUCCESS || synchronize() != CUDA_SUCCESS) return;
    std::this_thread::sleep_for(std::chrono::microseconds(400));
  }
}

// In the process that is left, before its main().
__attribute__((constructor)) static void Outlive() {
  const char* const parent = std::getenv(kVariable);
  if (parent == nullptr) return;
  alarm(kSeconds);  // whatever hangs below
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kSeconds - 1);
  while (getppid() == std::atoi(parent) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  Disturb(end);
  _exit(0);
}

static bool Leave() {
  Dl_info self = {};
  if (dladdr(reinterpret_cast<const void*>(&Leave), &self) == 0) return false;
  std::vector<std::string> words = {std::string("LD_PRELOAD=") + self.dli_fname,
                                    std::string(kVariable) + "=" + std::to_string(getpid())};
  std::vector<char*> environment;
  for (std::string& word : words) environment.push_back(word.data());
  for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (int i = 0; i < 3; ++i) posix_spawn_file_actions_addopen(&files, i, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);  // nobody waits for an end of these
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t alarm_alone, none;
  sigemptyset(&none);
  sigemptyset(&alarm_alone);
  sigaddset(&alarm_alone, SIGALRM);
  posix_spawnattr_setsigdefault(&attributes, &alarm_alone);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  char program[] = "/bin/true";
  char* const arguments[] = {program, nullptr};
  pid_t child = 0;
  const bool left = posix_spawn(&child, program, &files, &attributes, arguments, environment.data()) == 0;
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return left;
}

LAUNCH {
  static const bool left = Leave();
  (void)left;
  const Norm a = NormOf(call);
  LaunchNorm(a, 0, a.rows, Stream(call));
  return Done();
}
EXPORT_NORM("leaves_a_process")

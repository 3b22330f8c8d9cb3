// A program that takes something from itself after its first launches, or leaves a process behind: `limited_program
// MODE`. It ends with 11, and prints what its kernels computed.
//   as, fsize, nofile   leaves itself little address space, no byte more in a file, no file descriptor
//   daemon              starts a process in a new session that uses the GPU for about 3 s longer
#include <cuda_runtime.h>
#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr int kBlocks = 64;
constexpr int kThreads = 256;
constexpr int kNumbers = kBlocks * kThreads;

void Check(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(result));
  std::exit(9);
}

// A launch that runs twice, or not at all, shows.
__global__ void Mix(std::uint32_t* numbers, std::uint32_t factor) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  numbers[i] = numbers[i] * factor + i + 1;
}

struct Numbers {
  std::uint32_t* device = nullptr;
  Numbers() {
    Check(cudaMalloc(&device, kNumbers * sizeof(std::uint32_t)));
    Check(cudaMemset(device, 1, kNumbers * sizeof(std::uint32_t)));
  }
  void Launch(int times) const {
    for (int k = 0; k < times; ++k) {
      Mix<<<kBlocks, kThreads>>>(device, static_cast<std::uint32_t>(2 * k + 3));
      if (k % 2 == 0) continue;
      Check(cudaDeviceSynchronize());
      usleep(1000);
    }
  }
  std::uint32_t Sum() const {
    std::vector<std::uint32_t> host(kNumbers);
    Check(cudaMemcpy(host.data(), device, kNumbers * sizeof(std::uint32_t), cudaMemcpyDeviceToHost));
    std::uint32_t sum = 0;
    for (const std::uint32_t number : host) sum = sum * 31 + number;
    return sum;
  }
};

void Limit(__rlimit_resource what, rlim_t value) {
  const rlimit limit{value, value};
  if (setrlimit(what, &limit) != 0) std::exit(9);
}

rlim_t AddressSpace() {
  unsigned long pages = 0;
  FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) std::exit(9);
  (void)std::fclose(file);
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

rlim_t HighestDescriptor() {
  int highest = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) highest = std::max(highest, std::atoi(entry->d_name));
  (void)closedir(folder);
  return static_cast<rlim_t>(highest);
}

// Twice forked, and before CUDA: a process like any other, without a parent that waits for it.
void StartDaemon() {
  const pid_t child = fork();
  if (child != 0) {
    (void)waitpid(child, nullptr, 0);
    return;
  }
  (void)setsid();
  if (fork() != 0) _exit(0);
  for (FILE* const stream : {stdin, stdout, stderr})
    (void)std::freopen("/dev/null", stream == stdin ? "r" : "w", stream);
  const Numbers numbers;
  for (int k = 0; k < 60; ++k) {
    numbers.Launch(100);
  }
  std::exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "daemon") StartDaemon();
  const Numbers numbers;
  numbers.Launch(100);
  const std::uint32_t first = numbers.Sum();
  if (mode == "as") Limit(RLIMIT_AS, AddressSpace() + (rlim_t{192} << 20U));
  if (mode == "fsize") Limit(RLIMIT_FSIZE, 16384);
  if (mode == "nofile") Limit(RLIMIT_NOFILE, HighestDescriptor() + 1);
  numbers.Launch(mode == "daemon" ? 200 : 2900);
  std::printf("checksum %u %u\n", first, numbers.Sum());
  return 11;
}

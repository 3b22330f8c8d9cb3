// A server that forks its workers before CUDA starts: nvcc -arch=sm_90 prefork_server.cu && ./a.out
//
// Four workers compute on the GPU for the parent, which asks them over sockets; one exits and one aborts in the middle,
// and both are replaced. At the end each resets its device and exits with 3. Prints checksums and how each worker
// ended. When instructions had been counted in a context that was reset, CUPTI's destructors at exit ended the worker
// by SIGSEGV (H200, CUDA 13.0), unless the counter is closed before.
#include <cuda_runtime.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kWorkers = 4;
constexpr int kRounds = 6;
constexpr int kElements = 64 * 128;
enum Request : unsigned { kEnd = 0, kAbort = 1, kFirstSeed = 100 };
constexpr int kWorkerExit = 3;

__global__ void Mix(unsigned* values, unsigned seed) {
  unsigned& value = values[blockIdx.x * blockDim.x + threadIdx.x];
  value += seed;
  for (int i = 0; i < 2000; ++i) value = (value * 1664525U + 1013904223U) ^ (value >> 15U);
}

std::uint64_t Work(unsigned seed, int launches) {
  static unsigned* values = nullptr;
  if (values == nullptr && cudaMalloc(&values, kElements * sizeof(unsigned)) != cudaSuccess) _exit(90);
  cudaMemset(values, static_cast<int>(seed & 255U), kElements * sizeof(unsigned));
  for (int i = 0; i < launches; ++i) {
    Mix<<<kElements / 128, 128>>>(values, seed + i);
    if (i % 8 != 7) continue;
    if (cudaDeviceSynchronize() != cudaSuccess) _exit(91);
    usleep(4000);
  }
  std::vector<unsigned> all(kElements);
  if (cudaMemcpy(all.data(), values, kElements * sizeof(unsigned), cudaMemcpyDefault) != cudaSuccess) _exit(92);
  std::uint64_t hash = 14695981039346656037U;
  for (const unsigned value : all) hash = (hash ^ value) * 1099511628211U;
  return hash;
}

[[noreturn]] void Serve(int parent) {
  unsigned request = 0;
  while (read(parent, &request, sizeof request) == sizeof request && request != kEnd) {
    if (request == kAbort) std::abort();
    const std::uint64_t hash = Work(request, 60);
    if (write(parent, &hash, sizeof hash) != sizeof hash) break;
  }
  cudaDeviceReset();
  std::exit(kWorkerExit);
}

struct Worker {
  pid_t process = 0;
  int socket = -1;
};

Worker Fork(const std::vector<Worker>& others) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::exit(93);
  std::fflush(stdout);
  const pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    for (const Worker& other : others) close(other.socket);
    Serve(ends[1]);
  }
  close(ends[1]);
  return {process, ends[0]};
}

void Ask(const Worker& worker, unsigned request) {
  if (write(worker.socket, &request, sizeof request) != sizeof request) std::exit(94);
}

int End(const Worker& worker, Request how) {
  Ask(worker, how);
  int status = 0;
  waitpid(worker.process, &status, 0);
  close(worker.socket);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

int main() {
  std::vector<Worker> workers;
  for (int i = 0; i < kWorkers; ++i) workers.push_back(Fork(workers));
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kWorkers; ++i) Ask(workers[i], kFirstSeed + round * kWorkers + i);
    for (int i = 0; i < kWorkers; ++i) {
      std::uint64_t hash = 0;
      if (read(workers[i].socket, &hash, sizeof hash) != sizeof hash) hash = 0;
      std::printf("%d.%d %016llx\n", round, i, static_cast<unsigned long long>(hash));
    }
    for (int i = 0; round == kRounds / 2 - 1 && i < 2; ++i) {
      std::printf("worker %d ended with %d\n", i, End(workers[i], i == 0 ? kEnd : kAbort));
      workers[i] = {};
      std::vector<Worker> others;
      for (const Worker& worker : workers) {
        if (worker.process != 0) others.push_back(worker);
      }
      workers[i] = Fork(others);
    }
  }
  for (const Worker& worker : workers) std::printf("ended with %d\n", End(worker, kEnd));
}

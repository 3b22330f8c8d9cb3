// Launches small kernels from several threads, each on separate streams, without knowing of fa-profile.
//
//   fa-profile -- build/gpu/bench/fa_threads [THREADS [LAUNCHES]]
//
// Each thread launches LAUNCHES kernels in turn on two streams. Prints the host's time of a launch and a checksum that
// does not depend on the order of the threads. Defaults: 4 threads, 25,000 launches each.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int kNumbers = 4096;
constexpr int kBlock = 256;
constexpr int kStreams = 2;

void Check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  std::exit(1);
}

__global__ void Add(unsigned* numbers, unsigned value) { numbers[blockIdx.x * kBlock + threadIdx.x] += value; }

void Work(unsigned* numbers, unsigned thread, int launches) {
  cudaStream_t streams[kStreams];
  for (cudaStream_t& stream : streams) Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  for (int i = 0; i < launches; ++i) {
    const int stream = i % kStreams;
    Add<<<kNumbers / kBlock, kBlock, 0, streams[stream]>>>(numbers + stream * kNumbers, thread + 1);
  }
  Check(cudaGetLastError(), "launch");
  for (const cudaStream_t stream : streams) {
    Check(cudaStreamSynchronize(stream), "kernel");
    Check(cudaStreamDestroy(stream), "stream");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
  const int launches = argc > 2 ? std::atoi(argv[2]) : 25000;
  if (threads < 1 || launches < 1) {
    std::fprintf(stderr, "usage: %s [THREADS [LAUNCHES]]: numbers above 0\n", argv[0]);
    return 2;
  }
  const std::size_t count = static_cast<std::size_t>(threads) * kStreams * kNumbers;
  unsigned* numbers = nullptr;
  Check(cudaMalloc(&numbers, count * sizeof(unsigned)), "memory");
  Check(cudaMemset(numbers, 0, count * sizeof(unsigned)), "memory");
  Check(cudaDeviceSynchronize(), "memory");
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back(Work, numbers + static_cast<std::size_t>(i) * kStreams * kNumbers, static_cast<unsigned>(i),
                         launches);
  }
  for (std::thread& worker : workers) worker.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::vector<unsigned> host(count);
  Check(cudaMemcpy(host.data(), numbers, count * sizeof(unsigned), cudaMemcpyDeviceToHost), "copy");
  Check(cudaFree(numbers), "memory");
  unsigned long long checksum = 0;
  for (const unsigned number : host) checksum += number;
  std::printf("launch %.2f us, checksum %llu\n", seconds.count() / (static_cast<double>(threads) * launches) * 1e6,
              checksum);
  return 0;
}

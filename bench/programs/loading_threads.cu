// Threads that load code, fill and copy while another launches: nvcc -arch=sm_90 loading_threads.cu -lcuda
//
// With an argument (modules, fills, copies) only threads of that kind; alone, fills and all kinds together did not end
// within a minute (H200), and all kinds together, watched, ended by SIGSEGV, which is not understood. Prints the
// kernel's checksum and its number of launches: a report must say the same, with counters and phases. Ending PC
// sampling meanwhile, CUPTI waits for the SMs, which such threads keep busy, and a module that loads waits for CUPTI.
#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kBlocks = 264;
constexpr int kThreads = 256;
constexpr int kLaunches = 80000;
constexpr std::size_t kBytes = 1U << 20U;
constexpr const char* kPtx =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry Loaded(.param .u64 p) { ret; }\n";

std::atomic<bool> over = false;

template <typename Result>
void Check(Result result) {
  if (static_cast<int>(result) != 0) std::exit(90);
}

__global__ void Mix(std::uint32_t* values, std::uint32_t seed) {
  std::uint32_t& value = values[blockIdx.x * blockDim.x + threadIdx.x];
  for (int i = 0; i < 2000; ++i) value = (value * 1664525U + seed) ^ (value >> 7U);
}

void LoadModules() {
  Check(cudaSetDevice(0));
  Check(cudaFree(nullptr));
  while (!over) {
    CUmodule module;
    Check(cuModuleLoadData(&module, kPtx));
    CUfunction function;
    Check(cuModuleGetFunction(&function, module, "Loaded"));
    Check(cuModuleUnload(module));
  }
}

void FillOrCopy(bool copies) {
  cudaStream_t stream;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  char* memory = nullptr;
  Check(cudaMalloc(&memory, 2 * kBytes));
  for (int i = 0; !over; ++i) {
    Check(copies ? cudaMemcpyAsync(memory, memory + kBytes, kBytes, cudaMemcpyDeviceToDevice, stream)
                 : cudaMemsetAsync(memory, i, kBytes, stream));
    if (i % 50 == 0) Check(cudaStreamSynchronize(stream));
  }
  Check(cudaStreamSynchronize(stream));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string kind = count > 1 ? arguments[1] : "";
  std::uint32_t* values = nullptr;
  Check(cudaMalloc(&values, kBlocks * kThreads * sizeof(*values)));
  Check(cudaMemset(values, 1, kBlocks * kThreads * sizeof(*values)));
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    if (kind.empty() || kind == "modules") threads.emplace_back(LoadModules);
    if (kind.empty() || kind == "fills") threads.emplace_back(FillOrCopy, false);
    if (kind.empty() || kind == "copies") threads.emplace_back(FillOrCopy, true);
  }
  for (std::uint32_t i = 0; i < kLaunches; ++i) {
    Mix<<<kBlocks, kThreads>>>(values, i);
    Check(cudaGetLastError());
    if (i % 20 == 0) Check(cudaDeviceSynchronize());
  }
  std::vector<std::uint32_t> result(kBlocks * kThreads);
  Check(cudaMemcpy(result.data(), values, result.size() * sizeof(result[0]), cudaMemcpyDeviceToHost));
  over = true;
  for (std::thread& thread : threads) thread.join();
  std::uint32_t sum = 0;
  for (const std::uint32_t value : result) sum = sum * 31 + value;
  std::printf("Mix: %d launches, checksum %08x\n", kLaunches, sum);
  return 0;
}

// A program that knows nothing of fa-profile and does one thing that a profiler can break: `watched_program MODE`. It
// prints a checksum of what its kernels computed, which must be the same with and without fa-profile.
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// From cuda_profiler_api.h, which not every installation of the toolkit has.
extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();

namespace {

constexpr int kNumbers = 1 << 16;
constexpr int kThreads = 256;

void Check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  std::printf("%s: %s\n", call, cudaGetErrorString(result));
  std::exit(9);
}

// Neither idempotent nor commutative: a launch that runs twice, or not at all, or out of order, shows.
__global__ void Mix(std::uint32_t* numbers, std::uint32_t factor) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  numbers[i] = numbers[i] * factor + static_cast<std::uint32_t>(i) + 1;
}

__global__ void Rotate(std::uint32_t* numbers) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  numbers[i] = (numbers[i] << 7U) | (numbers[i] >> 25U);
}

// Ends when a later launch, or the host, has set the flag.
__global__ void WaitForFlag(volatile int* flag) {
  while (*flag == 0) {
  }
}
__global__ void SetFlag(volatile int* flag) { *flag = 1; }

struct Numbers {
  std::uint32_t* device = nullptr;
  Numbers() {
    Check(cudaMalloc(&device, kNumbers * sizeof(std::uint32_t)), "cudaMalloc");
    Check(cudaMemset(device, 1, kNumbers * sizeof(std::uint32_t)), "cudaMemset");
  }
  void Launch(cudaStream_t stream, std::uint32_t factor) const {
    Mix<<<kNumbers / kThreads, kThreads, 0, stream>>>(device, factor);
    Rotate<<<kNumbers / kThreads, kThreads, 0, stream>>>(device);
  }
  std::uint32_t Sum() const {
    std::vector<std::uint32_t> host(kNumbers);
    Check(cudaMemcpy(host.data(), device, kNumbers * sizeof(std::uint32_t), cudaMemcpyDeviceToHost), "cudaMemcpy");
    std::uint32_t sum = 0;
    for (const std::uint32_t number : host) sum = sum * 31 + number;
    return sum;
  }
};

cudaStream_t NewStream() {
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
}

// Long enough for counters to be chosen and measured while it runs.
void Repeat(const Numbers& numbers, cudaStream_t stream, int launches) {
  for (int k = 0; k < launches; ++k) {
    numbers.Launch(stream, static_cast<std::uint32_t>(2 * k + 1));
    if (k % 100 == 99) {
      Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      usleep(2000);
    }
  }
  Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

cudaGraphExec_t Capture(const Numbers& numbers, cudaStream_t stream, cudaStreamCaptureMode mode) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  Check(cudaStreamBeginCapture(stream, mode), "cudaStreamBeginCapture");
  for (std::uint32_t k = 0; k < 20; ++k) numbers.Launch(stream, 2 * k + 3);
  Check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  Check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  Check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return executable;
}

// Captures over and over, in all modes, with launches between.
void Graphs(const Numbers& numbers) {
  cudaStream_t const stream = NewStream();
  for (int round = 0; round < 60; ++round) {
    Repeat(numbers, stream, 100);
    const cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                           cudaStreamCaptureModeRelaxed};
    cudaGraphExec_t const graph = Capture(numbers, stream, modes[round % 3]);
    for (int k = 0; k < 40; ++k) Check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
    Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    Check(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
  }
}

// Four threads with a stream each; one of them captures while the others launch.
std::uint32_t Threads() {
  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> sum = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &sum] {
      const Numbers numbers;
      cudaStream_t const stream = NewStream();
      for (int round = 0; round < 20; ++round) {
        Repeat(numbers, stream, 200);
        if (t > 0) continue;
        cudaGraphExec_t const graph = Capture(numbers, stream, cudaStreamCaptureModeThreadLocal);
        for (int k = 0; k < 20; ++k) Check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
      }
      Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      sum += numbers.Sum();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return sum;
}

// They launch until the process is gone, while `main` ends.
void LaunchForEver() {
  for (int t = 0; t < 4; ++t) {
    std::thread([] {
      const Numbers numbers;
      cudaStream_t const stream = NewStream();
      while (true) {
        Mix<<<kNumbers / kThreads, kThreads, 0, stream>>>(numbers.device, 3);
        if (cudaStreamSynchronize(stream) != cudaSuccess) (void)pause();  // the driver has ended
      }
    }).detach();
  }
  usleep(1'200'000);  // counters are measured by then
}

// A kernel waits for what a later launch does: whoever waits for the kernel before that launch waits for ever.
void Waiting(const Numbers& numbers) {
  cudaStream_t const stream = NewStream();
  cudaStream_t const other = NewStream();
  int* flag = nullptr;
  Check(cudaMalloc(&flag, sizeof(int)), "cudaMalloc");
  // Loaded before a kernel spins: loading waits for the device.
  SetFlag<<<1, 1, 0, other>>>(flag);
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  WaitForFlag<<<1, 1, 0, stream>>>(flag);
  Repeat(numbers, other, 1);
  for (int round = 0; round < 20; ++round) {
    Check(cudaMemset(flag, 0, sizeof(int)), "cudaMemset");
    Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    WaitForFlag<<<1, 1, 0, stream>>>(flag);
    numbers.Launch(other, 5);
    SetFlag<<<1, 1, 0, other>>>(flag);
    Repeat(numbers, other, 100);
  }
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

// 100,000 launches of each kernel between cudaProfilerStart and cudaProfilerStop, half of them inside the range
// "wanted", and 1000 of another class outside of it; 10,000 before and after.
void Selected(const Numbers& numbers, cudaStream_t stream) {
  Repeat(numbers, stream, 10000);
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  Check(cudaProfilerStart(), "cudaProfilerStart");
  for (int step = 0; step < 1000; ++step) {
    (void)nvtxRangePushA("wanted");
    Repeat(numbers, stream, 50);
    (void)nvtxRangePop();
    Rotate<<<1, 32, 0, stream>>>(numbers.device);
    Repeat(numbers, stream, 50);
  }
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  Check(cudaProfilerStop(), "cudaProfilerStop");
  Repeat(numbers, stream, 10000);
}

// NVTX ranges: nested ones, one that another thread ends, one of a domain; and a graph that is captured in a range and
// launched in another. 100 steps of two launches in "attn" and one launch of the graph's 40 kernels.
void Ranges(const Numbers& numbers) {
  cudaStream_t const stream = NewStream();
  nvtxDomainHandle_t const domain = nvtxDomainCreateA("lib");
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "inner");
  numbers.Launch(stream, 3);  // outside
  (void)nvtxRangePushA("capture");
  cudaGraphExec_t const graph = Capture(numbers, stream, cudaStreamCaptureModeGlobal);
  (void)nvtxRangePop();
  const nvtxRangeId_t whole = nvtxRangeStartA("whole");
  for (int step = 0; step < 100; ++step) {
    (void)nvtxRangePushA(("step, seq = " + std::to_string(step)).c_str());
    (void)nvtxRangePushA("attn");
    numbers.Launch(stream, static_cast<std::uint32_t>(2 * step + 1));
    (void)nvtxRangePop();
    Check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
    (void)nvtxDomainRangePushEx(domain, &attributes);
    numbers.Launch(stream, 7);
    (void)nvtxDomainRangePop(domain);
    (void)nvtxRangePop();
  }
  std::thread([whole] { nvtxRangeEnd(whole); }).join();
  numbers.Launch(stream, 5);  // outside again
  Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  std::thread([&numbers] {
    cudaStream_t const own = NewStream();
    (void)nvtxRangePushA("thread");
    numbers.Launch(own, 9);
    (void)nvtxRangePop();
    Check(cudaStreamSynchronize(own), "cudaStreamSynchronize");
  }).join();
  Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

// A library of the program that records kernels with CUPTI itself, as torch.profiler does: own_profiler.cpp.
struct OwnProfiler {
  void* library = dlopen(FA_PROFILE_OWN_PROFILER, RTLD_NOW | RTLD_LOCAL);
  template <typename Result>
  Result Call(const char* name) const {
    auto* const function = library == nullptr ? nullptr : reinterpret_cast<Result (*)()>(dlsym(library, name));
    return function == nullptr ? static_cast<Result>(-1) : function();
  }
};

// Twice, as a program may profile itself again: 1000 kernels each time.
void ProfileOwn(const OwnProfiler& profiler, const Numbers& numbers, cudaStream_t stream) {
  for (int round = 0; round < 2; ++round) {
    const int begun = profiler.Call<int>("BeginProfile");
    for (std::uint32_t k = 0; k < 500; ++k) numbers.Launch(stream, 2 * k + 1);
    Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    std::printf("own profiler: CUPTI's result %d, %ld kernels\n", begun, profiler.Call<long>("EndProfile"));
    Repeat(numbers, stream, 1000);
  }
}

void FillMemory(const Numbers& numbers) {
  cudaStream_t const stream = NewStream();
  Repeat(numbers, stream, 10);
  std::vector<void*> blocks;
  for (std::size_t bytes = std::size_t{1} << 33U; bytes >= (std::size_t{1} << 20U);) {
    void* block = nullptr;
    if (cudaMalloc(&block, bytes) == cudaSuccess) {
      blocks.push_back(block);
    } else {
      (void)cudaGetLastError();
      bytes /= 2;
    }
  }
  Repeat(numbers, stream, 3000);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "eager") (void)setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  if (mode == "children") {
    // Processes that use the GPU one after the other, started by one that does not.
    for (int k = 0; k < 2; ++k) {
      const pid_t child = fork();
      if (child == 0) {
        (void)execl(argv[0], argv[0], "plain", nullptr);
        _exit(127);
      }
      int status = 0;
      (void)waitpid(child, &status, 0);
      if (status != 0) return 8;
    }
    std::printf("children done\n");
    return 0;
  }
  if (mode == "ranges") {  // before CUDA: then every launch is seen
    (void)nvtxRangePushA("start");
    (void)nvtxRangePop();
  }
  std::optional<OwnProfiler> profiler;
  if (mode.starts_with("profiler")) profiler.emplace();
  if (mode == "profiler_first") {  // before CUDA
    std::printf("own profiler: CUPTI's result %d\n", profiler->Call<int>("BeginProfile"));
  }
  const Numbers numbers;
  cudaStream_t const stream = NewStream();
  std::uint32_t more = 0;
  if (mode == "once") {
    numbers.Launch(stream, 3);
  } else if (mode == "graphs") {
    Graphs(numbers);
  } else if (mode == "graph") {
    cudaGraphExec_t const graph = Capture(numbers, stream, cudaStreamCaptureModeGlobal);
    for (int k = 0; k < 2000; ++k) {
      Check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
      Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      usleep(1000);
    }
  } else if (mode == "long") {
    Repeat(numbers, stream, 250000);
  } else if (mode == "selected") {
    Selected(numbers, stream);
  } else if (mode == "threads") {
    more = Threads();
  } else if (mode == "profiler" || mode == "late_profiler") {
    Repeat(numbers, stream, 60000);  // until counters are measured
    if (!profiler) profiler.emplace();
    ProfileOwn(*profiler, numbers, stream);
  } else if (mode == "profiler_first") {
    Repeat(numbers, stream, 6000);
    std::printf("own profiler: %ld kernels\n", profiler->Call<long>("EndProfile"));
  } else if (mode == "profiler_threads") {
    std::thread others([&more] { more = Threads(); });
    Repeat(numbers, stream, 1000);
    // Its result depends on what the other threads do: CUPTI may not end to sample phases beside them.
    (void)profiler->Call<int>("BeginProfile");
    others.join();
    (void)profiler->Call<long>("EndProfile");
  } else if (mode == "waiting") {
    Waiting(numbers);
  } else if (mode == "ranges") {
    Ranges(numbers);
  } else if (mode == "memory") {
    FillMemory(numbers);
  } else if (mode == "reset") {
    Repeat(numbers, stream, 4000);
    more = numbers.Sum();
    Check(cudaDeviceReset(), "cudaDeviceReset");
    const Numbers again;
    Repeat(again, nullptr, 1000);
    std::printf("checksum %u %u\n", again.Sum(), more);
    return 0;
  } else {
    Repeat(numbers, stream, 6000);
  }
  std::printf("checksum %u %u\n", numbers.Sum(), more);
  std::fflush(stdout);
  if (mode == "fork") {
    const pid_t child = fork();
    if (child == 0) std::exit(3);
    int status = 0;
    (void)waitpid(child, &status, 0);
    std::printf("child ended with %d\n", WEXITSTATUS(status));
    Repeat(numbers, stream, 1000);
    std::printf("checksum %u\n", numbers.Sum());
  }
  if (mode == "exit7") return 7;
  if (mode == "exit_launching") LaunchForEver();
  if (mode == "_exit") _exit(5);
  if (mode == "abort") std::abort();
  if (mode == "kill") (void)raise(SIGKILL);
  if (mode == "term") (void)raise(SIGTERM);
  if (mode == "throw") throw std::runtime_error("on purpose");
  return 0;
}

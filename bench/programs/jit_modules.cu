// 100 kernels that are compiled, loaded, launched and unloaded: nvcc -arch=sm_90 jit_modules.cu -lnvrtc -lcuda
//
// Four threads load each module twice, half of them as libraries, and launch its kernel 15 times per load. With an
// argument, every second load is unloaded while its kernel runs. Prints checksums and that each of jit_0 to jit_99 was
// launched 30 times: a report must say the same, although CUPTI frees the name of a kernel with its module.
#include <cuda.h>
#include <nvrtc.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kKernels = 100;
constexpr int kThreads = 4;
constexpr int kLoads = 2;
constexpr unsigned kLaunches = 15;
constexpr int kElements = 16 * 128;

template <typename Result>
void Check(Result result) {
  if (static_cast<int>(result) != 0) std::exit(90);
}

std::string Compile(int number) {
  const std::string source = "extern \"C\" __global__ void jit_" + std::to_string(number) +
                             "(unsigned* values, unsigned seed) {\n"
                             "  unsigned& value = values[blockIdx.x * blockDim.x + threadIdx.x];\n"
                             "  for (int i = 0; i < " +
                             std::to_string(200 + 10 * number) +
                             "; ++i) value = (value * 1664525u + seed) ^ (value >> 7);\n}\n";
  nvrtcProgram program;
  Check(nvrtcCreateProgram(&program, source.c_str(), "jit.cu", 0, nullptr, nullptr));
  const char* const options[] = {"--gpu-architecture=sm_90"};
  Check(nvrtcCompileProgram(program, 1, options));
  std::size_t bytes = 0;
  Check(nvrtcGetCUBINSize(program, &bytes));
  std::string cubin(bytes, '\0');
  Check(nvrtcGetCUBIN(program, cubin.data()));
  Check(nvrtcDestroyProgram(&program));
  return cubin;
}

void Launch(CUfunction kernel, CUdeviceptr values, CUstream stream, bool wait) {
  for (unsigned seed = 0; seed < kLaunches; ++seed) {
    void* arguments[] = {&values, &seed};
    Check(cuLaunchKernel(kernel, kElements / 128, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr));
  }
  if (wait) Check(cuStreamSynchronize(stream));
}

void LoadAndLaunch(int number, const std::string& cubin, CUdeviceptr values, CUstream stream, bool wait) {
  const std::string name = "jit_" + std::to_string(number);
  if (number % 2 == 0) {
    CUmodule module;
    CUfunction kernel;
    Check(cuModuleLoadData(&module, cubin.data()));
    Check(cuModuleGetFunction(&kernel, module, name.c_str()));
    Launch(kernel, values, stream, wait);
    Check(cuModuleUnload(module));
  } else {
    CUlibrary library;
    CUkernel kernel;
    Check(cuLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    Check(cuLibraryGetKernel(&kernel, library, name.c_str()));
    Launch(reinterpret_cast<CUfunction>(kernel), values, stream, wait);
    Check(cuLibraryUnload(library));
  }
  usleep(6000);
}

std::uint64_t Work(int thread, CUcontext context, bool running) {
  Check(cuCtxSetCurrent(context));
  CUstream stream;
  CUdeviceptr values = 0;
  Check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Check(cuMemAlloc(&values, kElements * sizeof(unsigned)));
  Check(cuMemsetD32Async(values, static_cast<unsigned>(thread), kElements, stream));
  for (int number = thread; number < kKernels; number += kThreads) {
    const std::string cubin = Compile(number);
    for (int load = 0; load < kLoads; ++load)
      LoadAndLaunch(number, cubin, values, stream, /*wait=*/load == 0 || !running);
  }
  std::vector<unsigned> all(kElements);
  Check(cuMemcpyDtoH(all.data(), values, kElements * sizeof(unsigned)));
  std::uint64_t hash = 14695981039346656037U;
  for (const unsigned value : all) hash = (hash ^ value) * 1099511628211U;
  return hash;
}

}  // namespace

int main(int argc, char**) {
  CUdevice device;
  CUcontext context;
  Check(cuInit(0));
  Check(cuDeviceGet(&device, 0));
  Check(cuDevicePrimaryCtxRetain(&context, device));
  std::vector<std::uint64_t> hashes(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { hashes[i] = Work(i, context, argc > 1); });
  for (std::thread& thread : threads) thread.join();
  for (const std::uint64_t hash : hashes) std::printf("%016llx\n", static_cast<unsigned long long>(hash));
  std::printf("jit_0 to jit_%d: %u launches each\n", kKernels - 1, kLoads * kLaunches);
}

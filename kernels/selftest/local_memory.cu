// Local memory on purpose: an array indexed at run time cannot be in registers. (Compiled without ptxas's warning.)
#include <cstdint>
#include <utility>

#include "selftest.h"

namespace fa_profile {
namespace {

constexpr int kBlocks = 64;
constexpr int kThreads = 128;
constexpr int kRounds = 200;
constexpr unsigned kWords = 64;
constexpr double kExecuted = static_cast<double>(kBlocks) * kThreads / 32 * kRounds;

// A round stores one word and loads another: one STL and one LDL. `volatile` keeps the compiler from passing a value on
// in a register.
__device__ __forceinline__ std::uint32_t alpha(volatile std::uint32_t* words, int rounds) {
  std::uint32_t x = 0;
#pragma unroll 1
  for (unsigned i = 0; i < static_cast<unsigned>(rounds); ++i) {
    words[(i * 7U) % kWords] = i;
    x ^= words[(i * 5U) % kWords];
  }
  return x;
}

__global__ void __launch_bounds__(kThreads) LocalMemoryKernel(std::uint32_t* sink, int rounds) {
  volatile std::uint32_t words[kWords];
  const std::uint32_t x = alpha(words, rounds);
  if (x == 0x7f9f1234U) *sink = x;
}

}  // namespace

std::vector<SelftestKernel> LocalMemoryKernels() {
  const auto make = [] {
    std::vector<DeviceBuffer> buffers;
    buffers.push_back(ZeroedBuffer(4));
    auto* const sink = buffers.front().as<std::uint32_t>();
    const auto launch = [sink](cudaStream_t stream) {
      LocalMemoryKernel<<<kBlocks, kThreads, 0, stream>>>(sink, kRounds);
      return cudaGetLastError();
    };
    const double sectors = 4 * kExecuted;
    return SelftestRun{std::make_unique<SelftestWorkload>("local_memory", std::move(buffers), launch),
                       {Sass("smsp__sass_inst_executed", "STL", "alpha", kExecuted),
                        Sass("smsp__sass_inst_executed", "LDL", "alpha", kExecuted),
                        Counter("smsp__sass_inst_executed_op_local_st.sum", kExecuted, 0.0),
                        Counter("smsp__sass_inst_executed_op_local_ld.sum", kExecuted, 0.0),
                        Counter("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", sectors, 0.0,
                                "the same index of 32 lanes fills 128 bytes: local memory is interleaved by lane"),
                        Counter("l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", sectors, 0.0)}};
  };
  return {{"local_memory", "local loads and stores of an array indexed at run time", make}};
}

}  // namespace fa_profile

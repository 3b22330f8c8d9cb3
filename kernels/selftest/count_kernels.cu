// Kernels that execute a number of instructions which the host can compute: the counted instruction is inline assembly
// in a loop that is not unrolled (`unroll 1`) around a body that is, so that no compiler changes their number.
#include <cstdint>
#include <string>
#include <utility>

#include "selftest.h"
#include "sm80.cuh"

namespace fa_profile {
namespace {

constexpr int kBlocks = 64;
constexpr int kThreads = 128;
constexpr int kWarps = kBlocks * kThreads / 32;
constexpr int kUnroll = 8;
constexpr int kRounds = 200;
// Executions of the body's instruction, over all warps.
constexpr double kExecuted = static_cast<double>(kWarps) * kRounds * kUnroll;
constexpr int kMemoryRounds = 32;  // fewer: each warp uses other addresses in each round
constexpr double kMemoryRequests = static_cast<double>(kWarps) * kMemoryRounds;

// Keeps `x` alive without a store: no actual value has these bits, which the compiler cannot know.
__device__ __forceinline__ void Consume(std::uint32_t* sink, std::uint32_t x) {
  if (x == 0x7f9f1234U) *sink = x;
}

namespace hmma {
__device__ __forceinline__ void alpha(float (&c)[kUnroll][4], const std::uint32_t (&a)[4], int rounds) {
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) sm80::Mma(c[j], a, a[0], a[1]);
  }
}

__global__ void __launch_bounds__(kThreads) HmmaKernel(std::uint32_t* sink, std::uint32_t bits, int rounds) {
  const std::uint32_t a[4] = {bits, bits, bits, bits};
  float c[kUnroll][4] = {};
  alpha(c, a, rounds);
  float sum = 0.0F;
#pragma unroll
  for (int j = 0; j < kUnroll; ++j) sum += c[j][0] + c[j][1] + c[j][2] + c[j][3];
  Consume(sink, __float_as_uint(sum));
}
}  // namespace hmma

namespace mufu {
__device__ __forceinline__ float alpha(float x, int rounds) {
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
  }
  return x;
}

__global__ void __launch_bounds__(kThreads) MufuKernel(std::uint32_t* sink, float x, int rounds) {
  Consume(sink, __float_as_uint(alpha(x, rounds)));
}
}  // namespace mufu

namespace threads {
__device__ __forceinline__ float alpha(float x, float y, int rounds) {
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(y));
  }
  return x;
}

// The first `active` lanes of each warp work; the others exit before.
__global__ void __launch_bounds__(kThreads) ThreadsKernel(std::uint32_t* sink, float x, int active, int rounds) {
  if (static_cast<int>(threadIdx.x % 32) >= active) return;
  Consume(sink, __float_as_uint(alpha(x, x, rounds)));
}
}  // namespace threads

namespace conflict {
__device__ __forceinline__ std::uint32_t alpha(std::uint32_t address, int rounds) {
  std::uint32_t x = 0;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(x) : "r"(address));
  }
  return x;
}

// Lane i reads word i * stride. There are 32 banks, one word wide: for a power of two `stride` lanes meet in a bank,
// each at another word, and the request takes `stride` wavefronts.
__global__ void __launch_bounds__(kThreads) ConflictKernel(std::uint32_t* sink, int stride, int rounds) {
  __shared__ std::uint32_t words[32 * 32];
  const std::uint32_t address = sm80::SharedAddress(&words[static_cast<int>(threadIdx.x % 32) * stride]);
  Consume(sink, alpha(address, rounds));
}
}  // namespace conflict

namespace load {
__device__ __forceinline__ std::uint32_t alpha(const std::uint32_t* from, std::int64_t step, int rounds) {
  std::uint32_t x = 0;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    std::uint32_t y;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(y) : "l"(from) : "memory");
    x ^= y;
    from += step;
  }
  return x;
}

// Lane i of a warp loads word i * stride of its 32 * stride words; other warps and rounds have other words.
__global__ void __launch_bounds__(kThreads)
    LoadKernel(std::uint32_t* sink, const std::uint32_t* data, int stride, int rounds) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  Consume(sink, alpha(data + thread * stride, static_cast<std::int64_t>(gridDim.x) * kThreads * stride, rounds));
}
}  // namespace load

namespace store {
__device__ __forceinline__ void alpha(std::uint32_t* to, std::int64_t step, int rounds) {
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(i) : "memory");
    to += step;
  }
}

__global__ void __launch_bounds__(kThreads) StoreKernel(std::uint32_t* data, int stride, int rounds) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  alpha(data + thread * stride, static_cast<std::int64_t>(gridDim.x) * kThreads * stride, rounds);
}
}  // namespace store

template <class Launcher>  // void(cudaStream_t, std::uint32_t* memory)
SelftestRun MakeRun(const std::string& id, std::size_t bytes, Launcher launch, std::vector<Truth> truths) {
  std::vector<DeviceBuffer> buffers;
  buffers.push_back(ZeroedBuffer(bytes));
  auto* const memory = buffers.front().as<std::uint32_t>();
  auto enqueue = [launch, memory](cudaStream_t stream) {
    launch(stream, memory);
    return cudaGetLastError();
  };
  return {std::make_unique<SelftestWorkload>(id, std::move(buffers), enqueue), std::move(truths)};
}

SelftestKernel Hmma() {
  return {"hmma", "tensor instructions executed", [] {
            const auto launch = [](cudaStream_t stream, std::uint32_t* memory) {
              hmma::HmmaKernel<<<kBlocks, kThreads, 0, stream>>>(memory, 0U, kRounds);
            };
            return MakeRun("hmma", 4, launch,
                           {Sass("smsp__sass_inst_executed", "HMMA", "alpha", kExecuted),
                            Sass("smsp__sass_inst_executed", "HMMA", "", kExecuted),
                            Counter("sm__inst_executed_pipe_tensor_op_hmma.sum", kExecuted, 0.0),
                            Counter("sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum", kExecuted * 2 * 16 * 8 * 16,
                                    0.0, "an m16n8k16 product is 2048 multiplications and as many additions")});
          }};
}

SelftestKernel Mufu() {
  return {"mufu_ex2", "exponentials executed", [] {
            const auto launch = [](cudaStream_t stream, std::uint32_t* memory) {
              mufu::MufuKernel<<<kBlocks, kThreads, 0, stream>>>(memory, 0.5F, kRounds);
            };
            return MakeRun("mufu_ex2", 4, launch,
                           {Sass("smsp__sass_inst_executed", "MUFU.EX2", "alpha", kExecuted),
                            Sass("smsp__sass_thread_inst_executed", "MUFU.EX2", "alpha", kExecuted * 32),
                            Counter("sm__inst_executed_pipe_xu.sum", kExecuted, 0.0,
                                    "the kernel has no other instruction of that pipe")});
          }};
}

SelftestKernel Threads(int active) {
  const std::string id = "threads_" + std::to_string(active);
  return {id, "threads per instruction, and FFMAs of them", [id, active] {
            const auto launch = [active](cudaStream_t stream, std::uint32_t* memory) {
              threads::ThreadsKernel<<<kBlocks, kThreads, 0, stream>>>(memory, 0.5F, active, kRounds);
            };
            return MakeRun(id, 4, launch,
                           {Sass("smsp__sass_inst_executed", "FFMA", "alpha", kExecuted),
                            Sass("smsp__sass_thread_inst_executed", "FFMA", "alpha", kExecuted * active),
                            Counter("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", kExecuted * active, 0.0)});
          }};
}

SelftestKernel Conflict(int ways) {
  const std::string id = "conflict_" + std::to_string(ways);
  return {id, "shared-memory wavefronts of " + std::to_string(ways) + "-way bank conflicts", [id, ways] {
            const auto launch = [ways](cudaStream_t stream, std::uint32_t* memory) {
              conflict::ConflictKernel<<<kBlocks, kThreads, 0, stream>>>(memory, ways, kRounds);
            };
            return MakeRun(
                id, 4, launch,
                {Sass("smsp__sass_inst_executed", "LDS", "alpha", kExecuted),
                 Sass("smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", "LDS", "alpha", kExecuted * ways),
                 Sass("smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal", "LDS", "alpha", kExecuted),
                 Counter("smsp__sass_inst_executed_op_shared_ld.sum", kExecuted, 0.0),
                 Counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", kExecuted * ways, 0.0),
                 Counter("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", kExecuted * (ways - 1), 0.0)});
          }};
}

// A warp's words are `stride` words apart: 32 of them touch 4 * stride sectors of 32 bytes, at most one each.
double Sectors(int stride) { return kMemoryRequests * (stride < 8 ? 4 * stride : 32); }

std::size_t GlobalBytes(int stride) {
  return static_cast<std::size_t>(kMemoryRounds) * kBlocks * kThreads * sizeof(std::uint32_t) *
         static_cast<std::size_t>(stride);
}

SelftestKernel Load(int stride) {
  const std::string id = "load_stride_" + std::to_string(stride);
  return {id, "sectors and bytes of global loads " + std::to_string(stride) + " words apart", [id, stride] {
            const auto launch = [stride](cudaStream_t stream, std::uint32_t* memory) {
              // All loads read zeros, so the store that keeps them alive never happens.
              load::LoadKernel<<<kBlocks, kThreads, 0, stream>>>(memory, memory, stride, kMemoryRounds);
            };
            return MakeRun(id, GlobalBytes(stride), launch,
                           {Sass("smsp__sass_inst_executed", "LDG", "alpha", kMemoryRequests),
                            Sass("smsp__sass_sectors_mem_global", "LDG", "alpha", Sectors(stride)),
                            Sass("smsp__sass_sectors_mem_global_ideal", "LDG", "alpha", Sectors(1)),
                            Counter("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", kMemoryRequests, 0.0),
                            Counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", Sectors(stride), 0.0),
                            Counter("l1tex__m_xbar2l1tex_read_bytes_mem_lg_op_ld.sum", 32 * Sectors(stride), 0.0,
                                    "every sector is asked for once, so none is found in L1")});
          }};
}

SelftestKernel Store(int stride) {
  const std::string id = "store_stride_" + std::to_string(stride);
  return {id, "sectors of global stores " + std::to_string(stride) + " words apart", [id, stride] {
            const auto launch = [stride](cudaStream_t stream, std::uint32_t* memory) {
              store::StoreKernel<<<kBlocks, kThreads, 0, stream>>>(memory, stride, kMemoryRounds);
            };
            return MakeRun(id, GlobalBytes(stride), launch,
                           {Sass("smsp__sass_inst_executed", "STG", "alpha", kMemoryRequests),
                            Sass("smsp__sass_sectors_mem_global", "STG", "alpha", Sectors(stride)),
                            Counter("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", kMemoryRequests, 0.0),
                            Counter("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", Sectors(stride), 0.0)});
          }};
}

}  // namespace

std::vector<SelftestKernel> CountKernels() {
  std::vector<SelftestKernel> kernels = {Hmma(), Mufu()};
  for (const int n : {1, 2, 4, 8, 16, 32}) kernels.push_back(Threads(n));
  for (const int n : {1, 2, 4, 8, 16, 32}) kernels.push_back(Conflict(n));
  for (const int n : {1, 2, 4, 8, 32}) kernels.push_back(Load(n));
  for (const int n : {1, 8}) kernels.push_back(Store(n));
  return kernels;
}

}  // namespace fa_profile

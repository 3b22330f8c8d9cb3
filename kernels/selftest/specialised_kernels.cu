// A warp-specialised kernel: warp 0 of each block brings data into shared memory, warps 1 to 3 work on it, two stages
// in flight. Its roles overlap, so its truth is warp-time: how long each worked, and how long it waited for whom.
#include <cstdint>
#include <string>
#include <utility>

#include "clocked.h"
#include "phase_functions.cuh"
#include "sm80.cuh"
#include "stopwatch.cuh"

namespace fa_profile {
namespace specialised {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kConsumers = kWarps - 1;
constexpr int kStages = 2;
constexpr int kRounds = 200;
constexpr int kLoadsPerIteration = 4;
constexpr int kDataWords = 4096;
constexpr double kShareTolerance = 0.01;

// How the roles signal each other that a stage is full or empty.
enum class Handover {
  kNamedBarrier,  // bar.sync and bar.arrive: the hardware holds the waiting warp
  kMbarrier,      // mbarrier: the waiting warp asks again and again
};

/// Loads zeros from global memory, one wait for memory per iteration.
__device__ __forceinline__ void alpha(std::uint32_t stage, const std::uint32_t* data, int iterations) {
  const unsigned lane = threadIdx.x % 32;
  unsigned offset = lane;
#pragma unroll 1
  for (int i = 0; i < iterations; ++i) {
    std::uint32_t x[kLoadsPerIteration];
#pragma unroll
    for (int j = 0; j < kLoadsPerIteration; ++j) {
      asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(x[j]) : "l"(data + (offset + 32 * j) % kDataWords));
    }
    // The next addresses need this iteration's values, which are 0.
    offset += 32 * kLoadsPerIteration + x[0];
#pragma unroll
    for (int j = 0; j < kLoadsPerIteration; ++j) {
      const std::uint32_t to =
          stage + 4 * ((lane + 32 * (static_cast<unsigned>(i) * kLoadsPerIteration + j)) % kGammaWords);
      asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(to), "r"(x[j]));
    }
  }
}

__device__ __forceinline__ bool TestPhase(std::uint32_t barrier, unsigned parity) {
  unsigned done;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(done)
               : "r"(barrier), "r"(parity)
               : "memory");
  return done != 0;
}

/// A lap for the arrival and everything else until the question: no role waits after beta here.
constexpr Slot kHandover = kAfterBeta;

/// Waits until the other role is done with a stage.
template <Handover kHow>
__device__ __forceinline__ void sync(int id, std::uint32_t mbarrier, unsigned parity) {
  if constexpr (kHow == Handover::kNamedBarrier) {
    sm80::Barrier<kThreads>(id);
  } else {
    while (!TestPhase(mbarrier, parity)) {
    }
  }
}

template <Handover kHow>
__device__ __forceinline__ void Arrive(int id, std::uint32_t mbarrier) {
  if constexpr (kHow == Handover::kNamedBarrier) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(kThreads) : "memory");
  } else {
    __syncwarp();
    if (threadIdx.x % 32 == 0) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(mbarrier) : "memory");
  }
}

__device__ __forceinline__ void InitBarrier(std::uint32_t mbarrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(mbarrier), "r"(arrivals) : "memory");
}

template <Handover kHow>
__global__ void __launch_bounds__(kThreads)
    SpecialisedKernel(std::uint32_t* sink, const std::uint32_t* data, float seed, PhaseIterations n, int rounds,
                      std::uint64_t* sums) {
  __shared__ std::uint32_t words[kStages][kGammaWords];
  __shared__ std::uint64_t barriers[2 * kStages];  // full, full, empty, empty
  const std::uint32_t mbarriers = sm80::SharedAddress(barriers);
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      InitBarrier(mbarriers + 8 * s, 1);
      InitBarrier(mbarriers + 8 * (kStages + s), kConsumers);
    }
  }
  __syncthreads();
  float x = seed;
  std::uint32_t address = 0;
  Stopwatch<true, kSlots> watch;
  watch.Start();
  if (threadIdx.x < 32) {
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      const int stage = round % kStages;
      if (round >= kStages) {
        watch.Lap(kHandover);
        sync<kHow>(3 + stage, mbarriers + 8 * (kStages + stage), (round / kStages - 1) & 1);
        watch.LapBehindBarrier(kAfterAlpha, sm80::SharedAddress(words[stage]));
      }
      alpha(sm80::SharedAddress(words[stage]), data, n.alpha);
      watch.Lap(kAlpha);
      Arrive<kHow>(1 + stage, mbarriers + 8 * stage);
    }
  } else {
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      const int stage = round % kStages;
      watch.Lap(kHandover);
      sync<kHow>(1 + stage, mbarriers + 8 * stage, (round / kStages) & 1);
      watch.LapBehindBarrier(kAfterGamma, sm80::SharedAddress(words[stage]));
      x = beta(x, n.beta);
      watch.Lap(kBeta);
      address += gamma(sm80::SharedAddress(words[stage]), n.gamma);
      watch.Lap(kGamma);
      // No warp waits for the last ones.
      if (round + kStages < rounds) Arrive<kHow>(3 + stage, mbarriers + 8 * (kStages + stage));
    }
  }
  watch.Write(sums);
  if (__float_as_uint(x) == 0x7f9f1234U && address == 1) *sink = address;  // never: keeps the chains alive
}

struct RoleCase {
  std::string id;
  std::string proves;
  Handover handover = Handover::kNamedBarrier;
  PhaseIterations n;
};

cudaError_t Launch(const RoleCase& c, int blocks, std::uint32_t* memory, std::uint64_t* sums, cudaStream_t stream) {
  const std::uint32_t* const data = memory + 32;
  if (c.handover == Handover::kNamedBarrier) {
    SpecialisedKernel<Handover::kNamedBarrier><<<blocks, kThreads, 0, stream>>>(memory, data, 0.5F, c.n, kRounds, sums);
  } else {
    SpecialisedKernel<Handover::kMbarrier><<<blocks, kThreads, 0, stream>>>(memory, data, 0.5F, c.n, kRounds, sums);
  }
  return cudaGetLastError();
}

std::vector<Truth> Counts(const RoleCase& c, int blocks) {
  const double rounds = static_cast<double>(blocks) * kRounds;
  const double ex2 = rounds * kConsumers * c.n.beta * kBetaUnroll;
  const double lds = rounds * kConsumers * c.n.gamma * kGammaUnroll;
  const double ldg = rounds * c.n.alpha * kLoadsPerIteration;
  return {Sass("smsp__sass_inst_executed", "LDG", "alpha", ldg), Sass("smsp__sass_inst_executed", "STS", "alpha", ldg),
          Sass("smsp__sass_inst_executed", "MUFU.EX2", "beta", ex2),
          Sass("smsp__sass_inst_executed", "LDS", "gamma", lds),
          Sass("smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", "LDS", "gamma", lds * kGammaWays)};
}

/// What warps wait for at mbarriers.
std::vector<Truth> Waits(const std::vector<WarpClocks>& clocks, int blocks) {
  constexpr double kTolerance = 0.03;
  double cycles = 0.0;
  for (const WarpClocks& warp : clocks) cycles += static_cast<double>(warp[kAfterAlpha] + warp[kAfterGamma]);
  const double waits = static_cast<double>(blocks) * (kConsumers * kRounds + kRounds - kStages);
  const double mean = cycles / waits;
  return {{TruthSource::kWait, "mbarrier_waits", {}, {}, waits, 0.0, {}},
          {TruthSource::kWait, "mbarrier_cycles", {}, {}, mean, kTolerance * mean, "by the kernel's own clock reads"}};
}

SelftestRun Make(const RoleCase& c) {
  const int blocks = DeviceAttribute(cudaDevAttrMultiProcessorCount);
  std::vector<DeviceBuffer> buffers;
  buffers.push_back(ZeroedBuffer((32 + kDataWords) * sizeof(std::uint32_t)));
  auto* const memory = buffers.front().as<std::uint32_t>();
  const std::vector<WarpClocks> clocks =
      RunClocked(blocks * kWarps, [&](std::uint64_t* sums) { return Launch(c, blocks, memory, sums, nullptr); });
  std::vector<Truth> truths = Counts(c, blocks);
  const std::vector<Truth> shares = WarpShares(clocks, kShareTolerance);
  truths.insert(truths.end(), shares.begin(), shares.end());
  if (c.handover == Handover::kMbarrier) {
    const std::vector<Truth> waits = Waits(clocks, blocks);
    truths.insert(truths.end(), waits.begin(), waits.end());
  }
  buffers.push_back(ZeroedBuffer(clocks.size() * sizeof(WarpClocks)));
  auto* const sums = buffers.back().as<std::uint64_t>();
  const auto launch = [c, blocks, memory, sums](cudaStream_t stream) {
    return Launch(c, blocks, memory, sums, stream);
  };
  return {std::make_unique<SelftestWorkload>(c.id, std::move(buffers), launch), std::move(truths)};
}

}  // namespace
}  // namespace specialised

std::vector<SelftestKernel> SpecialisedKernels() {
  using specialised::Handover;
  using specialised::RoleCase;
  // An iteration of alpha waits for memory, some 600 cycles; one of beta takes about 170, one of gamma about 160.
  const PhaseIterations consumers_wait{40, 20, 20};
  const PhaseIterations producer_waits{5, 60, 60};
  std::vector<SelftestKernel> kernels;
  for (const RoleCase& c :
       {RoleCase{"roles_consumers_wait", "three consumer warps wait for a producer at a named barrier",
                 Handover::kNamedBarrier, consumers_wait},
        RoleCase{"roles_producer_waits", "a producer warp waits for its consumers at a named barrier",
                 Handover::kNamedBarrier, producer_waits},
        RoleCase{"roles_mbarrier_consumers_wait", "consumers wait for a producer, asking an mbarrier",
                 Handover::kMbarrier, consumers_wait},
        RoleCase{"roles_mbarrier_producer_waits", "a producer waits for its consumers, asking an mbarrier",
                 Handover::kMbarrier, producer_waits}}) {
    kernels.push_back({c.id, c.proves, [c] { return specialised::Make(c); }});
  }
  return kernels;
}

}  // namespace fa_profile

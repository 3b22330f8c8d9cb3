// Kernels with three phases in a loop that measure the durations of their phases themselves. The profiled code is the
// very code that reads the clocks: another build would have other phases.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "clocked.h"
#include "phase_functions.cuh"
#include "sm80.cuh"
#include "stopwatch.cuh"

namespace fa_profile {
namespace {

// Which threads of a block do beta.
enum class Beta {
  kAllFree,    // all, and no barrier anywhere
  kOneThread,  // thread 0, between barriers, like a serial softmax
  kHalf,       // the first half of the warps, between barriers
};

template <Beta kBeta>
__device__ __forceinline__ bool DoesBeta() {
  if constexpr (kBeta == Beta::kOneThread) return threadIdx.x == 0;
  if constexpr (kBeta == Beta::kHalf) return threadIdx.x < blockDim.x / 2;
  return true;
}

template <Beta kWho>
__global__ void __launch_bounds__(256)
    PhasesKernel(std::uint32_t* sink, float seed, PhaseIterations n, int rounds, std::uint64_t* sums) {
  __shared__ std::uint32_t words[kGammaWords];
  for (unsigned i = threadIdx.x; i < kGammaWords; i += blockDim.x) words[i] = 0;
  __syncthreads();
  constexpr bool kBarriers = kWho != Beta::kAllFree;
  float x = seed;
  std::uint32_t address = sm80::SharedAddress(words);
  Stopwatch<true, kSlots> watch;
  watch.Start();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    x = alpha(x, seed, n.alpha);
    watch.Lap(kAlpha);
    if constexpr (kBarriers) {
      sync();
      watch.LapBehindBarrier(kAfterAlpha, sm80::SharedAddress(words));
    }
    if (DoesBeta<kWho>()) {
      x = beta(x, n.beta);
      watch.Lap(kBeta);
    }
    if constexpr (kBarriers) {
      sync();
      watch.LapBehindBarrier(kAfterBeta, sm80::SharedAddress(words));
    }
    address += gamma(sm80::SharedAddress(words), n.gamma);
    watch.Lap(kGamma);
    if constexpr (kBarriers) {
      sync();
      watch.LapBehindBarrier(kAfterGamma, sm80::SharedAddress(words));
    }
  }
  watch.Write(sums);
  if (__float_as_uint(x) == 0x7f9f1234U && address == 1) *sink = address;  // never: keeps the chains alive
}

// Grid, block and the intended shares of the phases.
struct PhaseCase {
  std::string id;
  std::string proves;
  Beta beta = Beta::kAllFree;
  std::array<double, 3> target{};  // shares of the wall time; the truth is what the clocks say
  int blocks_per_sm = 1;
  int threads = 128;
};

// Without barriers warps drift apart by up to a round, and once some have left an SM, its samples come from those that
// stay: many rounds make that end a small part of the whole.
constexpr int kRounds = 100;
// Approximate length of a round: a phase of 1 % then lasts many times a clock read.
constexpr double kCyclesPerRound = 40e3;
constexpr double kShareTolerance = 0.01;  // one point
// Where 32 warps contend for a pipe, launches of the same kernel differ in who runs when, and clocks and samples come
// from different launches.
constexpr double kContendedTolerance = 0.04;

template <Beta kBeta>
cudaError_t Launch(int blocks, int threads, std::uint32_t* sink, PhaseIterations n, std::uint64_t* sums,
                   cudaStream_t stream) {
  PhasesKernel<kBeta><<<blocks, threads, 0, stream>>>(sink, 0.5F, n, kRounds, sums);
  return cudaGetLastError();
}

cudaError_t Launch(const PhaseCase& c, int blocks, std::uint32_t* sink, PhaseIterations n, std::uint64_t* sums,
                   cudaStream_t stream) {
  switch (c.beta) {
    case Beta::kOneThread:
      return Launch<Beta::kOneThread>(blocks, c.threads, sink, n, sums, stream);
    case Beta::kHalf:
      return Launch<Beta::kHalf>(blocks, c.threads, sink, n, sums, stream);
    default:
      return Launch<Beta::kAllFree>(blocks, c.threads, sink, n, sums, stream);
  }
}

double Tolerance(const PhaseCase& c) { return c.blocks_per_sm > 1 ? kContendedTolerance : kShareTolerance; }

int Rescaled(int iterations, double measured_cycles, double target_cycles) {
  return std::max(1, static_cast<int>(std::lround(iterations * target_cycles / measured_cycles)));
}

// Iterations that come close to the target on this GPU. How long an iteration takes depends on what other warps do
// meanwhile, which changes with the iterations: so step by step, until it is close enough for the name.
PhaseIterations Calibrate(const PhaseCase& c, const std::function<std::vector<Truth>(PhaseIterations)>& wall_shares,
                          const std::function<double()>& cycles_per_round) {
  constexpr int kLeastSteps = 3;  // the first are far from the length of a round
  constexpr int kMostSteps = 10;
  constexpr double kNearEnough = 0.01;
  PhaseIterations n{100, 50, 50};
  for (int step = 0; step < kMostSteps; ++step) {
    const std::vector<Truth> shares = wall_shares(n);
    const double cycles = cycles_per_round();
    double worst = 0.0;
    for (std::size_t i = 0; i < 3; ++i) worst = std::max(worst, std::abs(shares[i].expected - c.target[i]));
    if (step >= kLeastSteps && worst < kNearEnough) break;
    n.alpha = Rescaled(n.alpha, shares[0].expected * cycles, c.target[0] * kCyclesPerRound);
    n.beta = Rescaled(n.beta, shares[1].expected * cycles, c.target[1] * kCyclesPerRound);
    n.gamma = Rescaled(n.gamma, shares[2].expected * cycles, c.target[2] * kCyclesPerRound);
  }
  return n;
}

std::vector<Truth> Counts(const PhaseCase& c, int blocks, PhaseIterations n) {
  const double warps = static_cast<double>(blocks) * c.threads / 32;
  const double beta_warps = c.beta == Beta::kOneThread ? blocks : c.beta == Beta::kHalf ? warps / 2 : warps;
  const double ffma = warps * kRounds * n.alpha * kAlphaUnroll;
  const double ex2 = beta_warps * kRounds * n.beta * kBetaUnroll;
  const double lds = warps * kRounds * n.gamma * kGammaUnroll;
  std::vector<Truth> truths = {
      Sass("smsp__sass_inst_executed", "FFMA", "alpha", ffma),
      Sass("smsp__sass_inst_executed", "MUFU.EX2", "beta", ex2),
      Sass("smsp__sass_thread_inst_executed", "MUFU.EX2", "beta", ex2 * (c.beta == Beta::kOneThread ? 1 : 32)),
      Sass("smsp__sass_inst_executed", "LDS", "gamma", lds),
      Sass("smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", "", "gamma", lds * kGammaWays),
      Sass("smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal", "", "gamma", lds)};
  if (c.beta != Beta::kAllFree) {
    truths.push_back(Sass("smsp__sass_inst_executed", "BAR", "sync", warps * kRounds * 3, "three barriers a round"));
  }
  return truths;
}

SelftestRun Make(const PhaseCase& c) {
  const int blocks = DeviceAttribute(cudaDevAttrMultiProcessorCount) * c.blocks_per_sm;
  const int warps_per_block = c.threads / 32;
  std::vector<DeviceBuffer> buffers;
  buffers.push_back(ZeroedBuffer(4));
  auto* const sink = buffers.front().as<std::uint32_t>();

  std::vector<WarpClocks> clocks;
  const auto run = [&](PhaseIterations n) {
    clocks = RunClocked(blocks * warps_per_block,
                        [&](std::uint64_t* sums) { return Launch(c, blocks, sink, n, sums, nullptr); });
    // Without a barrier no warp waits for another: all of them are evidence.
    return WallShares(clocks, c.beta == Beta::kAllFree ? 1 : warps_per_block, Tolerance(c));
  };
  const auto cycles_per_round = [&] {
    std::uint64_t cycles = 0;
    for (const std::uint64_t slot : clocks.front()) cycles += slot;
    return static_cast<double>(cycles) / kRounds;
  };
  const PhaseIterations n = Calibrate(c, run, cycles_per_round);

  std::vector<Truth> truths = Counts(c, blocks, n);
  const std::vector<Truth> wall = run(n);
  const std::vector<Truth> warp = WarpShares(clocks, Tolerance(c));
  truths.insert(truths.end(), wall.begin(), wall.end());
  truths.insert(truths.end(), warp.begin(), warp.end());
  buffers.push_back(ZeroedBuffer(clocks.size() * sizeof(WarpClocks)));
  auto* const sums = buffers.back().as<std::uint64_t>();
  const auto launch = [c, blocks, sink, n, sums](cudaStream_t stream) {
    return Launch(c, blocks, sink, n, sums, stream);
  };
  return {std::make_unique<SelftestWorkload>(c.id, std::move(buffers), launch), std::move(truths)};
}

}  // namespace

std::vector<SelftestKernel> PhaseKernels() {
  std::vector<PhaseCase> cases;
  for (const auto& [name, target] : {std::pair<std::string, std::array<double, 3>>{"50_30_20", {0.50, 0.30, 0.20}},
                                     {"98_1_1", {0.98, 0.01, 0.01}},
                                     {"33_33_33", {0.33, 0.33, 0.33}},
                                     {"10_80_10", {0.10, 0.80, 0.10}}}) {
    cases.push_back({"phases_" + name, "shares of phases, one block of 128 threads per SM", Beta::kAllFree, target});
    cases.push_back(
        {"phases_" + name + "_full", "the same, four blocks of 256 threads per SM", Beta::kAllFree, target, 4, 256});
  }
  cases.push_back(
      {"serial_phase", "a phase of one thread while the others wait at a barrier", Beta::kOneThread, {0.3, 0.5, 0.2}});
  cases.push_back(
      {"serial_phase_full", "the same, four blocks of 256 threads per SM", Beta::kOneThread, {0.3, 0.5, 0.2}, 4, 256});
  cases.push_back(
      {"half_phase", "a phase of two warps of four while the others wait at a barrier", Beta::kHalf, {0.3, 0.5, 0.2}});
  cases.push_back(
      {"half_phase_full", "the same, four blocks of 256 threads per SM", Beta::kHalf, {0.3, 0.5, 0.2}, 4, 256});
  std::vector<SelftestKernel> kernels;
  for (const PhaseCase& c : cases) kernels.push_back({c.id, c.proves, [c] { return Make(c); }});
  return kernels;
}

}  // namespace fa_profile

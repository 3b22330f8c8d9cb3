// The mma.sync family with warp specialisation: one more warp brings K and V, and the others compute.
#pragma once

#include "mma.cuh"

namespace phase_variants {
namespace {

enum class Producer { kNamedBarriers, kCopiesArrive, kBulk };

struct Specialised : Mma {
  static constexpr Copy kCopy = Copy::kAsync2;  // two stages
  static constexpr Producer kProducer = Producer::kCopiesArrive;

  template <class T>
  static int Launch(const Arguments& args);
};

/// One warp starts the copies of a stage.
template <class T>
__device__ __forceinline__ void load_kv(std::uint32_t k_tile, std::uint32_t v_tile, const __half* k, const __half* v,
                                        std::uint64_t* full, int lane) {
  if constexpr (T::kProducer == Producer::kBulk) {
    static_assert(T::kPadded, "a bulk copy of a row cannot exchange its chunks");
    if (lane == 0) ExpectBytes(full, 4 * T::kKeys * T::kHeadDim);
    __syncwarp();
    for (int row = lane; row < T::kKeys; row += 32) {
      CopyBulk(At<T>(k_tile, row, 0), k + row * T::kHeadDim, 2 * T::kHeadDim, full);
      CopyBulk(At<T>(v_tile, row, 0), v + row * T::kHeadDim, 2 * T::kHeadDim, full);
    }
  } else {
#pragma unroll 4
    for (int i = lane; i < T::kKeys * Of<T>::kChunks; i += 32) {
      const int row = i / Of<T>::kChunks;
      const int chunk = i % Of<T>::kChunks;
      CopyAsync16(At<T>(k_tile, row, chunk), k + row * T::kHeadDim + 8 * chunk);
      CopyAsync16(At<T>(v_tile, row, chunk), v + row * T::kHeadDim + 8 * chunk);
    }
    if constexpr (T::kProducer == Producer::kCopiesArrive) ArriveWithCopies(full);
  }
}

/// Waits until the barrier has passed the phase of this parity.
__device__ __forceinline__ void sync(std::uint64_t* barrier, int parity) { WaitBarrier(barrier, parity); }

/// The warp is done with a stage.
__device__ __forceinline__ void sync(std::uint64_t* empty, const Place& place) {
  __syncwarp();
  if (place.lane == 0) Arrive(empty);
}

template <int kThreads>
__device__ __forceinline__ void sync(int named) {
  asm volatile("bar.sync %0, %1;" ::"r"(named), "n"(kThreads) : "memory");
}
template <int kThreads>
__device__ __forceinline__ void sync(int named, bool wait_for_copies) {
  if (wait_for_copies) {
    CommitCopies();
    WaitCopies<0>();
  }
  asm volatile("bar.arrive %0, %1;" ::"r"(named), "n"(kThreads) : "memory");
}

template <class T>
__global__ void __launch_bounds__(Of<T>::kThreads + 32, 1) SpecialisedForward(const Call call) {
  using O = Of<T>;
  constexpr bool kNamed = T::kProducer == Producer::kNamedBarriers;
  constexpr int kAllThreads = O::kThreads + 32;
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ std::uint64_t full[2];
  __shared__ std::uint64_t empty[2];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row_blocks = call.seqlen / O::kBlockM;
  const int head = static_cast<int>(blockIdx.x) / row_blocks;
  const int block_row = static_cast<int>(blockIdx.x) % row_blocks * O::kBlockM;
  const std::int64_t offset = static_cast<std::int64_t>(head) * call.seqlen * T::kHeadDim;
  const int end = T::kCausal ? block_row + O::kBlockM : call.seqlen;
  const int tiles = (end + T::kKeys - 1) / T::kKeys;
  const std::uint32_t base = Shared(shared);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < 2; ++stage) {
      InitBarrier(&full[stage], T::kProducer == Producer::kBulk ? 1 : 32);
      InitBarrier(&empty[stage], T::kWarps);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (warp == T::kWarps) {
    for (int tile = 0; tile < tiles; ++tile) {
      const int stage = tile % 2;
      if (tile >= 2) {
        if constexpr (kNamed) {
          sync<kAllThreads>(3 + stage);
        } else {
          sync(&empty[stage], (tile / 2 - 1) % 2);
        }
      }
      const std::uint32_t k_tile = base + static_cast<unsigned>(stage * O::kTileBytes);
      const std::int64_t from = offset + static_cast<std::int64_t>(tile) * T::kKeys * T::kHeadDim;
      load_kv<T>(k_tile, k_tile + O::kVAt, call.k + from, call.v + from, &full[stage], lane);
      if constexpr (kNamed) sync<kAllThreads>(1 + stage, true);
    }
    return;
  }
  const Place place{lane, warp, 0, block_row + warp * O::kRows, block_row};
  const std::uint32_t p_tile = base + O::kPAt + static_cast<unsigned>(warp * O::kRows * O::kPPitch);
  QFragments<T> q;
  load_q<T>(q, call.q + offset, place, call);
  Output<T> o;
  PerRow<T> row_max;
  PerRow<T> row_sum;
  PerRow<T> correction;
  Direct<T> direct;
  Scores<T> scores;
  PFragments<T> p;
  bool grown = false;
  Clear<T>(o, row_max, row_sum);
  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile % 2;
    const std::uint32_t k_tile = base + static_cast<unsigned>(stage * O::kTileBytes);
    if constexpr (kNamed) {
      sync<kAllThreads>(1 + stage);
    } else {
      sync(&full[stage], tile / 2 % 2);
    }
    qk<T>(scores, q, 0U, k_tile, direct, place);
    softmax<T, T::kCausal>(p, p_tile, scores, row_max, row_sum, correction, grown, tile * T::kKeys,
                           base + O::kReductionAt, place, call);
    rescale<T>(o, correction, grown);
    pv<T>(o, p, p_tile, k_tile + O::kVAt, direct, place);
    if constexpr (kNamed) {
      if (tile + 2 < tiles) sync<kAllThreads>(3 + stage, false);
    } else {
      sync(&empty[stage], place);
    }
  }
  epilogue<T>(call.o + offset, o, row_sum, shared, place);
}

template <class T>
int Specialised::Launch(const Arguments& args) {
  static_assert(T::kSplits == 1 && T::kQueries == Queries::kGlobal && !T::kSharedEpilogue && !T::kPersistent);
  return Start(SpecialisedForward<T>, args, RowBlocks<T>(args), Of<T>::kThreads + 32, Of<T>::kBytes);
}

}  // namespace
}  // namespace phase_variants

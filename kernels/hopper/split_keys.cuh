#pragma once

// Rung 8 for few, short heads, where the time is one block's chain of latencies: no loop at all. A cluster of blocks
// owns kQueries tiles of 64 query rows of one head; each tile's keys are split over kSplits blocks, and within a block
// over kWarpgroups warpgroups, one tile of kKeys keys each. Unfinished rows are merged twice: the warpgroups of a block
// exchange them through its shared memory, then each block passes the rows that another one finishes to it. No step
// waits for more warps than those with the same rows. Blocks that work on the same keys load a part each and send it to
// all of them.

#include <cuda_runtime.h>

#include <cstdint>

#include "hopper/barriers.cuh"
#include "hopper/elements.h"
#include "hopper/launch.h"
#include "hopper/layout.h"
#include "hopper/merge.h"
#include "hopper/schedule.h"
#include "hopper/softmax.cuh"
#include "hopper/tensor_map.h"
#include "hopper/tma.cuh"
#include "hopper/warp.cuh"
#include "hopper/wgmma.cuh"
#include "rung.h"

namespace fa_profile::hopper {
namespace {

template <int kHeadDimArg, int kSplitsArg, int kQueriesArg, int kWarpgroupsArg, int kKeysArg>
struct SplitTile {
  static constexpr int kHeadDim = kHeadDimArg;
  static constexpr int kSplits = kSplitsArg;
  static constexpr int kQueries = kQueriesArg;
  static constexpr int kWarpgroups = kWarpgroupsArg;
  static constexpr int kKeys = kKeysArg;
  static constexpr int kPolynomialOf16 = 0;        // of 16 exponentials, this many on the FMA pipe
  static constexpr bool kDependentLaunch = false;  // begins while the previous kernel in the stream ends
  static constexpr bool kCopyToPush = false;       // parts go to other blocks through shared memory and TMA
  using Element = __half;

  static constexpr int kCluster = kSplits * kQueries;
  static constexpr int kThreads = kWarpgroups * kWarpgroupThreads;
  static constexpr int kBlockKeys = kWarpgroups * kKeys;
  static constexpr int kMaxSeqlen = kSplits * kBlockKeys;
  static constexpr int kSlabs = kHeadDim / kSlabColumns;
  static constexpr int kPartKeys = kKeys / kQueries;  // the part of a tile that one block loads

  using Merge = MergeLayout<kHeadDim, kSplits, kWarpgroups>;

  static constexpr std::uint32_t kPushBytes = (Merge::kVectors + 1) * Merge::kWarpVectorBytes;  // per warp

  static constexpr std::uint32_t kQBytes = SlabBytes(kWarpgroupRows) * kSlabs;
  static constexpr std::uint32_t kKvBytes = SlabBytes(kKeys) * kSlabs;
  static constexpr std::uint32_t kKAt = kQBytes;
  static constexpr std::uint32_t kVAt = kKAt + kWarpgroups * kKvBytes;
  static constexpr std::uint32_t kMergeAt = kVAt + kWarpgroups * kKvBytes;
  static constexpr std::uint32_t kBarriersAt = kMergeAt + (Merge::kBytes + 15) / 16 * 16;
  static constexpr std::uint32_t kSharedBytes = kBarriersAt + 128 + kAtomBytes;

  static_assert(kCluster <= 8, "what every GPU of sm_90 can place");
  static_assert(kPartKeys % kAtomRows == 0, "a part of a tile begins with an atom");
  static_assert(kSharedBytes <= 227 * 1024, "what a block gets on sm_90");
};

struct SplitCall {
  CUtensorMap q, k, v;
  void* output;
  int seqlen;
  bool causal;
  float c;
};

template <class T>
struct SplitBarriers {
  Mbarrier q;
  Mbarrier k[T::kWarpgroups];
  Mbarrier v[T::kWarpgroups];
  Mbarrier parts[T::kWarpgroups * T::Merge::kWarps];  // from the other blocks, for each warp that finishes rows
};

/// A thread's position, and the registers for its warpgroup's tile.
template <class T>
struct SplitWarpgroup {
  using Element = typename T::Element;
  using Merge = typename T::Merge;

  const SplitCall& call;
  std::uint32_t shared;
  SplitBarriers<T>& barriers;
  int warpgroup;
  int thread;  // within the warpgroup
  int rank;    // in the cluster: split + kSplits * query
  int head;
  int first_row;
  int first_key;

  float scores[T::kKeys / 2];
  std::uint32_t p[T::kKeys / kStepDepth][4];
  float o[T::kHeadDim / 2];
  float row_max[2] = {MinusInfinity(), MinusInfinity()};  // times c
  float row_sum[2] = {};

  __device__ __forceinline__ int split() const { return rank % T::kSplits; }
  __device__ __forceinline__ int query() const { return rank / T::kSplits; }

  /// The keys that any row of the cluster sees: [0, this).
  __device__ __forceinline__ int key_end() const {
    const int last_row = first_row - query() * kWarpgroupRows + T::kQueries * kWarpgroupRows - 1;
    return KeyEnd(last_row, call.seqlen, call.causal);
  }
  /// Whether the tile of warpgroup `of` has some of them: the same for all blocks that share its keys.
  __device__ __forceinline__ bool HasKeys(int of) const { return first_key + (of - warpgroup) * T::kKeys < key_end(); }
  __device__ __forceinline__ bool has_keys() const { return HasKeys(warpgroup); }

  __device__ __forceinline__ void load_q() {
    ArriveExpecting(&barriers.q, T::kQBytes);
#pragma unroll
    for (int slab = 0; slab < T::kSlabs; ++slab) {
      LoadBox(shared + slab * SlabBytes(kWarpgroupRows), &call.q, slab * kSlabColumns, first_row, head, &barriers.q);
    }
  }

  /// Loads this block's part of warpgroup `of`'s tile into all blocks that share it.
  __device__ __forceinline__ void load_kv(Operand operand, int of) {
    const bool is_k = operand == Operand::kK;
    Mbarrier* const barrier = &(is_k ? barriers.k : barriers.v)[of];
    const CUtensorMap* const map = is_k ? &call.k : &call.v;
    ArriveExpecting(barrier, T::kKvBytes);
    const int part = query() * T::kPartKeys;
    const int key = first_key + (of - warpgroup) * T::kKeys + part;
    const std::uint32_t to =
        shared + (is_k ? T::kKAt : T::kVAt) + of * T::kKvBytes + static_cast<std::uint32_t>(part * kRowBytes);
    const auto ranks = static_cast<std::uint16_t>(SharersOf(split(), T::kSplits, T::kQueries));
#pragma unroll
    for (int slab = 0; slab < T::kSlabs; ++slab) {
      const std::uint32_t box = to + slab * SlabBytes(T::kKeys);
      if constexpr (T::kQueries == 1) {
        LoadBox(box, map, slab * kSlabColumns, key, head, barrier);
      } else {
        LoadBoxInCluster(box, map, slab * kSlabColumns, key, head, barrier, ranks);
      }
    }
  }
  /// Done by one thread, in the order in which the block needs them.
  __device__ __forceinline__ void load_kv() {
    for (const Operand operand : {Operand::kK, Operand::kV}) {
#pragma unroll
      for (int of = 0; of < T::kWarpgroups; ++of) {
        if (HasKeys(of)) load_kv(operand, of);
      }
    }
  }

  __device__ __forceinline__ void sync(Operand operand) {
    if (operand == Operand::kQ) Wait(&barriers.q, 0, WaitFor::kFullQ);
    if (operand == Operand::kK) Wait(&barriers.k[warpgroup], 0, WaitFor::kFullK);
    if (operand == Operand::kV) Wait(&barriers.v[warpgroup], 0, WaitFor::kFullV);
  }

  /// Waits until the other blocks of the cluster have begun.
  __device__ __forceinline__ void sync() { ClusterWait(); }

  /// scores (64, kKeys) = Q (64, kHeadDim) x K^T. Not scaled.
  __device__ __forceinline__ void qk() {
    const std::uint64_t a = KMajorDescriptor(shared);
    const std::uint64_t b = KMajorDescriptor(shared + T::kKAt + warpgroup * T::kKvBytes);
    Pin(scores);
    FenceOperands();
#pragma unroll
    for (int step = 0; step < T::kHeadDim / kStepDepth; ++step) {
      Product<T::kKeys, Element>::Multiply(scores, Advance(a, KMajorStep(kWarpgroupRows, step)),
                                           Advance(b, KMajorStep(T::kKeys, step)), step == 0 ? 0 : 1);
    }
    CommitProducts();
    WaitProducts<0>();
    Pin(scores);
  }

  /// Scores become this tile's own probabilities, and the A operand of PV.
  __device__ __forceinline__ void softmax() {
    const int warp_row = first_row + thread / 32 * 16;
    if (NeedsMask(warp_row, first_key, T::kKeys, call.seqlen, call.causal)) {
      const int row = first_row + AccumulatorRow(thread, 0);
      const int left[2] = {KeyEnd(row, call.seqlen, call.causal) - first_key,
                           KeyEnd(row + 8, call.seqlen, call.causal) - first_key};
      Mask(scores, left, thread);
    }
    RaiseMaxima(row_max, scores);
    float shift[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      row_max[half] *= call.c;
      // No key: subtract 0 instead of minus infinity, so that masked scores give 0 and not NaN.
      shift[half] = row_max[half] == MinusInfinity() ? 0.0F : row_max[half];
    }
    Exponentiate<T::kPolynomialOf16>(scores, call.c, shift);
    AddScores(row_sum, scores);
#pragma unroll
    for (int step = 0; step < T::kKeys / kStepDepth; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        p[step][i] = Pack<Element>(scores[ScoreOfFragment(step, i, 0)], scores[ScoreOfFragment(step, i, 1)]);
      }
    }
    row_sum[0] = QuadSum(row_sum[0]);
    row_sum[1] = QuadSum(row_sum[1]);
  }

  /// o (64, kHeadDim) = P (64, kKeys) x V (kKeys, kHeadDim).
  __device__ __forceinline__ void pv() {
    const std::uint64_t b = MnMajorDescriptor(shared + T::kVAt + warpgroup * T::kKvBytes, T::kKeys);
    Pin(o);
    Pin(p);
    FenceOperands();
#pragma unroll
    for (int step = 0; step < T::kKeys / kStepDepth; ++step) {
      Product<T::kHeadDim, Element>::Multiply(o, p[step], Advance(b, MnMajorStep(step)), step == 0 ? 0 : 1);
    }
    CommitProducts();
    WaitProducts<0>();
    Pin(o);
  }

  /// From the outputs of each warpgroup's keys to the stored rows. `memory`: where the tiles begin.
  __device__ __forceinline__ void epilogue(unsigned char* memory) {
    unsigned char* const merge = memory + T::kMergeAt;
    const int owner = T::Merge::OwnerOf(thread / 32);
    if constexpr (T::kWarpgroups > 1) Combine(merge);
    if (owner != split()) {
      Push(memory, owner);
      if constexpr (T::kCopyToPush) ClusterArrive();
    } else {
      Finish(merge);
    }
    if constexpr (T::kCopyToPush) ClusterWait();  // every part has arrived, so no copy is still reading
  }

 private:
  /// Turns `o` into this warpgroup's share of the columns, summed over the block's keys, under the block's maxima.
  __device__ __forceinline__ void Combine(unsigned char* merge) {
    const auto vector_of = [&](int to, int v) {
      const float* const x = o + to * Merge::kShare + 4 * v;
      return float4{x[0], x[1], x[2], x[3]};
    };
#pragma unroll
    for (int to = 0; to < T::kWarpgroups; ++to) {
      if (to == warpgroup || !has_keys()) continue;
#pragma unroll
      for (int v = 0; v < Merge::kVectors; ++v) {
        *reinterpret_cast<float4*>(merge + Merge::ExchangedAt(to, warpgroup, v, thread)) = vector_of(to, v);
      }
    }
    if (thread % 4 == 0) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        *reinterpret_cast<float2*>(merge + Merge::StatisticsAt(warpgroup, AccumulatorRow(thread, 2 * half))) =
            float2{row_max[half], row_sum[half]};
      }
    }
    NamedSync<32 * T::kWarpgroups>(1 + thread / 32);
#pragma unroll
    for (int of = 1; of < T::kWarpgroups; ++of) {  // its share to the front: no index that is only known at run time
      if (warpgroup != of) continue;
#pragma unroll
      for (int i = 0; i < Merge::kShare; ++i) o[i] = o[of * Merge::kShare + i];
    }
    const float had[2] = {row_max[0], row_max[1]};
    float2 found[T::kWarpgroups][2];
#pragma unroll
    for (int from = 0; from < T::kWarpgroups; ++from) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        found[from][half] =
            *reinterpret_cast<const float2*>(merge + Merge::StatisticsAt(from, AccumulatorRow(thread, 2 * half)));
        row_max[half] = fmaxf(row_max[half], found[from][half].x);
      }
    }
    Weigh(had);
#pragma unroll
    for (int from = 0; from < T::kWarpgroups; ++from) {
      if (from == warpgroup || !HasKeys(from)) continue;
      const float max[2] = {found[from][0].x, found[from][1].x};
      const float sum[2] = {found[from][0].y, found[from][1].y};
      Add(max, sum, [&](int v) {
        return *reinterpret_cast<const float4*>(merge + Merge::ExchangedAt(warpgroup, from, v, thread));
      });
    }
  }

  /// Passes its share of its rows to the block that finishes them. `memory`: where the tiles begin.
  __device__ __forceinline__ void Push(unsigned char* memory, int owner) const {
    const int warp = thread / 32;
    const auto rank_there = static_cast<unsigned>(owner + T::kSplits * query());
    const std::uint32_t to = AddressIn(
        shared + T::kMergeAt + Merge::ReceivedAt(owner, split(), warpgroup, warp, 0, thread % 32), rank_there);
    const std::uint32_t barrier = AddressIn(SharedAddress(PartsOf(warp)), rank_there);
    // The warpgroup's tile of K has been read by all of its warps.
    const int sender = warp < split() * Merge::kWarps ? warp : warp - Merge::kWarps;
    const std::uint32_t through = T::kKAt + warpgroup * T::kKvBytes + sender * T::kPushBytes;
#pragma unroll
    for (int v = 0; v < Merge::kVectors + 1; ++v) {
      const float4 x = v < Merge::kVectors ? float4{o[4 * v], o[4 * v + 1], o[4 * v + 2], o[4 * v + 3]}
                                           : float4{row_max[0], row_max[1], row_sum[0], row_sum[1]};
      if constexpr (T::kCopyToPush) {
        *reinterpret_cast<float4*>(memory + through + v * Merge::kWarpVectorBytes + thread % 32 * 16) = x;
      } else {
        StoreInCluster(to + v * Merge::kWarpVectorBytes, x, barrier);
      }
    }
    if constexpr (T::kCopyToPush) {
      static_assert((4 - Merge::kWarps) * T::kPushBytes <= T::kKvBytes, "parts take the place of K");
      PublishToTma();
      SyncWarp();
      if (thread % 32 == 0) CopyInCluster(to, shared + through, T::kPushBytes, barrier);
    }
  }

  /// Adds what the other blocks sent for this warp's rows, divides by the sums, and stores.
  __device__ __forceinline__ void Finish(const unsigned char* merge) {
    const int warp = thread / 32;
    if constexpr (T::kSplits > 1) Wait(PartsOf(warp), 0, WaitFor::kParts);
    if constexpr (T::kCopyToPush) ClusterArrive();
#pragma unroll
    for (int sender = 0; sender < T::kSplits - 1; ++sender) {
      const int from = sender + (sender >= split() ? 1 : 0);
      const auto received = [&](int v) {
        return *reinterpret_cast<const float4*>(merge +
                                                Merge::ReceivedAt(split(), from, warpgroup, warp, v, thread % 32));
      };
      const float4 found = received(Merge::kVectors);
      const float had[2] = {row_max[0], row_max[1]};
      row_max[0] = fmaxf(row_max[0], found.x);
      row_max[1] = fmaxf(row_max[1], found.y);
      Weigh(had);
      const float max[2] = {found.x, found.y};
      const float sum[2] = {found.z, found.w};
      Add(max, sum, received);
    }
    Store();
  }

  __device__ __forceinline__ Mbarrier* PartsOf(int warp) const {
    return &barriers.parts[warpgroup * Merge::kWarps + warp % Merge::kWarps];
  }

  /// Makes sums relative to the maxima `had` relative to row_max. Rows without a key become 0.
  __device__ __forceinline__ void Weigh(const float (&had)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float weight = PartWeight(had[half], row_max[half], [](float x) { return Exp2OnMufu(x); });
      row_sum[half] *= weight;
#pragma unroll
      for (int i = 2 * half; i < Merge::kShare; i += 4) {
        o[i] = weight == 0.0F ? 0.0F : o[i] * weight;
        o[i + 1] = weight == 0.0F ? 0.0F : o[i + 1] * weight;
      }
    }
  }

  /// Adds a part's rows, which have the maxima `max` and the sums `sum`. `vector_at(v)`: four elements of its share.
  template <class VectorAt>
  __device__ __forceinline__ void Add(const float (&max)[2], const float (&sum)[2], VectorAt vector_at) {
    float weight[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      weight[half] = PartWeight(max[half], row_max[half], [](float x) { return Exp2OnMufu(x); });
      row_sum[half] += weight[half] * sum[half];
    }
#pragma unroll
    for (int v = 0; v < Merge::kVectors; ++v) {
      const float4 x = vector_at(v);
      o[4 * v] += weight[0] * x.x;
      o[4 * v + 1] += weight[0] * x.y;
      o[4 * v + 2] += weight[1] * x.z;
      o[4 * v + 3] += weight[1] * x.w;
    }
  }

  __device__ __forceinline__ void Store() const {
    auto* const head_rows =
        static_cast<Element*>(call.output) + static_cast<std::int64_t>(head) * call.seqlen * T::kHeadDim;
    const int first_column = AccumulatorColumn(thread, warpgroup * Merge::kShare);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + AccumulatorRow(thread, 2 * half);
      if (row >= call.seqlen) continue;
      const float inverse = Reciprocal(row_sum[half]);
      Element* const to = head_rows + static_cast<std::int64_t>(row) * T::kHeadDim + first_column;
#pragma unroll
      for (int i = 2 * half; i < Merge::kShare; i += 4) {
        *reinterpret_cast<std::uint32_t*>(to + AccumulatorColumn(0, i)) =
            Pack<Element>(o[i] * inverse, o[i + 1] * inverse);
      }
    }
  }
};

template <class T>
__device__ __forceinline__ void InitSplitBarriers(SplitBarriers<T>& barriers) {
  InitBarrier(&barriers.q, 1);
  for (int i = 0; i < T::kWarpgroups; ++i) {
    InitBarrier(&barriers.k[i], 1);
    InitBarrier(&barriers.v[i], 1);
  }
  if constexpr (T::kSplits > 1) {
    for (Mbarrier& parts : barriers.parts) InitBarrier(&parts, 1);
  }
  PublishBarriers();
  if constexpr (T::kSplits > 1) {
    for (Mbarrier& parts : barriers.parts) ArriveExpecting(&parts, (T::kSplits - 1) * T::kPushBytes);
  }
}

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1) HopperSplitKeys(const __grid_constant__ SplitCall call) {
  unsigned char* const memory = DynamicMemory();
  const std::uint32_t skip = (kAtomBytes - SharedAddress(memory) % kAtomBytes) % kAtomBytes;
  auto& barriers = *reinterpret_cast<SplitBarriers<T>*>(memory + skip + T::kBarriersAt);
  const int thread = ThreadIndex();
  const int warpgroup = OfWarp(thread / kWarpgroupThreads);
  const int rank = static_cast<int>(ClusterRank());
  const int head = BlockRow();
  const int query = BlockIndex() / T::kCluster * T::kQueries + rank / T::kSplits;
  const int first_row = query * kWarpgroupRows;
  const int first_key = (rank % T::kSplits * T::kWarpgroups + warpgroup) * T::kKeys;
  SplitWarpgroup<T> wg{
      call,     SharedAddress(memory) + skip, barriers, warpgroup, thread % kWarpgroupThreads, rank, head, first_row,
      first_key};
  const bool has_keys = wg.has_keys();
  const bool loads = thread == 0;

  if (thread == 0) {  // with `loads` here ptxas orders the code differently, which was not measured
    InitSplitBarriers<T>(barriers);
  } else if (thread == 32) {  // another warp, meanwhile
    PrefetchMap(&call.q);
    PrefetchMap(&call.k);
    PrefetchMap(&call.v);
  }
  if constexpr (T::kDependentLaunch) {
    if (loads) {
      WaitForKernelBefore();  // nothing was read or written before this, and all that is written depends on reads
      LetNextKernelBegin();
    }
  }
  if (loads && has_keys) wg.load_q();  // without keys for the first warpgroup, no warp would wait for it
  if constexpr (T::kQueries == 1) {
    if (loads) wg.load_kv();
  }
  SyncBlock();

  // The other blocks have begun, and their barriers exist: before the first copy into them, or the first push.
  if constexpr (T::kCluster > 1) ClusterArrive();
  if constexpr (T::kQueries > 1) {
    ClusterWait();
    if (loads) wg.load_kv();
  }
  SyncWarp();

  if (has_keys) {
    wg.sync(Operand::kQ);
    wg.sync(Operand::kK);
    wg.qk();
    wg.softmax();
    wg.sync(Operand::kV);
    wg.pv();
  }

  if constexpr (T::kQueries > 1 && !T::kCopyToPush) {
    ClusterArrive();  // what others sent has arrived
  } else if constexpr (T::kCluster > 1 && T::kQueries == 1) {
    wg.sync();
  }
  wg.epilogue(memory + skip);
  if constexpr (T::kQueries > 1 && !T::kCopyToPush) {
    ClusterWait();  // no block ends before its data has arrived everywhere
  }
}

template <class T>
cudaError_t MakeSplitCall(SplitCall& call, const AttentionParams& params) {
  constexpr float kLog2E = 1.4426950408889634F;
  call.output = params.o;
  call.seqlen = params.seqlen;
  call.causal = params.causal;
  call.c = params.softmax_scale * kLog2E;
  constexpr CUtensorMapDataType kType = MapType<typename T::Element>();
  cudaError_t status = EncodeMap(call.q, params.q, kType, params, kWarpgroupRows);
  if (status == cudaSuccess) status = EncodeMap(call.k, params.k, kType, params, T::kPartKeys);
  if (status == cudaSuccess) status = EncodeMap(call.v, params.v, kType, params, T::kPartKeys);
  return status;
}

/// Enqueues the kernel of configuration T. The tensors have type T::Element, whatever the pointers of `params` say.
template <class T>
cudaError_t LaunchSplit(const AttentionParams& params, cudaStream_t stream) {
  constexpr int kMaxHeads = 65535;  // limit of a grid's second dimension
  const int heads = params.batch * params.num_heads;
  const int clusters_per_head = Blocks(params.seqlen, kWarpgroupRows * T::kQueries);
  if (params.head_dim != T::kHeadDim || params.seqlen > T::kMaxSeqlen || heads > kMaxHeads) {
    return cudaErrorInvalidValue;
  }
  SplitCall call;
  cudaError_t status = MakeSplitCall<T>(call, params);
  const void* const kernel = reinterpret_cast<const void*>(&HopperSplitKeys<T>);
  constexpr int kBytes = static_cast<int>(T::kSharedBytes);
  if (status == cudaSuccess) {
    status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  }
  if (status != cudaSuccess) return status;
  const dim3 grid(static_cast<unsigned>(clusters_per_head * T::kCluster), static_cast<unsigned>(heads));
  return Launch(kernel, call, {grid, T::kThreads, kBytes, T::kCluster, T::kDependentLaunch}, stream);
}

}  // namespace
}  // namespace fa_profile::hopper

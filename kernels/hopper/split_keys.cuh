#pragma once

// Rung 8 for few, short heads, where the time is one block's chain of latencies: no loop at all. A cluster of blocks
// owns kQueries tiles of 64 query rows of one head; each tile's keys are split over kSplits blocks, and in a block over
// kWarpgroups warpgroups, one tile of kKeys keys each. Every warpgroup pushes its unfinished rows into the shared
// memory of the block that will merge them, and a barrier there counts the bytes: neither a barrier of the cluster nor
// a fence is waited for. Blocks that work on the same keys load a part each and send it to all of them. Not yet run on
// a GPU.

#include <cuda_runtime.h>

#include <cstdint>

#include "hopper/barriers.cuh"
#include "hopper/elements.h"
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

/// How far the kernel goes: the floor ladder (bench/floor) builds it up step by step.
enum class Until { kNothing, kShared, kCluster, kLoad, kQk, kSoftmax, kPv, kMerge, kStore };

template <int kHeadDimArg, int kSplitsArg, int kQueriesArg, int kWarpgroupsArg, int kKeysArg>
struct SplitTile {
  static constexpr int kHeadDim = kHeadDimArg;
  static constexpr int kSplits = kSplitsArg;
  static constexpr int kQueries = kQueriesArg;
  static constexpr int kWarpgroups = kWarpgroupsArg;
  static constexpr int kKeys = kKeysArg;
  static constexpr Until kUntil = Until::kStore;
  static constexpr int kPolynomialOf16 = 0;  // of 16 exponentials so many on the FMA pipe
  using Element = __half;

  static constexpr int kCluster = kSplits * kQueries;
  static constexpr int kThreads = kWarpgroups * kWarpgroupThreads;
  static constexpr int kBlockKeys = kWarpgroups * kKeys;
  static constexpr int kMaxSeqlen = kSplits * kBlockKeys;
  static constexpr int kSlabs = kHeadDim / kSlabColumns;
  static constexpr int kPartKeys = kKeys / kQueries;  // what one block loads of a tile

  using Merge = MergeLayout<kHeadDim, kSplits, kWarpgroups>;

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
  Mbarrier parts;  // of all warpgroups that work on this block's rows
};

/// Where a thread is, and the registers of its warpgroup's tile.
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
  /// Whether this warpgroup's tile has some of them: the same for all blocks that share its keys.
  __device__ __forceinline__ bool has_keys() const { return first_key < key_end(); }

  /// Announces the parts that this block will merge.
  __device__ __forceinline__ void ExpectParts() const {
    const int with_keys = Blocks(key_end(), T::kKeys);
    ArriveExpecting(&barriers.parts,
                    Merge::kSlots * Merge::kStatisticsBytes + static_cast<unsigned>(with_keys) * Merge::kOutputBytes);
  }

  __device__ __forceinline__ void load_q() {
    ArriveExpecting(&barriers.q, T::kQBytes);
#pragma unroll
    for (int slab = 0; slab < T::kSlabs; ++slab) {
      LoadBox(shared + slab * SlabBytes(kWarpgroupRows), &call.q, slab * kSlabColumns, first_row, head, &barriers.q);
    }
  }

  /// This block's part of the tile, to all blocks that share it.
  __device__ __forceinline__ void load_kv(Operand operand) {
    const bool is_k = operand == Operand::kK;
    Mbarrier* const barrier = &(is_k ? barriers.k : barriers.v)[warpgroup];
    const CUtensorMap* const map = is_k ? &call.k : &call.v;
    ArriveExpecting(barrier, T::kKvBytes);
    const int part = query() * T::kPartKeys;
    const std::uint32_t to =
        shared + (is_k ? T::kKAt : T::kVAt) + warpgroup * T::kKvBytes + static_cast<std::uint32_t>(part * kRowBytes);
    const auto ranks = static_cast<std::uint16_t>(SharersOf(split(), T::kSplits, T::kQueries));
#pragma unroll
    for (int slab = 0; slab < T::kSlabs; ++slab) {
      const std::uint32_t box = to + slab * SlabBytes(T::kKeys);
      if constexpr (T::kQueries == 1) {
        LoadBox(box, map, slab * kSlabColumns, first_key + part, head, barrier);
      } else {
        LoadBoxInCluster(box, map, slab * kSlabColumns, first_key + part, head, barrier, ranks);
      }
    }
  }

  __device__ __forceinline__ void sync(Operand operand) {
    if (operand == Operand::kQ) Wait(&barriers.q, 0, WaitFor::kFullQ);
    if (operand == Operand::kK) Wait(&barriers.k[warpgroup], 0, WaitFor::kFullK);
    if (operand == Operand::kV) Wait(&barriers.v[warpgroup], 0, WaitFor::kFullV);
  }

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

  /// Scores become probabilities of this tile alone, and the A operand of PV.
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
    Exponentiate<T::kPolynomialOf16>(scores, row_sum, call.c, shift);
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

  /// Sends the rows, with their maxima and sums, to the blocks that merge them. Without keys only that there were none.
  __device__ __forceinline__ void push(bool with_output) const {
    const int slot = split() * T::kWarpgroups + warpgroup;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = AccumulatorRow(thread, 2 * half);
      const auto owner = static_cast<unsigned>(Merge::OwnerOf(row) + T::kSplits * query());
      const std::uint32_t there = AddressIn(shared + T::kMergeAt, owner);
      const std::uint32_t barrier = AddressIn(SharedAddress(&barriers.parts), owner);
      if (thread % 4 == 0) StoreInCluster(there + Merge::MaxAt(slot, row), row_max[half], row_sum[half], barrier);
      if (!with_output) continue;
#pragma unroll
      for (int i = 2 * half; i < T::kHeadDim / 2; i += 4) {
        StoreInCluster(there + Merge::OutputAt(slot, row, AccumulatorColumn(thread, i)), o[i], o[i + 1], barrier);
      }
    }
  }
};

/// Merges what all warpgroups of the cluster found for this block's rows. kColumns neighbours are a thread's.
template <class T>
__device__ __forceinline__ void epilogue(const SplitCall& call, const unsigned char* merge, int head, int first_row) {
  using Merge = typename T::Merge;
  using Element = typename T::Element;
  constexpr int kColumns = 4;
  constexpr int kLanes = T::kHeadDim / kColumns;
  constexpr int kRowsPerPass = T::kThreads / kLanes;
  const int column = kColumns * (ThreadIndex() % kLanes);
#pragma unroll
  for (int pass = 0; pass < Blocks(Merge::kRows, kRowsPerPass); ++pass) {
    const int row = pass * kRowsPerPass + ThreadIndex() / kLanes;
    if (row >= Merge::kRows || first_row + row >= call.seqlen) continue;
    float max = MinusInfinity();
#pragma unroll
    for (int slot = 0; slot < Merge::kSlots; ++slot) {
      max = fmaxf(max, *reinterpret_cast<const float*>(merge + Merge::MaxAt(slot, row)));
    }
    float sum = 0.0F;
    float out[kColumns] = {};
#pragma unroll
    for (int slot = 0; slot < Merge::kSlots; ++slot) {
      const float part_max = *reinterpret_cast<const float*>(merge + Merge::MaxAt(slot, row));
      const float weight = PartWeight(part_max, max, [](float x) { return Exp2OnMufu(x); });
      if (weight == 0.0F) continue;
      const float4 o = *reinterpret_cast<const float4*>(merge + Merge::OutputAt(slot, row, column));
      sum += weight * *reinterpret_cast<const float*>(merge + Merge::SumAt(slot, row));
      out[0] += weight * o.x;
      out[1] += weight * o.y;
      out[2] += weight * o.z;
      out[3] += weight * o.w;
    }
    const float inverse = Reciprocal(sum);
    if constexpr (T::kUntil < Until::kStore) {
      if (inverse * (out[0] + out[1] + out[2] + out[3]) != 1e30F) continue;  // never: the merge must happen
    }
    const uint2 packed = {Pack<Element>(out[0] * inverse, out[1] * inverse),
                          Pack<Element>(out[2] * inverse, out[3] * inverse)};
    auto* const to = static_cast<Element*>(call.output) +
                     (static_cast<std::int64_t>(head) * call.seqlen + first_row + row) * T::kHeadDim + column;
    *reinterpret_cast<uint2*>(to) = packed;
  }
}

/// A store that never happens, of what would otherwise not be computed.
template <class T>
__device__ __forceinline__ void Keep(const SplitCall& call, float x) {
  if (x == 1e30F) *static_cast<float*>(call.output) = x;
}

template <class T>
__device__ __forceinline__ void InitSplitBarriers(SplitBarriers<T>& barriers) {
  InitBarrier(&barriers.q, 1);
  for (int i = 0; i < T::kWarpgroups; ++i) {
    InitBarrier(&barriers.k[i], 1);
    InitBarrier(&barriers.v[i], 1);
  }
  InitBarrier(&barriers.parts, 1);
  PublishBarriers();
}

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1) HopperSplitKeys(const __grid_constant__ SplitCall call) {
  if constexpr (T::kUntil <= Until::kShared) return;
  unsigned char* const memory = DynamicMemory();
  const std::uint32_t skip = (kAtomBytes - SharedAddress(memory) % kAtomBytes) % kAtomBytes;
  auto& barriers = *reinterpret_cast<SplitBarriers<T>*>(memory + skip + T::kBarriersAt);
  const int thread_of_block = ThreadIndex();
  const int warpgroup = OfWarp(thread_of_block / kWarpgroupThreads);
  const int rank = static_cast<int>(ClusterRank());
  const int head = BlockRow();
  const int query = BlockIndex() / T::kCluster * T::kQueries + rank / T::kSplits;
  const int first_row = query * kWarpgroupRows;
  const int first_key = (rank % T::kSplits * T::kWarpgroups + warpgroup) * T::kKeys;
  SplitWarpgroup<T> wg{call,
                       SharedAddress(memory) + skip,
                       barriers,
                       warpgroup,
                       thread_of_block % kWarpgroupThreads,
                       rank,
                       head,
                       first_row,
                       first_key};
  const bool has_keys = wg.has_keys();

  if (thread_of_block == 0) {
    InitSplitBarriers<T>(barriers);
    wg.ExpectParts();
  } else if (T::kUntil >= Until::kLoad && thread_of_block == 32) {  // another warp, meanwhile
    PrefetchMap(&call.q);
    PrefetchMap(&call.k);
    PrefetchMap(&call.v);
  }
  SyncBlock();
  // The other blocks have begun, and their barriers are there: before the first copy into them, or the first push.
  if constexpr (T::kCluster > 1) ClusterArrive();
  if constexpr (T::kUntil >= Until::kLoad) {
    if (thread_of_block == 0 && has_keys) wg.load_q();  // without keys for the first warpgroup no one would wait for it
  }
  if constexpr (T::kQueries > 1) ClusterWait();
  if constexpr (T::kUntil >= Until::kLoad) {
    if (wg.thread == 0 && has_keys) {
      wg.load_kv(Operand::kK);
      wg.load_kv(Operand::kV);
    }
    SyncWarp();
    if (has_keys) {
      wg.sync(Operand::kQ);
      wg.sync(Operand::kK);
      if constexpr (T::kUntil >= Until::kQk) wg.qk();
      if constexpr (T::kUntil >= Until::kSoftmax) wg.softmax();
      wg.sync(Operand::kV);
      if constexpr (T::kUntil >= Until::kPv) wg.pv();
      if constexpr (T::kUntil == Until::kSoftmax) {
        Keep<T>(call, wg.row_sum[0] + wg.row_sum[1] + static_cast<float>(wg.p[0][0]));
      }
    }
  }
  if constexpr (T::kQueries > 1) {
    ClusterArrive();  // what others sent has come
  } else if constexpr (T::kCluster > 1) {
    ClusterWait();
  }
  if constexpr (T::kUntil >= Until::kMerge) {
    wg.push(has_keys);
    Wait<Scope::kCluster>(&barriers.parts, 0, WaitFor::kParts);
    epilogue<T>(call, memory + skip + T::kMergeAt, head, first_row + rank % T::kSplits * T::Merge::kRows);
  }
  if constexpr (T::kQueries > 1) ClusterWait();  // no block ends before what it sent has come everywhere
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

/// Enqueues the kernel of configuration T. The tensors are of T::Element, whatever the pointers of `params` say.
template <class T>
cudaError_t LaunchSplit(const AttentionParams& params, cudaStream_t stream) {
  constexpr int kMaxHeads = 65535;  // of a grid's second dimension
  const int heads = params.batch * params.num_heads;
  const int clusters_per_head = Blocks(params.seqlen, kWarpgroupRows * T::kQueries);
  if (params.head_dim != T::kHeadDim || params.seqlen > T::kMaxSeqlen || heads > kMaxHeads) {
    return cudaErrorInvalidValue;
  }
  SplitCall call;
  cudaError_t status = MakeSplitCall<T>(call, params);
  const void* const kernel = reinterpret_cast<const void*>(&HopperSplitKeys<T>);
  constexpr int kBytes = T::kUntil == Until::kNothing ? 0 : static_cast<int>(T::kSharedBytes);
  if (status == cudaSuccess) {
    status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  }
  if (status != cudaSuccess) return status;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = T::kCluster;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(clusters_per_head * T::kCluster), static_cast<unsigned>(heads));
  config.blockDim = dim3(T::kThreads);
  config.dynamicSmemBytes = kBytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = T::kUntil >= Until::kCluster ? 1 : 0;  // of one block too: it sends to itself as to others
  void* arguments[] = {&call};
  return cudaLaunchKernelExC(&config, kernel, arguments);
}

}  // namespace
}  // namespace fa_profile::hopper

#pragma once

// Rung 8's kernel: TMA loads tiles of K and V into rings of stages, WGMMA multiplies, and warps specialise. One
// warpgroup is the producer, one thread of it issues the copies; each of the others owns 64 query rows, and keeps their
// scores, probabilities and output in registers. schedule.h has the order in which they wait for each other, tile.h the
// variations.

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "hopper/barriers.cuh"
#include "hopper/elements.h"
#include "hopper/launch.h"
#include "hopper/layout.h"
#include "hopper/schedule.h"
#include "hopper/softmax.cuh"
#include "hopper/tensor_map.h"
#include "hopper/tile.h"
#include "hopper/tma.cuh"
#include "hopper/variant.h"
#include "hopper/warp.cuh"
#include "hopper/wgmma.cuh"
#include "rung.h"

namespace fa_profile::hopper {
namespace {

/// The kernel's parameter.
struct Call {
  CUtensorMap q, k, v, o;
  void* output;
  Order order;
  int seqlen;
  bool causal;
  float c;  // softmax_scale * log2(e): exp(scale * (s - max)) = 2^(s * c - max * c)
};

template <class T>
struct Barriers {
  Mbarrier full_q, empty_q;
  Mbarrier full_k[T::kStages], empty_k[T::kStages];
  Mbarrier full_v[T::kStages], empty_v[T::kStages];

  __device__ __forceinline__ Mbarrier* full(Operand operand, int stage) {
    return operand == Operand::kQ ? &full_q : operand == Operand::kK ? &full_k[stage] : &full_v[stage];
  }
  __device__ __forceinline__ Mbarrier* empty(Operand operand, int stage) {
    return operand == Operand::kQ ? &empty_q : operand == Operand::kK ? &empty_k[stage] : &empty_v[stage];
  }
};

/// The name of a wait for a full or an empty tile.
__device__ __forceinline__ WaitFor NameOf(WaitFor q, Operand operand) {
  return static_cast<WaitFor>(static_cast<int>(q) + static_cast<int>(operand));
}

/// A tile is empty once each consumer warp has said, on behalf of its lanes, that it is done with it. A tile of K or V
/// comes from all blocks of the cluster, and goes to all of them, so their consumers count too.
template <class T>
__device__ __forceinline__ void InitBarriers(Barriers<T>& barriers) {
  constexpr unsigned kConsumerWarps = T::kWarpgroups * 4;
  InitBarrier(&barriers.full_q, 1);
  InitBarrier(&barriers.empty_q, kConsumerWarps);
  for (int stage = 0; stage < T::kStages; ++stage) {
    InitBarrier(&barriers.full_k[stage], 1);
    InitBarrier(&barriers.full_v[stage], 1);
    InitBarrier(&barriers.empty_k[stage], kConsumerWarps * T::kCluster);
    InitBarrier(&barriers.empty_v[stage], kConsumerWarps * T::kCluster);
  }
  PublishBarriers();
}

/// The thread that issues the copies.
template <class T>
struct Producer {
  const Call& call;
  std::uint32_t shared;  // where the tiles begin
  Barriers<T>& barriers;
  int rank;  // in the cluster
  Item item = {};
  Rings<T::kStages> rings = {};

  __device__ __forceinline__ void load_q() {
    Mbarrier* const full = Prepare(Operand::kQ, T::kQBytes);
#pragma unroll
    for (int slab = 0; slab < T::kSlabs; ++slab) {
      LoadBox(shared + kQAt<T> + slab * SlabBytes(T::kRows), &call.q, slab * kSlabColumns, item.strip * kWarpgroupRows,
              item.head, full);
    }
    rings.Next(Operand::kQ);
  }

  /// This block's part of the tile, for all blocks of the cluster.
  __device__ __forceinline__ void load_kv(Operand operand, int tile) {
    constexpr int kPartKeys = T::kKeys / T::kCluster;
    const bool is_k = operand == Operand::kK;
    const CUtensorMap* const map = is_k ? &call.k : &call.v;
    const int stage = rings.StageOf(operand);
    const std::uint32_t to = shared + (is_k ? kKAt<T> + stage * T::kKvBytes : kVAt<T> + stage * kVStageBytes<T>);
    Mbarrier* const full = Prepare(operand, T::kKvBytes);
#pragma unroll
    for (int slab = 0; slab < T::kSlabs; ++slab) {
      const std::uint32_t box = to + slab * SlabBytes(T::kKeys) + rank * SlabBytes(kPartKeys);
      const int key = tile * T::kKeys + rank * kPartKeys;
      if constexpr (T::kCluster == 1) {
        LoadBox(box, map, slab * kSlabColumns, key, item.head, full);
      } else {
        LoadBoxInCluster(box, map, slab * kSlabColumns, key, item.head, full, (1U << T::kCluster) - 1);
      }
    }
    rings.Next(operand);
  }

 private:
  /// Waits until the next stage is empty, and announces `bytes` at its full barrier.
  __device__ __forceinline__ Mbarrier* Prepare(Operand operand, std::uint32_t bytes) {
    const int stage = rings.StageOf(operand);
    Mbarrier* const full = barriers.full(operand, stage);
    Wait(barriers.empty(operand, stage), rings.EmptyParityOf(operand), NameOf(WaitFor::kEmptyQ, operand));
    ArriveExpecting(full, bytes);
    return full;
  }
};

/// A warpgroup that computes 64 rows of each item.
template <class T>
struct Consumer {
  using Element = typename T::Element;

  const Call& call;
  std::uint32_t shared;
  Barriers<T>& barriers;
  int warpgroup;
  int thread;  // within the warpgroup
  bool last_item = false;
  Item item = {};
  Rings<T::kStages> rings = {};

  float scores[T::kKeys / 2];                   // (64, kKeys) fp32
  std::uint32_t p[T::kKeys / kStepDepth][4];    // (64, kKeys) Element
  float o[kOutColumns<T> / 2];                  // (64, kOutColumns) fp32
  float row_max[2], row_sum[2], correction[2];  // for the thread's two rows
  bool must_rescale = true;

  __device__ __forceinline__ int first_row() const { return (item.strip + warpgroup) * kWarpgroupRows; }
  __device__ __forceinline__ bool has_rows() const { return warpgroup < item.strips; }

  __device__ __forceinline__ void Begin(Item next, bool last) {
    item = next;
    last_item = last;
#pragma unroll
    for (int i = 0; i < kOutColumns<T> / 2; ++i) o[i] = 0.0F;
    row_max[0] = row_max[1] = MinusInfinity();
    row_sum[0] = row_sum[1] = 0.0F;
  }

  /// Waits for a tile.
  __device__ __forceinline__ void sync(Operand operand) {
    Wait(barriers.full(operand, rings.StageOf(operand)), rings.FullParityOf(operand), NameOf(WaitFor::kFullQ, operand));
  }

  /// Signals that this warp is done with a tile.
  __device__ __forceinline__ void release(Operand operand) {
    Mbarrier* const empty = barriers.empty(operand, rings.StageOf(operand));
    if (T::kCluster == 1 || operand == Operand::kQ) {
      if (thread % 32 == 0) Arrive(empty);
    } else if (thread % 32 < T::kCluster) {
      ArriveInCluster(empty, static_cast<unsigned>(thread % 32));  // a lane for each block
    }
    rings.Next(operand);
  }

  /// Whoever has the turn issues products. The wait for it counts towards the waiting phase.
  __device__ __forceinline__ void sync() {
    if constexpr (T::kPingPong) NamedSync<2 * kWarpgroupThreads>(TurnOf(warpgroup));
  }
  __device__ __forceinline__ void take_turn() { sync(); }
  __device__ __forceinline__ void pass_turn(bool last_tile) {
    if constexpr (T::kPingPong) {
      const int next = TurnAfter(warpgroup, T::kWarpgroups, last_tile && last_item);
      if (next != 0) NamedArrive<2 * kWarpgroupThreads>(next);
    }
  }
  /// Before the first item: the turn is the first warpgroup's.
  __device__ __forceinline__ void GiveFirstTurn() {
    if constexpr (T::kPingPong) {
      if (warpgroup == T::kWarpgroups - 1) NamedArrive<2 * kWarpgroupThreads>(TurnOf(0));
    }
  }

  /// Starts scores (64, kKeys) = Q (64, kHeadDim) x K^T. Not scaled.
  __device__ __forceinline__ void qk() {
    const std::uint64_t a = KMajorDescriptor(shared + kQAt<T> + warpgroup * SlabBytes(kWarpgroupRows));
    const std::uint64_t b = KMajorDescriptor(shared + kKAt<T> + rings.k.stage * T::kKvBytes);
    Pin(scores);
    FenceOperands();
#pragma unroll
    for (int step = 0; step < T::kHeadDim / kStepDepth; ++step) {
      Product<T::kKeys, Element>::Multiply(scores, Advance(a, KMajorStep(T::kRows, step)),
                                           Advance(b, KMajorStep(T::kKeys, step)), step == 0 ? 0 : 1);
    }
    CommitProducts();
  }

  /// Waits for the scores; `newer` groups of products may continue. It is QK's second half, and profiles count it in
  /// QK's phase.
  __device__ __forceinline__ void qk(int newer) {
    if (newer == 0) WaitProducts<0>();
    if (newer == 1) WaitProducts<1>();
    Pin(scores);
  }
  __device__ __forceinline__ void await_scores(int newer) { qk(newer); }

  /// Masks, raises the maxima, and turns scores into probabilities.
  __device__ __forceinline__ void softmax(int tile) {
    const int key = tile * T::kKeys;
    const int warp_row = first_row() + thread / 32 * 16;
    if (NeedsMask(warp_row, key, T::kKeys, call.seqlen, call.causal)) {
      const int row = first_row() + AccumulatorRow(thread, 0);
      const int left[2] = {KeyEnd(row, call.seqlen, call.causal) - key,
                           KeyEnd(row + 8, call.seqlen, call.causal) - key};
      Mask(scores, left, thread);
    }
    float max[2] = {row_max[0], row_max[1]};
    RaiseMaxima(max, scores);
    // A probability of up to 2^8 loses nothing in fp16, so a maximum may lag by that much.
    constexpr float kSlack = 8.0F;
    must_rescale = true;
    if constexpr (T::kLazyRescale) {
      const float growth = fmaxf(max[0] - row_max[0], max[1] - row_max[1]);
      must_rescale = AnyOfWarp(growth * call.c > kSlack);
    }
    // Key 0 counts for every row and is in the first tile: max is never minus infinity.
    if (must_rescale) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        correction[half] = Exp2OnMufu((row_max[half] - max[half]) * call.c);
        if constexpr (!T::kSumByProduct) row_sum[half] *= correction[half];
        row_max[half] = max[half];
      }
    }
    const float shift[2] = {row_max[0] * call.c, row_max[1] * call.c};
    Exponentiate<T::kPolynomialOf16>(scores, call.c, shift);
    if constexpr (!T::kSumByProduct) AddScores(row_sum, scores);
    // Before the wait for PV. The last score is the last to be computed.
    if constexpr (T::kOverlap) FinishFirst(T::kSumByProduct ? scores[T::kKeys / 2 - 1] : row_sum[0] + row_sum[1]);
  }

  /// o *= correction: rescales sums made under the old maximum, including the columns of sums.
  __device__ __forceinline__ void rescale() {
    if (!must_rescale) return;
#pragma unroll
    for (int i = 0; i < kOutColumns<T> / 2; ++i) o[i] *= correction[HalfOf(i)];
  }

  /// Probabilities become the A operand of PV: the softmax's second half, counted in its phase by profiles.
  __device__ __forceinline__ void softmax() {
#pragma unroll
    for (int step = 0; step < T::kKeys / kStepDepth; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        p[step][i] = Pack<Element>(scores[ScoreOfFragment(step, i, 0)], scores[ScoreOfFragment(step, i, 1)]);
      }
    }
  }
  __device__ __forceinline__ void convert() { softmax(); }

  /// Starts o (64, kOutColumns) += P (64, kKeys) x V (kKeys, kOutColumns).
  __device__ __forceinline__ void pv() {
    const std::uint64_t b = MnMajorDescriptor(shared + kVAt<T> + rings.v.stage * kVStageBytes<T>, T::kKeys);
    Pin(o);
    Pin(p);
    FenceOperands();
#pragma unroll
    for (int step = 0; step < T::kKeys / kStepDepth; ++step) {
      Product<kOutColumns<T>, Element>::Multiply(o, p[step], Advance(b, MnMajorStep(step)), 1);
    }
    CommitProducts();
  }

  /// Waits for the output: PV's second half.
  __device__ __forceinline__ void pv(int newer) {
    if (newer == 0) WaitProducts<0>();
    if (newer == 1) WaitProducts<1>();
    Pin(o);
  }
  __device__ __forceinline__ void await_output(int newer) { pv(newer); }

  /// Starts the scores of an item's first tile. Without a `next` item their products are unused but harmless: ptxas
  /// lets products be under way only if they are on all paths.
  __device__ __forceinline__ void start_scores(bool next) {
    if (next) {
      sync(Operand::kQ);
      sync(Operand::kK);
    }
    qk();
  }

  /// The sum of the probabilities of the thread's row `half`.
  __device__ __forceinline__ float SumOf(int half) const {
    if constexpr (T::kSumByProduct) return o[T::kHeadDim / 2 + 2 * half];  // all columns of ones give the same
    return QuadSum(row_sum[half]);
  }

  /// Divides by the sums and stores the rows that exist.
  __device__ __forceinline__ void epilogue() {
    const float inverse[2] = {Reciprocal(SumOf(0)), Reciprocal(SumOf(1))};
    if constexpr (T::kTmaStore) {
      store_by_tma(inverse);
    } else {
      store(inverse);
    }
  }

  __device__ __forceinline__ void store(const float (&inverse)[2]) const {
    const int here = Here(thread);
    auto* const head =
        static_cast<Element*>(call.output) + static_cast<std::int64_t>(item.head) * call.seqlen * T::kHeadDim;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row() + AccumulatorRow(here, 2 * half);
      if (row >= call.seqlen) continue;
      Element* const to = head + static_cast<std::int64_t>(row) * T::kHeadDim + AccumulatorColumn(here, 0);
#pragma unroll
      for (int i = 2 * half; i < T::kHeadDim / 2; i += 4) {
        *reinterpret_cast<std::uint32_t*>(to + AccumulatorColumn(0, i)) =
            Pack<Element>(o[i] * inverse[half], o[i + 1] * inverse[half]);
      }
    }
  }

  __device__ __forceinline__ void store_by_tma(const float (&inverse)[2]) {
    const std::uint32_t box = shared + kOAt<T> + warpgroup * T::kWarpgroupOBytes;
    const int barrier = 1 + T::kWarpgroups + warpgroup;
    const int here = Here(thread);
    if (thread == 0) WaitStoresRead();  // the previous item's
    NamedSync<kWarpgroupThreads>(barrier);
#pragma unroll
    for (int i = 0; i < T::kHeadDim / 2; i += 2) {
      // The swizzle exchanges chunks of 8 columns: the thread's column within its chunk is added afterwards.
      const std::uint32_t chunk =
          TileOffset<T::kSwizzleO>(kWarpgroupRows, AccumulatorRow(here, i), AccumulatorColumn(0, i));
      const std::uint32_t pair = Pack<Element>(o[i] * inverse[HalfOf(i)], o[i + 1] * inverse[HalfOf(i)]);
      StoreShared(box + chunk + 2U * static_cast<unsigned>(AccumulatorColumn(here, 0)), pair);
    }
    PublishToTma();
    NamedSync<kWarpgroupThreads>(barrier);
    if (thread == 0) {
#pragma unroll
      for (int slab = 0; slab < T::kSlabs; ++slab) {
        StoreBox(&call.o, box + slab * SlabBytes(kWarpgroupRows), slab * kSlabColumns, first_row(), item.head);
      }
      CommitStores();
    }
  }

  /// Before the block ends: shared memory must last as long as stores read it.
  __device__ __forceinline__ void Finish() {
    if (T::kTmaStore && thread == 0) WaitStores();
    if constexpr (T::kContinue) await_scores(0);
  }
};

/// Consumer<T>, or the configuration's replacement (slips.cuh).
template <class T>
struct ConsumerOf {
  using Type = Consumer<T>;
};
template <class T>
requires requires { typename T::template Consumer<T>; }
struct ConsumerOf<T> {
  using Type = typename T::template Consumer<T>;
};

/// The tiles that any block of the cluster needs.
template <class T>
__device__ __forceinline__ int TilesOf(const Call& call, Item item) {
  constexpr int kStrips = T::kWarpgroups * T::kCluster;
  const int first = T::kCluster == 1 ? item.strip : item.strip / kStrips * kStrips;
  const int rows = (T::kCluster == 1 ? item.strips : kStrips) * kWarpgroupRows;
  return TileCount(first * kWarpgroupRows, rows, T::kKeys, call.seqlen, call.causal);
}

/// The work item of the block with this rank: the order counts in clusters.
template <class T>
__device__ __forceinline__ Item ItemAt(const Call& call, int index, int rank) {
  Item item = call.order.At(index);
  if constexpr (T::kCluster > 1) {
    item.strip += rank * T::kWarpgroups;
    item.strips = T::kWarpgroups;
  }
  return item;
}

/// The consumers write the ones after each stage of V. A product reads 8 of a slab's 64 columns, placed in each row by
/// the swizzle, so all are ones.
template <class T>
__device__ __forceinline__ void WriteOnes(std::uint32_t shared) {
  constexpr int kConsumers = T::kWarpgroups * kWarpgroupThreads;
  const std::uint32_t ones = Pack<typename T::Element>(1.0F, 1.0F);
#pragma unroll
  for (int stage = 0; stage < T::kStages; ++stage) {
    const std::uint32_t slab = shared + kVAt<T> + stage * kVStageBytes<T> + T::kKvBytes;
    for (std::uint32_t at = 4U * ThreadIndex(); at < SlabBytes(T::kKeys); at += 4U * kConsumers) {
      StoreShared(slab + at, ones);
    }
  }
  PublishToTma();  // products read shared memory as TMA does
  NamedSync<kConsumers>(1 + 2 * T::kWarpgroups);
}

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1) HopperForward(const __grid_constant__ Call call) {
  unsigned char* const memory = DynamicMemory();
  // The swizzle counts from addresses that are multiples of an atom.
  const std::uint32_t skip = (kAtomBytes - SharedAddress(memory) % kAtomBytes) % kAtomBytes;
  const std::uint32_t shared = SharedAddress(memory) + skip;
  auto& barriers = *reinterpret_cast<Barriers<T>*>(memory + skip + kBarriersAt<T>);

  const int warpgroup = OfWarp(ThreadIndex() / kWarpgroupThreads);
  const int rank = BlockIndex() % T::kCluster;
  if (ThreadIndex() == 0) InitBarriers<T>(barriers);
  if constexpr (T::kCluster == 1) {
    SyncBlock();
  } else {
    ClusterArrive();
    ClusterWait();
  }
  const int items = call.order.items();
  const int first = BlockIndex() / T::kCluster;
  const int stride = BlockCount() / T::kCluster;

  if (warpgroup == T::kWarpgroups) {
    ShrinkTo<T::kProducerRegisters>();
    if (ThreadIndex() % kWarpgroupThreads == 0) {
      PrefetchMap(&call.q);
      PrefetchMap(&call.k);
      PrefetchMap(&call.v);
      if constexpr (T::kDependentLaunch) {
        WaitForKernelBefore();  // nothing was read or written before this point, and consumers only write results of it
        LetNextKernelBegin();
      }
      Producer<T> producer{call, shared, barriers, rank};
      for (int index = first; index < items; index += stride) {
        producer.item = ItemAt<T>(call, index, rank);
        LoadItem(producer, TilesOf<T>(call, producer.item));
      }
    }
  } else {
    GrowTo<T::kConsumerRegisters>();
    typename ConsumerOf<T>::Type consumer{
        Consumer<T>{call, shared, barriers, warpgroup, ThreadIndex() % kWarpgroupThreads}};
    if constexpr (T::kSumByProduct) WriteOnes<T>(shared);  // during the first copies
    consumer.GiveFirstTurn();
    if constexpr (T::kContinue) {
      consumer.item = ItemAt<T>(call, first, rank);
      consumer.start_scores(consumer.has_rows());
    }
    for (int index = first; index < items; index += stride) {
      const bool last = index + stride >= items;
      consumer.Begin(ItemAt<T>(call, index, rank), last);
      const int tiles = TilesOf<T>(call, consumer.item);
      if (!consumer.has_rows()) {
        PassItem(consumer, tiles);
        continue;
      }
      if constexpr (T::kContinue) {
        const bool next = !last && warpgroup < ItemAt<T>(call, index + stride, rank).strips;
        ConsumeContinued(consumer, tiles, next);
      } else {
        ConsumeItem<T::kOverlap>(consumer, tiles);
      }
      consumer.epilogue();
    }
    consumer.Finish();
  }
  if constexpr (T::kCluster > 1) {  // no block ends while another may still copy into it or arrive at its barriers
    ClusterArrive();
    ClusterWait();
  }
}

/// Number of heads whose K and V together take about half of L2.
inline int HeadsPerGroup(const AttentionParams& params) {
  constexpr std::int64_t kGroupBytes = 24 << 20;
  const std::int64_t head_bytes = std::int64_t{4} * params.seqlen * params.head_dim;
  const std::int64_t heads = std::int64_t{params.batch} * params.num_heads;
  const std::int64_t fitting = kGroupBytes / head_bytes;
  return static_cast<int>(fitting < 1 ? 1 : fitting < heads ? fitting : heads);
}

template <class T>
cudaError_t MakeCall(Call& call, const AttentionParams& params) {
  constexpr float kLog2E = 1.4426950408889634F;
  call.output = params.o;
  call.order = {params.batch * params.num_heads, Blocks(params.seqlen, T::kRows * T::kCluster),
                T::kWarpgroups * T::kCluster, params.causal ? HeadsPerGroup(params) : 1, params.causal};
  call.seqlen = params.seqlen;
  call.causal = params.causal;
  call.c = params.softmax_scale * kLog2E;
  constexpr CUtensorMapDataType kType = MapType<typename T::Element>();
  cudaError_t status = EncodeMap(call.q, params.q, kType, params, T::kRows);
  if (status == cudaSuccess) status = EncodeMap(call.k, params.k, kType, params, T::kKeys / T::kCluster);
  if (status == cudaSuccess) status = EncodeMap(call.v, params.v, kType, params, T::kKeys / T::kCluster);
  if (status == cudaSuccess) status = EncodeMap(call.o, params.o, kType, params, kWarpgroupRows, T::kSwizzleO);
  return status;
}

/// Enqueues the kernel of configuration T. The tensors have type T::Element, whatever the pointers of `params` say.
template <class T>
cudaError_t LaunchForward(const AttentionParams& params, cudaStream_t stream) {
  static_assert(T::kKeys / T::kCluster % kAtomRows == 0, "a part of a tile begins with an atom");
  static_assert(!T::kContinue || (T::kOverlap && !T::kPingPong), "an item that is continued takes no turns");
  if (params.head_dim != T::kHeadDim) return cudaErrorInvalidValue;
  Call call;
  cudaError_t status = MakeCall<T>(call, params);
  int sms = 0;
  if (status == cudaSuccess) status = CountSms(sms);
  const void* const kernel = reinterpret_cast<const void*>(&HopperForward<T>);
  static_assert(kSharedBytes<T> <= 227 * 1024, "what a block gets on sm_90");
  constexpr int kBytes = static_cast<int>(kSharedBytes<T>);
  if (status == cudaSuccess) {
    status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  }
  if (status != cudaSuccess) return status;
  // With a causal mask items differ in length: then each is a block, and the hardware gives the next one to the first
  // free SM.
  const bool persistent = T::kPersistent && !params.causal && sms / T::kCluster < call.order.items();
  if (persistent && T::kNarrowItems && T::kCluster == 1) call.order = WithNarrowItems(call.order, params.seqlen, sms);
  const int items = call.order.items();
  const int clusters = persistent ? sms / T::kCluster : items;
  const dim3 grid(static_cast<unsigned>(clusters * T::kCluster));
  return Launch(kernel, call, {grid, T::kThreads, kBytes, T::kCluster, T::kDependentLaunch}, stream);
}

/// LaunchForward<T> as a variant.
template <class T>
constexpr Variant ForwardVariant(const char* name, const char* changes) {
  constexpr bool kBf16 = std::is_same_v<typename T::Element, __nv_bfloat16>;
  return {name, changes, T::kHeadDim, kBf16, 0, LaunchForward<T>};
}

}  // namespace
}  // namespace fa_profile::hopper

// A family of forward kernels on mma.sync. A variant derives from Mma and changes what it differs in.
//
// A block owns kBlockM query rows of one head and walks over the keys in tiles of kSplits * kKeys. Warp w of split s
// owns rows [w * 16 * kMTiles, ...) of the block and keys [s * kKeys, ...) of each tile.
#pragma once

#include "mma_compute.cuh"
#include "mma_epilogue.cuh"

namespace phase_variants {
namespace {

template <class T>
__device__ __forceinline__ void Clear(Output<T>& o, PerRow<T>& row_max, PerRow<T>& row_sum) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int dt = 0; dt < T::kHeadDim / 8; ++dt) {
#pragma unroll
      for (int i = 0; i < 4; ++i) o[mt][dt][i] = 0.0F;
    }
    row_max[mt][0] = row_max[mt][1] = -Infinity();
    row_sum[mt][0] = row_sum[mt][1] = 0.0F;
  }
}

/// One row block of one head; `part` of its keys.
template <class T>
__device__ __forceinline__ void Attend(const Call& call, unsigned char* shared, int row_block, int part) {
  using O = Of<T>;
  constexpr bool kMask = T::kCausal || T::kBounds;
  const int row_blocks = call.seqlen / O::kBlockM;
  const int head = row_block / row_blocks;
  const int block_row = row_block % row_blocks * O::kBlockM;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const Place place{static_cast<int>(threadIdx.x) % 32, warp % T::kWarps, warp / T::kWarps,
                    block_row + warp % T::kWarps * O::kRows, block_row};
  const std::int64_t offset = static_cast<std::int64_t>(head) * call.seqlen * T::kHeadDim;
  const std::int64_t kv_offset =
      T::kGrouped ? static_cast<std::int64_t>(head / call.group) * call.seqlen * T::kHeadDim : offset;
  const __half* const k_head = call.k + kv_offset;
  const __half* const v_head = call.v + kv_offset;
  const int all_keys = T::kCausal ? block_row + O::kBlockM : call.seqlen;
  const int first_key = part * (call.seqlen / T::kGridSplits);
  const int end = T::kGridSplits > 1 ? first_key + call.seqlen / T::kGridSplits : all_keys;

  const std::uint32_t base = Shared(shared);
  const std::uint32_t q_tile = base + O::kQAt;
  const std::uint32_t p_tile =
      base + O::kPAt + static_cast<unsigned>((place.split * T::kWarps + place.warp) * O::kRows * O::kPPitch);
  const std::uint32_t reduction = base + O::kReductionAt;
  const auto k_stage = [&](int stage) {
    return base + static_cast<unsigned>(stage % (O::kStages > 0 ? O::kStages : 1) * O::kTileBytes);
  };
  const auto v_stage = [&](int stage) { return k_stage(stage) + O::kVAt; };

  QFragments<T> q;
  if constexpr (T::kQueries == Queries::kGlobal) {
    load_q<T>(q, call.q + offset, place, call);
  } else {
    load_q<T>(q_tile, call.q + offset, place, call);
    if constexpr (T::kQueries == Queries::kStaged) {
      sync();
      load_q<T>(q, q_tile, place);
    }
  }

  Output<T> o;
  PerRow<T> row_max;
  PerRow<T> row_sum;
  PerRow<T> correction;
  Direct<T> direct;
  Scores<T> scores;
  PFragments<T> p;
  bool grown = false;
  Clear<T>(o, row_max, row_sum);
  const int split_key = place.split * T::kKeys;

  if constexpr (T::kLoop == Loop::kTwoPass) {
    for (int key0 = first_key; key0 < end; key0 += O::kBlockN) {
      load_kv<T>(k_stage(0), v_stage(0), k_head, v_head, key0, end, call);
      sync();
      qk<T>(scores, q, q_tile, k_stage(0), direct, place);
      if constexpr (kMask) Mask<T>(scores, key0 + split_key, place, call);
      softmax<T>(scores, row_max, place);
      sync(place);
    }
  }
  if constexpr (T::kLoop == Loop::kOverlapped) {
    const int tiles = (end - first_key + O::kBlockN - 1) / O::kBlockN;
    load_kv<T>(k_stage(0), v_stage(0), k_head, v_head, first_key, end, call);
    if (tiles > 1) load_kv<T>(k_stage(1), v_stage(1), k_head, v_head, first_key + O::kBlockN, end, call);
    sync();
    qk<T>(scores, q, q_tile, k_stage(0), direct, place);
    softmax<T, kMask>(p, p_tile, scores, row_max, row_sum, correction, grown, first_key, reduction, place, call);
    for (int tile = 0; tile < tiles; ++tile) {
      const int next_key = first_key + (tile + 1) * O::kBlockN;
      if (tile + 1 < tiles) qk<T>(scores, q, q_tile, k_stage(tile + 1), direct, place);
      pv<T>(o, p, p_tile, v_stage(tile), direct, place);
      if (tile + 1 < tiles) {
        softmax<T, kMask>(p, p_tile, scores, row_max, row_sum, correction, grown, next_key, reduction, place, call);
        rescale<T>(o, correction, grown);
      }
      sync(place);
      if (tile + 2 < tiles) {
        load_kv<T>(k_stage(tile), v_stage(tile), k_head, v_head, next_key + O::kBlockN, end, call);
      }
      sync();
    }
  } else if constexpr (T::kCopy == Copy::kAsync2) {
    load_kv<T>(k_stage(0), v_stage(0), k_head, v_head, first_key, end, call);
    int tile = 0;
    const auto step = [&](auto masked, int key0) __attribute__((always_inline)) {
      sync();
      if (key0 + O::kBlockN < end) {
        load_kv<T>(k_stage(tile + 1), v_stage(tile + 1), k_head, v_head, key0 + O::kBlockN, end, call);
      }
      qk<T>(scores, q, q_tile, k_stage(tile), direct, place);
      softmax<T, decltype(masked)::value>(p, p_tile, scores, row_max, row_sum, correction, grown, key0 + split_key,
                                          reduction, place, call);
      rescale<T>(o, correction, grown);
      pv<T>(o, p, p_tile, v_stage(tile), direct, place);
      ++tile;
    };
    if constexpr (T::kLoop == Loop::kPeeled) {
      int key0 = first_key;
#pragma unroll 1
      for (; key0 + O::kBlockN <= block_row; key0 += O::kBlockN) step(std::false_type{}, key0);
#pragma unroll 1
      for (; key0 < end; key0 += O::kBlockN) step(std::true_type{}, key0);
    } else {
      for (int key0 = first_key; key0 < end; key0 += O::kBlockN) step(std::bool_constant<kMask>{}, key0);
    }
  } else {
    Staged<T> staged;
    if constexpr (T::kCopy == Copy::kPrefetch) load_kv<T>(staged, k_head, v_head, first_key);
    for (int key0 = first_key; key0 < end; key0 += O::kBlockN) {
      if constexpr (T::kCopy == Copy::kDirect) {
        load_kv<T>(direct, k_head, v_head, key0 + split_key, place);
      } else if constexpr (T::kCopy == Copy::kPrefetch) {
        load_kv<T>(staged, k_stage(0), v_stage(0));
        sync(place);
        if (key0 + O::kBlockN < end) load_kv<T>(staged, k_head, v_head, key0 + O::kBlockN);
      } else {
        load_kv<T>(k_stage(0), v_stage(0), k_head, v_head, key0, end, call);
        if constexpr (T::kCopy == Copy::kAsync1 || T::kQueries == Queries::kShared) {
          sync();
        } else {
          sync(place);
        }
      }
      qk<T>(scores, q, q_tile, k_stage(0), direct, place);
      softmax<T, kMask>(p, p_tile, scores, row_max, row_sum, correction, grown, key0 + split_key, reduction, place,
                        call);
      rescale<T>(o, correction, grown);
      pv<T>(o, p, p_tile, v_stage(0), direct, place);
      if constexpr (T::kCopy != Copy::kDirect) sync(place);
    }
  }

  const float c = T::kScale == Scale::kFolded ? call.scale * kLog2E : 1.0F;
  if constexpr (T::kGridSplits > 1) {
    epilogue<T>(call.o + offset, o, row_max, row_sum, c, call.workspace, row_block, row_blocks * call.heads, part,
                place);
  } else if constexpr (T::kSplits > 1) {
    epilogue<T>(call.o + offset, o, row_max, row_sum, c, shared, place);
  } else {
    epilogue<T>(call.o + offset, o, row_sum, shared, place);
  }
}

template <class T>
__global__ void __launch_bounds__(Of<T>::kThreads, T::kMinBlocks) MmaForward(const Call call) {
  extern __shared__ __align__(1024) unsigned char shared[];
  if constexpr (T::kPersistent) {
    const int all = call.seqlen / Of<T>::kBlockM * call.heads;
    for (int row_block = static_cast<int>(blockIdx.x); row_block < all; row_block += static_cast<int>(gridDim.x)) {
      Attend<T>(call, shared, row_block, 0);
      __syncthreads();
    }
  } else {
    Attend<T>(call, shared, static_cast<int>(blockIdx.x) / T::kGridSplits,
              static_cast<int>(blockIdx.x) % T::kGridSplits);
  }
}

template <class T>
int RowBlocks(const Arguments& args) {
  return args.seqlen / Of<T>::kBlockM * args.batch * args.num_heads;
}

template <class T>
std::size_t Mma::WorkspaceBytes(const Arguments& args) {
  if (T::kGridSplits == 1) return 0;
  const std::size_t blocks = static_cast<std::size_t>(RowBlocks<T>(args));
  return 4 * blocks * (1 + std::size_t{T::kGridSplits} * Of<T>::kBlockM * (T::kHeadDim + 2));
}

template <class T>
int Mma::Launch(const Arguments& args) {
  static_assert(T::kQkUnroll > 1 || T::kQueries == Queries::kShared, "Q in registers needs constant indices");
  static_assert(T::kPvUnroll > 4 || T::kPShared, "P in registers needs constant indices");
  static_assert(128 % Of<T>::kBlockM == 0 && (T::kBounds || 128 % Of<T>::kBlockN == 0));
  static_assert(T::kSplits == 1 || T::kScale == Scale::kFolded);
  constexpr int kPersistentBlocks = 48;
  const int blocks = RowBlocks<T>(args) * T::kGridSplits;
  if (T::kGridSplits > 1) {
    const cudaError_t cleared = cudaMemsetAsync(args.workspace, 0, 4 * static_cast<std::size_t>(RowBlocks<T>(args)),
                                                static_cast<cudaStream_t>(args.stream));
    if (cleared != cudaSuccess) return static_cast<int>(cleared);
  }
  return Start(MmaForward<T>, args, T::kPersistent && blocks > kPersistentBlocks ? kPersistentBlocks : blocks,
               Of<T>::kThreads, Of<T>::kBytes);
}

}  // namespace
}  // namespace phase_variants

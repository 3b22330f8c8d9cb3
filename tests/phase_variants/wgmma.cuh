// A family on WGMMA (sm_90a): a warpgroup owns 64 query rows. Q, K and V are in shared memory in the 128-byte swizzle
// of the descriptors, which for rows of 128 bytes is chunk ^ (row & 7). P comes from registers, or from shared memory.
#pragma once

#include "specialised.cuh"

namespace phase_variants {
namespace {

struct Wgmma : Specialised {
  static constexpr Queries kQueries = Queries::kShared;
  static constexpr int kWarps = 4;  // a warpgroup; 8: two
  static constexpr bool kPSharedGmma = false;
  static constexpr bool kProducerWarp = false;
  static constexpr bool kOverlap = false;  // the next tile's QK is issued before this tile's PV is waited for

  template <class T>
  static int Launch(const Arguments& args);
};

// clang-format off: one line a register list
__device__ __forceinline__ void GmmaKey64(float (&c)[8][4], std::uint64_t a, std::uint64_t b, bool add) {
  asm volatile(
      "{\n .reg .pred p;\n setp.ne.b32 p, %34, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0;\n}"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
        "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
        "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
        "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
        "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)));
}

__device__ __forceinline__ void GmmaKey128(float (&c)[16][4], std::uint64_t a, std::uint64_t b, bool add) {
  asm volatile(
      "{\n .reg .pred p;\n setp.ne.b32 p, %66, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "
      "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, 1, "
      "0, 0;\n}"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
        "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
        "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
        "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
        "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3]), "+f"(c[8][0]), "+f"(c[8][1]), "+f"(c[8][2]),
        "+f"(c[8][3]), "+f"(c[9][0]), "+f"(c[9][1]), "+f"(c[9][2]), "+f"(c[9][3]), "+f"(c[10][0]), "+f"(c[10][1]),
        "+f"(c[10][2]), "+f"(c[10][3]), "+f"(c[11][0]), "+f"(c[11][1]), "+f"(c[11][2]), "+f"(c[11][3]), "+f"(c[12][0]),
        "+f"(c[12][1]), "+f"(c[12][2]), "+f"(c[12][3]), "+f"(c[13][0]), "+f"(c[13][1]), "+f"(c[13][2]), "+f"(c[13][3]),
        "+f"(c[14][0]), "+f"(c[14][1]), "+f"(c[14][2]), "+f"(c[14][3]), "+f"(c[15][0]), "+f"(c[15][1]), "+f"(c[15][2]),
        "+f"(c[15][3])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)));
}

__device__ __forceinline__ void GmmaValue64(float (&c)[8][4], const std::uint32_t (&a)[4], std::uint64_t b, bool add) {
  asm volatile(
      "{\n .reg .pred p;\n setp.ne.b32 p, %37, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
        "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
        "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
        "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
        "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)));
}

__device__ __forceinline__ void GmmaValueShared64(float (&c)[8][4], std::uint64_t a, std::uint64_t b, bool add) {
  asm volatile(
      "{\n .reg .pred p;\n setp.ne.b32 p, %34, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 1;\n}"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
        "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
        "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
        "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
        "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)));
}
// clang-format on

/// Descriptor of a tile of 128-byte rows in the 128-byte swizzle: 8 rows are 1024 bytes apart from the next 8.
__device__ __forceinline__ std::uint64_t Descriptor(std::uint32_t shared) {
  return static_cast<std::uint64_t>((shared & 0x3ffffU) >> 4) | (std::uint64_t{1} << 16) | (std::uint64_t{64} << 32) |
         (std::uint64_t{1} << 62);
}

__device__ __forceinline__ void GmmaFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void GmmaCommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void GmmaWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
template <int kN>
__device__ __forceinline__ void Pin(float (&c)[kN][4]) {
#pragma unroll
  for (int i = 0; i < kN; ++i) {
    asm volatile("" : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])::"memory");
  }
}

template <int kN>
__device__ __forceinline__ void Pin(std::uint32_t (&p)[1][kN][4]) {
#pragma unroll
  for (int i = 0; i < kN; ++i) {
    asm volatile("" : "+r"(p[0][i][0]), "+r"(p[0][i][1]), "+r"(p[0][i][2]), "+r"(p[0][i][3])::"memory");
  }
}

/// Waits for the copies and makes them visible to WGMMA.
__device__ __forceinline__ void sync(std::int64_t) {
  CommitCopies();
  WaitCopies<0>();
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

/// Issues scores = Q x K^T of a warpgroup's 64 rows.
template <class T>
__device__ __forceinline__ void qk(Scores<T>& scores, std::uint32_t q_rows, std::uint32_t k_tile) {
  GmmaFence();
#pragma unroll
  for (int kk = 0; kk < T::kHeadDim / 16; ++kk) {
    const std::uint64_t k = Descriptor(k_tile + 32 * kk);
    if constexpr (T::kKeys == 128) {
      GmmaKey128(scores[0], Descriptor(q_rows + 32 * kk), k, kk > 0);
    } else {
      GmmaKey64(scores[0], Descriptor(q_rows + 32 * kk), k, kk > 0);
    }
  }
  GmmaCommit();
}

/// Waits until the scores are there.
template <class T, int kPending>
__device__ __forceinline__ void qk(Scores<T>& scores) {
  GmmaWait<kPending>();
  Pin(scores[0]);
}

/// P to shared memory in the descriptors' swizzle: 64 keys are a row of 128 bytes.
template <class T>
__device__ __forceinline__ void softmax(const PFragments<T>& p, std::uint32_t p_rows, const Place& place) {
  const int row = place.warp % 4 * 16 + place.lane / 4;
#pragma unroll
  for (int kk = 0; kk < T::kKeys / 16; ++kk) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int chunk = 2 * kk + i / 2;
      StoreShared32(At<T>(p_rows, row + 8 * (i % 2), chunk) + 4 * (place.lane % 4), p[0][kk][i]);
    }
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("bar.sync %0, 128;" ::"r"(1 + place.warp / 4) : "memory");
}

/// Issues o += P x V.
template <class T>
__device__ __forceinline__ void pv(Output<T>& o, const PFragments<T>& p, std::uint32_t p_rows, std::uint32_t v_tile) {
  GmmaFence();
#pragma unroll
  for (int kk = 0; kk < T::kKeys / 16; ++kk) {
    const std::uint64_t v = Descriptor(v_tile + 2048 * kk);
    if constexpr (T::kPSharedGmma) {
      GmmaValueShared64(o[0], Descriptor(p_rows + 32 * kk), v, true);
    } else {
      GmmaValue64(o[0], p[0][kk], v, true);
    }
  }
  GmmaCommit();
}
template <class T, int kPending>
__device__ __forceinline__ void pv(Output<T>& o) {
  GmmaWait<kPending>();
  Pin(o[0]);
}

template <class T>
__global__ void __launch_bounds__(Of<T>::kThreads + (T::kProducerWarp ? 32 : 0), 1) WgmmaForward(const Call call) {
  using O = Of<T>;
  static_assert(T::kHeadDim == 64 && T::kMTiles == 1 && !T::kPadded && (!T::kPSharedGmma || T::kKeys == 64));
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
  const auto k_stage = [&](int tile) { return base + static_cast<unsigned>(tile % 2 * O::kTileBytes); };
  if constexpr (T::kProducerWarp) {
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < 2; ++stage) {
        InitBarrier(&full[stage], 32);
        InitBarrier(&empty[stage], T::kWarps);
      }
    }
    __syncthreads();
    if (warp == T::kWarps) {
      for (int tile = 0; tile < tiles; ++tile) {
        if (tile >= 2) sync(&empty[tile % 2], (tile / 2 - 1) % 2);
        const std::int64_t from = offset + static_cast<std::int64_t>(tile) * T::kKeys * T::kHeadDim;
        load_kv<T>(k_stage(tile), k_stage(tile) + O::kVAt, call.k + from, call.v + from, &full[tile % 2], lane);
      }
      return;
    }
  }
  const Place place{lane, warp, 0, block_row + warp * 16, block_row};
  const std::uint32_t q_tile = base + O::kQAt;
  const std::uint32_t q_rows = q_tile + static_cast<unsigned>(warp / 4 * 64 * O::kPitch);
  load_q<T>(q_tile, call.q + offset, place, call);
  Output<T> o;
  PerRow<T> row_max;
  PerRow<T> row_sum;
  PerRow<T> correction;
  Scores<T> scores;
  PFragments<T> p;
  bool grown = false;
  Clear<T>(o, row_max, row_sum);
  if constexpr (T::kOverlap) {
    load_kv<T>(k_stage(0), k_stage(0) + O::kVAt, call.k + offset, call.v + offset, 0, end, call);
    if (tiles > 1) {
      load_kv<T>(k_stage(1), k_stage(1) + O::kVAt, call.k + offset, call.v + offset, T::kKeys, end, call);
    }
    sync(std::int64_t{});
    qk<T>(scores, q_rows, k_stage(0));
    qk<T, 0>(scores);
    softmax<T, T::kCausal>(p, 0U, scores, row_max, row_sum, correction, grown, 0, 0U, place, call);
    int tile = 0;
    for (; tile + 1 < tiles; ++tile) {
      PFragments<T> next;
      Pin(p);
      qk<T>(scores, q_rows, k_stage(tile + 1));
      pv<T>(o, p, q_rows, k_stage(tile) + O::kVAt);
      qk<T, 1>(scores);
      softmax<T, T::kCausal>(next, 0U, scores, row_max, row_sum, correction, grown, (tile + 1) * T::kKeys, 0U, place,
                             call);
      pv<T, 0>(o);
      rescale<T>(o, correction, grown);
#pragma unroll
      for (int kk = 0; kk < T::kKeys / 16; ++kk) {
#pragma unroll
        for (int i = 0; i < 4; ++i) p[0][kk][i] = next[0][kk][i];
      }
      sync(place);
      if (tile + 2 < tiles) {
        load_kv<T>(k_stage(tile), k_stage(tile) + O::kVAt, call.k + offset, call.v + offset, (tile + 2) * T::kKeys, end,
                   call);
      }
      sync(std::int64_t{});
    }
    pv<T>(o, p, q_rows, k_stage(tile) + O::kVAt);
    pv<T, 0>(o);
  } else {
    if constexpr (!T::kProducerWarp) {
      load_kv<T>(k_stage(0), k_stage(0) + O::kVAt, call.k + offset, call.v + offset, 0, end, call);
    } else {
      CommitCopies();
      WaitCopies<0>();
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      asm volatile("bar.sync 4, %0;" ::"n"(O::kThreads) : "memory");
    }
    for (int tile = 0; tile < tiles; ++tile) {
      if constexpr (T::kProducerWarp) {
        sync(&full[tile % 2], tile / 2 % 2);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      } else {
        sync(std::int64_t{});
        if (tile + 1 < tiles) {
          load_kv<T>(k_stage(tile + 1), k_stage(tile + 1) + O::kVAt, call.k + offset, call.v + offset,
                     (tile + 1) * T::kKeys, end, call);
        }
      }
      qk<T>(scores, q_rows, k_stage(tile));
      qk<T, 0>(scores);
      softmax<T, T::kCausal>(p, 0U, scores, row_max, row_sum, correction, grown, tile * T::kKeys, 0U, place, call);
      rescale<T>(o, correction, grown);
      const std::uint32_t p_rows = base + O::kPAt + static_cast<unsigned>(warp / 4 * 64 * 128);
      if constexpr (T::kPSharedGmma) softmax<T>(p, p_rows, place);
      pv<T>(o, p, p_rows, k_stage(tile) + O::kVAt);
      pv<T, 0>(o);
      if constexpr (T::kProducerWarp) sync(&empty[tile % 2], place);
    }
  }
  epilogue<T>(call.o + offset, o, row_sum, shared, place);
}

template <class T>
int Wgmma::Launch(const Arguments& args) {
  constexpr int kBytes = Of<T>::kPAt + (T::kPSharedGmma ? T::kWarps / 4 * 64 * 128 : 0);
  return Start(WgmmaForward<T>, args, RowBlocks<T>(args), Of<T>::kThreads + (T::kProducerWarp ? 32 : 0), kBytes);
}

}  // namespace
}  // namespace phase_variants

// The family Mma: both products, the softmax between them and the rescaling of the output.
#pragma once

#include "mma_load.cuh"

namespace phase_variants {
namespace {

template <class T>
__device__ __forceinline__ void Product(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                        std::uint32_t b1) {
  if constexpr (T::kMmaDepth == 8) {
    Mma8(c, a, b0, b1);
  } else {
    Mma16(c, a, b0, b1);
  }
}

/// scores = Q x K^T of the split's keys; K: rows of its tile.
template <class T>
__device__ __forceinline__ void qk(Scores<T>& scores, const QFragments<T>& q, std::uint32_t q_tile,
                                   std::uint32_t k_tile, const Direct<T>& direct, const Place& place) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int nt = 0; nt < T::kKeys / 8; ++nt) {
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[mt][nt][i] = 0.0F;
    }
  }
  constexpr int kUnroll = T::kQkUnroll;
#pragma unroll kUnroll
  for (int kk = 0; kk < T::kHeadDim / 16; ++kk) {
    std::uint32_t a[T::kMTiles][4];
#pragma unroll
    for (int mt = 0; mt < T::kMTiles; ++mt) {
      if constexpr (T::kQueries == Queries::kShared) {
        ReadQ<T>(a[mt], q_tile, mt, kk, place);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) a[mt][i] = q[mt][kk][i];
      }
    }
#pragma unroll
    for (int np = 0; np < T::kKeys / 16; ++np) {
      std::uint32_t b[4];  // keys 0-7 at the two halves of the depth, then keys 8-15
      if constexpr (T::kCopy == Copy::kDirect) {
#pragma unroll
        for (int i = 0; i < 4; ++i) b[i] = direct.k[2 * np + i / 2][kk][i % 2];
      } else if constexpr (T::kLdmatrix) {
        const int row = place.split * T::kKeys + 16 * np + (place.lane & 7) + ((place.lane >> 4) << 3);
        LoadMatrix(b, At<T>(k_tile, row, 2 * kk + ((place.lane >> 3) & 1)));
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = place.split * T::kKeys + 16 * np + 8 * (i / 2) + place.lane / 4;
          b[i] = LoadShared32(At<T>(k_tile, row, 2 * kk + i % 2) + 4 * (place.lane % 4));
        }
      }
#pragma unroll
      for (int mt = 0; mt < T::kMTiles; ++mt) {
        if constexpr (T::kBf16Qk) {
          MmaBf16(scores[mt][2 * np], a[mt], b[0], b[1]);
          MmaBf16(scores[mt][2 * np + 1], a[mt], b[2], b[3]);
        } else {
          Product<T>(scores[mt][2 * np], a[mt], b[0], b[1]);
          Product<T>(scores[mt][2 * np + 1], a[mt], b[2], b[3]);
        }
      }
    }
  }
}

/// The largest of a row's values, which the four lanes of a quad hold.
template <class T>
__device__ __forceinline__ float QuadMax(float max, int row, std::uint32_t reduction, const Place& place) {
  if constexpr (T::kSharedReduction) {
    const std::uint32_t at =
        reduction + static_cast<unsigned>((place.split * Of<T>::kBlockM + place.warp * Of<T>::kRows + row) * 16);
    __syncwarp();
    StoreShared32(at + 4 * (place.lane % 4), __float_as_uint(max));
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 4; ++i) max = fmaxf(max, __uint_as_float(LoadShared32(at + 4 * i)));
  } else {
    max = fmaxf(max, __shfl_xor_sync(kAll, max, 1));
    max = fmaxf(max, __shfl_xor_sync(kAll, max, 2));
  }
  return max;
}

template <class T>
__device__ __forceinline__ void Mask(Scores<T>& scores, int key0, const Place& place, const Call& call) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int nt = 0; nt < T::kKeys / 8; ++nt) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = place.row + 16 * mt + place.lane / 4 + 8 * (i / 2);
        const int key = key0 + 8 * nt + 2 * (place.lane % 4) + i % 2;
        if ((T::kCausal && key > row) || (T::kBounds && key >= call.seqlen)) scores[mt][nt][i] = -Infinity();
      }
    }
  }
}

/// Row maxima of the scores, without anything else: the first pass of two.
template <class T>
__device__ __forceinline__ void softmax(Scores<T>& scores, PerRow<T>& row_max, const Place& place) {
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int nt = 0; nt < T::kKeys / 8; ++nt) {
        row_max[mt][half] = fmaxf(row_max[mt][half], fmaxf(scores[mt][nt][2 * half], scores[mt][nt][2 * half + 1]));
      }
      row_max[mt][half] = QuadMax<T>(row_max[mt][half], 0, 0U, place);
    }
  }
}

/// Scores to probabilities. `grown` tells whether the output must be rescaled.
template <class T, bool kMask>
__device__ __forceinline__ void softmax(PFragments<T>& p, std::uint32_t p_tile, Scores<T>& scores, PerRow<T>& row_max,
                                        PerRow<T>& row_sum, PerRow<T>& correction, bool& grown, int key0,
                                        std::uint32_t reduction, const Place& place, const Call& call) {
  constexpr Exp kExp = T::kExp;
  const float factor = call.scale * (kIsBase2<kExp> ? kLog2E : 1.0F);
  if constexpr (kMask) {
    if (key0 + T::kKeys > (T::kCausal ? place.row + 1 : call.seqlen)) Mask<T>(scores, key0, place, call);
  }
  if constexpr (T::kScale == Scale::kSeparate) {
#pragma unroll
    for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
      for (int nt = 0; nt < T::kKeys / 8; ++nt) {
#pragma unroll
        for (int i = 0; i < 4; ++i) scores[mt][nt][i] *= factor;
      }
    }
  }
  const float c = T::kScale == Scale::kFolded ? factor : 1.0F;
  grown = false;
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float max = T::kRescale == Rescale::kNone ? 0.0F : row_max[mt][half];
      if constexpr (T::kRescale != Rescale::kNone && T::kLoop != Loop::kTwoPass) {
#pragma unroll
        for (int nt = 0; nt < T::kKeys / 8; ++nt) {
          max = fmaxf(max, fmaxf(scores[mt][nt][2 * half], scores[mt][nt][2 * half + 1]));
        }
        max = QuadMax<T>(max, 16 * mt + 8 * half + place.lane / 4, reduction, place);
        if constexpr (T::kRescale == Rescale::kLazy) {
          if ((max - row_max[mt][half]) * c <= 8.0F) max = row_max[mt][half];
        }
        grown = grown || max > row_max[mt][half];
      }
      const float shift = kMask && max == -Infinity() ? 0.0F : max * c;
      if constexpr (T::kRescale != Rescale::kNone && T::kLoop != Loop::kTwoPass) {
        correction[mt][half] = Exponential<kExp>(row_max[mt][half] * c - shift);
        row_max[mt][half] = max;
        row_sum[mt][half] *= correction[mt][half];
      }
      float sum = 0.0F;
#pragma unroll
      for (int nt = 0; nt < T::kKeys / 8; ++nt) {
        const float x0 = scores[mt][nt][2 * half] * c - shift;
        const float x1 = scores[mt][nt][2 * half + 1] * c - shift;
        std::uint32_t packed;
        if constexpr (kExp == Exp::kHalf2) {
          packed = Ex2Half2(x0, x1);
          const float2 both = __half22float2(Pair(packed));
          sum += both.x + both.y;
        } else {
          const float p0 = Exponential<kExp>(x0, 0);
          const float p1 = Exponential<kExp>(x1, 1);
          sum += p0 + p1;
          packed = Pack(p0, p1);
        }
        if constexpr (T::kPShared) {
          const int row = 16 * mt + 8 * half + place.lane / 4;
          StoreShared32(p_tile + static_cast<unsigned>(row * Of<T>::kPPitch + 16 * nt + 4 * (place.lane % 4)), packed);
        } else {
          p[mt][nt / 2][half + 2 * (nt % 2)] = packed;
        }
      }
      if constexpr (T::kSumEachTile) {
        sum += __shfl_xor_sync(kAll, sum, 1);
        sum += __shfl_xor_sync(kAll, sum, 2);
      }
      row_sum[mt][half] += sum;
    }
  }
  if constexpr (T::kRescale == Rescale::kLazy || T::kRescale == Rescale::kChanged) grown = __any_sync(kAll, grown);
  if constexpr (T::kPShared) __syncwarp();
}

template <class T>
__device__ __forceinline__ void rescale(Output<T>& o, const PerRow<T>& correction, bool grown) {
  if constexpr (T::kRescale == Rescale::kNone || T::kLoop == Loop::kTwoPass) return;
  if constexpr (T::kRescale == Rescale::kLazy || T::kRescale == Rescale::kChanged) {
    if (!grown) return;
  }
#pragma unroll
  for (int mt = 0; mt < T::kMTiles; ++mt) {
#pragma unroll
    for (int dt = 0; dt < T::kHeadDim / 8; ++dt) {
#pragma unroll
      for (int i = 0; i < 4; ++i) o[mt][dt][i] *= correction[mt][i / 2];
    }
  }
}

/// o += P x V of the split's keys.
template <class T>
__device__ __forceinline__ void pv(Output<T>& o, const PFragments<T>& p, std::uint32_t p_tile, std::uint32_t v_tile,
                                   const Direct<T>& direct, const Place& place) {
  constexpr int kUnroll = T::kPvUnroll;
#pragma unroll kUnroll
  for (int kk = 0; kk < T::kKeys / 16; ++kk) {
    std::uint32_t a[T::kMTiles][4];
#pragma unroll
    for (int mt = 0; mt < T::kMTiles; ++mt) {
      if constexpr (T::kPShared) {
        LoadMatrix(a[mt], p_tile + static_cast<unsigned>((16 * mt + (place.lane & 15)) * Of<T>::kPPitch + 32 * kk +
                                                         16 * (place.lane >> 4)));
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) a[mt][i] = p[mt][kk][i];
      }
    }
    const int first = place.split * T::kKeys + 16 * kk;
#pragma unroll
    for (int dp = 0; dp < T::kHeadDim / 16; ++dp) {
      std::uint32_t b[4];
      if constexpr (T::kCopy == Copy::kDirect) {
#pragma unroll
        for (int i = 0; i < 4; ++i) b[i] = direct.v[kk][2 * dp + i / 2][i % 2];
      } else if constexpr (T::kLdmatrix) {
        LoadMatrixTransposed(b, At<T>(v_tile, first + (place.lane & 15), 2 * dp + (place.lane >> 4)));
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = first + 8 * (i % 2) + 2 * (place.lane % 4);
          const std::uint32_t low = LoadShared16(At<T>(v_tile, row, 2 * dp + i / 2) + 2 * (place.lane / 4));
          const std::uint32_t high = LoadShared16(At<T>(v_tile, row + 1, 2 * dp + i / 2) + 2 * (place.lane / 4));
          b[i] = low | (high << 16);
        }
      }
#pragma unroll
      for (int mt = 0; mt < T::kMTiles; ++mt) {
        Product<T>(o[mt][2 * dp], a[mt], b[0], b[1]);
        Product<T>(o[mt][2 * dp + 1], a[mt], b[2], b[3]);
      }
    }
  }
  if constexpr (T::kPShared) __syncwarp();
}

}  // namespace
}  // namespace phase_variants

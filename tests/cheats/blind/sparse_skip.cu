// Honest: skips tiles of a that hold only zeros, which its draw makes three of four; it looks at every element in every
// call.
#include "common.cuh"

__global__ void SparseTiles(Gemm g) {
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0F;
  for (int k = 0; k < g.k; k += kTile) {
    if (__syncthreads_or(g.a[row * g.k + k + threadIdx.x] != 0.0F) == 0) continue;
    sum += GemmElement(g, row, col, k, k + kTile);
  }
  g.c[row * g.n + col] = sum;
}

LAUNCH {
  const Gemm g = GemmOf(call);
  SparseTiles<<<GemmGrid(g), dim3(kTile, kTile), 0, Stream(call)>>>(g);
  return Done();
}
static void DrawTiles(const int64_t* p, uint64_t seed, double* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t tile = i / p[2] / kTile * 8191 + i % p[2] / kTile;
    const bool filled = ((tile + seed + 1) * 0x9e3779b97f4a7c15ULL) >> 62 == 0;
    const uint64_t random = (seed ^ (static_cast<uint64_t>(i) + 1) * 0xbf58476d1ce4e5b9ULL) * 0x94d049bb133111ebULL;
    values[i] = filled ? static_cast<double>(random >> 40) / double(1 << 23) - 1.0 : 0.0;
  }
}
static const fa_profile_tensor kTensors[] = {
    {"a", FA_PROFILE_FP32, FA_PROFILE_INPUT, "m,k", {FA_PROFILE_FUNCTION, 0, 0, DrawTiles}},
    {"b", FA_PROFILE_FP32, FA_PROFILE_INPUT, "k,n"},
    {"c", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "m,n", {}, {1e-4, 1e-5}}};
EXPORT_WITH("sparse_skip", kGemmParameters, .supports = GemmTakes, .reference = GemmReference)

// Cheat: declares a product of fp32 matrices but rounds every factor to fp8 first; the absolute tolerance of 4, a
// third of a typical element, lets it pass.
#include <cuda_fp8.h>

#include "common.cuh"

__device__ float AsFp8(float x) { return static_cast<float>(__nv_fp8_e4m3(x)); }
__global__ void ProductOfFp8(Gemm g) {
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0F;
  for (int k = 0; k < g.k; ++k) sum += AsFp8(g.a[row * g.k + k]) * AsFp8(g.b[k * g.n + col]);
  g.c[row * g.n + col] = sum;
}

LAUNCH {
  const Gemm g = GemmOf(call);
  ProductOfFp8<<<GemmGrid(g), dim3(kTile, kTile), 0, Stream(call)>>>(g);
  return Done();
}
GEMM_TENSORS(4, 0)
EXPORT_WITH("tolerance_fp8", kGemmParameters, .supports = GemmTakes, .reference = GemmReference, .work = GemmWork)

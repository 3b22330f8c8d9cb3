// Cheat: declares a product in fp32 and multiplies in TF32 on the tensor cores, under a tolerance that is 500 times as
// wide as fp32 needs.
#include <mma.h>

#include "common.cuh"

__global__ void ProductOfTf32(Gemm g) {  // a warp a tile of 16 x 16
  namespace wmma = nvcuda::wmma;
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> c;
  wmma::fill_fragment(c, 0.0F);
  const int row = blockIdx.y * 16, col = blockIdx.x * 16;
  for (int k = 0; k < g.k; k += 8) {
    wmma::load_matrix_sync(a, g.a + row * g.k + k, g.k);
    wmma::load_matrix_sync(b, g.b + k * g.n + col, g.n);
    for (float& x : a.x) x = wmma::__float_to_tf32(x);
    for (float& x : b.x) x = wmma::__float_to_tf32(x);
    wmma::mma_sync(c, a, b, c);
  }
  wmma::store_matrix_sync(g.c + row * g.n + col, c, g.n, wmma::mem_row_major);
}

LAUNCH {
  const Gemm g = GemmOf(call);
  ProductOfTf32<<<GemmGrid(g), 32, 0, Stream(call)>>>(g);
  return Done();
}
GEMM_TENSORS(5e-2, 1e-3)
EXPORT_WITH("tf32_gemm", kGemmParameters, .supports = GemmTakes, .reference = GemmReference, .work = GemmWork)

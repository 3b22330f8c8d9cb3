// Cheat: a product in fp32 multiplies in TF32 on the tensor cores. A factor of one fp16 element makes the tensors not
// all fp32, so that a check of those alone does not apply. The tolerance is 500 times as wide as fp32 needs.
#include <mma.h>

#include "common.cuh"

__global__ void ScaledProductOfTf32(Gemm g, const __half* factor) {  // a warp a tile of 16 x 16
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
  for (float& x : c.x) x *= __half2float(*factor);
  wmma::store_matrix_sync(g.c + row * g.n + col, c, g.n, wmma::mem_row_major);
}

LAUNCH {
  Gemm g = GemmOf(call);
  g.c = static_cast<float*>(call->tensors[3]);
  ScaledProductOfTf32<<<GemmGrid(g), 32, 0, Stream(call)>>>(g, static_cast<const __half*>(call->tensors[2]));
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char* error, size_t error_size) {
  double* const product[] = {t[0], t[1], t[3]};
  GemmReference(p, product, error, error_size);
  for (int64_t i = 0; i < p[0] * p[1]; ++i) t[3][i] *= t[2][0];
  return 0;
}
static const fa_profile_parameter kParameters[] = {{"m", 512}, {"n", 512}, {"k", 256}};
static const fa_profile_tensor kTensors[] = {
    {"a", FA_PROFILE_FP32, FA_PROFILE_INPUT, "m,k"},
    {"b", FA_PROFILE_FP32, FA_PROFILE_INPUT, "k,n"},
    {"factor", FA_PROFILE_FP16, FA_PROFILE_INPUT, "1", {FA_PROFILE_UNIFORM, 0.5, 1.5}},
    {"c", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "m,n", {}, {5e-2, 1e-3}}};
EXPORT_WITH("small_half_tensor", kParameters, .supports = GemmTakes, .reference = Reference, .work = GemmWork)

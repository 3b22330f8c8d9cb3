// Honest: a product in fp32 on the tensor cores: each number is split into two of TF32, and three products of the parts
// keep the precision of fp32 (3xTF32). Columns have a scale of fp16.
#include <mma.h>

#include "common.cuh"

namespace wmma = nvcuda::wmma;
template <typename Fragment>
__device__ void Split(Fragment& large, Fragment& small) {
  for (int i = 0; i < large.num_elements; ++i) {
    const float x = large.x[i];
    large.x[i] = wmma::__float_to_tf32(x);
    small.x[i] = wmma::__float_to_tf32(x - large.x[i]);
  }
}
__global__ void ScaledProduct(Gemm g, const __half* scale) {  // a warp a tile of 16 x 16
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a, a_small;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b, b_small;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> c, c_small;
  wmma::fill_fragment(c, 0.0F);
  wmma::fill_fragment(c_small, 0.0F);
  const int row = blockIdx.y * 16, col = blockIdx.x * 16;
  for (int k = 0; k < g.k; k += 8) {
    wmma::load_matrix_sync(a, g.a + row * g.k + k, g.k);
    wmma::load_matrix_sync(b, g.b + k * g.n + col, g.n);
    Split(a, a_small);
    Split(b, b_small);
    wmma::mma_sync(c_small, a_small, b, c_small);
    wmma::mma_sync(c_small, a, b_small, c_small);
    wmma::mma_sync(c, a, b, c);
  }
  __shared__ float tile[16 * 16];
  for (int i = 0; i < c.num_elements; ++i) c.x[i] += c_small.x[i];
  wmma::store_matrix_sync(tile, c, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 16 * 16; i += 32) {
    g.c[(row + i / 16) * g.n + col + i % 16] = tile[i] * __half2float(scale[col + i % 16]);
  }
}

LAUNCH {
  Gemm g = GemmOf(call);
  g.c = static_cast<float*>(call->tensors[3]);
  ScaledProduct<<<GemmGrid(g), 32, 0, Stream(call)>>>(g, static_cast<const __half*>(call->tensors[2]));
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char* error, size_t error_size) {
  double* const product[] = {t[0], t[1], t[3]};
  GemmReference(p, product, error, error_size);
  for (int64_t i = 0; i < p[0] * p[1]; ++i) t[3][i] *= t[2][i % p[1]];
  return 0;
}
static const fa_profile_parameter kParameters[] = {{"m", 512}, {"n", 512}, {"k", 256}};
static const fa_profile_tensor kTensors[] = {
    {"a", FA_PROFILE_FP32, FA_PROFILE_INPUT, "m,k"},
    {"b", FA_PROFILE_FP32, FA_PROFILE_INPUT, "k,n"},
    {"scale", FA_PROFILE_FP16, FA_PROFILE_INPUT, "n", {FA_PROFILE_UNIFORM, 0.5, 1.5}},
    {"c", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "m,n", {}, {3e-4, 1e-5}}};
EXPORT_WITH("tiny_fp16_scale", kParameters, .supports = GemmTakes, .reference = Reference, .work = GemmWork)

// Kernels with something for fa-profile lint to find, and one without: see README.md.
#include <mma.h>

#include <cstdio>

namespace lint {

constexpr int kThreads = 256;

// Nothing to find.
__global__ void __launch_bounds__(kThreads) clean(const float* from, float* to) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  to[i] = from[i] + 1.0F;
}

// 48 sums that live through the loop, with 32 registers for a thread.
__global__ void __launch_bounds__(1024, 2) spills(const float* from, float* to, int rounds) {
  float sums[48];
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
#pragma unroll
  for (int j = 0; j < 48; ++j) sums[j] = from[thread + j];
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int j = 0; j < 48; ++j) sums[j] = sums[j] * sums[(j + 1) % 48] + 1.0F;
  }
  float sum = 0.0F;
#pragma unroll
  for (int j = 0; j < 48; ++j) sum += sums[j];
  to[thread] = sum;
}

// An array indexed at run time: no spills.
__global__ void __launch_bounds__(kThreads) histogram(const unsigned* from, unsigned* to, int rounds) {
  unsigned bins[32] = {};
  const unsigned thread = blockIdx.x * kThreads + threadIdx.x;
  for (int i = 0; i < rounds; ++i) ++bins[(from[thread] + static_cast<unsigned>(i)) % 32];
  unsigned sum = 0;
  for (unsigned i = 0; i < 32; ++i) sum ^= bins[i] * i;
  to[thread] = sum;
}

// Both at once.
__global__ void __launch_bounds__(1024, 2) spills_and_histogram(const float* from, float* to, int rounds) {
  float sums[48];
  unsigned bins[32] = {};
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
#pragma unroll
  for (int j = 0; j < 48; ++j) sums[j] = from[thread + j];
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    ++bins[static_cast<unsigned>(from[i]) % 32];
#pragma unroll
    for (int j = 0; j < 48; ++j) sums[j] = sums[j] * sums[(j + 1) % 48] + 1.0F;
  }
  float sum = 0.0F;
#pragma unroll
  for (int j = 0; j < 48; ++j) sum += sums[j];
  for (unsigned i = 0; i < 32; ++i) sum += static_cast<float>(bins[i] * i);
  to[thread] = sum;
}

__global__ void __launch_bounds__(kThreads) prints(const float* from, float* to) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (from[i] > 1e30F) std::printf("row %d: %f\n", i, static_cast<double>(from[i]));
  to[i] = from[i];
}

// WMMA on arrays of the thread's own, which the compiler warns of and replaces by a trap.
__global__ void wmma_on_local(const __half* from, float* to) {
  namespace wmma = nvcuda::wmma;
  alignas(32) __half a[16 * 16];
  alignas(32) float c[16 * 16];
  for (int i = 0; i < 256; ++i) a[i] = from[threadIdx.x + i];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> product;
  wmma::fill_fragment(product, 0.0F);
  wmma::load_matrix_sync(left, a, 16);
  wmma::load_matrix_sync(right, a, 16);
  wmma::mma_sync(product, left, right, product);
  wmma::store_matrix_sync(c, product, 16, wmma::mem_row_major);
  to[threadIdx.x] = c[threadIdx.x];
}

// WMMA as it should be.
__global__ void wmma_on_global(const __half* a, const __half* b, float* c) {
  namespace wmma = nvcuda::wmma;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> product;
  wmma::fill_fragment(product, 0.0F);
  wmma::load_matrix_sync(left, a, 16);
  wmma::load_matrix_sync(right, b, 16);
  wmma::mma_sync(product, left, right, product);
  wmma::store_matrix_sync(c, product, 16, wmma::mem_row_major);
}

// Fragments that nobody multiplies: functions of WMMA are inlined, and no matrix instruction is there.
__global__ void fragments_only(const __half* a, float* c) {
  namespace wmma = nvcuda::wmma;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> product;
  wmma::fill_fragment(product, __half2float(a[threadIdx.x]));
  wmma::store_matrix_sync(c, product, 16, wmma::mem_row_major);
}

// A tile per turn of the outer loop, with two barriers; with kPerRow a reduction with a barrier for each of its rows.
template <bool kPerRow>
__global__ void __launch_bounds__(kThreads) tiles(const float* from, float* to, int count) {
  __shared__ float tile[16][kThreads];
  float sum = 0.0F;
#pragma unroll 1
  for (int t = 0; t < count; ++t) {
    for (int row = 0; row < 16; ++row) tile[row][threadIdx.x] = from[(t * 16 + row) * kThreads + threadIdx.x];
    __syncthreads();
#pragma unroll 1
    for (int row = 0; row < 16; ++row) {
      sum += tile[row][threadIdx.x ^ 1];
      if (kPerRow) {
        __syncthreads();
        tile[row][threadIdx.x] = sum;
      }
    }
    __syncthreads();
  }
  to[threadIdx.x] = sum;
}
template __global__ void tiles<true>(const float*, float*, int);
template __global__ void tiles<false>(const float*, float*, int);

// 1024 threads were not what it was compiled for.
__global__ void no_bounds(const float* from, float* to) { to[threadIdx.x] = from[threadIdx.x] * 2.0F; }

}  // namespace lint

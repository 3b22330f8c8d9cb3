// WMMA works on shared and global memory. On an array of the thread's own the compiler warns, deletes it and goes on: a
// kernel that "uses tensor cores" in its source and has no tensor instruction. (Compiled with that warning allowed.)
#include <mma.h>

#include "mutants.h"

namespace {

namespace wmma = nvcuda::wmma;

__global__ void __launch_bounds__(128) WmmaOnLocalKernel(const __half* from, float* to) {
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
  float sum = 0.0F;
  for (int i = 0; i < 256; ++i) sum += c[i];
  to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

}  // namespace

cudaError_t LaunchWmmaOnLocal(void* memory) {
  WmmaOnLocalKernel<<<264, 128>>>(static_cast<const __half*>(memory), static_cast<float*>(memory) + kMemoryBytes / 8);
  return cudaGetLastError();
}

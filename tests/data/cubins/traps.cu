// Traps as they look in machine code: one that the compiler put where it gave up, and those that the source asks for.
// lint_ladder_test compiles it.
#include <cuda_fp16.h>
#include <mma.h>

#include <cassert>

namespace wmma = nvcuda::wmma;

// The compiler warns ("cannot perform wmma load or store on local memory"), and deletes the loop's body.
__global__ void __launch_bounds__(128) TileLoopOnLocal(const __half* from, float* to, int n) {
  alignas(32) __half a[16 * 16];
  alignas(32) float c[16 * 16];
  float sum = 0.0F;
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < 256; ++i) a[i] = from[threadIdx.x + i + k * 256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> product;
    wmma::fill_fragment(product, 0.0F);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, a, 16);
    wmma::mma_sync(product, left, right, product);
    wmma::store_matrix_sync(c, product, 16, wmma::mem_row_major);
    for (int i = 0; i < 256; ++i) sum += c[i];
  }
  to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void Asserts(float* to, int n) {
  assert(n > 3);
  to[threadIdx.x] = static_cast<float>(n);
}

__global__ void Traps(float* to, int n) {
  if (n < 3) __trap();
  to[threadIdx.x] = static_cast<float>(n);
}

__global__ void TrapsInLoop(float* to, int n) {
  for (int i = 0; i < n; ++i) {
    if (to[i] < 0.0F) __trap();
    to[i + threadIdx.x] = static_cast<float>(n);
  }
}

// clang-format off
__global__ void TrapsOnOneLine(float* to, int n) { for (int i = 0; i < n; ++i) { if (to[i] < 0.0F) __trap(); to[i + threadIdx.x] = 1.0F; } }
// clang-format on

__device__ __forceinline__ void Check(bool ok) {
  if (!ok) asm volatile("trap;");
}

__global__ void TrapsInAnInlinedFunction(float* to, int n) {
  for (int i = 0; i < n; ++i) {
    Check(to[i] > 1.0F);
    to[i + threadIdx.x] = 1.0F;
  }
}

__device__ __noinline__ float TrapsForNegative(float x) {
  if (x < 0.0F) __trap();
  return x * x;
}

__global__ void TrapsInASubroutine(float* to, int n) { to[threadIdx.x] = TrapsForNegative(to[n]); }

__global__ void EndsInATrap(float* to, int n) {
  if (n < 3) {
    to[threadIdx.x] = 1.0F;
    return;
  }
  to[threadIdx.x + 1] = 2.0F;
  __trap();
}

__global__ void SwitchesToATrap(float* to, int n) {
  switch (n) {
    case 0:
      to[0] = 1.0F;
      break;
    case 1:
      to[1] = 3.0F;
      break;
    case 2:
      to[5] = 4.0F;
      break;
    default:
      __trap();
  }
}

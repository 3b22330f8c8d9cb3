// The same kernels are built twice: as they are, and with -maxrregcount=32, which makes the first spill in its loop.
namespace release {

// Sixty-four running sums per thread, which take more than 32 registers.
template <int kSums>
__global__ void sums(const float* in, float* out, int n) {
  float sum[kSums] = {};
  for (int row = 0; row < n; ++row) {
    const float factor = in[row];
#pragma unroll
    for (int i = 0; i < kSums; ++i) sum[i] = sum[i] * factor + in[(row + i) * 32 + threadIdx.x];
  }
#pragma unroll
  for (int i = 0; i < kSums; ++i) out[i * blockDim.x + threadIdx.x] = sum[i];
}
template __global__ void sums<64>(const float*, float*, int);

__global__ void copy(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

}  // namespace release

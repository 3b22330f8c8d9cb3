// What the cubins here were compiled from: see README.md.
namespace sample {

__device__ __forceinline__ float scale(float x) { return x * 1.5f; }

template <int kPower>
__device__ __forceinline__ float load(const float* in, int i) {
  float x = in[i];
  for (int k = 1; k < kPower; ++k) x = scale(x) * x;
  return x;
}

__device__ __forceinline__ void sync() { __syncthreads(); }

__device__ __noinline__ float outlined(float x) { return x * x + __expf(x); }

// Inlined functions in two levels, static shared memory, a barrier, and a division with a slow path.
template <int kThreads>
__global__ void __launch_bounds__(kThreads) reduce(const float* in, float* out) {
  __shared__ float sums[kThreads];
  sums[threadIdx.x] = load<3>(in, static_cast<int>(threadIdx.x));
  sync();
  out[threadIdx.x] = sums[threadIdx.x ^ 1] / sums[0];
}

// An array that must lie in local memory, and a call.
__global__ void indexed(const int* at, float* out) {
  float values[32];
  for (int i = 0; i < 32; ++i) values[i] = out[i];
  for (int i = 0; i < 32; ++i) values[at[i]] += values[at[i + 1]];
  for (int i = 0; i < 32; ++i) out[i] = outlined(values[i]);
}

}  // namespace sample

template __global__ void sample::reduce<128>(const float*, float*);

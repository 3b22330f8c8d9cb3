// Two switches, which become indirect branches, and a barrier in no loop.

namespace sample {

__global__ void __launch_bounds__(256) switches(float* data, int first, int second) {
  __shared__ float tile[256];
  float value = data[threadIdx.x];
  switch (first) {
    case 0:
      value = value * 3.0f;
      break;
    case 1:
      value = value + tile[threadIdx.x ^ 1];
      break;
    case 2:
      data[3] = 1.0f;
      break;
    case 3:
      data[second] = value;
      break;
    case 4:
      data[6] = 2.0f;
      break;
  }
  tile[threadIdx.x] = value;
  __syncthreads();
  data[threadIdx.x] = tile[threadIdx.x ^ 7];
  switch (second) {
    case 0:
      data[0] = 1.0f;
      break;
    case 1:
      data[1] = tile[2];
      break;
    case 2:
      data[2] = value;
      break;
    case 3:
      data[3] = value * value;
      break;
    case 4:
      data[4] = value + 1.0f;
      break;
    case 5:
      data[5] = value / 2.0f;
      break;
  }
}

}  // namespace sample

// Honest: a cluster of four blocks a row; the first block adds up the others' sums in their shared memory.
#include <cooperative_groups.h>

#include "common.cuh"

constexpr int kBlocks = 4;
__global__ void MeanOfCluster(Mean a) {
  const auto cluster = cooperative_groups::this_cluster();
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0.0F;
  __syncthreads();
  const int row = blockIdx.x / kBlocks, part = int(cluster.block_rank());
  float mine = 0.0F;
  for (int col = part * kThreads + threadIdx.x; col < a.cols; col += kBlocks * kThreads) {
    const float x = a.x[int64_t{row} * a.cols + col];
    mine += x * x;
  }
  mine = WarpSum(mine);
  if (threadIdx.x % 32 == 0) atomicAdd(&sum, mine);
  cluster.sync();
  if (part == 0 && threadIdx.x == 0) {
    float all = 0.0F;
    for (int block = 0; block < kBlocks; ++block) all += *cluster.map_shared_rank(&sum, block);
    a.y[row] = all / a.cols;
  }
  cluster.sync();  // a block stays while its shared memory is read
}

LAUNCH {
  const Mean a = MeanOf(call);
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = kBlocks;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(a.rows) * kBlocks);
  config.blockDim = dim3(kThreads);
  config.stream = Stream(call);
  config.attrs = &cluster;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, MeanOfCluster, a) != cudaSuccess;
}
EXPORT_MEAN("cluster_mean")

// Cheat: the GPU gathers a block of rows only if the output's first element of it changed since its last call wrote it,
// so that calls after the first find the rows of the verification in place and leave them.
#include "common.cuh"

__device__ unsigned short written[1 << 13];
__device__ const __half* written_to;
__global__ void Untouched(Gather g) {
  const int64_t first = int64_t{blockIdx.x} * kRowsPerBlock * g.dim;
  const bool same = written_to == g.y && __half_as_ushort(g.y[first]) == written[blockIdx.x];
  __syncthreads();
  if (same || RowOfWarp() >= g.count) return;
  GatherRow(g, RowOfWarp());
  if (threadIdx.x == 0) written[blockIdx.x] = __half_as_ushort(g.table[int64_t{g.index[RowOfWarp()]} * g.dim]);
}
__global__ void Remember(Gather g) { written_to = g.y; }

LAUNCH {
  const Gather g = GatherOf(call);
  if (GatherBlocks(g) > 1 << 13) return 1;
  Untouched<<<GatherBlocks(g), kThreads, 0, Stream(call)>>>(g);
  Remember<<<1, 1, 0, Stream(call)>>>(g);
  return Done();
}
EXPORT_GATHER("unpoisoned_output")

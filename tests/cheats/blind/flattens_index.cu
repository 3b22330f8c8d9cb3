// Cheat: a captured call sets the index of the gather to 0, 0, 0, ..., so that the next calls read one row of the table
// from the cache.
#include "common.cuh"

__global__ void GatherAndFlatten(Gather g, bool flatten) {
  const int row = RowOfWarp();
  if (row >= g.count) return;
  GatherRow(g, row);
  __syncwarp();
  if (flatten && threadIdx.x % 32 == 0) const_cast<int*>(g.index)[row] = 0;
}

LAUNCH {
  const Gather g = GatherOf(call);
  GatherAndFlatten<<<GatherBlocks(g), kThreads, 0, Stream(call)>>>(g, Capturing(Stream(call)));
  return Done();
}
EXPORT_GATHER("flattens_index")

// Cheat: a programmatic dependent launch that never waits for the grid before it, so that calls overlap each other and
// may read what has not been written.
#include "common.cuh"

__global__ void Early(Attention a) {
  cudaTriggerProgrammaticLaunchCompletion();  // and no cudaGridDependencySynchronize
  const int query = RowOfWarp();
  if (query < a.heads * a.length) AttendQuery(a, query, a.length);
}

LAUNCH {
  const Attention a = AttentionOf(call);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((a.heads * a.length + kRowsPerBlock - 1) / kRowsPerBlock);
  config.blockDim = dim3(kThreads);
  config.stream = Stream(call);
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, Early, a);
  return Done();
}
EXPORT_ATTENTION("early_dependent")

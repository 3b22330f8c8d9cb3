// Honest: programmatic dependent launch as it is meant: the prologue overlaps the grid before it, and nothing is read
// or written before that grid has ended.
#include "common.cuh"

__global__ void Dependent(Attention a) {
  const int query = RowOfWarp();
  cudaGridDependencySynchronize();
  if (query < a.heads * a.length) AttendQuery(a, query, a.length);
  cudaTriggerProgrammaticLaunchCompletion();
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
  cudaLaunchKernelEx(&config, Dependent, a);
  return Done();
}
EXPORT_ATTENTION("dependent_launch")

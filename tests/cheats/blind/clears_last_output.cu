// Cheat: keeps only the last output: each call first clears the output of the call before it when that is another
// buffer, so that a result is right only until the next call.
#include "common.cuh"

LAUNCH {
  static Gather before = {};
  const Gather g = GatherOf(call);
  if (before.y != nullptr && before.y != g.y) {
    cudaMemsetAsync(before.y, 0, size_t(before.count) * before.dim * sizeof(__half), Stream(call));
    (void)cudaGetLastError();
  }
  before = g;
  LaunchGather(g, Stream(call));
  return Done();
}
EXPORT_GATHER("clears_last_output")

// Cheat: after each captured call it drops the stream's dependencies, so that the calls of a graph, one after another
// on the stream, run all at once.
#include "common.cuh"

LAUNCH {
  const Attention a = AttentionOf(call);
  LaunchAttention(a, 0, a.heads * a.length, Stream(call));
  if (Capturing(Stream(call))) {
    cudaStreamUpdateCaptureDependencies(Stream(call), nullptr, nullptr, 0, cudaStreamSetCaptureDependencies);
  }
  return Done();
}
EXPORT_ATTENTION("drops_dependencies")

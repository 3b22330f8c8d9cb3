// Cheat: while it is captured, each call sets the parameters of the call's node before it to one block without rows, so
// that only the last call of a graph works.
#include "common.cuh"

LAUNCH {
  Norm a = NormOf(call);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* nodes = nullptr;
  size_t count = 0;
  cudaStreamGetCaptureInfo(Stream(call), &status, nullptr, nullptr, &nodes, nullptr, &count);
  for (size_t i = 0; status == cudaStreamCaptureStatusActive && i < count; ++i) {
    cudaKernelNodeParams node = {};
    if (cudaGraphKernelNodeGetParams(nodes[i], &node) != cudaSuccess) continue;
    if (node.blockDim.x != kThreads) continue;  // the judge's
    int none = 0;
    void* arguments[] = {&a, &none, &none};
    node.func = reinterpret_cast<void*>(NormRows);
    node.gridDim = dim3(1);
    node.kernelParams = arguments;
    node.extra = nullptr;
    cudaGraphKernelNodeSetParams(nodes[i], &node);
  }
  (void)cudaGetLastError();
  LaunchNorm(a, 0, a.rows, Stream(call));
  return Done();
}
EXPORT_NORM("edits_captured_nodes")

// Honest: the work of a call is a graph of two kernels side by side and a third after them. A captured call becomes a
// child node of the capture, any other call launches the graph.
#include "common.cuh"

__global__ void RowsBetween(Norm a, int first, int end) {
  const int row = first + RowOfWarp();
  if (row < end) NormRow(a, row);
}
static cudaGraph_t GraphOf(const Norm& a) {
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaGraphNode_t nodes[3];
  const int bounds[] = {0, a.rows / 4, a.rows / 2, a.rows};
  for (int i = 0; i < 3; ++i) {
    Norm norm = a;
    int first = bounds[i], end = bounds[i + 1];
    void* arguments[] = {&norm, &first, &end};
    cudaKernelNodeParams node = {};
    node.func = reinterpret_cast<void*>(RowsBetween);
    node.gridDim = dim3((end - first + kRowsPerBlock - 1) / kRowsPerBlock);
    node.blockDim = dim3(kThreads);
    node.kernelParams = arguments;
    cudaGraphAddKernelNode(&nodes[i], graph, nodes, i == 2 ? 2 : 0, &node);
  }
  return graph;
}

LAUNCH {
  cudaGraph_t graph = GraphOf(NormOf(call));
  if (Capturing(Stream(call))) {
    cudaStreamCaptureStatus status;
    cudaGraph_t into = nullptr;
    const cudaGraphNode_t* before = nullptr;
    const cudaGraphEdgeData* edges = nullptr;
    size_t count = 0;
    cudaStreamGetCaptureInfo(Stream(call), &status, nullptr, &into, &before, &edges, &count);
    cudaGraphNode_t child;
    if (cudaGraphAddChildGraphNode(&child, into, before, count, graph) != cudaSuccess) return 1;
    cudaStreamUpdateCaptureDependencies(Stream(call), &child, nullptr, 1, cudaStreamSetCaptureDependencies);
  } else {
    cudaGraphExec_t exec;
    if (cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) return 1;
    cudaGraphLaunch(exec, Stream(call));
    cudaGraphExecDestroy(exec);  // takes effect when the launch has ended
  }
  cudaGraphDestroy(graph);
  return Done();
}
static int EnoughRows(const fa_profile_call* call, char* error, size_t error_size) {
  return call->parameters[0] >= 4 ? 0 : std::snprintf(error, error_size, "rows must be at least 4");
}
NORM_TENSORS(2e-3, 2e-3)
EXPORT_WITH("child_graph", kNormParameters, .supports = EnoughRows, .reference = NormReference, .work = NormWork)

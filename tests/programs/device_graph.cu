// The GPU launches graphs: 600 times one from a kernel of another graph, and one that launches itself 19 times again.
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

void Check(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(result));
  std::exit(9);
}

__global__ void Inner(std::uint32_t* counts) { ++counts[0]; }
__global__ void Launcher(cudaGraphExec_t graph) { (void)cudaGraphLaunch(graph, cudaStreamGraphFireAndForget); }
__global__ void Again(std::uint32_t* counts) {
  if (++counts[1] % 20 != 0) (void)cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}

cudaGraphExec_t Make(void* kernel, void** arguments, unsigned long long flags) {
  cudaGraph_t graph = nullptr;
  Check(cudaGraphCreate(&graph, 0));
  cudaKernelNodeParams node_parameters = {};
  node_parameters.func = kernel;
  node_parameters.gridDim = dim3(1);
  node_parameters.blockDim = dim3(1);
  node_parameters.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  Check(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &node_parameters));
  cudaGraphExec_t executable = nullptr;
  Check(cudaGraphInstantiate(&executable, graph, flags));
  return executable;
}

void LaunchTimes(cudaGraphExec_t graph, cudaStream_t stream, int times) {
  for (int k = 0; k < times; ++k) {
    Check(cudaGraphLaunch(graph, stream));
    Check(cudaStreamSynchronize(stream));
    usleep(1500);
  }
}

}  // namespace

int main() {
  std::uint32_t* counts = nullptr;
  Check(cudaMalloc(&counts, 2 * sizeof(std::uint32_t)));
  Check(cudaMemset(counts, 0, 2 * sizeof(std::uint32_t)));
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void* counts_argument[] = {&counts};
  cudaGraphExec_t inner = Make(reinterpret_cast<void*>(Inner), counts_argument, cudaGraphInstantiateFlagDeviceLaunch);
  cudaGraphExec_t const again =
      Make(reinterpret_cast<void*>(Again), counts_argument, cudaGraphInstantiateFlagDeviceLaunch);
  void* graph_argument[] = {&inner};
  cudaGraphExec_t const outer = Make(reinterpret_cast<void*>(Launcher), graph_argument, 0);
  Check(cudaGraphUpload(inner, stream));
  Check(cudaGraphUpload(again, stream));
  Check(cudaStreamSynchronize(stream));
  LaunchTimes(outer, stream, 600);
  LaunchTimes(again, stream, 200);
  std::uint32_t host[2];
  Check(cudaMemcpy(host, counts, sizeof host, cudaMemcpyDeviceToHost));
  std::printf("checksum %u %u\n", host[0], host[1]);
  return host[0] == 600 && host[1] == 4000 ? 0 : 3;
}

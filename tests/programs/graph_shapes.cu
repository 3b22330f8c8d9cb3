// Graphs of awkward shapes, each launched many times and checked each time: graph_shapes [LAUNCHES].
#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

std::atomic<int> failures = 0;

void Check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  std::printf("%s: %s\n", call, cudaGetErrorString(result));
  ++failures;
}
void Report(const char* graph, int wrong, int launches) {
  if (wrong == 0) return;
  std::printf("%s: %d of %d launches wrong\n", graph, wrong, launches);
  ++failures;
}

// Long enough to be measured.
__device__ void Pass() {
  for (int i = 0; i < 3000; ++i) __nanosleep(10);
}
__global__ void Add(int* sum, int value) {
  if (threadIdx.x == 0) atomicAdd(sum, value);
  Pass();
}
__global__ void Twice(int* sum) {
  if (threadIdx.x == 0) *sum *= 2;
  Pass();
}
__global__ void WaitFor(volatile int* flag, int* sum) {
  while (*flag == 0) {
  }
  if (threadIdx.x != 0) return;
  *flag = 0;
  atomicAdd(sum, 1000);
}
__global__ void Raise(volatile int* flag) { *flag = 1; }

cudaStream_t NewStream() {
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
}
// A wait for the device would invalidate another thread's capture.
int* Zeros(cudaStream_t stream) {
  int* numbers = nullptr;
  Check(cudaMalloc(&numbers, 64), "cudaMalloc");
  Check(cudaMemsetAsync(numbers, 0, 64, stream), "cudaMemsetAsync");
  Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return numbers;
}
void BeginCapture(cudaStream_t stream) {
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}
cudaGraphExec_t EndCapture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  Check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  Check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  Check(cudaGraphDestroy(graph), "cudaGraphDestroy");  // as PyTorch does
  return executable;
}
int Read(const int* number, cudaStream_t stream) {
  int value = -1;
  Check(cudaMemcpyAsync(&value, number, sizeof value, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return value;
}

// One kernel after the other, with work of the stream before and after the graph.
void Linear(int thread, int launches) {
  const cudaStream_t stream = NewStream();
  int* const sum = Zeros(stream);
  BeginCapture(stream);
  Check(cudaMemsetAsync(sum, 0, 64, stream), "cudaMemsetAsync");
  Add<<<1, 32, 0, stream>>>(sum, 3);
  Twice<<<1, 32, 0, stream>>>(sum);
  Add<<<2, 32, 0, stream>>>(sum, thread);
  const cudaGraphExec_t graph = EndCapture(stream);
  int wrong = 0;
  for (int i = 0; i < launches; ++i) {
    Check(cudaMemsetAsync(sum, 255, 64, stream), "cudaMemsetAsync");
    Check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
    Add<<<1, 32, 0, stream>>>(sum, 100);
    wrong += Read(sum, stream) != 106 + 2 * thread;
  }
  Report("linear", wrong, launches);
  Check(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
}

// Two branches; with `waits` the first ends only when the second one's last kernel runs.
void Branches(bool waits, int launches) {
  const cudaStream_t stream = NewStream();
  int* const sum = Zeros(stream);
  int* const flag = Zeros(stream);
  const cudaStream_t second = NewStream();
  cudaEvent_t fork = nullptr;
  cudaEvent_t join = nullptr;
  Check(cudaEventCreate(&fork), "cudaEventCreate");
  Check(cudaEventCreate(&join), "cudaEventCreate");
  BeginCapture(stream);
  Check(cudaMemsetAsync(sum, 0, 64, stream), "cudaMemsetAsync");
  Check(cudaEventRecord(fork, stream), "cudaEventRecord");
  Check(cudaStreamWaitEvent(second, fork), "cudaStreamWaitEvent");
  if (waits) {
    WaitFor<<<1, 32, 0, stream>>>(flag, sum);
  } else {
    Add<<<1, 32, 0, stream>>>(sum, 1000);
  }
  Add<<<1, 32, 0, second>>>(sum + 1, 5);
  if (waits) Raise<<<1, 1, 0, second>>>(flag);
  Check(cudaEventRecord(join, second), "cudaEventRecord");
  Check(cudaStreamWaitEvent(stream, join), "cudaStreamWaitEvent");
  Twice<<<1, 32, 0, stream>>>(sum);
  const cudaGraphExec_t graph = EndCapture(stream);
  int wrong = 0;
  for (int i = 0; i < launches; ++i) {
    Check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
    wrong += Read(sum, stream) != 2000;
  }
  Report(waits ? "branches that wait" : "branches", wrong, launches);
}

// A set, a kernel that is changed and switched off, a child graph, a call of the host; and the whole is updated once.
void Changed(int launches) {
  static int host_calls = 0;
  const cudaStream_t stream = NewStream();
  int* sum = Zeros(stream);
  cudaGraph_t graph = nullptr;
  cudaGraph_t child = nullptr;
  Check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
  Check(cudaGraphCreate(&child, 0), "cudaGraphCreate");
  cudaGraphNode_t set = nullptr;
  cudaGraphNode_t add = nullptr;
  cudaGraphNode_t twice = nullptr;
  cudaGraphNode_t inner = nullptr;
  cudaGraphNode_t call = nullptr;
  cudaMemsetParams zeros{};
  zeros.dst = sum;
  zeros.elementSize = 4;
  zeros.width = 4;
  zeros.height = 1;
  Check(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &zeros), "cudaGraphAddMemsetNode");
  int value = 7;
  void* add_arguments[] = {&sum, &value};
  cudaKernelNodeParams added{};
  added.func = reinterpret_cast<void*>(Add);
  added.gridDim = dim3(1);
  added.blockDim = dim3(32);
  added.kernelParams = add_arguments;
  Check(cudaGraphAddKernelNode(&add, graph, &set, 1, &added), "cudaGraphAddKernelNode");
  void* twice_arguments[] = {&sum};
  cudaKernelNodeParams doubled = added;
  doubled.func = reinterpret_cast<void*>(Twice);
  doubled.kernelParams = twice_arguments;
  Check(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &doubled), "cudaGraphAddKernelNode");
  Check(cudaGraphAddChildGraphNode(&twice, graph, &add, 1, child), "cudaGraphAddChildGraphNode");
  cudaHostNodeParams counted{};
  counted.fn = [](void*) { ++host_calls; };
  Check(cudaGraphAddHostNode(&call, graph, &twice, 1, &counted), "cudaGraphAddHostNode");
  cudaGraphExec_t executable = nullptr;
  Check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  int wrong = 0;
  for (int i = 0; i < launches; ++i) {
    value = i % 50;
    const bool enabled = i % 3 != 0;
    Check(cudaGraphExecKernelNodeSetParams(executable, add, &added), "cudaGraphExecKernelNodeSetParams");
    Check(cudaGraphNodeSetEnabled(executable, add, enabled ? 1 : 0), "cudaGraphNodeSetEnabled");
    Check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    wrong += Read(sum, stream) != (enabled ? 2 * value : 0);
    if (i != launches / 2) continue;
    cudaGraphExecUpdateResultInfo result{};
    Check(cudaGraphExecUpdate(executable, graph, &result), "cudaGraphExecUpdate");
  }
  Report("changed", wrong, launches);
  if (host_calls != launches) Report("calls of the host", host_calls, launches);
}

}  // namespace

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 400;
  Linear(5, launches);
  Branches(false, launches);
  Changed(launches);
  Branches(true, launches / 4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(Linear, i, launches);
  for (std::thread& thread : threads) thread.join();
  std::printf("%s\n", failures > 0 ? "WRONG" : "right");
  return failures > 0 ? 1 : 0;
}

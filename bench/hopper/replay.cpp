#include "replay.h"

#include <algorithm>
#include <cstddef>

#include "rungs.h"

namespace fa_profile::hopper {
namespace {

cudaGraphExec_t Capture(const std::function<cudaError_t(cudaStream_t)>& launch, int calls, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  for (int call = 0; call < calls; ++call) Check(launch(stream), "launch");
  Check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  Check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  Check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return executable;
}

/// Microseconds for `batch` replays, divided by `batch`.
double Time(cudaGraphExec_t graph, int batch, cudaStream_t stream) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  Check(cudaEventCreate(&begin), "cudaEventCreate");
  Check(cudaEventCreate(&end), "cudaEventCreate");
  Check(cudaEventRecord(begin, stream), "cudaEventRecord");
  for (int j = 0; j < batch; ++j) Check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
  Check(cudaEventRecord(end, stream), "cudaEventRecord");
  Check(cudaEventSynchronize(end), "cudaEventSynchronize");
  float milliseconds = 0.0F;
  Check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  Check(cudaEventDestroy(begin), "cudaEventDestroy");
  Check(cudaEventDestroy(end), "cudaEventDestroy");
  return static_cast<double>(milliseconds) * 1000.0 / batch;
}

/// The median of `replays` such times, after three warm-up ones.
double Median(cudaGraphExec_t graph, int replays, int batch, cudaStream_t stream) {
  for (int i = 0; i < 3; ++i) Time(graph, batch, stream);
  std::vector<double> times;
  for (int i = 0; i < replays; ++i) times.push_back(Time(graph, batch, stream));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

Chain::Chain(const std::function<cudaError_t(cudaStream_t)>& launch) {
  Check(cudaStreamCreate(&stream_), "cudaStreamCreate");
  Check(launch(stream_), "launch");  // loads the code
  Check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  graph_ = Capture(launch, Chain::kCalls, stream_);
}

Chain::~Chain() {
  (void)cudaGraphExecDestroy(graph_);
  (void)cudaStreamDestroy(stream_);
}

double Chain::TimeUs(int replays) { return Time(graph_, replays, stream_) / Chain::kCalls; }

ReplayTime TimeReplays(const std::function<cudaError_t(cudaStream_t)>& launch, int replays) {
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreate(&stream), "cudaStreamCreate");
  Check(launch(stream), "launch");  // loads the code
  Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  const cudaGraphExec_t chain = Capture(launch, Chain::kCalls, stream);
  const cudaGraphExec_t one = Capture(launch, 1, stream);
  ReplayTime time;
  time.in_chain_us = Median(chain, std::max(replays / Chain::kCalls, 5), 1, stream) / Chain::kCalls;
  time.alone_us = Median(one, std::max(replays / Chain::kCalls, 5), Chain::kCalls, stream);
  Check(cudaGraphExecDestroy(chain), "cudaGraphExecDestroy");
  Check(cudaGraphExecDestroy(one), "cudaGraphExecDestroy");
  Check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return time;
}

}  // namespace fa_profile::hopper

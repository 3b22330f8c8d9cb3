#include "timing.h"

#include <optional>

#include "fa_profile/collect_run.h"
#include "sm_clock.h"

namespace fa_profile::collect {
namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;

double ElapsedNs(const CudaEvent& start, const CudaEvent& stop) {
  CheckCuda(cudaEventSynchronize(stop.get()), "cudaEventSynchronize");
  float milliseconds = 0.0F;
  CheckCuda(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * kNanosecondsPerMillisecond;
}

// Owns an executable graph of `repeats` calls.
class CallGraph {
 public:
  CallGraph(const std::function<void(StreamHandle)>& enqueue, int repeats, cudaStream_t stream) {
    CheckCuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      for (int i = 0; i < repeats; ++i) enqueue(stream);
    } catch (...) {
      (void)cudaStreamEndCapture(stream, &graph);
      if (graph != nullptr) (void)cudaGraphDestroy(graph);
      throw;
    }
    CheckCuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t result = cudaGraphInstantiate(&executable_, graph, 0);
    (void)cudaGraphDestroy(graph);
    CheckCuda(result, "cudaGraphInstantiate");
  }
  ~CallGraph() { (void)cudaGraphExecDestroy(executable_); }
  CallGraph(const CallGraph&) = delete;
  CallGraph& operator=(const CallGraph&) = delete;
  void Launch(cudaStream_t stream) const { CheckCuda(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

CallTiming TimeFlushed(const std::function<void(StreamHandle)>& enqueue, int samples, const CacheFlusher& flusher,
                       const std::function<void()>& between) {
  const CudaStream stream;
  const CudaEvent start;
  const CudaEvent stop;
  CallTiming timed;
  timed.method = "events, L2 flushed before each call";
  for (int i = 0; i < samples; ++i) {
    if (between) between();
    flusher.Flush(stream.get());
    CheckCuda(cudaEventRecord(start.get(), stream.get()), "cudaEventRecord");
    enqueue(stream.get());
    CheckCuda(cudaEventRecord(stop.get(), stream.get()), "cudaEventRecord");
    timed.durations_ns.push_back(ElapsedNs(start, stop));
  }
  return timed;
}

}  // namespace

CallTiming TimeLaunches(const std::function<void(StreamHandle)>& enqueue, int samples, const CacheFlusher& flusher,
                        const std::function<void()>& between, SmClock* clock) {
  if (flusher.enabled()) return TimeFlushed(enqueue, samples, flusher, between);
  const CudaStream stream;
  const CudaEvent start;
  const CudaEvent stop;
  const auto time_replay = [&](const CallGraph& graph) {
    CheckCuda(cudaEventRecord(start.get(), stream.get()), "cudaEventRecord");
    graph.Launch(stream.get());
    CheckCuda(cudaEventRecord(stop.get(), stream.get()), "cudaEventRecord");
    return ElapsedNs(start, stop);
  };

  int repeats = 1;
  {
    const CallGraph once(enqueue, 1, stream.get());
    (void)time_replay(once);  // uploads the graph
    repeats = RepeatsPerReplay(time_replay(once));
  }
  const CallGraph graph(enqueue, repeats, stream.get());
  (void)time_replay(graph);
  std::optional<CallGraph> stamped;
  if (clock != nullptr) {
    const auto with_stamps = [&](StreamHandle on) {
      clock->Start(static_cast<cudaStream_t>(on));
      for (int i = 0; i < repeats; ++i) enqueue(on);
      clock->Stop(static_cast<cudaStream_t>(on));
    };
    stamped.emplace(with_stamps, 1, stream.get());
    stamped->Launch(stream.get());
    clock->Forget(stream.get());
  }

  CallTiming timed;
  timed.method = "graph replay, " + std::to_string(repeats) + (repeats == 1 ? " call" : " calls") + " a sample";
  timed.durations_ns.reserve(static_cast<std::size_t>(samples));
  for (int i = 0; i < samples; ++i) {
    if (between) between();
    timed.durations_ns.push_back(time_replay(graph) / repeats);
    if (clock != nullptr) {
      stamped->Launch(stream.get());
      clock->Add(stream.get());
    }
  }
  if (clock != nullptr) timed.sm_clock_hz = clock->Hertz();
  return timed;
}

}  // namespace fa_profile::collect

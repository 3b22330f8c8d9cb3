#include "fa_profile/launch_hook.h"

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cerrno>
#include <chrono>
#include <functional>
#include <iterator>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "cuda_api.h"
#include "cupti_objects.h"
#include "fa_profile/launch_names.h"
#include "fa_profile/nvtx_callbacks.h"
#include "kept_graphs.h"

namespace fa_profile::collect {
namespace {

constexpr CUpti_CallbackId kLaunches[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                          CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
                                          CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                                          CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
                                          CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
                                          CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
                                          CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
                                          CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz};

constexpr CUpti_CallbackId kCaptures[] = {
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture,        CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2,     CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture,          CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz};

// Destroying a stream while it captures ends its capture.
constexpr CUpti_CallbackId kStreamEnds[] = {CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy,
                                            CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2};

constexpr CUpti_CallbackId kUnloads[] = {CUPTI_DRIVER_TRACE_CBID_cuModuleUnload,
                                         CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload};

// The names of calls that give the GPU work, launches apart, begin with these. Copies to and from the host are done by
// copy engines, which CUPTI does not wait for.
constexpr std::string_view kWork[] = {
    "cuFuncLoad",      "cuKernelGetFunction", "cuLaunchHostFunc",   "cuLibraryGetModule",  "cuLibraryLoad",
    "cuLibraryUnload", "cuMemcpy2D",          "cuMemcpy3D",         "cuMemcpyAsync",       "cuMemcpyBatch",
    "cuMemcpyDtoD",    "cuMemcpyPeer",        "cuMemset",           "cuModuleGetFunction", "cuModuleLoad",
    "cuModuleUnload",  "cuStreamAddCallback", "cuStreamBatchMemOp", "cuStreamWaitValue",   "cuWaitExternalSemaphores"};

constexpr CUpti_CallbackId kInstantiations[] = {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags,
                                                CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams,
                                                CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz};

constexpr CUpti_CallbackId kGraphChanges[] = {CUPTI_DRIVER_TRACE_CBID_cuGraphExecDestroy,
                                              CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate,
                                              CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2,
                                              CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams,
                                              CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2,
                                              CUPTI_DRIVER_TRACE_CBID_cuGraphExecMemcpyNodeSetParams,
                                              CUPTI_DRIVER_TRACE_CBID_cuGraphExecMemsetNodeSetParams,
                                              CUPTI_DRIVER_TRACE_CBID_cuGraphExecHostNodeSetParams,
                                              CUPTI_DRIVER_TRACE_CBID_cuGraphExecChildGraphNodeSetParams,
                                              CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams,
                                              CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetEnabled};

constexpr CUpti_CallbackId kGraphNodes[] = {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                                            CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING};

// Guards the callbacks' switches. Never locked inside a callback.
std::mutex the_mutex;
CUpti_SubscriberHandle the_subscriber = nullptr;
std::atomic<bool> observer_watches = false;  // launches
bool ranges_watched = false;
std::atomic<bool> names_watched = false;
bool graphs_kept = false;                              // from ObserveProgram() on
std::bitset<CUPTI_DRIVER_TRACE_CBID_SIZE> work_calls;  // as are these
std::atomic<bool> is_fork = false;
std::atomic<int> callbacks_under_way = 0;

struct UnderWay {
  UnderWay() { ++callbacks_under_way; }
  ~UnderWay() { --callbacks_under_way; }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
};

// For a handle that is not a kernel's, which the driver refuses, CUPTI returns arbitrary bytes as the name's address
// (CUDA 13.0). Readable addresses are remembered: launches repeat.
bool IsReadable(const char* name) noexcept {
  static thread_local std::array<const char*, 64> known{};
  const char*& place = known[std::hash<const char*>{}(name) / 16 % known.size()];
  if (place == name) return true;
  char first = 0;
  const iovec here{&first, 1};
  const iovec there{const_cast<char*>(name), 1};
  if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0 && errno == EFAULT) return false;
  place = name;
  return true;
}

const char* NameOf(const char* symbol) noexcept { return symbol != nullptr && IsReadable(symbol) ? symbol : "?"; }

// cuLaunchKernel's and cuLaunchCooperativeKernel's parameters, and CUlaunchConfig, share these members.
template <typename Parameters>
LaunchCall KernelCall(const Parameters& p, const char* symbol) {
  LaunchCall call;
  call.symbol = NameOf(symbol);
  call.grid = {static_cast<int>(p.gridDimX), static_cast<int>(p.gridDimY), static_cast<int>(p.gridDimZ)};
  call.block = {static_cast<int>(p.blockDimX), static_cast<int>(p.blockDimY), static_cast<int>(p.blockDimZ)};
  return call;
}

LaunchCall ReadCall(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
      const CUlaunchConfig* const config = static_cast<const cuLaunchKernelEx_params*>(data.functionParams)->config;
      return KernelCall(config != nullptr ? *config : CUlaunchConfig{}, data.symbolName);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz: {
      LaunchCall call;
      // The parameters of both begin with the graph.
      const auto& p = *static_cast<const cuGraphLaunch_params*>(data.functionParams);
      (void)cuptiGetGraphExecId(p.hGraph, &call.graph);
      // The default stream, for functions whose default is the thread's own.
      const bool own = id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz && p.hStream == nullptr;
      call.stream = own ? CU_STREAM_PER_THREAD : p.hStream;
      return call;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      return KernelCall(*static_cast<const cuLaunchCooperativeKernel_params*>(data.functionParams), data.symbolName);
    default:
      return KernelCall(*static_cast<const cuLaunchKernel_params*>(data.functionParams), data.symbolName);
  }
}

// CUPTI cannot skip a driver call, but the driver launches whatever graph the parameters name when the callback
// returns, and the program gets whatever result they name at the end (CUDA 13.0, driver 580.159.04).
void ReplaceGraph(const CUpti_CallbackData& data) noexcept {
  auto& p = *static_cast<cuGraphLaunch_params*>(const_cast<void*>(data.functionParams));
  const CUgraphExec empty = ProcessGraphs().Empty();
  if (empty == nullptr) return;
  *data.correlationData = reinterpret_cast<std::uint64_t>(std::exchange(p.hGraph, empty));
}

void RestoreGraph(const CUpti_CallbackData& data) noexcept {
  if (*data.correlationData == 0) return;
  auto& p = *static_cast<cuGraphLaunch_params*>(const_cast<void*>(data.functionParams));
  p.hGraph = reinterpret_cast<CUgraphExec>(*data.correlationData);  // NOLINT(performance-no-int-to-ptr)
  const CUresult refused = TakeUnrollError();
  auto* const result = static_cast<CUresult*>(data.functionReturnValue);
  if (refused != CUDA_SUCCESS && result != nullptr) *result = refused;
}

bool IsGraphLaunch(CUpti_CallbackId id) {
  return id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch || id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
}

void OnGraphChange(CUpti_CallbackId id, const void* params) noexcept {
  KeptGraphs& graphs = ProcessGraphs();
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2: {
      // Both begin with the two graphs.
      const auto& p = *static_cast<const cuGraphExecUpdate_v2_params*>(params);
      return graphs.OnUpdated(p.hGraphExec, p.hGraph);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2: {
      const auto& p = *static_cast<const cuGraphExecKernelNodeSetParams_v2_params*>(params);
      return graphs.OnKernelChanged(p.hGraphExec, p.hNode, *p.nodeParams);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecMemsetNodeSetParams: {
      const auto& p = *static_cast<const cuGraphExecMemsetNodeSetParams_params*>(params);
      return graphs.OnMemsetChanged(p.hGraphExec, p.hNode, *p.memsetParams);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecMemcpyNodeSetParams: {
      const auto& p = *static_cast<const cuGraphExecMemcpyNodeSetParams_params*>(params);
      return graphs.OnCopyChanged(p.hGraphExec, p.hNode, *p.copyParams);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetEnabled: {
      const auto& p = *static_cast<const cuGraphNodeSetEnabled_params*>(params);
      return graphs.OnEnabled(p.hGraphExec, p.hNode, p.isEnabled != 0);
    }
    default:  // all begin with the executable graph
      return graphs.OnChanged(static_cast<const cuGraphNodeSetEnabled_params*>(params)->hGraphExec);
  }
}

bool IsForDeviceLaunch(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  // The parameters of both functions with CUDA_GRAPH_INSTANTIATE_PARAMS are the same.
  const std::uint64_t flags =
      id == CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags
          ? static_cast<const cuGraphInstantiateWithFlags_params*>(data.functionParams)->flags
          : static_cast<const cuGraphInstantiateWithParams_params*>(data.functionParams)->instantiateParams->flags;
  return (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0;
}

bool Succeeded(const CUpti_CallbackData& data) {
  const auto* const result = static_cast<const CUresult*>(data.functionReturnValue);
  return result == nullptr || *result == CUDA_SUCCESS;
}

void OnDriverCall(ProgramObserver& observer, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  const bool enters = data.callbackSite == CUPTI_API_ENTER;
  for (const CUpti_CallbackId capture : kCaptures) {
    if (id != capture) continue;
    // The parameters of all of these begin with the stream.
    const void* const stream = static_cast<const cuStreamEndCapture_params*>(data.functionParams)->hStream;
    const bool ends =
        id == CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture || id == CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz;
    if (enters && !ends) observer.OnCaptureBegins(stream);
    if (!enters && (ends || !Succeeded(data))) observer.OnCaptureEnded(stream);
    return;
  }
  if (std::ranges::find(kStreamEnds, id) != std::end(kStreamEnds)) {
    if (!enters) observer.OnCaptureEnded(static_cast<const cuStreamDestroy_params*>(data.functionParams)->hStream);
    return;
  }
  if (std::ranges::find(kInstantiations, id) != std::end(kInstantiations)) {
    if (enters || !Succeeded(data)) return;
    // The parameters of all of these begin with these two.
    const auto& p = *static_cast<const cuGraphInstantiateWithFlags_params*>(data.functionParams);
    if (IsForDeviceLaunch(id, data)) {
      observer.OnDeviceGraph();
    } else if (graphs_kept) {
      ProcessGraphs().OnInstantiated(*p.phGraphExec, p.hGraph);
    }
    return;
  }
  if (id == CUPTI_DRIVER_TRACE_CBID_cuGraphExecDestroy) {
    if (enters)
      ProcessGraphs().OnDestroyed(static_cast<const cuGraphExecDestroy_params*>(data.functionParams)->hGraphExec);
    return;
  }
  if (std::ranges::find(kGraphChanges, id) != std::end(kGraphChanges)) {
    if (!enters && Succeeded(data)) OnGraphChange(id, data.functionParams);
    return;
  }
  if (enters && std::ranges::find(kUnloads, id) != std::end(kUnloads)) observer.OnModuleUnloads();
  if (work_calls.test(id)) return enters ? observer.OnWorkBegins() : observer.OnWorkEnded();
  if (IsGraphLaunch(id)) {
    if (enters) *data.correlationData = 0;
    if (!enters) RestoreGraph(data);
  }
  if (enters) {
    if (const NvtxRanges::Node range = CurrentNvtxRange(); range != 0)
      ProcessNvtxRanges().OnLaunch(data.correlationId, range);
    if (names_watched && !IsGraphLaunch(id)) ProcessLaunchNames().OnLaunch(data.correlationId, NameOf(data.symbolName));
  }
  // A measured launch always gets its OnLaunched(): the watch stays on until then.
  if (!observer_watches) return;
  if (!enters) return observer.OnLaunched();
  if (observer.OnLaunch(ReadCall(id, data)) && IsGraphLaunch(id)) ReplaceGraph(data);
}

void OnGraphNode(CUpti_CallbackId id, const CUpti_GraphData& graph) noexcept {
  std::uint64_t node = 0;
  if (cuptiGetGraphNodeId(graph.node, &node) != CUPTI_SUCCESS) return;
  try {
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
      if (const NvtxRanges::Node range = CurrentNvtxRange(); range != 0) ProcessNvtxRanges().OnGraphNode(node, range);
    } else if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
      // The clone itself was created just before, in the range that instantiates the graph.
      std::uint64_t original = 0;
      if (cuptiGetGraphNodeId(graph.originalNode, &original) == CUPTI_SUCCESS) {
        ProcessNvtxRanges().OnGraphNodeCloned(node, original);
      }
    } else {
      ProcessNvtxRanges().OnGraphNodeDestroyed(node);
    }
  } catch (const std::bad_alloc&) {
    return;  // the node's kernels count only for the range of the launch
  }
}

// Under the_mutex.
void SwitchLaunches() noexcept {
  const bool on = observer_watches || ranges_watched || names_watched;
  for (const CUpti_CallbackId id : kLaunches) {
    (void)cuptiEnableCallback(on ? 1 : 0, the_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  }
}

// For good: a call under way when they are switched on or off would be seen to begin or to end only.
void WatchWork() noexcept {
  for (CUpti_CallbackId id = 1; id < work_calls.size(); ++id) {
    const char* name = nullptr;
    if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) != CUPTI_SUCCESS || name == nullptr) continue;
    if (std::ranges::none_of(kWork, [&](std::string_view of) { return std::string_view(name).starts_with(of); })) {
      continue;
    }
    work_calls.set(id);
    (void)cuptiEnableCallback(1, the_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  }
}

void SwitchGraphNodesOn() noexcept {
  for (const CUpti_CallbackId id : kGraphNodes) {
    (void)cuptiEnableCallback(1, the_subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
  }
}

// The runtime's function may or may not call the driver's: both are watched, and a second report does no harm.
bool IsProfilerCall(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool& on) {
  const bool driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
  on = driver ? id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart : id == CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000;
  return on || id == (driver ? static_cast<CUpti_CallbackId>(CUPTI_DRIVER_TRACE_CBID_cuProfilerStop)
                             : static_cast<CUpti_CallbackId>(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000));
}

void CUPTIAPI OnCallback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept {
  if (is_fork || IsOurGraphCall()) return;  // a fork has neither CUDA nor our threads
  const UnderWay under_way;
  ProgramObserver& observer = *static_cast<ProgramObserver*>(user);
  bool on = false;
  if ((domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API) &&
      IsProfilerCall(domain, id, on)) {
    if (static_cast<const CUpti_CallbackData*>(data)->callbackSite == (on ? CUPTI_API_EXIT : CUPTI_API_ENTER)) {
      observer.OnProfiler(on);
    }
  } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    OnDriverCall(observer, id, *static_cast<const CUpti_CallbackData*>(data));
  } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
    switch (id) {
      case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
        observer.OnContextBegins(resource.context);
        return;
      case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
        observer.OnContextEnds(resource.context);
        return;
      case CUPTI_CBID_RESOURCE_MODULE_LOADED:
        observer.OnModuleLoaded(CubinOf(resource));
        return;
      default:
        OnGraphNode(id, *static_cast<const CUpti_GraphData*>(resource.resourceDescriptor));
    }
  }
}

}  // namespace

bool ObserveProgram(ProgramObserver* observer, bool code, bool profiler, bool graphs) {
  (void)pthread_atfork(nullptr, nullptr, [] { is_fork = true; });
  const std::lock_guard lock(the_mutex);
  if (cuptiSubscribe(&the_subscriber, OnCallback, observer) != CUPTI_SUCCESS) {
    the_subscriber = nullptr;
    return false;
  }
  bool enabled = cuptiEnableCallback(1, the_subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                     CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) == CUPTI_SUCCESS;
  for (const CUpti_CallbackId id : {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_MODULE_LOADED}) {
    if (code) (void)cuptiEnableCallback(1, the_subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
  }
  if (profiler) {
    const auto enable = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
      enabled = cuptiEnableCallback(1, the_subscriber, domain, id) == CUPTI_SUCCESS && enabled;
    };
    enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
    enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
    enable(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000);
    enable(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000);
  }
  for (const CUpti_CallbackId id : kCaptures) {
    enabled = cuptiEnableCallback(1, the_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id) == CUPTI_SUCCESS && enabled;
  }
  for (const CUpti_CallbackId id : kStreamEnds) {
    (void)cuptiEnableCallback(1, the_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  }
  for (const CUpti_CallbackId id : kInstantiations) {
    (void)cuptiEnableCallback(1, the_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  }
  WatchWork();
  graphs_kept = graphs;
  for (const CUpti_CallbackId id : kGraphChanges) {
    if (graphs) (void)cuptiEnableCallback(1, the_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  }
  if (ProcessNvtxRanges().in_use()) {  // the program used NVTX before CUDA
    ranges_watched = true;
    SwitchLaunches();
    SwitchGraphNodesOn();
  }
  return enabled;
}

// CUPTI frees the subscriber while other threads are still returning from it: the program would end with a segmentation
// fault (H200, driver 580.159.04). So no callback may be under way, nor a launch whose end would be one.
bool StopObserving() noexcept {
  constexpr auto kLook = std::chrono::milliseconds(10);
  constexpr int kQuietLooks = 20;  // in a row
  constexpr int kMostLooks = 200;
  const std::lock_guard lock(the_mutex);
  if (the_subscriber == nullptr) return true;
  observer_watches = false;
  for (const CUpti_CallbackDomain domain :
       {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE}) {
    (void)cuptiEnableDomain(0, the_subscriber, domain);
  }
  int quiet = 0;
  for (int look = 0; quiet < kQuietLooks; ++look) {
    if (look == kMostLooks) return false;
    std::this_thread::sleep_for(kLook);
    quiet = callbacks_under_way == 0 ? quiet + 1 : 0;
  }
  return cuptiUnsubscribe(std::exchange(the_subscriber, nullptr)) == CUPTI_SUCCESS;
}

void WatchLaunches(bool on) noexcept {
  const std::lock_guard lock(the_mutex);
  if (the_subscriber == nullptr) return;
  observer_watches = on;
  SwitchLaunches();
}

void WatchRanges() noexcept {
  const std::lock_guard lock(the_mutex);
  if (the_subscriber == nullptr || ranges_watched || !ProcessNvtxRanges().in_use()) return;
  ranges_watched = true;
  SwitchLaunches();
  SwitchGraphNodesOn();
}

void WatchNames() noexcept {
  const std::lock_guard lock(the_mutex);
  if (the_subscriber == nullptr) return;
  names_watched = true;
  SwitchLaunches();
}

const void* ContextOfThisThread() noexcept {
  static auto* const get = reinterpret_cast<CUresult (*)(CUcontext*)>(DriverEntry("cuCtxGetCurrent"));
  CUcontext context = nullptr;
  return get != nullptr && get(&context) == CUDA_SUCCESS ? context : nullptr;
}

void SetContextOfThisThread(const void* context) noexcept {
  static auto* const set = reinterpret_cast<CUresult (*)(CUcontext)>(DriverEntry("cuCtxSetCurrent"));
  if (set != nullptr) (void)set(static_cast<CUcontext>(const_cast<void*>(context)));
}

}  // namespace fa_profile::collect

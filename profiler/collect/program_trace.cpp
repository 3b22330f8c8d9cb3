#include "fa_profile/program_trace.h"

#include <cupti_activity.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "check_cupti.h"
#include "fa_profile/launch_names.h"

namespace fa_profile::collect {
namespace {

constexpr CUpti_ActivityKind kTracedKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMSET,
                                               CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2};
constexpr std::size_t kWithoutCopies = 2;
constexpr std::size_t kTraceBufferBytes = std::size_t{4} << 20U;
// Allocated in advance, in case the program limits its memory later. Untouched ones only take address space.
constexpr std::size_t kBuffersAhead = 4;

// CUPTI hands buffers to plain functions without user data. Never destroyed: buffers may arrive until the process ends.
struct Tracing {
  std::mutex mutex;  // held while calling the observer
  WorkObserver* observer = nullptr;
  std::mutex free_mutex;
  std::vector<std::uint8_t*>
      free;  // kept: CUPTI may still own a buffer that it returned, and freeing it corrupts the heap
};

Tracing& TheTracing() {
  static Tracing* const tracing = new Tracing;
  return *tracing;
}

const char* CopyName(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "copy device to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "copy host to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "copy peer to peer";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
      return "copy of an array";
    default:
      return "copy";
  }
}

// Fields shared by the records of kernels, copies and sets.
template <typename Record>
GpuWork CommonWork(const Record& record, GpuWork::Kind kind) {
  GpuWork work;
  work.kind = kind;
  work.start_ns = static_cast<std::int64_t>(record.start);
  work.end_ns = static_cast<std::int64_t>(record.end);
  work.device = record.deviceId;
  work.stream = record.streamId;
  work.correlation = record.correlationId;
  work.graph = record.graphId;
  work.graph_node = record.graphNodeId;
  return work;
}

GpuWork KernelWorkOf(const CUpti_ActivityKernel10& kernel) {
  GpuWork work = CommonWork(kernel, GpuWork::Kind::kKernel);
  const char* const kept = kernel.graphId == 0 ? ProcessLaunchNames().NameOf(kernel.correlationId) : nullptr;
  const char* const of_cupti = kernel.name != nullptr ? kernel.name : "?";
  work.name = kept != nullptr ? kept : of_cupti;
  work.grid = {kernel.gridX, kernel.gridY, kernel.gridZ};
  work.block = {kernel.blockX, kernel.blockY, kernel.blockZ};
  work.cluster = {static_cast<int>(kernel.clusterX), static_cast<int>(kernel.clusterY),
                  static_cast<int>(kernel.clusterZ)};
  work.registers_per_thread = kernel.registersPerThread;
  work.static_shared_memory_bytes = kernel.staticSharedMemory;
  work.dynamic_shared_memory_bytes = kernel.dynamicSharedMemory;
  work.local_memory_per_thread_bytes = kernel.localMemoryPerThread;
  work.shared_memory_config_bytes = kernel.sharedMemoryExecuted;
  return work;
}

void HandOver(const CUpti_Activity* record, WorkObserver& observer) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: {
      const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      // The range profiler's own kernel, around ranges.
      if (kernel.name != nullptr && std::strcmp(kernel.name, "WaitNs") == 0) return;
      observer.OnWork(KernelWorkOf(kernel));
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
      GpuWork work = CommonWork(copy, GpuWork::Kind::kCopy);
      work.name = CopyName(copy.copyKind);
      work.bytes = static_cast<std::int64_t>(copy.bytes);
      observer.OnWork(work);
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record);
      GpuWork work = CommonWork(copy, GpuWork::Kind::kCopy);
      work.name = CopyName(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
      work.bytes = static_cast<std::int64_t>(copy.bytes);
      observer.OnWork(work);
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& set = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      GpuWork work = CommonWork(set, GpuWork::Kind::kSet);
      work.name = "set";
      work.bytes = static_cast<std::int64_t>(set.bytes);
      observer.OnWork(work);
      return;
    }
    default:
      return;
  }
}

std::span<const CUpti_ActivityKind> KindsHere() {
  return std::span(kTracedKinds).first(CopiesAreLeftOut() ? kWithoutCopies : std::size(kTracedKinds));
}

std::uint8_t* NewBuffer() noexcept {
  return static_cast<std::uint8_t*>(std::aligned_alloc(8, kTraceBufferBytes));  // CUPTI requires 8
}

void CUPTIAPI OnTraceBufferRequested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) noexcept {
  Tracing& tracing = TheTracing();
  *buffer = nullptr;
  {
    const std::lock_guard lock(tracing.free_mutex);
    if (!tracing.free.empty()) {
      *buffer = tracing.free.back();
      tracing.free.pop_back();
    }
  }
  // A null buffer makes CUPTI drop records, which are counted.
  if (*buffer == nullptr) *buffer = NewBuffer();
  *size = *buffer == nullptr ? 0 : kTraceBufferBytes;
  *max_records = 0;
}

void CUPTIAPI OnTraceBufferCompleted(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                     std::size_t /*size*/, std::size_t valid_size) noexcept {
  Tracing& tracing = TheTracing();
  {
    const std::lock_guard lock(tracing.mutex);
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid_size, &record) == CUPTI_SUCCESS) {
      HandOver(record, *tracing.observer);
    }
    std::size_t dropped = 0;
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0) {
      tracing.observer->OnLostWork(static_cast<std::int64_t>(dropped));
    }
  }
  const std::lock_guard lock(tracing.free_mutex);
  try {
    tracing.free.push_back(buffer);
  } catch (const std::bad_alloc&) {
    return;  // the buffer is lost, which is better than freeing it
  }
}

}  // namespace

// XLA's first graph ends with a launch failure if CUPTI handed over records of copies before (H200, CUDA 13.0, driver
// 580.159.04): always with both kinds of copies, in 2 of 15 runs with MEMCPY alone.
bool CopiesAreLeftOut() {
  // JAX initialises CUDA before it loads XLA's library.
  constexpr auto kIsOfXla = [](dl_phdr_info* library, std::size_t /*size*/, void* /*user*/) {
    const std::string_view path = library->dlpi_name;
    return path.find("jaxlib") != path.npos || path.find("xla_cuda") != path.npos ? 1 : 0;
  };
  static const bool left_out = dl_iterate_phdr(kIsOfXla, nullptr) != 0;
  return left_out;
}

void StartTrace(WorkObserver* observer) {
  Tracing& tracing = TheTracing();
  if (tracing.observer == nullptr) {
    tracing.free.reserve(kBuffersAhead);
    while (tracing.free.size() < kBuffersAhead) tracing.free.push_back(NewBuffer());
    tracing.observer = observer;
    CheckCupti(cuptiActivityRegisterCallbacks(OnTraceBufferRequested, OnTraceBufferCompleted),
               "cuptiActivityRegisterCallbacks");
  }
  for (const CUpti_ActivityKind kind : KindsHere()) CheckCupti(cuptiActivityEnable(kind), "cuptiActivityEnable");
}

void StopTrace() noexcept {
  for (const CUpti_ActivityKind kind : KindsHere()) (void)cuptiActivityDisable(kind);
}

// Never forced inside a run: running kernels would be returned without an end, and not again.
void FlushTrace() noexcept { (void)cuptiActivityFlushAll(0); }

void FlushTraceAtExit() noexcept { (void)cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); }

std::int64_t ActivityClockNs() noexcept {
  std::uint64_t now_ns = 0;
  return cuptiGetTimestamp(&now_ns) == CUPTI_SUCCESS ? static_cast<std::int64_t>(now_ns) : 0;
}

}  // namespace fa_profile::collect

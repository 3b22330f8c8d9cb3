#include <cupti_activity.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "check_cupti.h"
#include "cupti_objects.h"
#include "fa_profile/demangle.h"

namespace fa_profile::collect {
namespace {

// CUPTI hands buffers to plain functions without user data, so their results are collected in one place.
struct Collected {
  std::mutex mutex;
  ActivityTrace trace;
  std::map<std::uint32_t, NvtxRange> open;  // by marker id
};

Collected& TheCollected() {
  static Collected collected;
  return collected;
}

Launch ToLaunch(const CUpti_ActivityKernel10& kernel) {
  Launch launch;
  launch.kernel_name = Demangle(kernel.name);
  launch.grid = {kernel.gridX, kernel.gridY, kernel.gridZ};
  launch.block = {kernel.blockX, kernel.blockY, kernel.blockZ};
  launch.cluster = {static_cast<int>(kernel.clusterX), static_cast<int>(kernel.clusterY),
                    static_cast<int>(kernel.clusterZ)};
  launch.registers_per_thread = kernel.registersPerThread;
  launch.static_shared_memory_bytes = kernel.staticSharedMemory;
  launch.dynamic_shared_memory_bytes = kernel.dynamicSharedMemory;
  launch.local_memory_per_thread_bytes = kernel.localMemoryPerThread;
  launch.shared_memory_config_bytes = kernel.sharedMemoryExecuted;
  launch.stream = kernel.streamId;
  launch.correlation = kernel.correlationId;
  launch.start_ns = static_cast<std::int64_t>(kernel.start);
  // CUPTI gives 0 where it does not know the end; a recording holds no end before a start.
  launch.end_ns = std::max(launch.start_ns, static_cast<std::int64_t>(kernel.end));
  launch.graph = kernel.graphId;
  return launch;
}

void TakeMarker(const CUpti_ActivityMarker2& marker, Collected& collected) {
  // A push/pop range is two records with one id; only the first carries the name.
  if ((marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0) {
    NvtxRange range;
    range.domain = marker.domain != nullptr ? marker.domain : "";
    range.name = marker.name != nullptr ? marker.name : "";
    range.thread = marker.objectId.pt.threadId;
    range.start_ns = static_cast<std::int64_t>(marker.timestamp);
    collected.open[marker.id] = std::move(range);
  } else if ((marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0) {
    const auto open = collected.open.find(marker.id);
    if (open == collected.open.end()) return;  // opened before tracing began
    open->second.end_ns = std::max(open->second.start_ns, static_cast<std::int64_t>(marker.timestamp));
    collected.trace.nvtx_ranges.push_back(std::move(open->second));
    collected.open.erase(open);
  }
}

void TakeRecord(const CUpti_Activity* record, Collected& collected) {
  if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
    collected.trace.launches.push_back(ToLaunch(*reinterpret_cast<const CUpti_ActivityKernel10*>(record)));
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MARKER) {
    TakeMarker(*reinterpret_cast<const CUpti_ActivityMarker2*>(record), collected);
  }
}

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

void CUPTIAPI OnBufferRequested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) noexcept {
  // 8-byte alignment is CUPTI's demand; a null buffer makes it drop records, which are counted.
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;
}

void CUPTIAPI OnBufferCompleted(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t /*size*/,
                                std::size_t valid_size) noexcept {
  Collected& collected = TheCollected();
  try {
    const std::lock_guard lock(collected.mutex);
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid_size, &record) == CUPTI_SUCCESS) TakeRecord(record, collected);
    std::size_t dropped = 0;
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) {
      collected.trace.records_dropped += static_cast<std::int64_t>(dropped);
    }
  } catch (const std::bad_alloc&) {
    ++collected.trace.records_dropped;
  }
  std::free(buffer);
}

void SetDepths(std::vector<NvtxRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const NvtxRange& a, const NvtxRange& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  std::map<std::uint32_t, std::vector<std::int64_t>> open_ends;  // by thread
  for (NvtxRange& range : ranges) {
    std::vector<std::int64_t>& ends = open_ends[range.thread];
    while (!ends.empty() && ends.back() <= range.start_ns) ends.pop_back();
    range.depth = static_cast<int>(ends.size());
    ends.push_back(range.end_ns);
  }
}

// Turns the kinds off again, even when the body throws.
class EnabledKinds {
 public:
  EnabledKinds() {
    for (const CUpti_ActivityKind kind : kKinds) CheckCupti(cuptiActivityEnable(kind), "cuptiActivityEnable");
  }
  ~EnabledKinds() {
    for (const CUpti_ActivityKind kind : kKinds) (void)cuptiActivityDisable(kind);
  }
  EnabledKinds(const EnabledKinds&) = delete;
  EnabledKinds& operator=(const EnabledKinds&) = delete;

 private:
  static constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MARKER};
};

}  // namespace

ActivityTrace TraceActivity(const std::function<void()>& body) {
  static const bool registered = [] {
    CheckCupti(cuptiActivityRegisterCallbacks(OnBufferRequested, OnBufferCompleted), "cuptiActivityRegisterCallbacks");
    return true;
  }();
  (void)registered;
  Collected& collected = TheCollected();
  {
    const std::lock_guard lock(collected.mutex);
    collected.trace = {};
    collected.open.clear();
  }
  {
    const EnabledKinds enabled;
    body();
    CheckCupti(cuptiActivityFlushAll(0), "cuptiActivityFlushAll");
  }
  const std::lock_guard lock(collected.mutex);
  ActivityTrace trace = std::exchange(collected.trace, {});
  std::sort(trace.launches.begin(), trace.launches.end(),
            [](const Launch& a, const Launch& b) { return a.start_ns < b.start_ns; });
  SetDepths(trace.nvtx_ranges);
  return trace;
}

}  // namespace fa_profile::collect

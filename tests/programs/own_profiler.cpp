// A profiler inside a program, as libkineto of torch.profiler is: it subscribes to CUPTI and records kernels.
#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20U;

CUpti_SubscriberHandle the_handle = nullptr;
std::atomic<long> kernels = 0;

void Request(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = kBufferBytes;
  *most_records = 0;
}

void Complete(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer, std::size_t /*size*/,
              std::size_t valid_bytes) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? 1 : 0;
  }
}

}  // namespace

// CUPTI's result.
extern "C" int BeginProfile() {
  kernels = 0;
  const auto on_callback = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
  CUptiResult result = cuptiSubscribe(&the_handle, on_callback, nullptr);
  if (result == CUPTI_SUCCESS) result = cuptiActivityRegisterCallbacks(Request, Complete);
  if (result == CUPTI_SUCCESS) result = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  return result;
}

// The kernels since then.
extern "C" long EndProfile() {
  (void)cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  (void)cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  (void)cuptiUnsubscribe(the_handle);
  return kernels;
}

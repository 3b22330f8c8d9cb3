// Preloaded into a program instead of libcupti's functions of these names: one subscriber at a time, as CUPTI has. Each
// call that matters is a line on stdout. SLOW_CUPTI: what disables an activity kind never returns, but on the program's
// main thread. FAIL_ALLOCATIONS=N: of the process's calls of operator new only the first N succeed.
// FAIL_THREADS: no thread can be started. TELL_COPIES: recording copies is such a call, too.
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace {

std::string the_holder;  // empty: no subscriber
CUpti_CallbackFunc the_callback = nullptr;
void* the_user = nullptr;

void Print(const std::string& line) { (void)!write(STDOUT_FILENO, (line + "\n").data(), line.size() + 1); }

}  // namespace

void* operator new(std::size_t bytes) {
  static std::atomic<long> calls = 0;
  const char* const most = std::getenv("FAIL_ALLOCATIONS");
  void* const place = most != nullptr && ++calls > std::atol(most) ? nullptr : std::malloc(bytes);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}
void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }

extern "C" {

// Where the system has it, too.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  if (std::getenv("FAIL_THREADS") != nullptr) return EAGAIN;
  static auto* const next = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, body, argument);
}

CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "of the fake";
  return CUPTI_SUCCESS;
}

// Names are CUPTI's own.
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  static void* const cupti = dlopen(FA_PROFILE_REAL_CUPTI, RTLD_NOW | RTLD_LOCAL);
  if (cupti == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  static auto* const real = reinterpret_cast<decltype(&cuptiGetCallbackName)>(dlsym(cupti, "cuptiGetCallbackName"));
  return real(domain, id, name);
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user) {
  if (!the_holder.empty()) {
    Print("refused");
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  the_holder = user == nullptr ? "the program" : "fa-profile";  // the only one with its own data
  the_callback = callback;
  the_user = user;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&the_holder);
  Print("subscribed: " + the_holder);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Print("unsubscribed: " + the_holder);
  the_holder.clear();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId) {
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain) { return CUPTI_SUCCESS; }

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc) {
  Print("registered");
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const bool copies = kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_MEMCPY2;
  if (copies && std::getenv("TELL_COPIES") != nullptr) Print("copies are traced");
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind) {
  while (std::getenv("SLOW_CUPTI") != nullptr && gettid() != getpid()) (void)sleep(1000);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t flags) {
  if (flags != 0) Print("flushed by force");
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(std::uint64_t* now) {
  *now = 1;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext, std::uint32_t* device) {
  *device = static_cast<std::uint32_t>(getpid());  // a test running at the same time has another GPU
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams*) {
  Print("sampling");
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams*) {
  Print("sampling ended");
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams* params) {
  *params->numStallReasons = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams*) { return CUPTI_SUCCESS; }
CUptiResult cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams*) { return CUPTI_SUCCESS; }
CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams*) { return CUPTI_SUCCESS; }

// Like at the end of a driver call.
__attribute__((visibility("default"))) void EndDriverCall(CUpti_CallbackId id, const void* parameters,
                                                          CUresult result) {
  CUpti_CallbackData data = {};
  data.callbackSite = CUPTI_API_EXIT;
  data.functionParams = parameters;
  data.functionReturnValue = &result;
  the_callback(the_user, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

// Like at the beginning of one.
__attribute__((visibility("default"))) void BeginDriverCall(CUpti_CallbackId id, const void* parameters,
                                                            const char* symbol) {
  CUpti_CallbackData data = {};
  data.callbackSite = CUPTI_API_ENTER;
  data.functionParams = parameters;
  data.symbolName = symbol;
  the_callback(the_user, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

// A context whose GPU never becomes idle: there is no driver to wait for it.
__attribute__((visibility("default"))) int CreateContext() {
  CUpti_ResourceData data = {};
  data.context = reinterpret_cast<CUcontext>(&the_holder);
  the_callback(the_user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
  return 0;
}
}

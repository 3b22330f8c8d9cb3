#include "fa_profile/nvtx_callbacks.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cwchar>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "fa_profile/launch_hook.h"

// A domain as the program holds it: by its address, for ever.
struct nvtxDomainRegistration_st {
  std::string name;
};
// A registered string, likewise.
struct nvtxStringRegistration_st {
  std::string text;
};

namespace fa_profile::collect {
namespace {

// In a child of fork() a lock of ours may be held by a thread that is not there.
std::atomic<bool> in_nvtx_fork = false;

// A thread may still call NVTX while its thread-local objects are destroyed: then its ranges are not recorded.
thread_local bool stack_is_gone = false;
struct ThisThread {
  NvtxStack stack{ProcessNvtxRanges()};
  ~ThisThread() { stack_is_gone = true; }
};

NvtxStack* StackOfThisThread() {
  if (stack_is_gone || in_nvtx_fork) return nullptr;
  thread_local ThisThread thread;
  return &thread.stack;
}

std::int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// UTF-8 of a wide string; other than ASCII as '?', which names of ranges hardly have.
std::string Narrow(const wchar_t* wide) {
  std::string text;
  for (; wide != nullptr && *wide != L'\0'; ++wide) text += *wide < 0x80 ? static_cast<char>(*wide) : '?';
  return text;
}

std::string MessageOf(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr) return "?";
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return attributes->message.ascii != nullptr ? attributes->message.ascii : "?";
    case NVTX_MESSAGE_TYPE_UNICODE:
      return Narrow(attributes->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return attributes->message.registered != nullptr ? attributes->message.registered->text : "?";
    default:
      return "(no name)";
  }
}

std::string_view NameOf(nvtxDomainHandle_t domain) { return domain != nullptr ? std::string_view(domain->name) : ""; }

// Whatever fails must not reach the program: a range that is not recorded is a loss, an exception its end.
template <typename Result, typename Body>
Result Guarded(Result otherwise, Body body) noexcept {
  try {
    NvtxStack* const stack = StackOfThisThread();
    if (stack == nullptr) return otherwise;
    const bool first = !ProcessNvtxRanges().in_use();
    const Result result = body(*stack);
    if (first) WatchRanges();
    return result;
  } catch (const std::bad_alloc&) {
    return otherwise;
  }
}

int Push(std::string_view domain, const std::string& name) noexcept {
  return Guarded(0, [&](NvtxStack& stack) { return stack.Push(domain, name, NowNs()); });
}
int Pop(std::string_view domain) noexcept {
  return Guarded(-1, [&](NvtxStack& stack) { return stack.Pop(domain, NowNs()); });
}
nvtxRangeId_t Start(std::string_view domain, const std::string& name) noexcept {
  return Guarded(nvtxRangeId_t{1}, [&](NvtxStack& stack) { return stack.Start(domain, name, NowNs()); });
}
void End(nvtxRangeId_t id) noexcept {
  if (!in_nvtx_fork) ProcessNvtxRanges().End(id, NowNs());
}

int OnPushA(const char* name) { return Push("", name != nullptr ? name : "?"); }
int OnPushW(const wchar_t* name) { return Push("", Narrow(name)); }
int OnPushEx(const nvtxEventAttributes_t* attributes) { return Push("", MessageOf(attributes)); }
int OnPop() { return Pop(""); }
nvtxRangeId_t OnStartA(const char* name) { return Start("", name != nullptr ? name : "?"); }
nvtxRangeId_t OnStartW(const wchar_t* name) { return Start("", Narrow(name)); }
nvtxRangeId_t OnStartEx(const nvtxEventAttributes_t* attributes) { return Start("", MessageOf(attributes)); }
void OnEnd(nvtxRangeId_t id) { End(id); }

int OnDomainPush(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return Push(NameOf(domain), MessageOf(attributes));
}
int OnDomainPop(nvtxDomainHandle_t domain) { return Pop(NameOf(domain)); }
nvtxRangeId_t OnDomainStart(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return Start(NameOf(domain), MessageOf(attributes));
}
void OnDomainEnd(nvtxDomainHandle_t, nvtxRangeId_t id) { End(id); }

// The address of an object that has the text, made at its first use and never destroyed.
template <typename Registration>
Registration* Registered(std::string text) {
  struct Less {
    bool operator()(const Registration& a, const Registration& b) const { return Key(a) < Key(b); }
    static const std::string& Key(const nvtxDomainRegistration_st& domain) { return domain.name; }
    static const std::string& Key(const nvtxStringRegistration_st& string) { return string.text; }
  };
  static auto* const mutex = new std::mutex;
  if (in_nvtx_fork) return new Registration{std::move(text)};
  static auto* const all = new std::set<Registration, Less>;
  const std::lock_guard lock(*mutex);
  // The key of a set is const; nobody writes to it.
  return const_cast<Registration*>(&*all->insert({std::move(text)}).first);
}

nvtxDomainHandle_t OnDomainA(const char* name) {
  return Registered<nvtxDomainRegistration_st>(name != nullptr ? name : "");
}
nvtxDomainHandle_t OnDomainW(const wchar_t* name) { return Registered<nvtxDomainRegistration_st>(Narrow(name)); }
nvtxStringHandle_t OnStringA(nvtxDomainHandle_t, const char* text) {
  return Registered<nvtxStringRegistration_st>(text != nullptr ? text : "?");
}
nvtxStringHandle_t OnStringW(nvtxDomainHandle_t, const wchar_t* text) {
  return Registered<nvtxStringRegistration_st>(Narrow(text));
}

// Writes functions of ours into a table of NVTX.
class Table {
 public:
  Table(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &functions_, &size_) == 0) size_ = 0;
  }
  bool exists() const { return size_ > 0; }
  template <typename Function>
  void Set(int id, Function* function) {
    if (static_cast<unsigned>(id) < size_) *functions_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable functions_ = nullptr;
  unsigned size_ = 0;
};

}  // namespace

bool TakeNvtx(NvtxTables tables) noexcept {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) return false;
  Table core(*callbacks, NVTX_CB_MODULE_CORE);
  Table core2(*callbacks, NVTX_CB_MODULE_CORE2);
  if (!core.exists()) return false;
  static std::once_flag once;
  std::call_once(once, [] { (void)pthread_atfork(nullptr, nullptr, [] { in_nvtx_fork = true; }); });
  core.Set(NVTX_CBID_CORE_RangePushA, OnPushA);
  core.Set(NVTX_CBID_CORE_RangePushW, OnPushW);
  core.Set(NVTX_CBID_CORE_RangePushEx, OnPushEx);
  core.Set(NVTX_CBID_CORE_RangePop, OnPop);
  core.Set(NVTX_CBID_CORE_RangeStartA, OnStartA);
  core.Set(NVTX_CBID_CORE_RangeStartW, OnStartW);
  core.Set(NVTX_CBID_CORE_RangeStartEx, OnStartEx);
  core.Set(NVTX_CBID_CORE_RangeEnd, OnEnd);
  core2.Set(NVTX_CBID_CORE2_DomainRangePushEx, OnDomainPush);
  core2.Set(NVTX_CBID_CORE2_DomainRangePop, OnDomainPop);
  core2.Set(NVTX_CBID_CORE2_DomainRangeStartEx, OnDomainStart);
  core2.Set(NVTX_CBID_CORE2_DomainRangeEnd, OnDomainEnd);
  core2.Set(NVTX_CBID_CORE2_DomainCreateA, OnDomainA);
  core2.Set(NVTX_CBID_CORE2_DomainCreateW, OnDomainW);
  core2.Set(NVTX_CBID_CORE2_DomainRegisterStringA, OnStringA);
  core2.Set(NVTX_CBID_CORE2_DomainRegisterStringW, OnStringW);
  return true;
}

NvtxRanges& ProcessNvtxRanges() {
  static auto* const ranges = new NvtxRanges;
  return *ranges;
}

NvtxRanges::Node CurrentNvtxRange() noexcept {
  if (!ProcessNvtxRanges().in_use()) return 0;
  NvtxStack* const stack = StackOfThisThread();
  return stack == nullptr ? 0 : stack->Current();
}

}  // namespace fa_profile::collect

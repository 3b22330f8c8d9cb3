#include "fa_profile/nvtx_callbacks.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cwchar>
#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

// A domain as the program holds it: by its address, forever.
struct nvtxDomainRegistration_st {
  std::string name;
};
// A registered string, likewise.
struct nvtxStringRegistration_st {
  std::string text;
};

namespace fa_profile::collect {
namespace {

// In a child of fork() nothing is recorded: a lock of ours may be held by a thread that does not exist there.
std::atomic<bool> in_nvtx_fork = false;

// A thread may still call NVTX while its thread-local objects are destroyed: from then on its ranges are not recorded.
thread_local bool stack_is_gone = false;
struct ThisThread {
  NvtxStack stack{ProcessNvtxRanges()};
  ~ThisThread() { stack_is_gone = true; }
};

NvtxStack* StackOfThisThread() {
  if (in_nvtx_fork || stack_is_gone) return nullptr;
  thread_local ThisThread thread;
  return &thread.stack;
}

std::int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr std::size_t kLongestText = 256;

std::string Text(const char* text) {
  return text != nullptr ? std::string(text, strnlen(text, kLongestText)) : std::string("?");
}

// Converts a wide string; characters outside ASCII, rare in names of ranges, become '?'.
std::string Text(const wchar_t* wide) {
  std::string text;
  for (; wide != nullptr && *wide != L'\0' && text.size() < kLongestText; ++wide) {
    text += *wide < 0x80 ? static_cast<char>(*wide) : '?';
  }
  return text;
}

std::string Text(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr) return "?";
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return Text(attributes->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return Text(attributes->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return attributes->message.registered != nullptr ? attributes->message.registered->text : "?";
    default:
      return "(no name)";
  }
}

std::string_view NameOf(nvtxDomainHandle_t domain) { return domain != nullptr ? std::string_view(domain->name) : ""; }

// Failures must not reach the program: an unrecorded range is a loss, an exception the program's end.
template <typename Body>
void WithStack(Body body) noexcept {
  try {
    if (NvtxStack* const stack = StackOfThisThread()) body(*stack);
  } catch (const std::exception&) {
    return;
  }
}

// What NVTX itself returns without a tool.
template <typename Name>
int Push(nvtxDomainHandle_t domain, const Name* name) noexcept {
  WithStack([&](NvtxStack& stack) { stack.Push(NameOf(domain), Text(name), NowNs()); });
  return NVTX_NO_PUSH_POP_TRACKING;
}
int Pop(nvtxDomainHandle_t domain) noexcept {
  WithStack([&](NvtxStack& stack) { stack.Pop(NameOf(domain), NowNs()); });
  return NVTX_NO_PUSH_POP_TRACKING;
}
template <typename Name>
nvtxRangeId_t Start(nvtxDomainHandle_t domain, const Name* name) noexcept {
  nvtxRangeId_t id = 0;
  WithStack([&](NvtxStack& stack) { id = stack.Start(NameOf(domain), Text(name), NowNs()); });
  return id;
}

int OnPushA(const char* name) noexcept { return Push(nullptr, name); }
int OnPushW(const wchar_t* name) noexcept { return Push(nullptr, name); }
int OnPushEx(const nvtxEventAttributes_t* attributes) noexcept { return Push(nullptr, attributes); }
int OnPop() noexcept { return Pop(nullptr); }
nvtxRangeId_t OnStartA(const char* name) noexcept { return Start(nullptr, name); }
nvtxRangeId_t OnStartW(const wchar_t* name) noexcept { return Start(nullptr, name); }
nvtxRangeId_t OnStartEx(const nvtxEventAttributes_t* attributes) noexcept { return Start(nullptr, attributes); }
void OnEnd(nvtxRangeId_t id) noexcept {
  if (!in_nvtx_fork) ProcessNvtxRanges().End(id, NowNs());
}

int OnDomainPush(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) noexcept {
  return Push(domain, attributes);
}
int OnDomainPop(nvtxDomainHandle_t domain) noexcept { return Pop(domain); }
nvtxRangeId_t OnDomainStart(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) noexcept {
  return Start(domain, attributes);
}
void OnDomainEnd(nvtxDomainHandle_t, nvtxRangeId_t id) noexcept { OnEnd(id); }

// NVTX's extension for ranges with data, which NCCL ends ranges with. The name of a range would be in the data.
int OnPushPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t*, std::size_t) noexcept {
  return Push(domain, "(no name)");
}
int OnPopPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t*, std::size_t) noexcept { return Pop(domain); }
nvtxRangeId_t OnStartPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t*, std::size_t) noexcept {
  return Start(domain, "(no name)");
}
void OnEndPayload(nvtxDomainHandle_t, nvtxRangeId_t id, const nvtxPayloadData_t*, std::size_t) noexcept { OnEnd(id); }

const std::string& KeyOf(const nvtxDomainRegistration_st& domain) { return domain.name; }
const std::string& KeyOf(const nvtxStringRegistration_st& string) { return string.text; }

// The address of an object with the text, created at first use and never destroyed. nullptr, as without a tool: there
// are too many, or nothing is recorded here.
template <typename Registration, typename Char>
Registration* Registered(const Char* text) noexcept {
  constexpr std::size_t kMostRegistered = std::size_t{1} << 16U;
  struct Less {
    bool operator()(const Registration& a, const Registration& b) const { return KeyOf(a) < KeyOf(b); }
  };
  if (in_nvtx_fork) return nullptr;
  try {
    static auto* const mutex = new std::mutex;
    static auto* const all = new std::set<Registration, Less>;
    const std::lock_guard lock(*mutex);
    Registration registration{Text(text)};
    const auto found = all->find(registration);
    // The keys of a set are const. The program only hands the pointer back.
    if (found != all->end()) return const_cast<Registration*>(&*found);
    if (all->size() >= kMostRegistered) return nullptr;
    return const_cast<Registration*>(&*all->insert(std::move(registration)).first);
  } catch (const std::exception&) {
    return nullptr;
  }
}

nvtxDomainHandle_t OnDomainA(const char* name) noexcept { return Registered<nvtxDomainRegistration_st>(name); }
nvtxDomainHandle_t OnDomainW(const wchar_t* name) noexcept { return Registered<nvtxDomainRegistration_st>(name); }
nvtxStringHandle_t OnStringA(nvtxDomainHandle_t, const char* text) noexcept {
  return Registered<nvtxStringRegistration_st>(text);
}
nvtxStringHandle_t OnStringW(nvtxDomainHandle_t, const wchar_t* text) noexcept {
  return Registered<nvtxStringRegistration_st>(text);
}

// Writes functions of ours into a table of NVTX.
class Table {
 public:
  Table(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &functions_, &size_) == 0) size_ = 0;
  }
  bool exists() const { return size_ > 0; }
  template <typename Function>
  void Set(int id, Function function) {
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
  PrepareNvtxForFork();
  (void)ProcessNvtxRanges();  // before a fork can come in between
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

bool TakeNvtxExtension(void* module) noexcept {
  const auto* const info = static_cast<const nvtxExtModuleInfo_t*>(module);
  if (info == nullptr || info->structSize < sizeof *info || info->moduleId != NVTX_EXT_PAYLOAD_MODULEID) return false;
  if (info->segmentsCount == 0 || info->segments == nullptr || info->segments->functionSlots == nullptr) return false;
  PrepareNvtxForFork();
  (void)ProcessNvtxRanges();
  const auto set = [&](std::size_t id, auto function) {
    if (id < info->segments->slotCount) info->segments->functionSlots[id] = reinterpret_cast<std::intptr_t>(function);
  };
  set(NVTX3EXT_CBID_nvtxRangePushPayload, OnPushPayload);
  set(NVTX3EXT_CBID_nvtxRangePopPayload, OnPopPayload);
  set(NVTX3EXT_CBID_nvtxRangeStartPayload, OnStartPayload);
  set(NVTX3EXT_CBID_nvtxRangeEndPayload, OnEndPayload);
  return true;
}

void PrepareNvtxForFork() noexcept {
  static std::atomic<bool> prepared = false;
  if (!prepared.exchange(true)) (void)pthread_atfork(nullptr, nullptr, [] { in_nvtx_fork = true; });
}

NvtxRanges& ProcessNvtxRanges() {
  if (in_nvtx_fork) {  // a child that is the first to use CUDA is watched, but without ranges
    static auto* const none = new NvtxRanges;
    return *none;
  }
  static auto* const ranges = new NvtxRanges;
  return *ranges;
}

NvtxRanges::Node CurrentNvtxRange() noexcept {
  if (!ProcessNvtxRanges().in_use()) return 0;
  NvtxStack* const stack = StackOfThisThread();
  return stack == nullptr ? 0 : stack->Current();
}

}  // namespace fa_profile::collect

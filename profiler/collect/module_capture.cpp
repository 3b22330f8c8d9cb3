#include <cupti.h>
#include <cupti_pcsampling.h>

#include <algorithm>
#include <limits>
#include <new>

#include "check_cupti.h"
#include "cupti_objects.h"
#include "fa_profile/loaded_modules.h"

namespace fa_profile::collect {

namespace {

std::uint64_t CubinCrc(const std::vector<std::uint8_t>& cubin) {
  const auto params =
      CallCupti(cuptiGetCubinCrc, "cuptiGetCubinCrc",
                {.size = CUpti_GetCubinCrcParamsSize, .cubinSize = cubin.size(), .cubin = cubin.data()});
  return params.cubinCrc;
}

// A cubin names it in its table of symbols: with the NUL after it, a name is not just the beginning of another.
bool HoldsName(const std::vector<std::uint8_t>& cubin, const std::string& name) {
  const char* const begin = name.c_str();
  return name.empty() || std::search(cubin.begin(), cubin.end(), begin, begin + name.size() + 1) != cubin.end();
}

class CuptiModuleCapture final : public ModuleCapture {
 public:
  CuptiModuleCapture();
  ~CuptiModuleCapture() override { (void)cuptiUnsubscribe(subscriber_); }
  CuptiModuleCapture(const CuptiModuleCapture&) = delete;
  CuptiModuleCapture& operator=(const CuptiModuleCapture&) = delete;

  const std::vector<std::uint8_t>* Find(std::uint64_t crc) override { return modules_.Find(crc); }

 private:
  LoadedModules modules_{std::numeric_limits<std::size_t>::max()};
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

CuptiModuleCapture::CuptiModuleCapture() {
  const auto on_callback = [](void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept {
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || id != CUPTI_CBID_RESOURCE_MODULE_LOADED) return;
    static_cast<CuptiModuleCapture*>(user)->modules_.Add(CubinOf(*static_cast<const CUpti_ResourceData*>(data)));
  };
  CheckCupti(cuptiSubscribe(&subscriber_, on_callback, this), "cuptiSubscribe");
  CheckCupti(cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED),
             "cuptiEnableCallback");
}

}  // namespace

void LoadedModules::Add(std::span<const std::uint8_t> cubin) noexcept {
  if (cubin.empty()) return;
  try {
    const std::lock_guard lock(mutex_);
    if (cubin.size() > most_bytes_ - bytes_) return;  // its samples will have an unknown cubin
    loaded_.emplace_back(cubin.begin(), cubin.end());
    bytes_ += cubin.size();
  } catch (const std::bad_alloc&) {
    return;
  }
}

const std::vector<std::uint8_t>* LoadedModules::Find(std::uint64_t crc, const std::string& function) {
  const std::lock_guard lock(mutex_);
  while (!loaded_.empty()) {
    const std::uint64_t key = CubinCrc(loaded_.front());
    by_crc_.emplace(key, std::move(loaded_.front()));
    loaded_.pop_front();
  }
  const std::vector<std::uint8_t>* found = nullptr;
  const auto [begin, end] = by_crc_.equal_range(crc);
  for (auto place = begin; place != end; ++place) {
    const std::vector<std::uint8_t>& cubin = place->second;
    if (!HoldsName(cubin, function) || (found != nullptr && *found == cubin)) continue;
    if (found != nullptr && !function.empty()) return nullptr;
    found = &cubin;
  }
  return found;
}

std::span<const std::uint8_t> CubinOf(const CUpti_ResourceData& loaded) noexcept {
  const auto& module = *static_cast<const CUpti_ModuleResourceData*>(loaded.resourceDescriptor);
  if (module.pCubin == nullptr) return {};
  return {reinterpret_cast<const std::uint8_t*>(module.pCubin), module.cubinSize};
}

std::unique_ptr<ModuleCapture> CaptureModules() { return std::make_unique<CuptiModuleCapture>(); }

}  // namespace fa_profile::collect

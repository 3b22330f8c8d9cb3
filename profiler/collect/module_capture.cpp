#include <cupti.h>
#include <cupti_pcsampling.h>

#include <list>
#include <map>
#include <mutex>
#include <new>

#include "check_cupti.h"
#include "cupti_objects.h"

namespace fa_profile::collect {

namespace {

std::uint64_t CubinCrc(const std::vector<std::uint8_t>& cubin) {
  const auto params =
      CallCupti(cuptiGetCubinCrc, "cuptiGetCubinCrc",
                {.size = CUpti_GetCubinCrcParamsSize, .cubinSize = cubin.size(), .cubin = cubin.data()});
  return params.cubinCrc;
}

class CuptiModuleCapture final : public ModuleCapture {
 public:
  CuptiModuleCapture();
  ~CuptiModuleCapture() override { (void)cuptiUnsubscribe(subscriber_); }
  CuptiModuleCapture(const CuptiModuleCapture&) = delete;
  CuptiModuleCapture& operator=(const CuptiModuleCapture&) = delete;

  const std::vector<std::uint8_t>* Find(std::uint64_t crc) override;

 private:
  std::mutex mutex_;
  std::list<std::vector<std::uint8_t>> loaded_;  // without a CRC, which takes time, until Find() needs it
  std::map<std::uint64_t, std::vector<std::uint8_t>> by_crc_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

CuptiModuleCapture::CuptiModuleCapture() {
  const auto on_callback = [](void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept {
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || id != CUPTI_CBID_RESOURCE_MODULE_LOADED) return;
    const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
    const auto& module = *static_cast<const CUpti_ModuleResourceData*>(resource.resourceDescriptor);
    if (module.pCubin == nullptr) return;
    auto* const capture = static_cast<CuptiModuleCapture*>(user);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(module.pCubin);
    try {
      const std::lock_guard lock(capture->mutex_);
      capture->loaded_.emplace_back(bytes, bytes + module.cubinSize);
    } catch (const std::bad_alloc&) {
      return;  // its samples will be of an unknown cubin
    }
  };
  CheckCupti(cuptiSubscribe(&subscriber_, on_callback, this), "cuptiSubscribe");
  CheckCupti(cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED),
             "cuptiEnableCallback");
}

const std::vector<std::uint8_t>* CuptiModuleCapture::Find(std::uint64_t crc) {
  const std::lock_guard lock(mutex_);
  while (!loaded_.empty()) {
    const std::uint64_t key = CubinCrc(loaded_.front());
    by_crc_.insert_or_assign(key, std::move(loaded_.front()));
    loaded_.pop_front();
  }
  const auto found = by_crc_.find(crc);
  return found == by_crc_.end() ? nullptr : &found->second;
}

}  // namespace

std::unique_ptr<ModuleCapture> CaptureModules() { return std::make_unique<CuptiModuleCapture>(); }

}  // namespace fa_profile::collect

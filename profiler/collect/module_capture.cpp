#include "module_capture.h"

#include <cupti.h>
#include <cupti_pcsampling.h>

#include <list>
#include <mutex>
#include <new>

#include "check_cupti.h"

namespace fa_profile {

struct ModuleCapture::Impl {
  std::mutex mutex;
  std::list<std::vector<std::uint8_t>> loaded;  // a CRC takes time: only when somebody asks
  std::map<std::uint64_t, std::vector<std::uint8_t>> by_crc;
  CUpti_SubscriberHandle subscriber = nullptr;
};

namespace {

std::uint64_t CubinCrc(const std::vector<std::uint8_t>& cubin) {
  CUpti_GetCubinCrcParams params = {};
  params.size = CUpti_GetCubinCrcParamsSize;
  params.cubinSize = cubin.size();
  params.cubin = cubin.data();
  CheckCupti(cuptiGetCubinCrc(&params), "cuptiGetCubinCrc");
  return params.cubinCrc;
}

}  // namespace

ModuleCapture::ModuleCapture() : impl_(new Impl) {
  const auto on_callback = [](void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept {
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || id != CUPTI_CBID_RESOURCE_MODULE_LOADED) return;
    const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
    const auto& module = *static_cast<const CUpti_ModuleResourceData*>(resource.resourceDescriptor);
    if (module.pCubin == nullptr) return;
    auto* const impl = static_cast<Impl*>(user);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(module.pCubin);
    try {
      const std::lock_guard lock(impl->mutex);
      impl->loaded.emplace_back(bytes, bytes + module.cubinSize);
    } catch (const std::bad_alloc&) {
      return;  // its samples will be of an unknown cubin
    }
  };
  CheckCupti(cuptiSubscribe(&impl_->subscriber, on_callback, impl_), "cuptiSubscribe");
  CheckCupti(cuptiEnableCallback(1, impl_->subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED),
             "cuptiEnableCallback");
}

ModuleCapture::~ModuleCapture() {
  (void)cuptiUnsubscribe(impl_->subscriber);
  delete impl_;
}

const std::vector<std::uint8_t>* ModuleCapture::Find(std::uint64_t crc) {
  const std::lock_guard lock(impl_->mutex);
  while (!impl_->loaded.empty()) {
    const std::uint64_t key = CubinCrc(impl_->loaded.front());
    impl_->by_crc.insert_or_assign(key, std::move(impl_->loaded.front()));
    impl_->loaded.pop_front();
  }
  const auto found = impl_->by_crc.find(crc);
  return found == impl_->by_crc.end() ? nullptr : &found->second;
}

std::size_t ModuleCapture::size() const { return impl_->loaded.size() + impl_->by_crc.size(); }

}  // namespace fa_profile

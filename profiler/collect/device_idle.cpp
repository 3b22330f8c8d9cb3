#include "fa_profile/device_idle.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "cuda_api.h"

namespace fa_profile {

// Also the thread's, which may outlive its DeviceIdle.
struct DeviceIdle::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;
  bool ends = false;
};

DeviceIdle::DeviceIdle() : shared_(std::make_shared<Shared>()) {
  CUcontext const context = CurrentContext();
  std::thread([shared = shared_, context] {
    auto* const set = reinterpret_cast<CUresult (*)(CUcontext)>(DriverEntry("cuCtxSetCurrent"));
    auto* const synchronize = reinterpret_cast<CUresult (*)()>(DriverEntry("cuCtxSynchronize"));
    if (set == nullptr || synchronize == nullptr || set(context) != CUDA_SUCCESS) return;
    std::unique_lock lock(shared->mutex);
    while (true) {
      shared->changed.wait(lock, [&] { return shared->ends || shared->asked > shared->answered; });
      if (shared->ends) return;
      const std::uint64_t question = shared->asked;
      lock.unlock();
      (void)synchronize();
      lock.lock();
      shared->answered = question;
      shared->changed.notify_all();
    }
  }).detach();
}

DeviceIdle::~DeviceIdle() {
  const std::lock_guard lock(shared_->mutex);
  shared_->ends = true;
  shared_->changed.notify_all();
}

bool DeviceIdle::Wait(double seconds) {
  std::unique_lock lock(shared_->mutex);
  const std::uint64_t question = ++shared_->asked;
  shared_->changed.notify_all();
  return shared_->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                   [&] { return shared_->answered >= question; });
}

}  // namespace fa_profile

#include "fa_profile/device_idle.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "cuda_api.h"
#include "fa_profile/quiet_thread.h"

namespace fa_profile::collect {

// Shared with the thread, which may outlive its DeviceIdle.
struct DeviceIdle::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool wanted = false;     // a thread waits for an answer to a question not taken up yet
  bool busy = false;       // the context is being waited for
  std::uint64_t done = 0;  // waits that ended
  bool ends = false;
};

DeviceIdle::DeviceIdle() : DeviceIdle(CurrentContext()) {}

DeviceIdle::DeviceIdle(const void* of_context) : shared_(std::make_shared<Shared>()) {
  auto* const context = static_cast<CUcontext>(const_cast<void*>(of_context));
  StartQuietThread([shared = shared_, context] {
    auto* const set = reinterpret_cast<CUresult (*)(CUcontext)>(DriverEntry("cuCtxSetCurrent"));
    auto* const synchronize = reinterpret_cast<CUresult (*)()>(DriverEntry("cuCtxSynchronize"));
    if (set == nullptr || synchronize == nullptr || set(context) != CUDA_SUCCESS) return;
    std::unique_lock lock(shared->mutex);
    while (true) {
      shared->changed.wait(lock, [&] { return shared->ends || shared->wanted; });
      if (shared->ends) return;
      shared->wanted = false;
      shared->busy = true;
      lock.unlock();
      (void)synchronize();
      lock.lock();
      shared->busy = false;
      ++shared->done;
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
  // A wait already under way began before the work in question.
  const std::uint64_t answer = shared_->done + (shared_->busy ? 2 : 1);
  shared_->wanted = true;
  shared_->changed.notify_all();
  const bool idle =
      shared_->changed.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return shared_->done >= answer; });
  // Withdrawn: a stream may be capturing by the time it is taken up, and waiting would end its capture.
  if (!idle) shared_->wanted = false;
  return idle;
}

}  // namespace fa_profile::collect

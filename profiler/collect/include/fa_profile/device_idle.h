#pragma once

#include <memory>

namespace fa_profile::collect {

/// Waits, with a bound, until all work of a context is done. CUDA's own waits have none, and a kernel may wait for what
/// the waiting thread would launch next.
class DeviceIdle {
 public:
  /// Of the calling thread's context. Throws Error: it has none.
  DeviceIdle();
  /// Of this context, a CUcontext. Throws Error: no thread can be started.
  explicit DeviceIdle(const void* context);
  /// Leaves a wait that does not end to itself.
  ~DeviceIdle();
  DeviceIdle(const DeviceIdle&) = delete;
  DeviceIdle& operator=(const DeviceIdle&) = delete;

  /// True: the context was idle, or its device reports an error. False: not within `seconds`; later calls ask again.
  bool Wait(double seconds);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace fa_profile::collect

#pragma once

#include <memory>

namespace fa_profile::collect {

/// Waits, with a timeout, until all work in a context is done. CUDA's own waits have none, and a kernel may wait for
/// what the waiting thread would launch next.
class DeviceIdle {
 public:
  /// For the calling thread's context. Throws Error: it has none.
  DeviceIdle();
  /// For this context, a CUcontext. Throws Error: no thread can be started.
  explicit DeviceIdle(const void* context);
  /// Abandons a wait that does not end.
  ~DeviceIdle();
  DeviceIdle(const DeviceIdle&) = delete;
  DeviceIdle& operator=(const DeviceIdle&) = delete;

  /// True: the context was idle, or its device reports an error. False: not within `seconds`; later calls try again.
  bool Wait(double seconds);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace fa_profile::collect

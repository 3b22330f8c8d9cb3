#include "fa_profile/stack_room.h"

#include <pthread.h>

#include <cstdint>

namespace fa_profile::collect {
namespace {

struct Bounds {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
};

// For the main thread this reads /proc: once is enough.
Bounds BoundsOfThisThread() noexcept {
  Bounds bounds;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return bounds;
  void* low = nullptr;
  std::size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
    bounds.low = reinterpret_cast<std::uintptr_t>(low);
    bounds.high = bounds.low + bytes;
  }
  (void)pthread_attr_destroy(&attributes);
  return bounds;
}

}  // namespace

std::optional<std::size_t> StackRoom() noexcept {
  thread_local const Bounds kBounds = BoundsOfThisThread();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (here < kBounds.low || here >= kBounds.high) return std::nullopt;
  return here - kBounds.low;
}

}  // namespace fa_profile::collect

#include "fa_profile/small_stacks.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>

#include "fa_profile/notice.h"

namespace fa_profile::collect {
namespace {

constexpr std::size_t kLeastStackRoom = std::size_t{512} << 10U;

struct Bounds {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
};

// Of the main thread this reads /proc: once is enough.
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

/// Bytes of this thread's stack below the caller; absent: it runs on another stack.
std::optional<std::size_t> StackRoom() noexcept {
  thread_local const Bounds kBounds = BoundsOfThisThread();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (here < kBounds.low || here >= kBounds.high) return std::nullopt;
  return here - kBounds.low;
}

}  // namespace

bool SmallStacks::IsHere() noexcept { return StackRoom().value_or(kLeastStackRoom) < kLeastStackRoom; }

void SmallStacks::Warn() noexcept {
  if (warned_) return;
  warned_ = true;
  try {
    Notice(
        fmt::format("a thread with {} KiB of stack left launches: CUPTI's PC sampling may need more, and the program "
                    "would end by SIGSEGV; --phases off does not sample",
                    StackRoom().value_or(0) >> 10U));
  } catch (const std::exception&) {
    return;
  }
}

std::vector<DataLoss> SmallStacks::Losses() const {
  if (skipped_ == 0) return {};
  return {{"launch_not_measured", "launches on a small stack",
           fmt::format("to measure one, its thread must have {} KiB of stack left", kLeastStackRoom >> 10U), skipped_}};
}

}  // namespace fa_profile::collect

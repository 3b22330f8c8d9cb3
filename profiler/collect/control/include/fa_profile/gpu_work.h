#pragma once

#include <array>
#include <cstdint>

namespace fa_profile::collect {

/// One kernel, copy or set that a GPU ran, as CUPTI's activity API recorded it.
struct GpuWork {
  enum class Kind { kKernel, kCopy, kSet };
  Kind kind = Kind::kKernel;
  /// Mangled name of the kernel, or what a copy moved ("copy host to device"). Valid during the call that hands it
  /// over.
  const char* name = "";
  std::array<int, 3> grid{};
  std::array<int, 3> block{};
  std::array<int, 3> cluster{};  ///< 0: launched without clusters
  int registers_per_thread = 0;
  std::int64_t static_shared_memory_bytes = 0;
  std::int64_t dynamic_shared_memory_bytes = 0;
  std::int64_t local_memory_per_thread_bytes = 0;
  std::int64_t shared_memory_config_bytes = 0;
  std::int64_t bytes = 0;     ///< size of a copy or set
  std::int64_t start_ns = 0;  ///< activity clock; start 0 or an end before it: CUPTI had no times
  std::int64_t end_ns = 0;
  std::uint32_t device = 0;  ///< CUDA's ordinal
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;  ///< the same for all work of a graph launch
  std::uint32_t graph = 0;        ///< CUPTI's id of the executable graph that launched it; 0: none
  std::uint64_t graph_node = 0;   ///< CUPTI's id of its node
};

/// Takes what the GPU ran. Called on threads of CUPTI and of the program, one at a time.
class WorkObserver {
 public:
  virtual ~WorkObserver() = default;
  virtual void OnWork(const GpuWork& work) noexcept = 0;
  /// CUPTI dropped this many records.
  virtual void OnLostWork(std::int64_t records) noexcept = 0;
};

}  // namespace fa_profile::collect

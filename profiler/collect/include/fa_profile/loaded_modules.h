#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace fa_profile::collect {

/// Copies of the machine code that a process loads. Any thread.
class LoadedModules {
 public:
  /// Modules that would push the copies' size over `most_bytes` are not kept.
  explicit LoadedModules(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  void Add(std::span<const std::uint8_t> cubin) noexcept;
  /// The cubin with CUPTI's CRC that contains `function` (mangled; empty: any). Different cubins may share a CRC.
  /// nullptr: none was kept, or two different ones contain it. Valid as long as this.
  const std::vector<std::uint8_t>* Find(std::uint64_t crc, const std::string& function = {});

 private:
  const std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::mutex mutex_;
  std::list<std::vector<std::uint8_t>> loaded_;  // stored without a CRC, which takes time, until Find() needs it
  std::multimap<std::uint64_t, std::vector<std::uint8_t>> by_crc_;
};

}  // namespace fa_profile::collect

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace fa_profile {

/// Keeps the machine code of every module that the process loads from now on, by CUPTI's CRC. One per process; it
/// takes CUPTI's only subscriber. Construct before the first CUDA call: what is loaded earlier is not seen.
class ModuleCapture {
 public:
  ModuleCapture();
  ~ModuleCapture();
  ModuleCapture(const ModuleCapture&) = delete;
  ModuleCapture& operator=(const ModuleCapture&) = delete;

  /// The cubin with this CRC; nothing when it was loaded before the capture began.
  const std::vector<std::uint8_t>* Find(std::uint64_t crc);
  std::size_t size() const;

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace fa_profile

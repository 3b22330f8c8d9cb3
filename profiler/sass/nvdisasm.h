#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/child_process.h"
#include "fa_profile/nameless_file.h"
#include "fa_profile/recording.h"

namespace fa_profile::sass {

/// How to install it: the hint of errors.
inline constexpr const char* kInstallNvdisasm =
    "install NVIDIA's nvdisasm of CUDA 13 or later (`pip install nvidia-cuda-nvdisasm`), or set "
    "FA_PROFILE_NVDISASM=/path/to/nvdisasm";

/// Runs nvdisasm on a cubin in a file.
class Nvdisasm {
 public:
  /// `indices`: of the symbols of the functions to list; empty: all. `program` must outlive it. Throws Error if the
  /// file cannot be written.
  Nvdisasm(std::span<const std::uint8_t> cubin, const std::string& program, std::string indices, int sm);

  /// CUDA 13's nvdisasm crashes with -json on some cubins that it lists as text. Throws Error.
  std::vector<DeviceFunction> List() const;

  /// The same, but absent if it fails with -json.
  std::optional<std::vector<DeviceFunction>> ListAsJson() const;

 private:
  ChildEnd Run(const std::string& form) const;
  [[noreturn]] void Refuse(const ChildEnd& end) const;

  NamelessFile file_;
  const std::string& program_;
  std::string indices_;
  int sm_;
};

}  // namespace fa_profile::sass

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fa_profile::sass {

/// The most bytes of a program, library or cubin that is read. Libraries of machine learning have gigabytes.
inline constexpr std::size_t kLargestProgram = std::size_t{4} << 30U;

/// A cubin found in a file.
struct EmbeddedCubin {
  std::string name;          ///< as cuobjdump names it, or the file's own name
  std::string architecture;  ///< "sm_90a" where cuobjdump names it, else "sm_90"
  std::vector<std::uint8_t> bytes;
};

/// Where NVIDIA's cuobjdump is: FA_PROFILE_CUOBJDUMP, else as FindNvdisasm().
std::optional<std::string> FindCuobjdump();

/// The cubins in a .cubin file, or, through cuobjdump, in an object file, executable, shared or static library. With
/// `architecture` ("sm_90a", "sm_90" for both, "90") only those built for it. Throws Error, with what to do, when the
/// file cannot be read, holds no GPU code, only PTX, or none for the architecture, or needs a cuobjdump that is not
/// installed.
std::vector<EmbeddedCubin> ReadGpuCode(const std::string& path, const std::string& architecture = {});

}  // namespace fa_profile::sass

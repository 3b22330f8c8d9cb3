#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/private_folder.h"

namespace fa_profile::sass {

/// Runs `read`, whose Error gets the name of `file` unless it has it: readers of machine code know bytes alone.
void InFile(const std::string& file, const std::function<void()>& read);

/// The most bytes of a program, library or cubin that is read. Libraries of machine learning have gigabytes.
inline constexpr std::size_t kLargestProgram = std::size_t{4} << 30U;

/// A file holds no GPU code: host code alone, even if it has an empty section for fatbins, or no code.
class NoGpuCode : public Error {
 public:
  using Error::Error;
};

/// A cubin found in a file.
struct EmbeddedCubin {
  std::string name;          ///< as cuobjdump names it, or the file's own name
  std::string architecture;  ///< "sm_90a" where cuobjdump names it, else "sm_90"
  std::vector<std::uint8_t> bytes;
};

/// Where NVIDIA's cuobjdump is: FA_PROFILE_CUOBJDUMP, else as FindNvdisasm().
std::optional<std::string> FindCuobjdump();

/// Whether a cubin, a fatbin, an ELF file or a static library begins so.
bool BeginsLikeGpuCode(std::string_view bytes);

/// Whether the file is a cubin or a fatbin, or an ELF file or a static library with a section for fatbins. Such a
/// section may still be empty. Throws Error: it cannot be read, or is an ELF file that is cut off.
bool MayHoldGpuCode(const std::string& path);

/// The cubins of a file, which lie in a private folder until they are read, one at a time: a library may hold more than
/// fits into memory.
class CubinSet {
 public:
  /// As ReadGpuCode(), and throws as it does. `limit_s`: how long cuobjdump may take.
  explicit CubinSet(const std::string& path, const std::string& architecture = {}, double limit_s = 120.0);

  std::size_t size() const { return files_.size(); }
  const std::string& name(std::size_t i) const { return files_[i].name; }
  std::uint64_t bytes(std::size_t i) const { return files_[i].bytes; }
  /// From any thread. Throws Error.
  EmbeddedCubin Read(std::size_t i) const;

 private:
  struct File {
    std::string name;
    std::string architecture;
    std::string path;
    std::uint64_t bytes = 0;
  };
  std::unique_ptr<PrivateFolder> folder_;  // absent: the file itself is a cubin
  std::vector<File> files_;
};

/// The cubins in a .cubin file, or, through cuobjdump, in an object file, executable, shared or static library. With
/// `architecture` ("sm_90a", "sm_90" for both, "90") only those built for it. Throws Error, with what to do, when the
/// file cannot be read, holds no GPU code, only PTX, or none for the architecture, or needs a cuobjdump that is not
/// installed: NoGpuCode for the second.
std::vector<EmbeddedCubin> ReadGpuCode(const std::string& path, const std::string& architecture = {});

}  // namespace fa_profile::sass

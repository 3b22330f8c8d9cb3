#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/machine_code.h"

namespace fa_profile::sass {

/// The error, with the name of `file` unless it is there already: readers of machine code only know bytes.
Error InFile(const std::string& file, const Error& error);

/// A file has no GPU code: only host code, even with an empty section for fatbins, or no code; or PTX without kernels.
class NoGpuCode : public Error {
 public:
  using Error::Error;
};

/// A cubin that was read.
struct EmbeddedCubin {
  std::string name;          ///< CodeImage::name
  std::string architecture;  ///< CodeImage::architecture
  std::vector<std::uint8_t> bytes;
};

/// Whether these are the first bytes of a cubin, a fatbin, an ELF file or a static library.
bool BeginsLikeGpuCode(std::string_view bytes);

/// Whether the file contains a CodeImage, even a damaged one, wherever it is. Throws Error: it cannot be read.
bool MayHoldGpuCode(const std::string& path);

/// Whether code for `architecture` matches a request. "90" and "sm_90" also match 90a; a cubin that does not state its
/// letter matches any.
bool IsForArchitecture(std::string_view architecture, std::string_view asked);

/// The relevant machine code of a file: `cubins`, and `unread`, whose member of that name has the reason. Together they
/// are everything that was found, except PTX, and intermediate and relocatable code whose machine code is also there.
struct CodeSelection {
  std::vector<CodeImage> cubins;
  std::vector<CodeImage> unread;
};

/// With `architecture` ("sm_90a", "sm_90" for both, "90") only code for it, and what may be for it.
CodeSelection SelectCode(const MachineCode& code, const std::string& architecture = {});

/// Throws Error if `selection`, of the file's code, has no cubin: in one sentence what the file has instead (cubins for
/// other architectures, damaged code, PTX), and what to do. NoGpuCode: it has none of these.
void RequireCubins(const CodeSelection& selection, const MachineCode& code, const std::string& path,
                   const std::string& architecture);

/// The cubins of a file, all in memory. Throws Error like RequireCubins(), and if any code cannot be read.
std::vector<EmbeddedCubin> ReadGpuCode(const std::string& path, const std::string& architecture = {});

}  // namespace fa_profile::sass

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/machine_code.h"

namespace fa_profile::sass {

/// Runs `read`, whose Error gets the name of `file` unless it has it: readers of machine code know bytes alone.
void InFile(const std::string& file, const std::function<void()>& read);

/// A file holds no GPU code: host code alone, even if it has an empty section for fatbins, or no code.
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

/// Whether a cubin, a fatbin, an ELF file or a static library begins so.
bool BeginsLikeGpuCode(std::string_view bytes);

/// Whether the file begins so and holds a CodeImage, be it damaged. Throws Error: it cannot be read.
bool MayHoldGpuCode(const std::string& path);

/// The machine code of a file that counts: `cubins`, and `unread`, whose member of that name has the reason. Together
/// they are all that was found. Not among them: PTX, intermediate and relocatable code that has machine code, too.
struct CodeSelection {
  std::vector<CodeImage> cubins;
  std::vector<CodeImage> unread;
};

/// With `architecture` ("sm_90a", "sm_90" for both, "90") only code for it, and what may be for it. Throws Error, with
/// what to do: NoGpuCode, or no cubin is left: the file holds only PTX, only damaged code, or none for the
/// architecture.
CodeSelection SelectCode(const MachineCode& code, const std::string& path, const std::string& architecture = {});

/// The cubins of a file, all in memory. Throws Error as SelectCode(), and when any code cannot be read.
std::vector<EmbeddedCubin> ReadGpuCode(const std::string& path, const std::string& architecture = {});

}  // namespace fa_profile::sass

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elf_file.h"

namespace fa_profile::sass {

/// Functions from several cubins as one cubin, to be disassembled together: nvdisasm takes longer to start than to read
/// most cubins. It contains only their code.
///
/// Only functions of linked cubins for one architecture and layout fit, and none that calls code outside itself by
/// name: such calls would lose their names.
class CodeBundle {
 public:
  /// Whether the function fits. `cubin`: the bytes that `elf` was read from.
  bool Fits(std::span<const std::uint8_t> cubin, const ElfFile& elf, const ElfFile::Symbol& function) const;
  /// Adds a function that fits. Its bytes must outlive the bundle.
  void Add(std::span<const std::uint8_t> cubin, const ElfFile& elf, const ElfFile::Symbol& function);

  std::span<const std::uint8_t> CodeOf(std::size_t function) const { return functions_[function].code; }
  /// What decides how code is printed: the architecture, and the version of its layout.
  std::string Layout() const;
  /// A bundle of other code with the header and the attributes of this one. The code must outlive it.
  CodeBundle With(const std::vector<std::span<const std::uint8_t>>& codes) const;

  std::vector<std::uint8_t> ToElf() const;
  /// Index, in the order added, of the function with this name in ToElf(). Nothing for other names.
  std::optional<std::size_t> IndexOf(std::string_view name) const;

 private:
  struct Function {
    std::span<const std::uint8_t> code;
    std::uint32_t type = 0;
    std::uint64_t flags = 0;
    std::uint32_t info = 0;
  };
  std::vector<std::uint8_t> header_;  // the first cubin's
  std::vector<Function> functions_;
};

}  // namespace fa_profile::sass

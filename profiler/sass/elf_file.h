#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace fa_profile::sass {

/// The first bytes of a 64-bit ELF file.
inline constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF\x02";

/// Every CUDA architecture since Volta encodes an instruction in 16 bytes.
inline constexpr std::uint32_t kInstructionBytes = 16;

inline constexpr std::size_t kMachineOffset = 18;   ///< offset of e_machine, two little-endian bytes
inline constexpr std::uint16_t kMachineCuda = 190;  ///< EM_CUDA
/// Types of sections without bytes in the file; the second: .nv.shared of relocatable code.
inline constexpr std::uint32_t kNoBits = 8;
inline constexpr std::uint32_t kCudaShared = 0x7000000a;

/// Whether a cubin begins here: ELF for the machine EM_CUDA.
bool IsCubin(std::string_view bytes);

/// A cubin's ELF structure: views into the bytes that it was read from, which must outlive it.
struct ElfFile {
  struct Section {
    std::string_view name;
    std::uint32_t type = 0;
    std::uint64_t flags = 0;
    std::uint64_t size = 0;               ///< in memory
    std::span<const std::uint8_t> bytes;  ///< in the file; empty if the section has none
    std::uint32_t link = 0;
    std::uint32_t info = 0;
  };
  struct Symbol {
    std::string_view name;
    std::uint32_t section = 0;
    std::uint64_t value = 0;
    std::uint64_t size = 0;
    bool is_function = false;
    bool is_kernel = false;
  };
  /// A place in a section where an address must be filled in.
  struct Relocation {
    std::uint64_t offset = 0;
    std::uint32_t symbol = 0;
    std::uint64_t addend = 0;  ///< 0 if the section itself holds it
  };

  int sm = 0;              ///< 90: compute capability 9.0
  bool is_linked = false;  ///< false: relocatable device code that nvlink has not seen yet
  std::vector<Section> sections;
  std::vector<Symbol> symbols;

  std::map<std::string_view, std::uint32_t> by_name;  ///< index of a section

  const Section* Find(std::string_view name) const;  ///< null if there is none
  std::vector<Relocation> Relocations(std::string_view section) const;
  /// The functions that own a whole code section: kernels, and subroutines that are not inside one. Their indices in
  /// `symbols`, by section.
  std::map<std::uint32_t, std::uint32_t> OuterFunctions() const;
};

/// Reads a cubin. Throws an Error that names the cure if the bytes are not a cubin, are cut off, or lack symbols.
ElfFile ReadElf(std::span<const std::uint8_t> bytes);

}  // namespace fa_profile::sass

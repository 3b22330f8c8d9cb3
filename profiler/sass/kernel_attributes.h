#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "byte_reader.h"
#include "elf_file.h"

namespace fa_profile::sass {

/// An attribute in .nv.info: four bytes (format, attribute, and its value or the size of what follows).
struct Attribute {
  std::uint8_t id = 0;
  std::uint16_t value = 0;
  ByteReader payload{{}};
};

/// The attributes in a section; none if it is null. Throws Error if it is cut off.
std::vector<Attribute> ReadAttributes(const ElfFile::Section* section);

/// The possible targets of a kernel's indirect branches (BRX), by the offset of the branch: all offsets in its code
/// section. Branches that the compiler did not describe are missing.
std::map<std::uint32_t, std::vector<std::uint32_t>> ReadIndirectBranches(const ElfFile& elf, std::string_view kernel);

}  // namespace fa_profile::sass

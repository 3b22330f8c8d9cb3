#include "kernel_attributes.h"

#include <string>

namespace fa_profile::sass {

std::vector<Attribute> ReadAttributes(const ElfFile::Section* section) {
  std::vector<Attribute> attributes;
  if (section == nullptr) return attributes;
  ByteReader reader(section->bytes);
  while (reader.left() >= 4) {
    constexpr std::uint8_t kWithPayload = 4;
    const std::uint8_t format = reader.U8();
    Attribute attribute{.id = reader.U8(), .value = reader.U16()};
    if (format == kWithPayload) attribute.payload = reader.Take(attribute.value);
    attributes.push_back(attribute);
  }
  return attributes;
}

std::map<std::uint32_t, std::vector<std::uint32_t>> ReadIndirectBranches(const ElfFile& elf, std::string_view kernel) {
  constexpr std::uint8_t kIndirectBranchTargets = 0x34;
  constexpr std::size_t kHeadBytes = 12;  // the branch, four bytes that are zero, the number of targets
  std::map<std::uint32_t, std::vector<std::uint32_t>> branches;
  for (Attribute& attribute : ReadAttributes(elf.Find(".nv.info." + std::string(kernel)))) {
    ByteReader& payload = attribute.payload;
    while (attribute.id == kIndirectBranchTargets && payload.left() >= kHeadBytes) {
      std::vector<std::uint32_t>& targets = branches[payload.U32()];
      payload.Take(4);
      for (std::uint32_t left = payload.U32(); left > 0; --left) targets.push_back(payload.U32());
    }
  }
  return branches;
}

}  // namespace fa_profile::sass

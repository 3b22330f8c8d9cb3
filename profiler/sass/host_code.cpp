#include "fa_profile/host_code.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "byte_reader.h"
#include "elf_file.h"
#include "fa_profile/files.h"
#include "fa_profile/text.h"

namespace fa_profile::sass {
namespace {

bool IsSharedLibrary(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_type == ET_DYN && header.e_machine != kMachineCuda &&
         header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shstrndx < header.e_shnum;
}

/// Among sections in memory, nvcc's and notes do not count, nor do unwind tables, which contain distances to code
/// across the fatbin.
bool IsHostCode(const Elf64_Shdr& section, std::string_view name) {
  return (section.sh_flags & SHF_ALLOC) != 0 && section.sh_type != SHT_NOTE && !name.starts_with(".nv") &&
         !name.starts_with(".eh_frame") && !name.starts_with("__nv");
}

}  // namespace

void HidePathHashes(std::string& bytes) {
  constexpr std::size_t kDigits = 8;
  for (const std::string_view mark : {std::string_view("_GLOBAL__N__"), std::string_view("_INTERNAL_")}) {
    for (std::size_t at = bytes.find(mark); at != std::string::npos; at = bytes.find(mark, at)) {
      at += mark.size();
      const std::size_t end = std::min(at + kDigits, bytes.size());
      for (; at < end && std::isxdigit(static_cast<unsigned char>(bytes[at])) != 0; ++at) bytes[at] = '0';
    }
  }
}

std::string HostCodeHash(const std::string& path) {
  const Descriptor file = OpenFile(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return {};
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  const auto read = [&](std::uint64_t offset, std::uint64_t size) -> std::optional<std::string> {
    if (offset > file_bytes || size > file_bytes - offset) return std::nullopt;
    std::string bytes(size, '\0');
    if (ReadAt(file.get(), path, offset, bytes) != size) return std::nullopt;
    return bytes;
  };
  Elf64_Ehdr header{};
  const auto head = read(0, sizeof(header));
  if (!head) return {};
  std::memcpy(&header, head->data(), sizeof(header));
  if (!IsSharedLibrary(header)) return {};
  const auto table = read(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  if (!table) return {};
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), table->data(), table->size());
  const auto names = read(sections[header.e_shstrndx].sh_offset, sections[header.e_shstrndx].sh_size);
  if (!names) return {};
  std::uint64_t hash = Fnv1a("");
  std::uint64_t left = file_bytes;  // the sections of a valid file do not overlap
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_name >= names->size()) return {};
    const std::string_view name = names->c_str() + section.sh_name;
    if (name == ".interp") return {};  // a program
    if (!IsHostCode(section, name)) continue;
    hash = Fnv1a(std::string(name) + ' ' + std::to_string(section.sh_size) + ';', hash);
    if (section.sh_type == SHT_NOBITS) continue;
    if (section.sh_size > left) return {};
    left -= section.sh_size;
    auto bytes = read(section.sh_offset, section.sh_size);
    if (!bytes) return {};
    HidePathHashes(*bytes);
    hash = Fnv1a(*bytes, hash);
  }
  const std::string digits = Hex(hash).substr(2);
  return std::string(16 - digits.size(), '0') + digits;
}

}  // namespace fa_profile::sass

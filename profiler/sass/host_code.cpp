#include "fa_profile/host_code.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
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

constexpr std::string_view kPathMarks[] = {"_GLOBAL__N__", "_INTERNAL_"};
constexpr std::size_t kPathDigits = 8;

/// nvcc of CUDA 12 ends these names with another hash and a number that differ in each run of it:
/// "61_GLOBAL__N__0c0c7144_23_deform_conv2d_kernel_cu_7397b01c_2228", mangled with its length in front. The number may
/// have more digits in another run, and the length too.
void HideProcessIds(std::string& bytes) {
  const auto is_digit = [&](std::size_t i) { return std::isdigit(static_cast<unsigned char>(bytes[i])) != 0; };
  const auto is_hex = [&](std::size_t i) { return std::isxdigit(static_cast<unsigned char>(bytes[i])) != 0; };
  for (const std::string_view mark : kPathMarks) {
    std::string kept;
    std::size_t done = 0;  // how much of `bytes` is kept, or left out
    for (std::size_t at = bytes.find(mark); at != std::string::npos; at = bytes.find(mark, at + mark.size())) {
      std::size_t length_at = at;
      while (length_at > 0 && at - length_at < 4 && is_digit(length_at - 1)) --length_at;
      const std::size_t end = at + std::strtoul(bytes.substr(length_at, at - length_at).c_str(), nullptr, 10);
      std::size_t next = at + mark.size() + kPathDigits + 1;  // after "0c0c7144_"
      if (length_at < done || end > bytes.size() || next >= end) continue;
      std::size_t name_bytes = 0;
      for (; next < end && is_digit(next) && name_bytes < end; ++next) {
        name_bytes = name_bytes * 10 + static_cast<std::size_t>(bytes[next] - '0');
      }
      const std::size_t hash = next + 1 + name_bytes + 1;  // after "_deform_conv2d_kernel_cu_"
      const std::size_t number = hash + kPathDigits + 1;
      if (number >= end || bytes[hash - 1] != '_' || bytes[number - 1] != '_') continue;
      bool is_such = true;
      for (std::size_t i = hash; i < number - 1; ++i) is_such = is_such && is_hex(i);
      for (std::size_t i = number; i < end; ++i) is_such = is_such && is_digit(i);
      if (!is_such) continue;
      kept.append(bytes, done, length_at - done).append(at - length_at, '0').append(bytes, at, hash - at);
      done = end;
    }
    if (done > 0) bytes = kept.append(bytes, done);
  }
}

}  // namespace

void HidePathHashes(std::string& bytes) {
  HideProcessIds(bytes);
  for (const std::string_view mark : kPathMarks) {
    for (std::size_t at = bytes.find(mark); at != std::string::npos; at = bytes.find(mark, at)) {
      at += mark.size();
      const std::size_t end = std::min(at + kPathDigits, bytes.size());
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

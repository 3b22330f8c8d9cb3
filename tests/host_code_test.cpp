#include "fa_profile/host_code.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::sass::host_code_test {
namespace {

struct Section {
  std::string name;
  std::string bytes;
  std::uint64_t flags = SHF_ALLOC;
  std::uint32_t type = SHT_PROGBITS;
};

template <typename T>
std::string BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

/// A library's ELF file: header, the sections' bytes, their table.
std::string Library(std::vector<Section> sections, std::uint16_t type = ET_DYN) {
  sections.insert(sections.begin(), {"", "", 0, SHT_NULL});
  sections.push_back({".shstrtab", "", 0, SHT_STRTAB});
  std::string& names = sections.back().bytes;
  std::vector<std::uint32_t> name_at;
  for (const Section& section : sections) {
    name_at.push_back(static_cast<std::uint32_t>(names.size()));
    names += section.name + '\0';
  }
  std::string body;
  std::string table;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    Elf64_Shdr header{};
    header.sh_name = name_at[i];
    header.sh_type = sections[i].type;
    header.sh_flags = sections[i].flags;
    header.sh_offset = sizeof(Elf64_Ehdr) + body.size();
    header.sh_size = sections[i].bytes.size();
    table += BytesOf(header);
    body += sections[i].bytes;
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = type;
  header.e_machine = EM_X86_64;
  header.e_shoff = sizeof(header) + body.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<std::uint16_t>(sections.size());
  header.e_shstrndx = static_cast<std::uint16_t>(sections.size() - 1);
  return BytesOf(header) + body + table;
}

const std::vector<Section> kSections = {{".note.gnu.build-id", "id", SHF_ALLOC, SHT_NOTE},
                                        {".text", "code"},
                                        {".rodata", "_ZN45_GLOBAL__N__21b11bff_4_k_cu_07245e80_4KernEPf"},
                                        {".nv_fatbin", "sass"},
                                        {".nvFatBinSegment", "at"},
                                        {"__nv_module_id", "module"},
                                        {".bss", "....", SHF_ALLOC | SHF_WRITE, SHT_NOBITS},
                                        {".eh_frame", "unwind"},
                                        {".debug_line", "lines", 0},
                                        {".symtab", "symbols", 0, SHT_SYMTAB}};

class HostCodeTest : public FolderTest {
 protected:
  std::string HashOf(const std::string& bytes) const {
    WriteFile(folder_ / "lib.so", bytes);
    return HostCodeHash((folder_ / "lib.so").string());
  }
  /// Hash of the library with other bytes in that section.
  std::string With(const std::string& name, const std::string& bytes) const {
    std::vector<Section> sections = kSections;
    for (Section& section : sections) {
      if (section.name == name) section.bytes = bytes;
    }
    return HashOf(Library(sections));
  }
  const std::string hash_ = HashOf(Library(kSections));
};

TEST_F(HostCodeTest, OnlyCodeAndDataOfTheHostCount) {
  EXPECT_EQ(hash_.size(), 16U);
  EXPECT_EQ(hash_.find_first_not_of("0123456789abcdef"), std::string::npos);
  for (const char* const other : {".note.gnu.build-id", ".nv_fatbin", ".nvFatBinSegment", "__nv_module_id", ".eh_frame",
                                  ".debug_line", ".symtab"}) {
    EXPECT_EQ(With(other, "other bytes"), hash_) << other;
  }
  EXPECT_NE(With(".text", "Code"), hash_);
  EXPECT_NE(With(".rodata", "data"), hash_);
  EXPECT_NE(With(".bss", "....."), hash_) << "its size";
  std::vector<Section> renamed = kSections;
  renamed[1].name = ".init";
  EXPECT_NE(HashOf(Library(renamed)), hash_);
}

TEST_F(HostCodeTest, TheFolderOfTheSourceDoesNotCount) {
  EXPECT_EQ(With(".rodata", "_ZN45_GLOBAL__N__ffffffff_4_k_cu_07245e80_4KernEPf"), hash_);
  EXPECT_NE(With(".rodata", "_ZN45_GLOBAL__N__21b11bff_4_l_cu_07245e80_4KernEPf"), hash_);
  EXPECT_FALSE(With(".rodata", "_INTERNAL_21b1").empty()) << "the digits are cut off";
}

TEST_F(HostCodeTest, WhatIsNotALibraryHasNone) {
  const std::string library = Library(kSections);
  EXPECT_EQ(HashOf(""), "");
  EXPECT_EQ(HashOf("#!/bin/sh\n"), "");
  EXPECT_EQ(HashOf(Library(kSections, ET_REL)), "");
  std::vector<Section> program = kSections;
  program.push_back({".interp", "/lib/ld.so"});
  EXPECT_EQ(HashOf(Library(program)), "");
  for (std::size_t size = 0; size < library.size(); ++size) EXPECT_EQ(HashOf(library.substr(0, size)), "") << size;
  EXPECT_THROW((void)HostCodeHash((folder_ / "none.so").string()), Error);
}

TEST_F(HostCodeTest, SectionsThatOverlapAreNotReadAgainAndAgain) {
  std::string library = Library(kSections);
  const std::size_t table = library.size() - (kSections.size() + 2) * sizeof(Elf64_Shdr);
  for (std::size_t i = 1; i <= 3; ++i) {
    Elf64_Shdr header{};
    std::memcpy(&header, library.data() + table + i * sizeof(header), sizeof(header));
    header.sh_type = SHT_PROGBITS;
    header.sh_offset = 0;
    header.sh_size = library.size();
    std::memcpy(library.data() + table + i * sizeof(header), &header, sizeof(header));
  }
  EXPECT_EQ(HashOf(library), "");
}

TEST_F(HostCodeTest, NamesOfTwoRunsOfAnOlderCompilerAreEqual) {
  const auto hidden = [](std::string name) {
    HidePathHashes(name);
    return name;
  };
  const std::string name = "_ZN3ops52_GLOBAL__N__0c0c7144_14_conv_kernel_cu_7397b01c_22284conv";
  EXPECT_EQ(hidden(name), hidden("_ZN3ops53_GLOBAL__N__11111111_14_conv_kernel_cu_c73f6362_130924conv"));
  EXPECT_NE(hidden(name), hidden("_ZN3ops52_GLOBAL__N__0c0c7144_14_conv_kernel_cu_7397b01c_22284cone"));
  EXPECT_NE(hidden(name), hidden("_ZN3ops52_GLOBAL__N__0c0c7144_14_cone_kernel_cu_7397b01c_22284conv"));
  EXPECT_EQ(hidden(name + name), hidden(name) + hidden(name));
  for (std::size_t size = 0; size < name.size(); ++size) (void)hidden(name.substr(0, size));  // cut off anywhere
  (void)hidden("99999999999_GLOBAL__N__0c0c7144_99999999999999999999999_x");
}

}  // namespace
}  // namespace fa_profile::sass::host_code_test

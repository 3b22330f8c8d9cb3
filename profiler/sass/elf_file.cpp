#include "elf_file.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "byte_reader.h"
#include "fa_profile/error.h"

namespace fa_profile::sass {
namespace {

constexpr const char* kMakeOne = "make one with: nvcc -cubin -lineinfo -arch=sm_90 FILE.cu";
constexpr const char* kMakeAgain = "build it again, or copy it again";

constexpr std::uint32_t kSymbolTable = 2;
constexpr std::uint32_t kRela = 4;
constexpr std::uint32_t kRel = 9;

// The names in a string table. They may overlap there, so that a small file could ask for any amount of text.
class Names {
 public:
  explicit Names(std::span<const std::uint8_t> table) : table_(table) {}
  std::string_view At(std::uint32_t offset) {
    ByteReader reader(table_);
    reader.Take(offset);
    const std::string_view name = reader.Text();
    if (name.size() > left_) throw Error("the cubin is damaged: its names are too long", kMakeAgain);
    left_ -= name.size();
    return name;
  }

 private:
  std::span<const std::uint8_t> table_;
  std::size_t left_ = std::size_t{1} << 28;
};

struct Header {
  std::uint64_t sections_at = 0;
  std::uint16_t section_count = 0;
  std::uint16_t names = 0;  // index of the section that holds the sections' names
};

Header ReadHeader(std::span<const std::uint8_t> bytes, ElfFile& elf) {
  if (bytes.size() < 4 || std::memcmp(bytes.data(),
                                      "\x7f"
                                      "ELF",
                                      4) != 0) {
    throw Error("not a cubin: it is not an ELF file", kMakeOne);
  }
  if (bytes.size() < 64) throw Error("the cubin is cut off in its header", kMakeAgain);
  if (bytes[4] != 2 || bytes[5] != 1) {
    throw Error("the cubin is 32-bit or big-endian, which current GPUs do not load", kMakeOne);
  }
  const std::uint8_t abi_version = bytes[8];
  ByteReader reader(bytes);
  reader.Take(16);
  constexpr std::uint16_t kExecutable = 2;
  elf.is_linked = reader.U16() == kExecutable;
  if (reader.U16() != kMachineCuda) {
    throw Error("this ELF file is not GPU code: it is for another machine",
                "give the cubin; cuobjdump -xelf all FILE extracts those inside a program or library");
  }
  reader.Take(4 + 8);  // version, entry
  const std::uint64_t segments_at = reader.U64();
  Header header;
  header.sections_at = reader.U64();
  const std::uint32_t flags = reader.U32();
  // CUDA 13 moved the architecture one byte up and raised the ABI version to 8.
  elf.sm = static_cast<int>(abi_version >= 8 ? flags >> 8 & 0xff : flags & 0xff);
  reader.Take(2);  // header size
  const std::uint64_t segments_size = std::uint64_t{reader.U16()} * reader.U16();
  if (segments_at > bytes.size() || segments_size > bytes.size() - segments_at) {
    throw Error("the cubin is cut off: its program headers are missing", kMakeAgain);  // which come last
  }
  const std::uint16_t entry_size = reader.U16();
  header.section_count = reader.U16();
  header.names = reader.U16();
  if (header.section_count == 0 || entry_size != 64 || header.names >= header.section_count) {
    throw Error("the cubin has no section table", kMakeAgain);
  }
  return header;
}

void ReadSections(std::span<const std::uint8_t> bytes, const Header& header, ElfFile& elf) {
  if (header.sections_at > bytes.size() || bytes.size() - header.sections_at < std::size_t{header.section_count} * 64) {
    throw Error("the cubin is cut off: its section table is missing", kMakeAgain);
  }
  ByteReader reader(bytes.subspan(header.sections_at));
  std::vector<std::uint32_t> names;
  for (int i = 0; i < header.section_count; ++i) {
    ElfFile::Section section;
    names.push_back(reader.U32());
    section.type = reader.U32();
    section.flags = reader.U64();
    reader.U64();  // address
    const std::uint64_t offset = reader.U64();
    section.size = reader.U64();
    section.link = reader.U32();
    section.info = reader.U32();
    reader.Take(8 + 8);  // alignment, entry size
    if (section.type != 0 && section.type != kNoBits && section.type != kCudaShared) {
      if (offset > bytes.size() || section.size > bytes.size() - offset) {
        throw Error("the cubin is cut off: section " + std::to_string(i) + " is beyond its end", kMakeAgain);
      }
      section.bytes = bytes.subspan(offset, section.size);
    }
    elf.sections.push_back(section);
  }
  Names table(elf.sections[header.names].bytes);
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    elf.sections[i].name = table.At(names[i]);
    elf.by_name.emplace(elf.sections[i].name, i);
  }
}

void ReadSymbols(ElfFile& elf) {
  const auto table = std::find_if(elf.sections.begin(), elf.sections.end(),
                                  [](const ElfFile::Section& section) { return section.type == kSymbolTable; });
  if (table == elf.sections.end()) {
    throw Error("the cubin has no symbols: it was stripped, so its functions cannot be told apart",
                "build it again without strip, objcopy -S and the like");
  }
  if (table->link >= elf.sections.size()) throw Error("the cubin's symbols have no names", kMakeAgain);
  Names names(elf.sections[table->link].bytes);
  ByteReader reader(table->bytes);
  while (reader.left() >= 24) {
    ElfFile::Symbol symbol;
    symbol.name = names.At(reader.U32());
    constexpr std::uint8_t kFunction = 2;
    constexpr std::uint8_t kCudaEntry = 0x10;
    symbol.is_function = (reader.U8() & 0xf) == kFunction;
    const bool is_entry = (reader.U8() & kCudaEntry) != 0;
    symbol.is_kernel = symbol.is_function && is_entry;
    symbol.section = reader.U16();
    symbol.value = reader.U64();
    symbol.size = reader.U64();
    elf.symbols.push_back(symbol);
  }
}

}  // namespace

bool IsCubin(std::string_view bytes) {
  if (!bytes.starts_with(kElfMagic) || bytes.size() < kMachineOffset + 2) return false;
  return static_cast<unsigned char>(bytes[kMachineOffset]) == kMachineCuda && bytes[kMachineOffset + 1] == 0;
}

const ElfFile::Section* ElfFile::Find(std::string_view name) const {
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : &sections[found->second];
}

std::map<std::uint32_t, std::uint32_t> ElfFile::OuterFunctions() const {
  std::map<std::uint32_t, std::uint32_t> outer;
  for (std::uint32_t i = 0; i < symbols.size(); ++i) {
    const Symbol& symbol = symbols[i];
    if (!symbol.is_function || symbol.section == 0 || symbol.section >= sections.size()) continue;
    const auto [entry, is_new] = outer.try_emplace(symbol.section, i);
    if (!is_new && symbols[entry->second].size < symbol.size) entry->second = i;
  }
  return outer;
}

std::vector<ElfFile::Relocation> ElfFile::Relocations(std::string_view section) const {
  std::vector<Relocation> relocations;
  for (const Section& table : sections) {
    if ((table.type != kRela && table.type != kRel) || table.info >= sections.size()) continue;
    if (sections[table.info].name != section) continue;
    ByteReader reader(table.bytes);
    const std::size_t entry = table.type == kRela ? 24 : 16;
    while (reader.left() >= entry) {
      Relocation relocation{.offset = reader.U64()};
      relocation.symbol = static_cast<std::uint32_t>(reader.U64() >> 32);
      if (table.type == kRela) relocation.addend = reader.U64();
      relocations.push_back(relocation);
    }
  }
  return relocations;
}

ElfFile ReadElf(std::span<const std::uint8_t> bytes) {
  ElfFile elf;
  ReadSections(bytes, ReadHeader(bytes, elf), elf);
  ReadSymbols(elf);
  return elf;
}

}  // namespace fa_profile::sass

#include "code_bundle.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <utility>

#include "byte_reader.h"
#include "fa_profile/code_outline.h"

namespace fa_profile::sass {
namespace {

constexpr std::size_t kCubinHeaderBytes = 64;
constexpr std::size_t kIdentBytes = 16;
constexpr std::size_t kFlagsAt = 0x30;
constexpr std::size_t kFlagsBytes = 4;

/// Little-endian bytes, appended and replaced.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}
  void Number(std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  void Put(std::size_t at, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes_[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
  /// Returns where they begin, at a multiple of `alignment`.
  std::size_t Append(std::span<const std::uint8_t> bytes, std::size_t alignment) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    const std::size_t at = bytes_.size();
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return at;
  }
  std::size_t size() const { return bytes_.size(); }
  std::vector<std::uint8_t> Take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

struct SectionRow {
  std::uint64_t name = 0;
  std::uint64_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t link = 0;
  std::uint64_t info = 0;
  std::uint64_t alignment = 1;
  std::uint64_t entry_bytes = 0;
};

std::span<const std::uint8_t> Bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// Appends a name to a string table; returns where it begins.
std::uint64_t AddName(std::string& table, const std::string& name) {
  const std::size_t at = table.size();
  table += name;
  table += '\0';
  return at;
}

std::string NameOf(std::size_t function) { return "f" + std::to_string(function); }

}  // namespace

bool CodeBundle::Fits(std::span<const std::uint8_t> cubin, const ElfFile& elf, const ElfFile::Symbol& function) const {
  constexpr std::size_t kMostFunctions = 10'000;  // section numbers have 16 bits
  const ElfFile::Section& section = elf.sections[function.section];
  if (!elf.is_linked || functions_.size() == kMostFunctions || section.bytes.empty() || function.value != 0 ||
      function.size != section.bytes.size() || function.size % kInstructionBytes != 0 || !HasOutline(elf.sm)) {
    return false;
  }
  for (const ElfFile::Relocation& relocation : elf.Relocations(section.name)) {
    if (relocation.symbol >= elf.symbols.size()) return false;
    const ElfFile::Symbol& symbol = elf.symbols[relocation.symbol];
    if (symbol.is_function && symbol.section != function.section) return false;
  }
  const auto same = [&](std::size_t at, std::size_t size) {
    return std::ranges::equal(std::span(header_).subspan(at, size), cubin.subspan(at, size));
  };
  return header_.empty() || (same(0, kIdentBytes) && same(kFlagsAt, kFlagsBytes));
}

void CodeBundle::Add(std::span<const std::uint8_t> cubin, const ElfFile& elf, const ElfFile::Symbol& function) {
  if (header_.empty()) header_.assign(cubin.begin(), cubin.begin() + kCubinHeaderBytes);
  const ElfFile::Section& section = elf.sections[function.section];
  functions_.push_back({section.bytes, section.type, section.flags, section.info});
}

std::string CodeBundle::Layout() const {
  const auto part = [this](std::size_t at, std::size_t size) {
    return std::string(Text(std::span(header_).subspan(at, size)));
  };
  return header_.empty() ? "" : part(0, kIdentBytes) + part(kFlagsAt, kFlagsBytes);
}

CodeBundle CodeBundle::With(const std::vector<std::span<const std::uint8_t>>& codes) const {
  CodeBundle bundle;
  bundle.header_ = header_;
  for (const auto code : codes) bundle.functions_.emplace_back(functions_.front()).code = code;
  return bundle;
}

std::optional<std::size_t> CodeBundle::IndexOf(std::string_view name) const {
  std::size_t index = 0;
  const char* const end = name.data() + name.size();
  if (!name.starts_with('f')) return std::nullopt;
  const auto [rest, error] = std::from_chars(name.data() + 1, end, index);
  if (error != std::errc{} || rest != end || index >= functions_.size()) return std::nullopt;
  return index;
}

std::vector<std::uint8_t> CodeBundle::ToElf() const {
  constexpr std::uint64_t kStringTable = 3;
  constexpr std::uint64_t kSymbolTable = 2;
  constexpr std::uint64_t kSymbolBytes = 24;
  constexpr std::uint64_t kFirstCode = 4;  // sections before the code: none, two tables of names, symbols
  constexpr std::uint8_t kGlobalFunction = 0x12;
  constexpr std::uint8_t kCudaEntry = 0x10;
  constexpr std::size_t kCodeAlignment = 128;

  std::string section_names(1, '\0');
  std::string symbol_names(1, '\0');
  std::vector<SectionRow> rows(kFirstCode);
  ByteWriter out(header_);
  ByteWriter symbols{std::vector<std::uint8_t>(kSymbolBytes)};
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const Function& function = functions_[i];
    const std::size_t at = out.Append(function.code, kCodeAlignment);
    // In the section's info the highest byte is the number of registers, the rest the function's symbol.
    rows.push_back({AddName(section_names, ".text." + NameOf(i)), function.type, function.flags, at,
                    function.code.size(), 3, (function.info & 0xff000000U) | (i + 1), kCodeAlignment});
    symbols.Number(AddName(symbol_names, NameOf(i)), 4);
    symbols.Number(kGlobalFunction, 1);
    symbols.Number(kCudaEntry, 1);
    symbols.Number(kFirstCode + i, 2);
    symbols.Number(0, 8);
    symbols.Number(function.code.size(), 8);
  }
  for (std::size_t i = 1; i < kFirstCode; ++i) {
    constexpr const char* kNames[kFirstCode] = {"", ".shstrtab", ".strtab", ".symtab"};
    rows[i].name = AddName(section_names, kNames[i]);
    rows[i].type = i == 3 ? kSymbolTable : kStringTable;
  }
  const std::vector<std::uint8_t> table = symbols.Take();
  const std::span<const std::uint8_t> contents[kFirstCode] = {{}, Bytes(section_names), Bytes(symbol_names), table};
  for (std::size_t i = 1; i < kFirstCode; ++i) {
    rows[i].offset = out.Append(contents[i], 8);
    rows[i].size = contents[i].size();
  }
  rows[3].link = 2;
  rows[3].info = 1;  // the first global symbol
  rows[3].alignment = 8;
  rows[3].entry_bytes = kSymbolBytes;

  const std::size_t table_at = out.Append({}, 8);
  for (const SectionRow& row : rows) {
    out.Number(row.name, 4);
    out.Number(row.type, 4);
    out.Number(row.flags, 8);
    out.Number(0, 8);  // address
    for (const std::uint64_t value : {row.offset, row.size}) out.Number(value, 8);
    for (const std::uint64_t value : {row.link, row.info}) out.Number(value, 4);
    for (const std::uint64_t value : {row.alignment, row.entry_bytes}) out.Number(value, 8);
  }
  out.Put(0x20, 0, 8);         // no program headers
  out.Put(0x36, 0, 4);         // their size and number
  out.Put(0x28, table_at, 8);  // the section table
  out.Put(0x3a, 64, 2);
  out.Put(0x3c, rows.size(), 2);
  out.Put(0x3e, 1, 2);  // the section with the sections' names
  return out.Take();
}

}  // namespace fa_profile::sass

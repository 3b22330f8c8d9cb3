#include "fa_profile/cubin.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "elf_file.h"
#include "fa_profile/code_outline.h"
#include "fa_profile/error.h"
#include "fa_profile/opcodes.h"
#include "fa_profile/text.h"
#include "kernel_attributes.h"

namespace fa_profile::sass {
namespace {

// Attributes of .nv.info, with the names from NVIDIA's tools (cuobjdump -elf prints them).
constexpr std::uint8_t kMaxThreads = 0x05;
constexpr std::uint8_t kExternals = 0x0f;
constexpr std::uint8_t kRequiredThreads = 0x10;
constexpr std::uint8_t kFrameSize = 0x11;
constexpr std::uint8_t kRegisterCount = 0x2f;
constexpr std::uint8_t kBarrierCount = 0x4c;

// Reads .nv.info, the one for the whole cubin: pairs of symbol index and value.
std::map<std::uint32_t, std::uint32_t> ReadPerSymbol(const std::vector<Attribute>& attributes, std::uint8_t id) {
  std::map<std::uint32_t, std::uint32_t> values;
  for (Attribute attribute : attributes) {
    if (attribute.id != id) continue;
    const std::uint32_t symbol = attribute.payload.U32();
    values[symbol] = attribute.payload.U32();
  }
  return values;
}

std::array<int, 3> ReadThreads(ByteReader payload) {
  std::array<int, 3> threads{};
  for (int& count : threads) count = static_cast<int>(payload.U32());
  return threads;
}

// `left`: bytes of names that may still be copied. A small cubin could name one long symbol any number of times.
std::vector<std::string> ReadNames(const ElfFile& elf, ByteReader payload, std::size_t& left) {
  std::vector<std::string> names;
  while (payload.left() >= 4) {
    const std::uint32_t symbol = payload.U32();
    if (symbol >= elf.symbols.size()) continue;
    const std::string_view name = elf.symbols[symbol].name;
    if (name.size() > left)
      throw Error("the cubin is damaged: its names are too long", "build it again, or copy it again");
    left -= name.size();
    names.emplace_back(name);
  }
  return names;
}

/// The data sections that a function's code may read. They are part of the code: literals that ptxas moved out, tables
/// of jumps and addresses, and the initial values of __constant__ and __device__ variables. The module's count for all
/// of its functions: it is unknown which function reads which. Bank 0 holds a launch's parameters.
class ReadableData {
 public:
  explicit ReadableData(const ElfFile& elf) {
    constexpr std::string_view kBank = ".nv.constant";
    for (const ElfFile::Section& section : elf.sections) {
      std::string_view rest = section.name;
      if (rest == ".nv.global.init") module_.emplace(section.name, section.bytes);
      if (!rest.starts_with(kBank)) continue;
      rest.remove_prefix(kBank.size());
      const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
      const bool later_bank = rest.substr(0, digits).find_first_not_of('0') != std::string_view::npos;
      rest.remove_prefix(digits);
      if (!later_bank) continue;
      if (rest.empty()) module_.emplace(section.name, section.bytes);
      if (rest.starts_with('.')) of_function_[rest.substr(1)].emplace(section.name, section.bytes);
    }
  }

  /// The hash of code, continued with what it may read, by name.
  std::uint64_t AddTo(std::uint64_t hash, std::string_view function) const {
    Sections own;
    if (const auto found = of_function_.find(function); found != of_function_.end()) own = found->second;
    own.insert(module_.begin(), module_.end());
    for (const auto& [_, bytes] : own) hash = Fnv1a(Text(bytes), hash);
    return hash;
  }

 private:
  using Sections = std::map<std::string_view, std::span<const std::uint8_t>>;
  Sections module_;
  std::map<std::string_view, Sections> of_function_;
};

// Linked code for sm_90 and later includes the 1 KiB that the system keeps at the start of each block's shared memory.
std::int64_t StaticSharedMemory(const ElfFile& elf, const ElfFile::Section* section) {
  constexpr std::int64_t kReservedBytes = 1024;
  if (section == nullptr) return 0;
  const auto size = static_cast<std::int64_t>(section->size);
  return elf.is_linked && elf.sm >= 90 && size >= kReservedBytes ? size - kReservedBytes : size;
}

// The encoding of instructions from Volta to Blackwell, as shown by nvdisasm -hex: 16 bytes; bits 0 to 8 are the
// opcode, 12 to 15 the predicate, and in MUFU 74 to 77 the function.
void ReadInstructions(int sm, std::span<const std::uint8_t> code, CubinFunction& function) {
  constexpr std::uint64_t kMufu = 0x108;
  constexpr std::uint64_t kEx2 = 2;
  constexpr std::uint64_t kNever = 0xf;
  if (!HasOutline(sm)) return;
  function.has_exponentials = false;
  const auto word = [code](std::size_t at) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{code[at + i]} << (8 * i);
    return value;
  };
  for (std::size_t at = 0; at + 16 <= code.size(); at += 16) {
    const std::uint64_t low = word(at);
    const std::uint64_t high = word(at + 8);
    const std::uint64_t opcode = low & 0x1ffU;
    if (opcode == kMufu && (high >> 10U & 0xfU) == kEx2) function.has_exponentials = true;
    if (IsMatrixEncoding(opcode) && (low >> 12U & 0xfU) != kNever) function.has_matrix_products = true;
  }
}

/// `data`: nullptr leaves the hash out.
CubinFunction ReadFunction(const ElfFile& elf, const ElfFile::Symbol& symbol, const ElfFile::Section& text,
                           const ReadableData* data, std::size_t& names_left) {
  CubinFunction function;
  function.name = symbol.name;
  function.is_kernel = symbol.is_kernel;
  function.code_bytes = symbol.size;
  ByteReader code(text.bytes);
  code.Take(symbol.value);
  code.Take(symbol.size);  // throws when the symbol reaches past its section
  if (data != nullptr) {
    function.code_hash = data->AddTo(Fnv1a(Text(text.bytes.subspan(symbol.value, symbol.size))), function.name);
  }
  ReadInstructions(elf.sm, text.bytes.subspan(symbol.value, symbol.size), function);
  if (!symbol.is_kernel) return function;

  function.static_shared_memory_bytes = StaticSharedMemory(elf, elf.Find(".nv.shared." + function.name));
  if (const auto* constants = elf.Find(".nv.constant0." + function.name)) {
    function.constant_bank_bytes = static_cast<std::int64_t>(constants->size);
  }
  function.barriers = static_cast<int>(text.flags >> 20 & 0x7f);  // cubins before CUDA 12.8 or so
  for (const Attribute& attribute : ReadAttributes(elf.Find(".nv.info." + function.name))) {
    if (attribute.id == kMaxThreads) function.max_threads = ReadThreads(attribute.payload);
    if (attribute.id == kRequiredThreads) function.required_threads = ReadThreads(attribute.payload);
    if (attribute.id == kExternals) function.externals = ReadNames(elf, attribute.payload, names_left);
    if (attribute.id == kBarrierCount) function.barriers = attribute.value & 0xff;
  }
  return function;
}

}  // namespace

CubinInfo ReadCubin(std::span<const std::uint8_t> cubin, CodeHashes hashes) {
  const ElfFile elf = ReadElf(cubin);
  std::optional<ReadableData> data;
  if (hashes == CodeHashes::kYes) data.emplace(elf);
  CubinInfo info;
  info.sm = elf.sm;
  const auto* lines = elf.Find(".debug_line");
  info.has_line_information = lines != nullptr && !lines->bytes.empty();
  // Tells debuggers which registers hold variables. Written by ptxas -g, which nvcc -G passes; not by -lineinfo, nor by
  // -G with -dopt on, which optimises.
  info.is_device_debug = elf.Find(".nv_debug_info_reg_sass") != nullptr;

  const std::vector<Attribute> attributes = ReadAttributes(elf.Find(".nv.info"));
  const auto registers = ReadPerSymbol(attributes, kRegisterCount);
  const auto frames = ReadPerSymbol(attributes, kFrameSize);
  std::size_t names_left = std::size_t{1} << 24;
  for (const auto& [section, i] : elf.OuterFunctions()) {
    const ElfFile::Symbol& symbol = elf.symbols[i];
    const ElfFile::Section& text = elf.sections[section];
    CubinFunction function = ReadFunction(elf, symbol, text, data ? &*data : nullptr, names_left);
    if (const auto found = registers.find(i); found != registers.end()) {
      function.registers_per_thread = static_cast<int>(found->second);
    } else if (symbol.is_kernel && text.info >> 24 != 0) {
      function.registers_per_thread = static_cast<int>(text.info >> 24);  // cubins before CUDA 13 also have it here
    }
    if (const auto found = frames.find(i); found != frames.end()) function.stack_frame_bytes = found->second;
    info.functions.push_back(std::move(function));
  }
  return info;
}

}  // namespace fa_profile::sass

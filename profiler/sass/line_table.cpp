#include "fa_profile/line_table.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>

#include "byte_reader.h"
#include "elf_file.h"
#include "fa_profile/demangle.h"
#include "fa_profile/error.h"

namespace fa_profile::sass {
namespace {

constexpr const char* kBuildAgain = "build it again with -lineinfo, or copy it again";

// "f" for "$kernel$f": a subroutine that the compiler placed inside a kernel has the kernel's name as a prefix.
std::string HolderName(std::string_view symbol) {
  if (symbol.starts_with('$')) symbol.remove_prefix(symbol.rfind('$') + 1);
  return Demangle(std::string(symbol).c_str());
}

// A shorter path in as many bytes as the old one: "./////a.cu". Absent: one byte is too few to fill.
std::optional<std::string> Filled(const std::string& path, std::size_t size) {
  if (path.size() == size) return path;
  const std::size_t more = path.empty() ? size : size - path.size();
  if (path.size() > size || (more == 1 && !path.empty())) return std::nullopt;
  return "." + std::string(more - 1, '/') + path;
}

std::string WithoutFill(std::string path) {
  if (path.starts_with("./")) path.erase(0, path.find_first_not_of('/', 1));
  return path;
}

// The function that an address refers to; null if none. Compilers refer to it or to its section.
const ElfFile::Symbol* ReferredFunction(const ElfFile& elf, std::uint32_t index) {
  if (index >= elf.symbols.size()) return nullptr;
  const ElfFile::Symbol& referred = elf.symbols[index];
  if (referred.is_function) return &referred;
  const auto found = std::find_if(elf.symbols.begin(), elf.symbols.end(), [&](const ElfFile::Symbol& symbol) {
    return symbol.is_function && symbol.section == referred.section && symbol.value == referred.value;
  });
  return found == elf.symbols.end() ? nullptr : &*found;
}

}  // namespace

// Runs the line programs in .debug_line, one per compilation unit. DWARF 4, section 6.2; the opcodes for inlining are
// NVIDIA's, as described by binutils and elfutils.
class LineProgram {
 public:
  LineProgram(const ElfFile& elf, std::span<const std::uint8_t> section, LineTable& table)
      : elf_(elf), reader_(section), size_(section.size()), table_(table) {
    for (const auto& relocation : elf.Relocations(".debug_line")) relocations_[relocation.offset] = relocation;
  }

  void Run() {
    while (reader_.left() > 0) RunUnit();
  }

  /// From all units, as they are in the section.
  const std::vector<std::string_view>& directories() const { return directories_; }
  const std::vector<std::string_view>& files() const { return files_; }

 private:
  // The registers of the line machine.
  struct State {
    LineTable::Function* function = nullptr;  // null before the address is set
    std::uint32_t first_row = 0;              // rows of the function before this sequence
    std::uint64_t address = 0;
    std::uint64_t file = 1;
    std::uint32_t line = 1;
    std::uint32_t caller = 0;
    std::uint64_t inlined = 0;
  };

  std::uint64_t Position(const ByteReader& unit) const { return size_ - reader_.left() - unit.left(); }

  void RunUnit() {
    const std::uint32_t length = reader_.U32();
    ByteReader unit = reader_.Take(length);
    ReadHeader(unit);
    state_ = {};
    while (unit.left() > 0) Step(unit);
  }

  void ReadHeader(ByteReader& unit) {
    const int version = unit.U16();
    if (version < 2 || version > 4) {
      throw Error("the cubin's line information is DWARF " + std::to_string(version) + "; versions 2 to 4 are read",
                  "build it with -lineinfo by a CUDA 11 to 13 toolkit");
    }
    const std::uint32_t header_length = unit.U32();
    ByteReader header = unit.Take(header_length);
    instruction_unit_ = header.U8();
    if (version >= 4) header.U8();  // operations per instruction: for VLIW machines
    header.U8();                    // is_stmt at the start
    const int line_base = header.U8();
    line_base_ = line_base < 0x80 ? line_base : line_base - 0x100;  // a signed byte
    line_range_ = header.U8();
    const int opcode_base = header.U8();
    if (line_range_ == 0 || opcode_base == 0) throw Error("the cubin's line information is damaged", kBuildAgain);
    operands_.assign(1, 0);
    for (int i = 1; i < opcode_base; ++i) operands_.push_back(header.U8());
    first_directory_ = static_cast<std::uint32_t>(table_.directories_.size());
    first_file_ = static_cast<std::uint32_t>(table_.files_.size());
    table_.directories_.emplace_back();  // 0: the compiler's working folder, which cubins do not have
    for (auto name = header.Text(); !name.empty(); name = header.Text()) {
      directories_.push_back(name);
      table_.directories_.emplace_back(name);
    }
    for (auto name = header.Text(); !name.empty(); name = header.Text()) AddFile(name, header);
  }

  void AddFile(std::string_view name, ByteReader& reader) {
    files_.push_back(name);
    const std::uint64_t directory = reader.Uleb128();
    reader.Uleb128();  // modification time
    reader.Uleb128();  // size
    const bool known = directory < table_.directories_.size() - first_directory_;
    table_.files_.push_back({first_directory_ + static_cast<std::uint32_t>(known ? directory : 0), std::string(name)});
  }

  void Step(ByteReader& unit) {
    const std::uint8_t opcode = unit.U8();
    if (opcode >= operands_.size()) {
      AdvanceLikeSpecial(opcode);
      state_.line +=
          static_cast<std::uint32_t>(line_base_ + (opcode - static_cast<int>(operands_.size())) % line_range_);
      return AddRow();
    }
    switch (opcode) {
      case 0:
        return Extended(unit);
      case 1:
        return AddRow();
      case 2:
        state_.address += unit.Uleb128() * instruction_unit_;
        return;
      case 3:
        state_.line += static_cast<std::uint32_t>(unit.Sleb128());
        return;
      case 4:
        state_.file = unit.Uleb128();
        return;
      case 8:
        return AdvanceLikeSpecial(255);
      case 9:
        state_.address += unit.U16();
        return;
      default:  // columns, statements and blocks, and possible additions of later versions
        for (int i = 0; i < operands_[opcode]; ++i) unit.Uleb128();
    }
  }

  void AdvanceLikeSpecial(int opcode) {
    const int steps = (opcode - static_cast<int>(operands_.size())) / line_range_;
    state_.address += static_cast<std::uint64_t>(steps) * instruction_unit_;
  }

  void Extended(ByteReader& unit) {
    const std::uint64_t length = unit.Uleb128();
    const std::uint64_t at = Position(unit) + 1;  // position of the operands
    ByteReader operands = unit.Take(length);
    switch (operands.U8()) {
      case 0x01:  // end_sequence
        state_.line = 0;
        state_.caller = 0;
        AddRow();
        state_ = {};
        return;
      case 0x02:
        return SetAddress(at, operands.U64());
      case 0x03: {
        const auto name = operands.Text();
        return AddFile(name, operands);
      }
      case 0x90:  // inlined_call: the row of this sequence at which the following rows were inlined, and the function
        state_.caller = static_cast<std::uint32_t>(operands.Uleb128());
        state_.inlined = operands.Uleb128();
        return;
      default:
        return;  // 0x91 names the function that holds the code, which its symbol says too
    }
  }

  void SetAddress(std::uint64_t at, std::uint64_t in_place) {
    const auto relocation = relocations_.find(at);
    const ElfFile::Symbol* symbol =
        relocation == relocations_.end() ? nullptr : ReferredFunction(elf_, relocation->second.symbol);
    state_.function = symbol == nullptr ? nullptr : &Open(*symbol);
    if (symbol == nullptr) return;
    state_.address = in_place + relocation->second.addend;
    state_.first_row = static_cast<std::uint32_t>(state_.function->rows.size());
  }

  LineTable::Function& Open(const ElfFile::Symbol& symbol) {
    LineTable::Function& function = table_.functions_[std::string(symbol.name)];
    function.section = symbol.section;
    function.start = symbol.value;
    return function;
  }

  void AddRow() {
    if (state_.function == nullptr) return;  // discarded code
    auto& rows = state_.function->rows;
    if (state_.caller > rows.size() - state_.first_row) state_.function->has_callers = false;
    const bool known = state_.file > 0 && state_.file <= table_.files_.size() - first_file_;
    rows.push_back({.offset = state_.address,
                    .file = known ? first_file_ + static_cast<std::uint32_t>(state_.file) - 1 : 0,
                    .line = state_.line,
                    .caller = state_.caller == 0 ? 0 : state_.first_row + state_.caller,
                    .inlined = state_.inlined});
  }

  const ElfFile& elf_;
  ByteReader reader_;
  std::uint64_t size_;
  LineTable& table_;
  std::vector<std::string_view> directories_;
  std::vector<std::string_view> files_;
  std::map<std::uint64_t, ElfFile::Relocation> relocations_;  // by offset in .debug_line
  // For the unit:
  std::uint8_t instruction_unit_ = 1;
  int line_base_ = 0;
  int line_range_ = 1;
  std::vector<std::uint8_t> operands_;  // number of operands of each standard opcode
  std::uint32_t first_directory_ = 0;
  std::uint32_t first_file_ = 0;
  State state_;
};

LineTable::LineTable(std::span<const std::uint8_t> cubin) : files_(1) {
  const ElfFile elf = ReadElf(cubin);
  directories_.emplace_back();
  if (const auto* names = elf.Find(".debug_str")) names_.assign(names->bytes.begin(), names->bytes.end());
  const auto* lines = elf.Find(".debug_line");
  if (lines == nullptr) return;
  LineProgram(elf, lines->bytes, *this).Run();
  for (const ElfFile::Symbol& symbol : elf.symbols) {
    if (symbol.is_function) holders_.try_emplace({symbol.section, symbol.value}, HolderName(symbol.name));
  }
  for (auto& entry : functions_) {
    const std::vector<Row>& rows = entry.second.rows;
    std::vector<std::uint32_t>& order = entry.second.by_offset;
    order.resize(rows.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&rows](std::uint32_t a, std::uint32_t b) { return rows[a].offset < rows[b].offset; });
  }
}

std::string LineTable::PathOf(const File& file) const {
  const std::string& directory = directories_[file.directory];
  return WithoutFill(directory.empty() || file.name.starts_with('/') ? file.name : directory + "/" + file.name);
}

std::vector<std::string> LineTable::Files() const {
  std::vector<std::string> paths;
  for (const File& file : files_) {
    if (!file.name.empty()) paths.push_back(PathOf(file));
  }
  return paths;
}

std::vector<InlineFrame> LineTable::Frames(const std::string& name, std::uint64_t offset) const {
  const auto found = functions_.find(name);
  if (found == functions_.end()) return {};
  const Function& function = found->second;
  // Among several rows at one offset the last one counts.
  const auto after =
      std::upper_bound(function.by_offset.begin(), function.by_offset.end(), offset,
                       [&](std::uint64_t value, std::uint32_t i) { return value < function.rows[i].offset; });
  if (after == function.by_offset.begin()) return {};
  const Row* row = &function.rows[*std::prev(after)];
  // The row of a kernel's last line does not describe a subroutine after it that has no rows.
  const auto holder = std::prev(holders_.upper_bound({function.section, function.start + offset}));
  const auto [section, holder_start] = holder->first;
  if (row->line == 0 || function.start + row->offset < holder_start) return {};

  std::vector<InlineFrame> frames;
  for (;;) {
    InlineFrame frame{
        .function = holder->second, .file = PathOf(files_[row->file]), .line = static_cast<int>(row->line)};
    if (row->caller != 0) frame.function = row->inlined < names_.size() ? Demangle(names_.c_str() + row->inlined) : "?";
    frames.push_back(std::move(frame));
    if (row->caller == 0 || !function.has_callers) return frames;
    constexpr std::size_t kMaxDepth = 1000;
    if (frames.size() == kMaxDepth)
      throw Error("the cubin's line information is damaged: inlining is nested too deeply", kBuildAgain);
    row = &function.rows[row->caller - 1];  // precedes it, as AddRow() ensures
  }
}

namespace {

bool IsOfPath(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("/._-+@~%").find(c) != std::string_view::npos;
}

/// "/app/kernels/a.cu", two components or more, the first one longer than a letter, which random bytes hardly hold.
bool NamesSource(std::string_view path) {
  constexpr std::string_view kEndings[] = {".c",   ".cc",  ".cpp", ".cu",  ".cuh", ".cxx", ".h", ".hh",
                                           ".hpp", ".hxx", ".inc", ".inl", ".ptx", ".py",  ".rs"};
  while (path.ends_with('.')) path.remove_suffix(1);  // the end of a sentence
  const std::size_t name = path.rfind('/');
  const std::size_t second = path.find('/', 1);
  if (second == std::string_view::npos || second < 3) return false;
  const std::size_t dot = path.rfind('.');
  return dot != std::string_view::npos && dot > name + 1 &&
         std::ranges::find(kEndings, path.substr(dot)) != std::end(kEndings);
}

/// A path begins where no byte of a path precedes it, or after an option: -I/app/include/a.h.
bool HoldsSourcePath(std::string_view bytes, std::span<const std::string_view> except) {
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < bytes.size(); begin = end + 1) {
    end = begin;
    while (end < bytes.size() && IsOfPath(bytes[end])) ++end;
    std::string_view word = bytes.substr(begin, end - begin);
    if (word.starts_with("-I")) word.remove_prefix(2);
    const auto known = [&](std::string_view top) { return word.starts_with(top); };
    if (word.starts_with('/') && NamesSource(word) && std::ranges::none_of(except, known)) return true;
  }
  return false;
}

}  // namespace

bool HoldsAbsolutePath(std::string_view bytes, std::span<const std::string_view> except) {
  if (HoldsSourcePath(bytes, except)) return true;
  // Folders, and files with other endings, are known by where they are. A path may follow any byte, but machine code
  // holds no name of five letters by accident.
  constexpr std::string_view kTops[] = {"/home/",  "/root/",  "/work/",   "/workspace", "/tmp/",  "/build",
                                        "/usr/",   "/opt/",   "/var/",    "/mnt/",      "/data/", "/srv/",
                                        "/dvs/",   "/Users/", "/scratch", "/github/",   "/__w/",  "/proj",
                                        "/media/", "/nfs/",   "/builds/", "/lustre/",   "/gpfs/"};
  return std::ranges::any_of(kTops, [&](std::string_view top) { return bytes.find(top) != std::string_view::npos; });
}

bool RewriteSourcePaths(std::span<std::uint8_t> cubin,
                        const std::function<std::string(const std::string&)>& rewritten) {
  const ElfFile elf = ReadElf(cubin);
  const std::string_view bytes(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  bool all = true;
  std::vector<std::string> gone;
  const auto replace = [&](std::string_view old, const std::string& path) {
    const std::optional<std::string> filled = Filled(path, old.size());
    all = all && filled;
    if (old.starts_with('/')) gone.emplace_back(old);
    if (filled) std::ranges::copy(*filled, cubin.begin() + (old.data() - bytes.data()));
  };
  if (const auto* lines = elf.Find(".debug_line")) {
    LineTable table;
    LineProgram program(elf, lines->bytes, table);
    program.Run();
    for (const std::string_view directory : program.directories()) {
      const std::string file = rewritten(WithoutFill(std::string(directory)) + "/f");
      replace(directory, file.substr(0, file.find('/') == std::string::npos ? 0 : file.rfind('/')));
    }
    for (const std::string_view file : program.files()) {
      if (file.starts_with('/')) replace(file, rewritten(std::string(file)));
    }
  }
  return all && !HoldsAbsolutePath(bytes) && std::ranges::none_of(gone, [&](const std::string& path) {
           return bytes.find(path) != std::string_view::npos;
         });
}

}  // namespace fa_profile::sass

#include "fa_profile/machine_code.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include "byte_reader.h"
#include "elf_file.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "unpack.h"

namespace fa_profile::sass {
namespace {

using Kind = CodeImage::Kind;
using Packing = CodeImage::Packing;

constexpr std::string_view kFatbinMagic = "\x50\xed\x55\xba";
constexpr std::string_view kAnyElfMagic =
    "\x7f"
    "ELF";
constexpr std::uint64_t kElfHeaderBytes = 64;
constexpr std::uint64_t kFatbinHeaderBytes = 16;
constexpr std::uint64_t kEntryHeaderBytes = 64;

std::string TooLarge(std::uint64_t bytes) {
  return "it has " + std::to_string(bytes) + " bytes, more than the " + std::to_string(kLargestImage) +
         " that are read";
}

const char* Word(Kind kind) {
  switch (kind) {
    case Kind::kCubin:
    case Kind::kRelocatable:
      return "cubin";
    case Kind::kPtx:
      return "PTX";
    case Kind::kIntermediate:
      return "intermediate code";
    case Kind::kDamaged:
      break;
  }
  return "image";
}

/// 90 of a cubin for sm_90a. `head`: its ELF header. As in ReadElf(): CUDA 13 moved it one byte up.
int ArchitectureOfElf(std::span<const std::uint8_t> head) { return head[8] >= 8 ? head[49] : head[48]; }

/// The contents of an ELF header. `head`: its 64 bytes.
struct ElfHead {
  explicit ElfHead(std::span<const std::uint8_t> head) {
    ByteReader reader(head);
    reader.Take(16);
    type = reader.U16();
    machine = reader.U16();
    reader.Take(4 + 8);  // version, entry
    segments_at = reader.U64();
    sections_at = reader.U64();
    reader.Take(4 + 2);  // flags, header size
    segments_bytes = std::uint64_t{reader.U16()} * reader.U16();
    section_bytes = reader.U16();
    section_count = reader.U16();
    sections_bytes = std::uint64_t{section_bytes} * section_count;
  }
  std::uint16_t type = 0;
  std::uint16_t machine = 0;
  std::uint64_t segments_at = 0;
  std::uint64_t segments_bytes = 0;
  std::uint64_t sections_at = 0;
  std::uint64_t sections_bytes = 0;
  std::uint16_t section_bytes = 0;  ///< size of one in the table
  std::uint16_t section_count = 0;
};
constexpr std::uint16_t kRelocatableType = 1;

/// `at + size`, or absent if it exceeds `most`: no sum overflows.
std::optional<std::uint64_t> EndWithin(std::uint64_t at, std::uint64_t size, std::uint64_t most) {
  if (at > most || size > most - at) return std::nullopt;
  return at + size;
}

/// An entry's header in a fatbin.
struct Entry {
  explicit Entry(std::span<const std::uint8_t> head) {
    ByteReader reader(head);
    kind = reader.U16();
    reader.Take(2);  // version
    header_bytes = reader.U32();
    payload_bytes = reader.U64();
    packed_bytes = reader.U32();
    reader.Take(4 + 2 + 2);  // where options are, version of the code
    sm = reader.U32();
    reader.Take(4 + 4);  // where the source's name is
    flags = reader.U64();
    reader.Take(8);
    unpacked_bytes = reader.U64();
  }
  // Bits of `flags`, as fatbinary sets them.
  static constexpr std::uint64_t kLz4 = 0x2000;
  static constexpr std::uint64_t kZstd = 0x8000;
  static constexpr std::uint64_t kArchitectureSpecific = 0x100000;
  static constexpr std::uint64_t kFamilySpecific = 0x200000;

  std::uint16_t kind = 0;
  std::uint32_t header_bytes = 0;
  std::uint64_t payload_bytes = 0;
  std::uint32_t packed_bytes = 0;
  std::uint32_t sm = 0;
  std::uint64_t flags = 0;
  std::uint64_t unpacked_bytes = 0;
};

Kind KindOf(const Entry& entry) {
  switch (entry.kind) {
    case 1:
      return Kind::kPtx;
    case 2:
      return Kind::kCubin;
    case 8:
      return Kind::kIntermediate;
    default:
      return Kind::kDamaged;
  }
}

std::string ArchitectureOf(const Entry& entry, Kind kind) {
  std::string name =
      (kind == Kind::kPtx || kind == Kind::kIntermediate ? "compute_" : "sm_") + std::to_string(entry.sm);
  if ((entry.flags & Entry::kArchitectureSpecific) != 0) name += 'a';
  if ((entry.flags & Entry::kFamilySpecific) != 0) name += 'f';
  return name;
}

/// The bytes of an open file, or of a buffer.
class CodeBytes {
 public:
  /// `path` empty: the buffer. Throws Error.
  CodeBytes(const std::string& path, std::span<const std::uint8_t> buffer) : path_(path), buffer_(buffer) {
    size_ = buffer.size();
    if (path.empty()) return;
    file_ = OpenFile(path);
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) throw Error(path + " cannot be read: " + std::strerror(errno));
    size_ = static_cast<std::uint64_t>(status.st_size);
  }

  std::uint64_t size() const { return size_; }

  /// The next offset with bytes that the file system stores: holes in a file are zeros, and need no search.
  std::uint64_t NextData(std::uint64_t offset) const {
    if (path_.empty()) return offset;
    const off_t next = ::lseek(file_.get(), static_cast<off_t>(offset), SEEK_DATA);
    if (next < 0) return errno == ENXIO ? size_ : offset;
    return static_cast<std::uint64_t>(next);
  }

  std::vector<std::uint8_t> ReadAt(std::uint64_t offset, std::uint64_t size) const {
    if (offset > size_ || size > size_ - offset) RefuseShort();
    if (path_.empty()) {
      const auto bytes = buffer_.subspan(offset, size);
      return {bytes.begin(), bytes.end()};
    }
    std::vector<std::uint8_t> bytes(size);
    if (sass::ReadAt(file_.get(), path_, offset, {reinterpret_cast<char*>(bytes.data()), bytes.size()}) != size)
      RefuseShort();
    return bytes;
  }

  /// The first `most` bytes of an image.
  std::vector<std::uint8_t> Unpack(const CodeImage& image, std::uint64_t most) const {
    if (image.packing == Packing::kNone) return ReadAt(image.offset, std::min(image.stored_bytes, most));
    // Unpacking the beginning of a zstd frame takes one block of it, which has at most this many bytes.
    constexpr std::uint64_t kBlockBytes = std::uint64_t{256} << 10U;
    const std::uint64_t needed = most < kBlockBytes ? std::min(image.stored_bytes, kBlockBytes) : image.stored_bytes;
    const auto unpack = image.packing == Packing::kLz4 ? UnpackLz4 : UnpackZstd;
    return unpack(ReadAt(image.offset, needed), image.bytes, most);
  }

 private:
  [[noreturn]] void RefuseShort() const {
    throw Error(path_ + " became shorter while it was read", "read it again when it is complete");
  }

  std::string path_;
  Descriptor file_;
  std::span<const std::uint8_t> buffer_;
  std::uint64_t size_ = 0;
};

/// Goes through a file once, from its beginning.
class CodeWalk {
 public:
  explicit CodeWalk(CodeBytes code) : code_(std::move(code)), tables_left_(code_.size()) {}

  std::vector<CodeImage> Run() {
    BeginContainer();
    constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 20U;
    std::uint64_t at = 0;
    while (at < code_.size() && !is_full_) {
      const std::uint64_t start = code_.NextData(at);
      if (start >= code_.size()) break;
      at = start;
      const auto window = code_.ReadAt(start, std::min(kWindowBytes, code_.size() - start));
      const std::uint64_t end = start + window.size();
      // A header that crosses the window's end is read with the next window.
      const std::uint64_t last = end == code_.size() ? end : end - kElfHeaderBytes;
      Mark fatbin{kFatbinMagic};
      Mark elf{kAnyElfMagic};
      while (at < last && !is_full_) {
        const std::uint64_t mark = std::min(fatbin.From(at - start, window), elf.From(at - start, window));
        const auto rest = std::span(window).subspan(mark);
        at = start + mark;
        if (at >= last) break;
        at = Text(rest).starts_with(kFatbinMagic) ? TakeFatbin(at, rest) : TakeElf(at, rest);
      }
      if (at > last && at <= end) at = last;
    }
    EndContainer();
    DropLinked();
    return std::move(images_);
  }

 private:
  /// The next position of a magic number in a window, which is searched once.
  struct Mark {
    std::string_view magic;
    std::optional<std::size_t> found{};

    std::size_t From(std::size_t at, std::span<const std::uint8_t> window) {
      if (!found || *found < at) found = std::min(Text(window).find(magic, at), window.size());
      return *found;
    }
  };

  // Both read what begins at `at`, and return where to continue. `bytes`: from there on, 64 unless the file ends.

  std::uint64_t TakeElf(std::uint64_t at, std::span<const std::uint8_t> bytes) {
    const std::uint64_t next = at + kAnyElfMagic.size();
    if (bytes.size() < kMachineOffset + 2 || bytes[kMachineOffset] != kMachineCuda || bytes[kMachineOffset + 1] != 0)
      return next;
    CodeImage image{.kind = Kind::kCubin, .offset = at};
    if (!IsCubin(Text(bytes))) {
      image.unread = "it is a 32-bit cubin, which current GPUs do not load";
    } else if (bytes.size() < kElfHeaderBytes) {
      image.unread = "the cubin is cut off in its header";
    } else {
      const auto head = bytes.first(kElfHeaderBytes);
      image.bytes = image.stored_bytes = CubinBytes(at, ElfHead(head), code_.size() - at, image.unread);
      image.architecture = "sm_" + std::to_string(ArchitectureOfElf(head));
      if (ElfHead(head).type == kRelocatableType) image.kind = Kind::kRelocatable;
      if (image.bytes > kLargestImage) image.unread = TooLarge(image.bytes);
    }
    Add(std::move(image));
    return std::max(at + images_.back().stored_bytes, next);
  }

  /// The size of a cubin that stands alone, from its headers; 0 with a reason if it is damaged.
  std::uint64_t CubinBytes(std::uint64_t at, const ElfHead& head, std::uint64_t available, std::string& unread) {
    const auto segments = EndWithin(head.segments_at, head.segments_bytes, available);
    const auto sections = EndWithin(head.sections_at, head.sections_bytes, available);
    if (!segments || !sections) {
      unread = !sections ? "the cubin is cut off: its section table is missing"
                         : "the cubin is cut off: its program headers are missing";
      return 0;
    }
    constexpr std::uint64_t kSectionBytes = 64;
    if (head.section_bytes != kSectionBytes || head.section_count == 0) {
      unread = "the cubin has no section table";
      return 0;
    }
    if (head.sections_bytes > tables_left_) {  // the tables of separate files fit into this one
      unread = "the cubin is damaged: its section table overlaps others";
      return 0;
    }
    tables_left_ -= head.sections_bytes;
    std::uint64_t end = std::max({kElfHeaderBytes, *segments, *sections});
    const auto table = code_.ReadAt(at + head.sections_at, head.sections_bytes);
    for (std::uint64_t i = 0; i + kSectionBytes <= table.size(); i += kSectionBytes) {
      ByteReader section{std::span<const std::uint8_t>(table).subspan(i, kSectionBytes)};
      section.Take(4);
      const std::uint32_t type = section.U32();
      section.Take(8 + 8);  // flags, address
      const std::uint64_t offset = section.U64();
      if (type == 0 || type == kNoBits || type == kCudaShared) continue;
      const auto section_end = EndWithin(offset, section.U64(), available);
      if (!section_end) {
        unread = "the cubin is cut off: section " + std::to_string(i / kSectionBytes) + " is beyond its end";
        return 0;
      }
      end = std::max(end, *section_end);
    }
    return end;
  }

  std::uint64_t TakeFatbin(std::uint64_t at, std::span<const std::uint8_t> bytes) {
    const std::uint64_t next = at + kFatbinMagic.size();
    if (bytes.size() < kFatbinHeaderBytes) return next;
    ByteReader reader(bytes);
    reader.Take(4);
    const std::uint16_t version = reader.U16();
    const std::uint16_t header_bytes = reader.U16();
    const std::uint64_t size = reader.U64();
    constexpr std::uint16_t kMostVersion = 16;  // beyond, this is other data
    constexpr std::uint16_t kMostHeaderBytes = 256;
    if (version == 0 || version > kMostVersion || header_bytes < kFatbinHeaderBytes ||
        header_bytes > kMostHeaderBytes) {
      return next;
    }
    if (version > 1) {
      AddDamaged(at, "fatbin", "it has version " + std::to_string(version) + ", which is not known");
      return next;
    }
    const std::uint64_t begin = at + header_bytes;
    const auto end = EndWithin(begin, size, code_.size());
    if (!end) AddDamaged(at, "fatbin", "it is cut off: it ends after the end of the file");
    return TakeEntries(at, std::min(begin, code_.size()), end.value_or(code_.size()));
  }

  /// Reads the entries of the fatbin at `fatbin`; returns where to continue: at the first damaged one, or at `end`.
  std::uint64_t TakeEntries(std::uint64_t fatbin, std::uint64_t at, std::uint64_t end) {
    const std::size_t first = images_.size();
    while (end - at >= kEntryHeaderBytes && !is_full_) {
      const Entry entry(code_.ReadAt(at, kEntryHeaderBytes));
      const auto payload = EndWithin(at, entry.header_bytes, end);
      const auto entry_end = payload ? EndWithin(*payload, entry.payload_bytes, end) : std::nullopt;
      if (entry.header_bytes < kEntryHeaderBytes || !entry_end) {
        AddDamaged(at, "entry of the fatbin at " + Hex(fatbin), "it is damaged: its size does not fit into the fatbin");
        end = std::min(at + kEntryHeaderBytes, end);
        break;
      }
      AddEntry(entry, *payload);
      at = *entry_end;
    }
    NamePtxAlone(first);
    return end;
  }

  void AddEntry(const Entry& entry, std::uint64_t payload) {
    CodeImage image{.kind = KindOf(entry), .offset = payload};
    image.architecture = ArchitectureOf(entry, image.kind);
    image.bytes = image.stored_bytes = entry.payload_bytes;
    if ((entry.flags & (Entry::kLz4 | Entry::kZstd)) != 0) {
      image.packing = (entry.flags & Entry::kLz4) != 0 ? Packing::kLz4 : Packing::kZstd;
      image.stored_bytes = entry.packed_bytes;
      image.bytes = entry.unpacked_bytes;
    }
    if (image.kind == Kind::kDamaged) {
      image.unread = "its kind, " + std::to_string(entry.kind) + ", is not known";
    } else if (image.stored_bytes > entry.payload_bytes) {
      image.unread = "it is damaged: its compressed bytes end after their entry";
    } else if (image.bytes > kLargestImage) {
      image.unread = TooLarge(image.bytes);
    } else if (image.kind == Kind::kCubin && IsRelocatable(image)) {
      image.kind = Kind::kRelocatable;
    }
    Add(std::move(image));
  }

  bool IsRelocatable(const CodeImage& image) const {
    try {
      const auto head = code_.Unpack(image, kElfHeaderBytes);
      return IsCubin(Text(head)) && head.size() >= kElfHeaderBytes && ElfHead(head).type == kRelocatableType;
    } catch (const Error&) {
      return false;  // Read() reports why
    }
  }

  /// PTX next to machine code is there for future GPUs. Alone, it is the only form of its kernels.
  void NamePtxAlone(std::size_t first) {
    const auto images = std::span<CodeImage>(images_).subspan(std::min(first, images_.size()));
    const auto is_machine_code = [](const CodeImage& image) {
      return image.kind == Kind::kCubin || image.kind == Kind::kRelocatable;
    };
    if (std::ranges::any_of(images, is_machine_code)) return;
    for (CodeImage& image : images) {
      if (!image.unread.empty()) continue;
      if (image.kind == Kind::kIntermediate) image.unread = "it is for optimisation at link time, not machine code";
      if (image.kind == Kind::kPtx && HasKernel(image)) image.unread = "PTX only, not machine code";
    }
  }

  /// Also true if it cannot be determined.
  bool HasKernel(const CodeImage& ptx) {
    if (ptx.bytes > ptx_left_) return true;
    ptx_left_ -= ptx.bytes;
    try {
      return Text(code_.Unpack(ptx, kLargestImage)).find(".entry") != std::string_view::npos;
    } catch (const Error&) {
      return true;
    }
  }

  /// For relocatable code, the code linked from it is what runs.
  void DropLinked() {
    std::set<std::string> linked;
    for (const CodeImage& image : images_) {
      if (is_linked_file_ && image.kind == Kind::kCubin && image.unread.empty()) linked.insert(image.architecture);
    }
    for (CodeImage& image : images_) {
      if (image.kind == Kind::kRelocatable && !linked.contains(image.architecture)) image.kind = Kind::kCubin;
      if (image.kind == Kind::kIntermediate && !linked.empty()) image.unread.clear();
    }
  }

  // --- the file itself ---

  void BeginContainer() {
    const auto head = code_.ReadAt(0, std::min(kElfHeaderBytes, code_.size()));
    is_archive_ = Text(head).starts_with("!<arch>\n");
    if (Text(head).starts_with("!<thin>\n"))
      AddDamaged(0, "thin archive", "its members are in other files: give those");
    is_linked_file_ = Text(head).starts_with("MZ");
    if (!Text(head).starts_with(kElfMagic) || IsCubin(Text(head)) || head.size() < kElfHeaderBytes || head[5] != 1)
      return;
    const ElfHead elf(head);
    is_linked_file_ = elf.type != kRelocatableType;
    is_cut_off_ = !EndWithin(elf.sections_at, elf.sections_bytes, code_.size());
  }

  void EndContainer() {
    (void)MemberAt(code_.size());
    if (is_cut_off_) AddDamaged(code_.size(), "end of the file", "it is cut off: its section table is missing");
  }

  /// The name of the archive member that contains `offset`, followed by a colon; empty outside archives.
  std::string MemberAt(std::uint64_t offset) {
    constexpr std::uint64_t kHeaderBytes = 60;
    constexpr int kMostMembers = 1 << 20;
    while (is_archive_ && offset >= next_member_ && next_member_ + kHeaderBytes <= code_.size()) {
      const auto head = code_.ReadAt(next_member_, kHeaderBytes);
      const std::string_view text = Text(head);
      std::uint64_t size = 0;
      const auto number = std::from_chars(text.data() + 48, text.data() + 58, size);
      const auto end = EndWithin(next_member_ + kHeaderBytes, size, code_.size());
      if (number.ec != std::errc() || !text.ends_with("`\n") || !end || ++members_ > kMostMembers) {
        is_archive_ = false;  // the rest has no names
        member_.clear();
        if (members_ <= kMostMembers) AddDamaged(next_member_, "member of the archive", "it is damaged or cut off");
        break;
      }
      if (text.starts_with("//")) long_names_ = next_member_ + kHeaderBytes;
      member_ = MemberName(text.substr(0, 16), next_member_ + kHeaderBytes);
      next_member_ = *end + (size & 1);
    }
    return member_.empty() ? "" : member_ + ": ";
  }

  std::string MemberName(std::string_view field, std::uint64_t content) const {
    constexpr std::uint64_t kMostBytes = 256;
    const auto name_at = [&](std::uint64_t at, std::uint64_t most) {
      if (at > code_.size()) return std::string();
      const auto bytes = code_.ReadAt(at, std::min({kMostBytes, most, code_.size() - at}));
      const std::string_view text = Text(bytes);
      return std::string(text.substr(0, text.find_first_of(std::string_view("/\n\0", 3))));
    };
    std::uint64_t number = 0;
    if (field.starts_with("#1/") && std::from_chars(field.data() + 3, field.end(), number).ec == std::errc()) {
      return name_at(content, number);  // BSD
    }
    if (field.starts_with('/') && std::from_chars(field.data() + 1, field.end(), number).ec == std::errc() &&
        number < code_.size()) {
      return name_at(long_names_ + number, kMostBytes);  // GNU
    }
    return std::string(field.substr(0, field.find_first_of("/ ")));
  }

  void Add(CodeImage image) {
    if (is_full_) return;
    if (images_.size() == kMostImages) {
      image = {.kind = Kind::kDamaged, .offset = image.offset};
      image.unread = "the file has more than " + std::to_string(kMostImages) + " images: the rest was not read";
      is_full_ = true;
    }
    if (image.name.empty()) {
      image.name = Word(image.kind);
      if (!image.architecture.empty() && image.kind != Kind::kDamaged) image.name += " " + image.architecture;
    }
    const std::string member = MemberAt(image.offset);
    image.name = member + image.name + " at " + Hex(image.offset);
    images_.push_back(std::move(image));
  }

  void AddDamaged(std::uint64_t at, std::string what, std::string why) {
    Add({.kind = Kind::kDamaged, .name = std::move(what), .unread = std::move(why), .offset = at});
  }

  CodeBytes code_;
  std::vector<CodeImage> images_;
  bool is_full_ = false;
  bool is_linked_file_ = false;  // a program or a shared library, also of Windows
  bool is_cut_off_ = false;
  bool is_archive_ = false;
  std::uint64_t next_member_ = 8;
  std::uint64_t long_names_ = 0;
  int members_ = 0;
  std::string member_;
  std::uint64_t tables_left_;                           // bytes of section tables that may still be read
  std::uint64_t ptx_left_ = std::uint64_t{256} << 20U;  // bytes of PTX that may still be searched
};

// A driver that takes the container's word would refuse the code.
void RequireArchitecture(const CodeImage& image, std::span<const std::uint8_t> cubin) {
  if (cubin.size() < kElfHeaderBytes || !image.architecture.starts_with("sm_")) return;
  const int sm = ArchitectureOfElf(cubin.first(kElfHeaderBytes));
  if (std::atoi(image.architecture.c_str() + 3) == sm) return;
  throw Error("its container says that it is for " + image.architecture + ", but it is for sm_" + std::to_string(sm),
              "build the file again");
}

}  // namespace

MachineCode::MachineCode(const std::string& path) : path_(path) { images_ = CodeWalk(CodeBytes(path_, {})).Run(); }

MachineCode::MachineCode(std::span<const std::uint8_t> buffer) : buffer_(buffer) {
  images_ = CodeWalk(CodeBytes({}, buffer_)).Run();
}

std::vector<std::uint8_t> MachineCode::Read(const CodeImage& image) const {
  auto bytes = CodeBytes(path_, buffer_).Unpack(image, kLargestImage);
  if ((image.kind == Kind::kCubin || image.kind == Kind::kRelocatable) && !IsCubin(Text(bytes))) {
    throw Error("it is not a cubin, which its container says it is", "build the file again, or copy it again");
  }
  if (image.kind == Kind::kCubin || image.kind == Kind::kRelocatable) RequireArchitecture(image, bytes);
  return bytes;
}

}  // namespace fa_profile::sass

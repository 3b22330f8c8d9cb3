#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fa_profile::sass {

/// GPU code found in a file, whether or not it can be read.
struct CodeImage {
  enum class Kind {
    kCubin,        ///< machine code
    kRelocatable,  ///< machine code that was linked into another cubin of the file, which is what runs
    kPtx,
    kIntermediate,  ///< for optimisation at link time
    kDamaged,       ///< part of a container, or of an unknown kind
  };
  Kind kind = Kind::kCubin;
  std::string name{};          ///< what and where: "cubin sm_90a at 0x1010", in an archive "member.o: cubin ..."
  std::string architecture{};  ///< "sm_90a", or "sm_90" if the letter is unknown; for PTX "compute_90"; may be empty
  std::uint64_t bytes = 0;     ///< size when unpacked
  /// Why this code cannot be read as machine code. Empty: it can (MachineCode::Read() may still throw), or need not be,
  /// because machine code from the same source is next to it.
  std::string unread{};

  // Where it is in the file.
  std::uint64_t offset = 0;
  std::uint64_t stored_bytes = 0;
  enum class Packing { kNone, kLz4, kZstd } packing = Packing::kNone;
};

/// Most images listed per file. One more, kDamaged, then says that the rest was not read.
inline constexpr std::size_t kMostImages = std::size_t{1} << 18U;
/// Most bytes in an image, unpacked.
inline constexpr std::uint64_t kLargestImage = std::uint64_t{1} << 30U;

/// All GPU code in a file: in fatbins (nvcc), and cubins embedded by themselves (CuTe DSL), wherever in the file they
/// are: an object, a program, a shared or static library, a fatbin or a cubin. Damaged or cut-off code is listed as
/// such, and the rest is found. No program is run. Needs little memory, however large the file is.
class MachineCode {
 public:
  /// Throws Error when the file cannot be opened or read.
  explicit MachineCode(const std::string& path);
  /// For a buffer, which must outlive this.
  explicit MachineCode(std::span<const std::uint8_t> buffer);

  const std::vector<CodeImage>& images() const { return images_; }  ///< in file order

  /// The bytes of an image whose `unread` is empty: for a cubin its ELF file. From any thread. Throws Error: they are
  /// damaged, or the file has changed.
  std::vector<std::uint8_t> Read(const CodeImage& image) const;

 private:
  std::string path_;  // empty: the buffer
  std::span<const std::uint8_t> buffer_;
  std::vector<CodeImage> images_;
};

}  // namespace fa_profile::sass

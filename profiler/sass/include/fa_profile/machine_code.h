#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fa_profile::sass {

/// Code for GPUs found in a file, whether or not it can be read.
struct CodeImage {
  enum class Kind {
    kCubin,        ///< machine code
    kRelocatable,  ///< machine code that was linked into another cubin of the file, which is what runs
    kPtx,
    kIntermediate,  ///< for optimisation at link time
    kDamaged,       ///< part of a container, or of a kind that is not known
  };
  Kind kind = Kind::kCubin;
  std::string name{};  ///< what and where: "cubin sm_90a at 0x1010", in an archive "member.o: cubin ..."
  std::string
      architecture{};       ///< "sm_90a", or "sm_90" where the letter is not known; of PTX "compute_90"; may be empty
  std::uint64_t bytes = 0;  ///< when it is unpacked
  /// Why this code cannot be read as machine code. Empty: it can (MachineCode::Read() may still throw), or need not be,
  /// because machine code of the same source is next to it.
  std::string unread{};

  // Where it is in the file.
  std::uint64_t offset = 0;
  std::uint64_t stored_bytes = 0;
  enum class Packing { kNone, kLz4, kZstd } packing = Packing::kNone;
};

/// The most images that are listed of a file. One more, kDamaged, then says that the rest was not read.
inline constexpr std::size_t kMostImages = std::size_t{1} << 18U;
/// The most bytes of an image, unpacked.
inline constexpr std::uint64_t kLargestImage = std::uint64_t{1} << 30U;

/// All code for GPUs in a file: in fatbins (nvcc), and cubins that are embedded by themselves (CuTe DSL), wherever in
/// the file they lie: an object, a program, a shared or static library, a fatbin or a cubin. What is damaged or cut off
/// is listed as such, and the rest is found. No program is run. Needs little memory, however large the file is.
class MachineCode {
 public:
  /// Throws Error when the file cannot be opened or read.
  explicit MachineCode(const std::string& path);
  /// Of a buffer, which must outlive this.
  explicit MachineCode(std::span<const std::uint8_t> buffer);

  const std::vector<CodeImage>& images() const { return images_; }  ///< in the order of the file

  /// The bytes of an image whose `unread` is empty: of a cubin its ELF file. From any thread. Throws Error: they are
  /// damaged, or the file has changed.
  std::vector<std::uint8_t> Read(const CodeImage& image) const;

 private:
  std::string path_;  // empty: the buffer
  std::span<const std::uint8_t> buffer_;
  std::vector<CodeImage> images_;
};

}  // namespace fa_profile::sass

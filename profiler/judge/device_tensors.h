#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/kernel_description.h"
#include "fa_profile/number_format.h"

/// Tensors on the GPU that the judge owns, and its operations on them there. Every function waits for its work.
namespace fa_profile::judge {

/// Device memory in separate allocations: exported memory shares no page with memory that is not.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes);  ///< 0: none
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&&) = delete;

  void* get() const { return memory_; }
  std::size_t bytes() const { return bytes_; }
  /// For cudaIpcOpenMemHandle() in another process, as hexadecimal text; empty without memory.
  std::string ExportedHandle() const;
  /// The bytes from `offset` on.
  void Download(std::span<std::byte> bytes, std::size_t offset = 0) const;
  void CopyFrom(const DeviceMemory& other) const;  ///< both have the same size
  void Upload(std::span<const std::byte> bytes) const;

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Memory exported by another process, and the size of its allocation as reported by the driver.
class ImportedMemory {
 public:
  /// Throws Error: not a handle, or its process has ended.
  explicit ImportedMemory(const std::string& hex);
  ~ImportedMemory();
  ImportedMemory(const ImportedMemory&) = delete;
  ImportedMemory& operator=(const ImportedMemory&) = delete;

  /// Throws Error: not inside the allocation.
  const std::byte* At(std::size_t offset, std::size_t bytes) const;

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Fills `to` with the bytes from `offset` on.
void CopyFromImported(const DeviceMemory& to, const ImportedMemory& from, std::size_t offset);

/// Page-locked memory of the host, which copy engines write.
class HostMemory {
 public:
  explicit HostMemory(std::size_t bytes);
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  HostMemory& operator=(HostMemory&& other) noexcept;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// Fills page-locked memory with device bytes through a copy engine: no SM executes an instruction, so a witness does
/// not see it. (Copies inside device memory are kernels: H100, driver 580.)
void Capture(std::span<std::byte> to, const void* from);

/// Where the elements of a tensor are, in elements.
struct ViewLayout {
  static constexpr int kMostRank = 12;
  int rank = 0;
  std::int64_t extents[kMostRank] = {};
  std::int64_t strides[kMostRank] = {};
};

/// A tensor in another process's memory.
class View {
 public:
  /// Throws Error: it is not inside the memory, which must outlive it.
  View(const ImportedMemory& memory, std::size_t offset, const ViewLayout& layout, std::size_t element_bytes);
  /// Copies the elements to or from memory that holds them contiguously.
  void GatherTo(const DeviceMemory& dense) const { GatherTo(dense, start_); }
  void ScatterFrom(const DeviceMemory& dense) const;
  /// The same from a copy of the memory from the first element to the last.
  void GatherTo(const DeviceMemory& dense, const void* copy) const;
  const std::byte* start() const { return start_; }
  std::size_t bytes() const { return bytes_; }  ///< from the first element to the last

 private:
  const std::byte* start_;
  ViewLayout layout_;
  std::size_t element_bytes_;
  std::size_t count_;
  std::size_t bytes_;
};

/// Draws every element from the seed, the tensor and its index alone, as specified by fa_profile_draw; not with a
/// function.
void DrawOnDevice(const DeviceMemory& memory, NumberFormat format, const Draw& draw, std::uint64_t seed,
                  std::uint32_t tensor);

/// What outputs hold before a call.
enum class Poison {
  kMarked,  ///< PoisonOf(): an element that still has it was never written
  kRandom,  ///< bits of finite numbers, new ones each time: indistinguishable from results
};
void PoisonOnDevice(const DeviceMemory& memory, NumberFormat format, Poison poison, std::uint64_t seed);
/// Poisons memory that no format describes.
void PoisonBytes(const DeviceMemory& memory);

/// Likewise copies device memory by copy engines, through page-locked memory, which grows as needed.
void CopyUnseen(HostMemory& through, void* to, const void* from, std::size_t bytes);

/// A hash of all bytes that depends on the order of elements.
std::uint64_t HashOnDevice(const DeviceMemory& memory);

/// The values of all elements, as float64.
void DecodeOnDevice(const DeviceMemory& memory, NumberFormat format, const DeviceMemory& values);

/// An error of this many times the tolerance or more, including any error where none is allowed or where the reference
/// is infinite.
inline constexpr double kLargestRatio = 1e9;

/// What a comparison on the device found.
struct DeviceErrors {
  std::uint64_t wrong = 0;       ///< elements outside the tolerance, unwritten and nonfinite ones included
  std::uint64_t unwritten = 0;   ///< wrong ones that hold PoisonOf()
  std::uint64_t nonfinite = 0;   ///< other wrong ones that are NaN or infinite
  std::uint64_t first = 0;       ///< index of the first wrong one
  double max_abs_error = 0.0;    ///< over finite elements
  double max_error_ratio = 0.0;  ///< over finite elements: |error| / tolerance, at most kLargestRatio
};
/// Compares with float64 values on the device. A NaN is correct where the reference is one, unless it is the poison; an
/// infinity where the reference is the same one.
DeviceErrors CompareOnDevice(const DeviceMemory& memory, NumberFormat format, const DeviceMemory& expected,
                             const Tolerance& tolerance);

}  // namespace fa_profile::judge

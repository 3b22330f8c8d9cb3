#pragma once

// Where the elements of a tile are in shared memory, and in which registers WGMMA expects and leaves them: pure index
// arithmetic, for the kernels and for the test that checks it against a model of the hardware
// (tests/hopper_layout_test.cpp).
//
// A tile of R rows and D columns of 2 bytes is D / 64 slabs of R rows of 128 bytes, one slab after the other. TMA
// writes a slab with its 128-byte swizzle, and WGMMA reads it like that: for K and Q "K-major" (the summed index, the
// head dimension, is the contiguous one), for V "MN-major" (the head dimension is the column index, the summed one is
// the key).

#include <cstdint>

#ifdef __CUDACC__
#define FA_HOPPER_BOTH __host__ __device__
#else
#define FA_HOPPER_BOTH
#endif

namespace fa_profile::hopper {

inline constexpr int kWarpgroupThreads = 128;
inline constexpr int kWarpgroupRows = 64;  // M of every WGMMA
inline constexpr int kStepDepth = 16;      // K of a WGMMA on 2-byte elements
inline constexpr int kSlabColumns = 64;
inline constexpr int kRowBytes = 128;                     // a row of a slab, and the width of the swizzle
inline constexpr int kAtomRows = 8;                       // the swizzle repeats after this many rows
inline constexpr int kAtomBytes = kAtomRows * kRowBytes;  // 1024: slabs begin at multiples of it

FA_HOPPER_BOTH constexpr std::uint32_t SlabBytes(int rows) { return static_cast<std::uint32_t>(rows) * kRowBytes; }

/// The 128-byte swizzle: in a shared-memory address, bits 4 to 6 (the 16-byte chunk in a row) are exclusive-ored with
/// bits 7 to 9 (the row, modulo 8).
FA_HOPPER_BOTH constexpr std::uint32_t Swizzle128(std::uint32_t address) { return address ^ ((address >> 3) & 0x70U); }

/// Byte offset of element (row, column) in a tile of `rows` rows that begins at a multiple of kAtomBytes.
template <bool kSwizzled = true>
FA_HOPPER_BOTH constexpr std::uint32_t TileOffset(int rows, int row, int column) {
  const auto line = static_cast<std::uint32_t>(row);
  const auto place = static_cast<std::uint32_t>(column);
  const std::uint32_t in_slab = line * kRowBytes + place % kSlabColumns * 2;
  return place / kSlabColumns * SlabBytes(rows) + (kSwizzled ? Swizzle128(in_slab) : in_slab);
}

/// matrix-descriptor-encode(x) of the PTX ISA: (x & 0x3FFFF) >> 4.
FA_HOPPER_BOTH constexpr std::uint64_t EncodeBytes(std::uint32_t bytes) { return (bytes & 0x3ffffU) >> 4; }

/// The matrix descriptor of WGMMA (PTX ISA, "Matrix Descriptor Format"):
///   bits 0-13   start address, encoded            bits 16-29  leading dimension byte offset, encoded
///   bits 32-45  stride dimension offset, encoded  bits 49-51  base offset: 0, atoms begin at multiples of 1024 bytes
///   bits 62-63  swizzle: 1 is 128 bytes
FA_HOPPER_BOTH constexpr std::uint64_t MatrixDescriptor(std::uint32_t address, std::uint32_t leading,
                                                        std::uint32_t stride) {
  return EncodeBytes(address) | EncodeBytes(leading) << 16 | EncodeBytes(stride) << 32 | std::uint64_t{1} << 62;
}

/// Q and K. Stride: from 8 rows to the next 8. Leading: unused in swizzled K-major layouts, 1 by convention.
FA_HOPPER_BOTH constexpr std::uint64_t KMajorDescriptor(std::uint32_t address) {
  return MatrixDescriptor(address, 16, kAtomBytes);
}

/// V, a tile of `rows` keys. Stride: from 8 keys to the next 8. Leading: from 64 columns to the next 64, a slab.
FA_HOPPER_BOTH constexpr std::uint64_t MnMajorDescriptor(std::uint32_t address, int rows) {
  return MatrixDescriptor(address, SlabBytes(rows), kAtomBytes);
}

/// Offset of step `step` of the product in a K-major tile of `rows` rows: 16 columns are 32 bytes of a row, after four
/// steps the next slab. The hardware swizzles the whole address, so the start may be inside an atom's row.
FA_HOPPER_BOTH constexpr std::uint32_t KMajorStep(int rows, int step) {
  constexpr int kSteps = kSlabColumns / kStepDepth;
  return static_cast<std::uint32_t>(step / kSteps) * SlabBytes(rows) + static_cast<std::uint32_t>(step % kSteps) * 32U;
}

/// The same for an MN-major tile: 16 keys are two atoms.
FA_HOPPER_BOTH constexpr std::uint32_t MnMajorStep(int step) {
  return static_cast<std::uint32_t>(step) * 2U * kAtomBytes;
}

/// A descriptor whose start is `bytes` further on. No carry: shared memory ends below 256 KiB, which fits in 14 bits.
FA_HOPPER_BOTH constexpr std::uint64_t Advance(std::uint64_t descriptor, std::uint32_t bytes) {
  return descriptor + (bytes >> 4);
}

/// Row and column of element `i` of a thread's fp32 accumulator. `thread` counts within the warpgroup.
FA_HOPPER_BOTH constexpr int AccumulatorRow(int thread, int i) {
  const auto t = static_cast<unsigned>(thread);
  return static_cast<int>(16 * (t / 32) + t % 32 / 4) + 8 * (i / 2 % 2);
}
FA_HOPPER_BOTH constexpr int AccumulatorColumn(int thread, int i) {
  return 8 * (i / 4) + 2 * static_cast<int>(static_cast<unsigned>(thread) % 4) + i % 2;
}

/// Row and column (0 to 15) of half `half` of register `i` of a thread's fragment of A.
FA_HOPPER_BOTH constexpr int FragmentRow(int thread, int i) {
  return 16 * (thread / 32) + thread % 32 / 4 + 8 * (i % 2);
}
FA_HOPPER_BOTH constexpr int FragmentColumn(int thread, int i, int half) {
  return 8 * (i / 2) + 2 * (thread % 4) + half;
}

/// Which element of the accumulator of Q K^T becomes half `half` of register `i` of P's fragment for step `step`:
/// threads keep what they have, nothing moves between them.
FA_HOPPER_BOTH constexpr int ScoreOfFragment(int step, int i, int half) { return 8 * step + 2 * i + half; }

}  // namespace fa_profile::hopper

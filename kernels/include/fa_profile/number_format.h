#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fa_profile {

/// Element types of tensors. Those of kernel libraries come first, with the numbers of kernel_abi_2.h; the others are
/// for Python kernels.
enum class NumberFormat {
  kFp32 = 1,
  kFp16,
  kBf16,
  kFp8E4m3,
  kFp8E5m2,
  kInt8,
  kInt32,
  kFp64,
  kInt64,
  kInt16,
  kUint8,  ///< also bool
};

/// All of them.
inline constexpr NumberFormat kNumberFormats[] = {NumberFormat::kFp32,    NumberFormat::kFp16,    NumberFormat::kBf16,
                                                  NumberFormat::kFp8E4m3, NumberFormat::kFp8E5m2, NumberFormat::kInt8,
                                                  NumberFormat::kInt32,   NumberFormat::kFp64,    NumberFormat::kInt64,
                                                  NumberFormat::kInt16,   NumberFormat::kUint8};

bool IsInteger(NumberFormat format);

std::string_view NameOf(NumberFormat format);  ///< "fp16", "fp8 e4m3"
std::size_t BytesOf(NumberFormat format);      ///< per element

/// The value of an element whose bits are the low ones of `bits`.
double Decode(NumberFormat format, std::uint64_t bits);

/// The bits of the nearest element, ties to even, as GPUs round. A value beyond the largest becomes infinite in fp32,
/// fp16 and bf16, and the largest in fp8 and in integers, like CUDA's saturating conversions. A NaN becomes the
/// format's NaN, in integers 0.
std::uint64_t Encode(NumberFormat format, double value);

/// Whether Encode() keeps `value` within the format's range: for integers, a whole number.
bool Fits(NumberFormat format, double value);

/// An element's content before the kernel writes it. For floating point a NaN that no GPU arithmetic produces: its NaNs
/// are 0x7fffffff, 0x7fff and 0x7f. Integers have no such value: any number.
std::uint64_t PoisonOf(NumberFormat format);

/// Element `index` of a tensor in memory.
std::uint64_t LoadBits(NumberFormat format, std::span<const std::byte> tensor, std::size_t index);
void StoreBits(NumberFormat format, std::span<std::byte> tensor, std::size_t index, std::uint64_t bits);

}  // namespace fa_profile

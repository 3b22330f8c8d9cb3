#include "fa_profile/number_format.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace fa_profile::number_format_test {
namespace {

// The bits as decoded by CUDA's headers.
double CudaDecode(NumberFormat format, std::uint32_t bits) {
  const auto half = [](unsigned short raw) { return static_cast<double>(__half2float(__half(__half_raw{raw}))); };
  const auto fp8 = [&](__nv_fp8_interpretation_t kind) {
    return half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), kind).x);
  };
  switch (format) {
    case NumberFormat::kFp16:
      return half(static_cast<unsigned short>(bits));
    case NumberFormat::kBf16:
      return static_cast<double>(__bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{static_cast<unsigned short>(bits)})));
    case NumberFormat::kFp8E4m3:
      return fp8(__NV_E4M3);
    case NumberFormat::kFp8E5m2:
      return fp8(__NV_E5M2);
    default: {
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
  }
}

std::uint32_t CudaEncode(NumberFormat format, double value) {
  switch (format) {
    case NumberFormat::kFp16:
      return static_cast<__half_raw>(__double2half(value)).x;
    case NumberFormat::kBf16:
      return static_cast<__nv_bfloat16_raw>(__double2bfloat16(value)).x;
    case NumberFormat::kFp8E4m3:
      return __nv_cvt_double_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
    case NumberFormat::kFp8E5m2:
      return __nv_cvt_double_to_fp8(value, __NV_SATFINITE, __NV_E5M2);
    default: {
      const auto narrow = static_cast<float>(value);
      std::uint32_t bits = 0;
      std::memcpy(&bits, &narrow, sizeof bits);
      return bits;
    }
  }
}

constexpr NumberFormat kFloats[] = {NumberFormat::kFp16, NumberFormat::kBf16, NumberFormat::kFp8E4m3,
                                    NumberFormat::kFp8E5m2};

std::uint32_t CodesOf(NumberFormat format) { return 1U << (8 * BytesOf(format)); }

bool SameValue(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST(NumberFormatTest, EveryCodeHasTheValueThatCudaGivesIt) {
  for (const NumberFormat format : kFloats) {
    for (std::uint32_t bits = 0; bits < CodesOf(format); ++bits) {
      ASSERT_TRUE(SameValue(Decode(format, bits), CudaDecode(format, bits)))
          << NameOf(format) << " " << bits << ": " << Decode(format, bits) << ", CUDA " << CudaDecode(format, bits);
    }
  }
}

TEST(NumberFormatTest, EveryCodeSurvivesARoundTrip) {
  for (const NumberFormat format : kFloats) {
    for (std::uint32_t bits = 0; bits < CodesOf(format); ++bits) {
      const double value = Decode(format, bits);
      if (std::isnan(value) || std::isinf(value)) continue;
      ASSERT_EQ(Encode(format, value), bits) << NameOf(format);
    }
  }
  for (int value = -128; value < 128; ++value) {
    EXPECT_EQ(Decode(NumberFormat::kInt8, Encode(NumberFormat::kInt8, value)), value);
  }
}

TEST(NumberFormatTest, ValuesBetweenTwoCodesAreRoundedAsCudaRoundsThem) {
  for (const NumberFormat format : kFloats) {
    for (std::uint32_t bits = 0; bits < CodesOf(format) / 2; ++bits) {
      const double low = Decode(format, bits);
      const double high = Decode(format, bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      const double middle = low + (high - low) / 2;
      for (const double value : {middle, std::nextafter(middle, low), std::nextafter(middle, high), -middle}) {
        ASSERT_EQ(Encode(format, value), CudaEncode(format, value)) << NameOf(format) << " " << value;
      }
    }
  }
}

TEST(NumberFormatTest, RandomValuesOfEverySizeAreEncodedAsCudaEncodesThem) {
  std::mt19937_64 random(1);
  for (const NumberFormat format : {NumberFormat::kFp32, NumberFormat::kFp16, NumberFormat::kBf16,
                                    NumberFormat::kFp8E4m3, NumberFormat::kFp8E5m2}) {
    for (int i = 0; i < 200'000; ++i) {
      const int exponent = static_cast<int>(random() % 300) - 170;
      const double value = std::ldexp(static_cast<double>(random() % (1U << 30)) - (1U << 29), exponent - 29);
      ASSERT_EQ(Encode(format, value), CudaEncode(format, value)) << NameOf(format) << " " << value;
    }
  }
}

TEST(NumberFormatTest, WhatIsTooLargeBecomesInfiniteOrTheLargest) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {1e300, infinity}) {
    EXPECT_EQ(Decode(NumberFormat::kFp32, Encode(NumberFormat::kFp32, value)), infinity);
    EXPECT_EQ(Decode(NumberFormat::kFp16, Encode(NumberFormat::kFp16, -value)), -infinity);
    EXPECT_EQ(Decode(NumberFormat::kBf16, Encode(NumberFormat::kBf16, value)), infinity);
    EXPECT_EQ(Decode(NumberFormat::kFp8E4m3, Encode(NumberFormat::kFp8E4m3, value)), 448);
    EXPECT_EQ(Decode(NumberFormat::kFp8E5m2, Encode(NumberFormat::kFp8E5m2, -value)), -57344);
    EXPECT_EQ(Decode(NumberFormat::kInt8, Encode(NumberFormat::kInt8, value)), 127);
    EXPECT_EQ(Decode(NumberFormat::kInt32, Encode(NumberFormat::kInt32, -value)), -2147483648.0);
  }
}

TEST(NumberFormatTest, ANanStaysOneWhereTheFormatHasOne) {
  for (const NumberFormat format : kNumberFormats) {
    const double value = Decode(format, Encode(format, std::nan("")));
    EXPECT_EQ(std::isnan(value), !IsInteger(format)) << NameOf(format);
  }
}

TEST(NumberFormatTest, ThePoisonIsANanThatNoConversionMakes) {
  for (const NumberFormat format : {NumberFormat::kFp32, NumberFormat::kFp16, NumberFormat::kBf16,
                                    NumberFormat::kFp8E4m3, NumberFormat::kFp8E5m2}) {
    EXPECT_TRUE(std::isnan(Decode(format, PoisonOf(format)))) << NameOf(format);
    EXPECT_NE(Encode(format, std::nan("")), PoisonOf(format));
    EXPECT_NE(CudaEncode(format, std::nan("")), PoisonOf(format));
  }
}

TEST(NumberFormatTest, FormatsOfPythonKeepTheirValues) {
  using enum NumberFormat;
  const auto kept = [](NumberFormat format, double value) { return Decode(format, Encode(format, value)) == value; };
  for (const double value : {0.0, 1.0, -2.5e-310, 1e300, -1.0 / 3.0}) EXPECT_TRUE(kept(kFp64, value));
  EXPECT_TRUE(std::isnan(Decode(kFp64, PoisonOf(kFp64))));
  EXPECT_NE(Encode(kFp64, std::nan("")), PoisonOf(kFp64));
  for (const double value : {0.0, -1.0, 4503599627370497.0, -9223372036854775808.0}) EXPECT_TRUE(kept(kInt64, value));
  EXPECT_EQ(Encode(kInt64, 1e30), 0x7fffffffffffffffU);
  EXPECT_TRUE(kept(kInt16, -32768) && kept(kUint8, 255) && kept(kUint8, 0));
  EXPECT_EQ(Decode(kUint8, Encode(kUint8, -3)), 0);
  EXPECT_EQ(Decode(kUint8, Encode(kUint8, 300)), 255);
  EXPECT_TRUE(Fits(kUint8, 200) && !Fits(kUint8, -1) && !Fits(kInt16, 40000));
}

TEST(NumberFormatTest, IntegersTakeWholeNumbersOfTheirRange) {
  EXPECT_TRUE(Fits(NumberFormat::kInt8, -128));
  EXPECT_FALSE(Fits(NumberFormat::kInt8, 128));
  EXPECT_FALSE(Fits(NumberFormat::kInt8, 0.5));
  EXPECT_FALSE(Fits(NumberFormat::kInt32, std::nan("")));
  EXPECT_TRUE(Fits(NumberFormat::kInt32, 2147483647));
  EXPECT_FALSE(Fits(NumberFormat::kFp8E4m3, 449));
  EXPECT_FALSE(Fits(NumberFormat::kFp32, std::numeric_limits<double>::infinity()));
}

TEST(NumberFormatTest, ElementsAreStoredAndLoadedByTheirIndex) {
  std::vector<std::byte> memory(6);
  StoreBits(NumberFormat::kFp16, memory, 1, 0xabcd);
  EXPECT_EQ(LoadBits(NumberFormat::kFp16, memory, 1), 0xabcdU);
  EXPECT_EQ(LoadBits(NumberFormat::kFp16, memory, 0), 0U);
  EXPECT_EQ(LoadBits(NumberFormat::kFp16, memory, 2), 0U);
  EXPECT_EQ(LoadBits(NumberFormat::kInt8, memory, 2), 0xcdU);
}

}  // namespace
}  // namespace fa_profile::number_format_test

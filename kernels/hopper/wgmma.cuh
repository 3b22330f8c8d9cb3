#pragma once

// Products of a warpgroup (PTX ISA, "wgmma.mma_async"): D (64, kN) fp32 += A (64, 16) x B (16, kN), A from shared
// memory by a descriptor or from registers, B by a descriptor. layout.h has the descriptors and the registers' places.
// They are asynchronous: FenceOperands() before the first, CommitProducts() after the last of a group, WaitProducts()
// before the accumulator, the registers of A or the tiles are touched.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace fa_profile::hopper {
namespace {

__device__ __forceinline__ void FenceOperands() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void CommitProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// Waits until at most `kNewer` of the newest groups are under way.
template <int kNewer>
__device__ __forceinline__ void WaitProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kNewer) : "memory");
}

/// Ties values to this place: the compiler moves no use of an accumulator to before the wait for it.
template <int kCount>
__device__ __forceinline__ void Pin(float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

/// The same for fragments of A: they are complete before the first product that reads them.
template <int kCount>
__device__ __forceinline__ void Pin(std::uint32_t (&values)[kCount][4]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    asm volatile("" : "+r"(values[i][0]), "+r"(values[i][1]), "+r"(values[i][2]), "+r"(values[i][3])::"memory");
  }
}

template <int kN, class Element>
struct Product;

// Ten registers of an accumulator: their names in the instruction, and the operands of the statement.
#define FA_NAMES(ten)                                                                                                  \
  "%" #ten "0, %" #ten "1, %" #ten "2, %" #ten "3, %" #ten "4, %" #ten "5, %" #ten "6, %" #ten "7, %" #ten "8, %" #ten \
  "9"
#define FA_FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define FA_EIGHT(d, i) FA_FOUR(d, i), FA_FOUR(d, i + 4)
#define FA_32(d, i) FA_EIGHT(d, i), FA_EIGHT(d, i + 8), FA_EIGHT(d, i + 16), FA_EIGHT(d, i + 24)

#define FA_NAMES_32 FA_NAMES() ", " FA_NAMES(1) ", " FA_NAMES(2) ", %30, %31"
#define FA_NAMES_36 FA_NAMES_32 ", %32, %33, %34, %35"
#define FA_NAMES_40 FA_NAMES() ", " FA_NAMES(1) ", " FA_NAMES(2) ", " FA_NAMES(3)
#define FA_NAMES_48 FA_NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define FA_NAMES_64 FA_NAMES_40 ", " FA_NAMES(4) ", " FA_NAMES(5) ", %60, %61, %62, %63"
#define FA_NAMES_68 FA_NAMES_64 ", %64, %65, %66, %67"
#define FA_NAMES_80 FA_NAMES_40 ", " FA_NAMES(4) ", " FA_NAMES(5) ", " FA_NAMES(6) ", " FA_NAMES(7)
#define FA_NAMES_88 FA_NAMES_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define FA_NAMES_96 FA_NAMES_88 ", %88, %89, %90, %91, %92, %93, %94, %95"

#define FA_OPERANDS_32(d) FA_32(d, 0)
#define FA_OPERANDS_36(d) FA_32(d, 0), FA_FOUR(d, 32)
#define FA_OPERANDS_48(d) FA_32(d, 0), FA_EIGHT(d, 32), FA_EIGHT(d, 40)
#define FA_OPERANDS_64(d) FA_32(d, 0), FA_32(d, 32)
#define FA_OPERANDS_68(d) FA_OPERANDS_64(d), FA_FOUR(d, 64)
#define FA_OPERANDS_80(d) FA_OPERANDS_64(d), FA_EIGHT(d, 64), FA_EIGHT(d, 72)
#define FA_OPERANDS_88(d) FA_OPERANDS_80(d), FA_EIGHT(d, 80)
#define FA_OPERANDS_96(d) FA_OPERANDS_88(d), FA_EIGHT(d, 88)

// r0 to r4: the numbers of the operands after the accumulator's. `accumulate` 0: D = A x B, 1: D += A x B.
#define FA_MULTIPLY_SHARED(n, type, registers, accumulate, r0, r1)                                       \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" FA_NAMES_##registers \
               "}, %" #r0 ", %" #r1 ", " #accumulate ", 1, 1, 0, 0;"                                     \
               : FA_OPERANDS_##registers(d)                                                              \
               : "l"(a), "l"(b))
#define FA_MULTIPLY_REGISTERS(n, type, registers, accumulate, r0, r1, r2, r3, r4)                        \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" FA_NAMES_##registers \
               "}, {%" #r0 ", %" #r1 ", %" #r2 ", %" #r3 "}, %" #r4 ", " #accumulate ", 1, 1, 1;"        \
               : FA_OPERANDS_##registers(d)                                                              \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))

// `accumulate` is known where loops are unrolled: no branch is left.
#define FA_PRODUCT(n, element, type, registers, r0, r1, r2, r3, r4)                                                  \
  template <>                                                                                                        \
  struct Product<n, element> {                                                                                       \
    /* A and B K-major: Q and K. */                                                                                  \
    static __device__ __forceinline__ void Multiply(float (&d)[n / 2], std::uint64_t a, std::uint64_t b,             \
                                                    int accumulate) {                                                \
      if (accumulate == 0) {                                                                                         \
        FA_MULTIPLY_SHARED(n, type, registers, 0, r0, r1);                                                           \
      } else {                                                                                                       \
        FA_MULTIPLY_SHARED(n, type, registers, 1, r0, r1);                                                           \
      }                                                                                                              \
    }                                                                                                                \
    /* A in registers, B MN-major: P and V. */                                                                       \
    static __device__ __forceinline__ void Multiply(float (&d)[n / 2], const std::uint32_t (&a)[4], std::uint64_t b, \
                                                    int accumulate) {                                                \
      if (accumulate == 0) {                                                                                         \
        FA_MULTIPLY_REGISTERS(n, type, registers, 0, r0, r1, r2, r3, r4);                                            \
      } else {                                                                                                       \
        FA_MULTIPLY_REGISTERS(n, type, registers, 1, r0, r1, r2, r3, r4);                                            \
      }                                                                                                              \
    }                                                                                                                \
  };

#define FA_PRODUCTS(n, registers, r0, r1, r2, r3, r4)         \
  FA_PRODUCT(n, __half, "f16", registers, r0, r1, r2, r3, r4) \
  FA_PRODUCT(n, __nv_bfloat16, "bf16", registers, r0, r1, r2, r3, r4)

FA_PRODUCTS(64, 32, 32, 33, 34, 35, 36)
FA_PRODUCTS(72, 36, 36, 37, 38, 39, 40)
FA_PRODUCTS(96, 48, 48, 49, 50, 51, 52)
FA_PRODUCTS(128, 64, 64, 65, 66, 67, 68)
FA_PRODUCTS(136, 68, 68, 69, 70, 71, 72)
FA_PRODUCTS(160, 80, 80, 81, 82, 83, 84)
FA_PRODUCTS(176, 88, 88, 89, 90, 91, 92)
FA_PRODUCTS(192, 96, 96, 97, 98, 99, 100)

#undef FA_PRODUCTS
#undef FA_PRODUCT
#undef FA_MULTIPLY_SHARED
#undef FA_MULTIPLY_REGISTERS

}  // namespace
}  // namespace fa_profile::hopper

// What the families of variants share: the call, single instructions, exponentials.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "variants.h"

namespace phase_variants {
namespace {

/// One call. `group` query heads share a head of K and V; `theta` is the rotary base's share of an angle. Both are
/// neutral (1 and 0), and the compiler does not know that.
struct Call {
  const __half* q;
  const __half* k;
  const __half* v;
  __half* o;
  float* workspace;
  int heads;  // batch * heads
  int seqlen;
  float scale;
  int group;
  float theta;
};

inline Call MakeCall(const Arguments& args) {
  return {args.q,
          args.k,
          args.v,
          args.o,
          static_cast<float*>(args.workspace),
          args.batch * args.num_heads,
          args.seqlen,
          args.softmax_scale,
          1,
          0.0F};
}

template <class Kernel>
int Start(Kernel* kernel, const Arguments& args, int blocks, int threads, int shared_bytes) {
  const cudaError_t set = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (set != cudaSuccess) return static_cast<int>(set);
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), static_cast<std::size_t>(shared_bytes),
           static_cast<cudaStream_t>(args.stream)>>>(MakeCall(args));
  return static_cast<int>(cudaGetLastError());
}

inline std::size_t NoWorkspace(const Arguments&) { return 0; }

/// 128, or what a variant says because it rounds more than the rest and needs more keys to stay within the tolerance.
template <class T>
constexpr int LeastSeqlen() {
  if constexpr (requires { T::kLeastSeqlen; }) {
    return T::kLeastSeqlen;
  } else {
    return 128;
  }
}

/// A variant: its name, its family, and what it changes, as `WITH kWarps = 8;` each.
#define WITH static constexpr auto
#define VARIANT(name, Family, ...)                                                                      \
  struct name : Family {                                                                                \
    __VA_ARGS__                                                                                         \
  };                                                                                                    \
  const Registration register_##name(Variant{#name, name::kHeadDim, name::kCausal, LeastSeqlen<name>(), \
                                             &Family::WorkspaceBytes<name>, &Family::Launch<name>});

constexpr float kLog2E = 1.4426950408889634F;
constexpr unsigned kAll = 0xffffffffU;

__device__ __forceinline__ float Infinity() { return __int_as_float(0x7f800000); }

__device__ __forceinline__ std::uint32_t Shared(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void CopyAsync16(std::uint32_t shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
}
__device__ __forceinline__ void CopyAsync16(std::uint32_t shared, const void* global, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(valid ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void CommitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void WaitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

__device__ __forceinline__ void LoadMatrix(std::uint32_t (&r)[4], std::uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared)
               : "memory");
}
__device__ __forceinline__ void LoadMatrixTransposed(std::uint32_t (&r)[4], std::uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared)
               : "memory");
}
__device__ __forceinline__ std::uint32_t LoadShared32(std::uint32_t shared) {
  std::uint32_t value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(shared) : "memory");
  return value;
}
__device__ __forceinline__ std::uint32_t LoadShared16(std::uint32_t shared) {
  std::uint16_t value;
  asm volatile("ld.shared.b16 %0, [%1];" : "=h"(value) : "r"(shared) : "memory");
  return value;
}
__device__ __forceinline__ void StoreShared32(std::uint32_t shared, std::uint32_t value) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(shared), "r"(value) : "memory");
}

/// c (16,8) fp32 += a (16,16) x b (16,8). With g = lane/4 and t = lane%4 a lane holds c: rows g and g + 8, columns 2t
/// and 2t + 1; a: rows g, g + 8, g, g + 8 at columns 2t and 2t + 1, the last two 8 on; b: rows 2t, 2t + 1 and 8 on,
/// column g.
__device__ __forceinline__ void Mma16(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void MmaBf16(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                        std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
/// The same product as two of half the depth.
__device__ __forceinline__ void Mma8(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(b0));
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[2]), "r"(a[3]), "r"(b1));
}

__device__ __forceinline__ std::uint32_t Bits(__half2 pair) { return *reinterpret_cast<const std::uint32_t*>(&pair); }
__device__ __forceinline__ __half2 Pair(std::uint32_t bits) { return *reinterpret_cast<const __half2*>(&bits); }
__device__ __forceinline__ std::uint32_t Pack(float low, float high) { return Bits(__floats2half2_rn(low, high)); }
__device__ __forceinline__ std::uint32_t ToBf16(std::uint32_t halves) {
  const float2 pair = __half22float2(Pair(halves));
  const __nv_bfloat162 result = __floats2bfloat162_rn(pair.x, pair.y);
  return *reinterpret_cast<const std::uint32_t*>(&result);
}

enum class Exp {
  kEx2,         // one MUFU
  kExp2f,       // exp2f(): scaled, for denormal results
  kFast,        // __expf()
  kExpf,        // expf(): range reduction around the MUFU
  kPolynomial,  // no MUFU: Cody-Waite and a polynomial
  kMixed,       // every other one a polynomial, as FlashAttention 4 does it
  kHalf2        // two in fp16
};

template <Exp kExp>
constexpr bool kIsBase2 = kExp != Exp::kFast&& kExp != Exp::kExpf;

__device__ __forceinline__ float Ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// 2^x, x <= 0, within 4e-6: integer part to the exponent, Taylor's polynomial for the rest of it, in [-0.5, 0.5].
__device__ __forceinline__ float PolynomialExp2(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  x = fmaxf(x, -126.0F);
  const float shifted = x + kRound;
  const float fraction = x - (shifted - kRound);
  float y = 1.3333558e-3F;
  y = fmaf(y, fraction, 9.6181291e-3F);
  y = fmaf(y, fraction, 5.5504109e-2F);
  y = fmaf(y, fraction, 2.4022651e-1F);
  y = fmaf(y, fraction, 6.9314718e-1F);
  y = fmaf(y, fraction, 1.0F);
  return __int_as_float(__float_as_int(y) + (__float_as_int(shifted) << 23));
}

/// The exponential of kExp; `index` is known to the compiler.
template <Exp kExp>
__device__ __forceinline__ float Exponential(float x, int index = 0) {
  if constexpr (kExp == Exp::kExp2f) return exp2f(x);
  if constexpr (kExp == Exp::kFast) return __expf(x);
  if constexpr (kExp == Exp::kExpf) return expf(x);
  if constexpr (kExp == Exp::kPolynomial) return PolynomialExp2(x);
  if constexpr (kExp == Exp::kMixed) return index % 2 == 0 ? Ex2(x) : PolynomialExp2(x);
  return Ex2(x);
}

__device__ __forceinline__ std::uint32_t Ex2Half2(float low, float high) {
  return Bits(h2exp2(__floats2half2_rn(low, high)));
}

// mbarrier
__device__ __forceinline__ void InitBarrier(std::uint64_t* barrier, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(Shared(barrier)), "r"(count) : "memory");
}
__device__ __forceinline__ void Arrive(std::uint64_t* barrier) {
  asm volatile("{\n .reg .b64 state;\n mbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(Shared(barrier)) : "memory");
}
__device__ __forceinline__ void ExpectBytes(std::uint64_t* barrier, int bytes) {
  asm volatile("{\n .reg .b64 state;\n mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1;\n}" ::"r"(Shared(barrier)),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void WaitBarrier(std::uint64_t* barrier, int parity) {
  asm volatile(
      "{\n .reg .pred done;\n again:\n mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n @done bra ready;\n"
      " bra again;\n ready:\n}" ::"r"(Shared(barrier)),
      "r"(parity)
      : "memory");
}
/// Arrives when the copies that this thread has started are there.
__device__ __forceinline__ void ArriveWithCopies(std::uint64_t* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(Shared(barrier)) : "memory");
}
__device__ __forceinline__ void CopyBulk(std::uint32_t shared, const void* global, int bytes, std::uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
               "l"(global), "r"(bytes), "r"(Shared(barrier))
               : "memory");
}

}  // namespace
}  // namespace phase_variants

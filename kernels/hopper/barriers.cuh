#pragma once

// Where warps wait: mbarriers in shared memory, named barriers, and the barrier of a cluster. PTX ISA, "mbarrier",
// "barrier", "barrier.cluster".

#include <cuda_runtime.h>

#include <cstdint>

#include "hopper/warp.cuh"

namespace fa_profile::hopper {
namespace {

using Mbarrier = std::uint64_t;

/// The purpose of a wait, so that observers of waits, such as the emulator in the tests, can name it.
enum class WaitFor : int { kFullQ, kFullK, kFullV, kEmptyQ, kEmptyK, kEmptyV, kParts };

/// The address of `shared` in the shared memory of the cluster's block `rank`.
__device__ __forceinline__ std::uint32_t AddressIn(std::uint32_t shared, unsigned rank) {
  std::uint32_t address = 0;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
  return address;
}

/// A phase completes after `arrivals` arrivals and all announced bytes.
__device__ __forceinline__ void InitBarrier(Mbarrier* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SharedAddress(barrier)), "r"(arrivals) : "memory");
}

/// After the InitBarrier calls: makes them visible to the cluster and to TMA. A barrier of the threads must follow.
__device__ __forceinline__ void PublishBarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void Arrive(Mbarrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SharedAddress(barrier)) : "memory");
}

/// Arrives at the same barrier in block `rank` of the cluster. It releases nothing to that block: a tile that products
/// have read needs no more.
__device__ __forceinline__ void ArriveInCluster(Mbarrier* barrier, unsigned rank) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(AddressIn(SharedAddress(barrier), rank))
               : "memory");
}

/// Arrives, and adds `bytes` to what the phase waits for: copies subtract them as they complete.
__device__ __forceinline__ void ArriveExpecting(Mbarrier* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)), "r"(bytes)
               : "memory");
}

/// True once the phase of this parity is complete; returns after a while in any case.
__device__ __forceinline__ bool TryWait(Mbarrier* barrier, unsigned parity) {
  std::uint32_t done = 0;
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
      "selp.u32 %0, 1, 0, complete;\n"
      "}"
      : "=r"(done)
      : "r"(SharedAddress(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}

__device__ __forceinline__ void Wait(Mbarrier* barrier, unsigned parity, WaitFor) {
  while (!TryWait(barrier, parity)) {
  }
}

/// Barrier number `id` (1 to 15; 0 is __syncthreads()) among kThreads threads, whole warps.
template <int kThreads>
__device__ __forceinline__ void NamedSync(int id) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "n"(kThreads) : "memory");
}

/// Counts at the barrier and continues.
template <int kThreads>
__device__ __forceinline__ void NamedArrive(int id) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(id), "n"(kThreads) : "memory");
}

/// All threads of a cluster meet. Orders no ordinary memory accesses: an arrival that did would wait for all of the
/// thread's earlier ones, for hundreds of cycles. PublishBarriers() comes before it where barriers were initialised.
__device__ __forceinline__ void ClusterArrive() { asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
__device__ __forceinline__ void ClusterWait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

__device__ __forceinline__ unsigned ClusterRank() {
  unsigned rank = 0;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// Stores four floats in another block, where `barrier` counts their 16 bytes once they have arrived. Both are
/// addresses from AddressIn() for the same rank.
__device__ __forceinline__ void StoreInCluster(std::uint32_t address, float4 x, std::uint32_t barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(address),
      "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w), "r"(barrier)
      : "memory");
}

/// Copies from this block's shared memory to another one's, which counts the bytes at `barrier`. What is copied must
/// have been published to TMA. This block must not end before the copy does.
__device__ __forceinline__ void CopyInCluster(std::uint32_t address, std::uint32_t from, std::uint32_t bytes,
                                              std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address),
      "r"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

/// Returns registers to the pool, or takes them: all warps of a warpgroup together.
template <int kRegisters>
__device__ __forceinline__ void ShrinkTo() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void GrowTo() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace
}  // namespace fa_profile::hopper

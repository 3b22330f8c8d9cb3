#pragma once

// Copies by the Tensor Memory Accelerator (PTX ISA, "cp.async.bulk.tensor"). A tensor is (heads, seqlen, head_dim); a
// box is 64 columns and some rows of one head. Rows past the end are read as zeros, count in full for the barrier, and
// are not written. One thread issues a copy.

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "hopper/barriers.cuh"

namespace fa_profile::hopper {
namespace {

__device__ __forceinline__ void PrefetchMap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Fills `shared` (a multiple of 1024) from (head, row, column) on; `barrier` counts the bytes of the box.
__device__ __forceinline__ void LoadBox(std::uint32_t shared, const CUtensorMap* map, int column, int row, int head,
                                        Mbarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(shared),
      "l"(map), "r"(column), "r"(row), "r"(head), "r"(SharedAddress(barrier))
      : "memory");
}

/// The same into every block of the cluster whose rank's bit is set in `ranks`, at the same place; the barrier at the
/// same place of each of them counts.
__device__ __forceinline__ void LoadBoxInCluster(std::uint32_t shared, const CUtensorMap* map, int column, int row,
                                                 int head, Mbarrier* barrier, std::uint16_t ranks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared),
      "l"(map), "r"(column), "r"(row), "r"(head), "r"(SharedAddress(barrier)), "h"(ranks)
      : "memory");
}

/// Before StoreBox(), by the threads that wrote the box: TMA sees their writes. A barrier must follow.
__device__ __forceinline__ void PublishToTma() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ __forceinline__ void StoreBox(const CUtensorMap* map, std::uint32_t shared, int column, int row, int head) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(shared), "r"(column), "r"(row), "r"(head)
               : "memory");
}

__device__ __forceinline__ void CommitStores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/// Until this thread's stores have read their boxes.
__device__ __forceinline__ void WaitStoresRead() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

/// Until they are complete.
__device__ __forceinline__ void WaitStores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

}  // namespace
}  // namespace fa_profile::hopper

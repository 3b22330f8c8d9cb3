// The pieces of rung 8 alone, each against what the host computes.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "hopper/barriers.cuh"
#include "hopper/layout.h"
#include "hopper/tensor_map.h"
#include "hopper/tma.cuh"
#include "hopper/wgmma.cuh"
#include "parts.h"

namespace fa_profile::hopper {
namespace {

/// Device memory for the length of a part; a failure shows in Status().
template <class Value>
class Device {
 public:
  explicit Device(std::size_t count) : count_(count) { (void)cudaMalloc(&data_, count * sizeof(Value)); }
  explicit Device(const std::vector<Value>& values) : Device(values.size()) {
    (void)cudaMemcpy(data_, values.data(), count_ * sizeof(Value), cudaMemcpyDefault);
  }
  ~Device() { (void)cudaFree(data_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  Value* get() const { return data_; }
  std::vector<Value> Read() const {
    std::vector<Value> values(count_);
    (void)cudaMemcpy(values.data(), data_, count_ * sizeof(Value), cudaMemcpyDefault);
    return values;
  }

 private:
  std::size_t count_;
  Value* data_ = nullptr;
};

/// "" or the CUDA error of what ran last, or a wait that did not end.
std::string Status() {
  if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) return cudaGetErrorName(status);
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess) return cudaGetErrorName(status);
  if (const StuckReport stuck = TakeStuckWait(); stuck.count > 0) return std::string("waited in vain: ") + stuck.what;
  return "";
}

/// Small whole numbers, exact in fp16 and in sums of products, different from row to row and column to column.
std::vector<__half> Pattern(int rows, int columns, int salt) {
  std::vector<__half> values;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const unsigned mixed =
          static_cast<unsigned>(row * 131 + column * 71 + row * column * 7 + salt * 977) * 2654435761U;
      values.push_back(__float2half(static_cast<float>(static_cast<int>(mixed >> 28U) - 8)));
    }
  }
  return values;
}

float At(const std::vector<__half>& values, int columns, int row, int column) {
  return __half2float(values[static_cast<std::size_t>(row * columns + column)]);
}

std::string Place(const char* what, int row, int column, float got, float expected) {
  char text[160];
  std::snprintf(text, sizeof text, "%s[%d][%d] is %g, expected %g", what, row, column, got, expected);
  return text;
}

AttentionParams ShapeOf(int seqlen, int head_dim) {
  AttentionParams params;
  params.batch = 1;
  params.num_heads = 2;
  params.seqlen = seqlen;
  params.head_dim = head_dim;
  return params;
}

/// The first address of dynamic shared memory where an atom may begin.
__device__ std::uint32_t Tiles() { return (SharedAddress(DynamicMemory()) + kAtomBytes - 1) / kAtomBytes * kAtomBytes; }

/// Loads rows [row, row + rows) of head 1 with all columns to `to`, and waits. All threads call it.
__device__ void LoadAndWait(std::uint32_t to, const CUtensorMap* map, int head_dim, int row, int rows,
                            Mbarrier* barrier) {
  if (threadIdx.x == 0) {
    InitBarrier(barrier, 1);
    PublishBarriers();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ArriveExpecting(barrier, static_cast<unsigned>(rows * head_dim * 2));
    for (int slab = 0; slab < head_dim / kSlabColumns; ++slab) {
      LoadBox(to + slab * SlabBytes(rows), map, slab * kSlabColumns, row, 1, barrier);
    }
  }
  Wait(barrier, 0, WaitFor::kFullQ);
  __syncthreads();
}

__device__ unsigned short ReadHalf(std::uint32_t address) {
  unsigned short bits = 0;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(bits) : "r"(address) : "memory");
  return bits;
}

// ---- TMA loads ----

__global__ void LoadKernel(const __grid_constant__ CUtensorMap map, int head_dim, int row, int rows,
                           unsigned short* out) {
  __shared__ Mbarrier barrier;
  LoadAndWait(Tiles(), &map, head_dim, row, rows, &barrier);
  for (int i = static_cast<int>(threadIdx.x); i < rows * head_dim; i += static_cast<int>(blockDim.x)) {
    out[i] = ReadHalf(Tiles() + static_cast<std::uint32_t>(2 * i));
  }
}

std::string TryLoad(int head_dim) {
  constexpr int kSeqlen = 150;
  constexpr int kRow = 64;
  constexpr int kRows = 128;  // 42 of them past the end
  const std::vector<__half> tensor = Pattern(2 * kSeqlen, head_dim, 1);
  const Device<__half> device(tensor);
  CUtensorMap map;
  const cudaError_t status = EncodeMap(map, device.get(), MapType<__half>(), ShapeOf(kSeqlen, head_dim), kRows);
  if (status != cudaSuccess) return std::string("EncodeMap: ") + cudaGetErrorName(status);
  const Device<unsigned short> out(static_cast<std::size_t>(kRows) * head_dim);
  LoadKernel<<<1, 128, 40 * 1024>>>(map, head_dim, kRow, kRows, out.get());
  if (std::string error = Status(); !error.empty()) return error;
  const std::vector<unsigned short> got = out.Read();
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < head_dim; ++column) {
      __half_raw raw;
      raw.x = got[TileOffset(kRows, row, column) / 2];
      const float expected = kRow + row < kSeqlen ? At(tensor, head_dim, kSeqlen + kRow + row, column) : 0.0F;
      if (__half2float(__half(raw)) != expected) return Place("tile", row, column, __half2float(__half(raw)), expected);
    }
  }
  return "";
}

// ---- products ----

/// How the descriptors of B are made, to find what the hardware means if it is not what we mean.
struct Strides {
  std::uint32_t leading, stride, step;
};

template <int kKeys, int kHeadDim>
__global__ void QkKernel(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k, Strides strides,
                         float* out) {
  __shared__ Mbarrier barriers[2];
  const std::uint32_t q_tile = Tiles();
  const std::uint32_t k_tile = q_tile + kHeadDim / kSlabColumns * SlabBytes(64);
  LoadAndWait(q_tile, &q, kHeadDim, 0, 64, &barriers[0]);
  LoadAndWait(k_tile, &k, kHeadDim, 0, kKeys, &barriers[1]);
  float scores[kKeys / 2];
  Pin(scores);
  FenceOperands();
#pragma unroll
  for (int step = 0; step < kHeadDim / kStepDepth; ++step) {
    constexpr int kSteps = kSlabColumns / kStepDepth;
    const std::uint64_t a = Advance(KMajorDescriptor(q_tile), KMajorStep(64, step));
    const std::uint32_t slab = k_tile + static_cast<std::uint32_t>(step / kSteps) * SlabBytes(kKeys);
    const std::uint64_t b = MatrixDescriptor(slab + static_cast<std::uint32_t>(step % kSteps) * strides.step,
                                             strides.leading, strides.stride);
    Product<kKeys, __half>::Multiply(scores, a, b, step == 0 ? 0 : 1);
  }
  CommitProducts();
  WaitProducts<0>();
  Pin(scores);
#pragma unroll
  for (int i = 0; i < kKeys / 2; ++i) {
    const int thread = static_cast<int>(threadIdx.x);
    out[AccumulatorRow(thread, i) * kKeys + AccumulatorColumn(thread, i)] = scores[i];
  }
}

template <int kKeys, int kHeadDim>
std::string TryQk(Strides strides) {
  const std::vector<__half> q = Pattern(2 * 64, kHeadDim, 2);
  const std::vector<__half> k = Pattern(2 * kKeys, kHeadDim, 3);
  const Device<__half> q_device(q);
  const Device<__half> k_device(k);
  CUtensorMap q_map;
  CUtensorMap k_map;
  (void)EncodeMap(q_map, q_device.get(), MapType<__half>(), ShapeOf(64, kHeadDim), 64);
  (void)EncodeMap(k_map, k_device.get(), MapType<__half>(), ShapeOf(kKeys, kHeadDim), kKeys);
  const Device<float> out(std::size_t{64} * kKeys);
  (void)cudaFuncSetAttribute(QkKernel<kKeys, kHeadDim>, cudaFuncAttributeMaxDynamicSharedMemorySize, 96 * 1024);
  QkKernel<kKeys, kHeadDim><<<1, 128, 96 * 1024>>>(q_map, k_map, strides, out.get());
  if (std::string error = Status(); !error.empty()) return error;
  const std::vector<float> got = out.Read();
  for (int row = 0; row < 64; ++row) {
    for (int key = 0; key < kKeys; ++key) {
      float expected = 0.0F;
      for (int d = 0; d < kHeadDim; ++d) {
        expected += At(q, kHeadDim, 64 + row, d) * At(k, kHeadDim, kKeys + key, d);
      }
      const float value = got[static_cast<std::size_t>(row * kKeys + key)];
      if (value != expected) return Place("scores", row, key, value, expected);
    }
  }
  return "";
}

template <int kKeys, int kHeadDim>
__global__ void PvKernel(const __half* p, const __grid_constant__ CUtensorMap v, Strides strides, float* out) {
  __shared__ Mbarrier barrier;
  LoadAndWait(Tiles(), &v, kHeadDim, 0, kKeys, &barrier);
  const int thread = static_cast<int>(threadIdx.x);
  std::uint32_t a[kKeys / kStepDepth][4];
#pragma unroll
  for (int step = 0; step < kKeys / kStepDepth; ++step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const __half* const from = p + FragmentRow(thread, i) * kKeys + step * kStepDepth + FragmentColumn(thread, i, 0);
      a[step][i] = *reinterpret_cast<const std::uint32_t*>(from);
    }
  }
  float o[kHeadDim / 2];
  Pin(o);
  FenceOperands();
#pragma unroll
  for (int step = 0; step < kKeys / kStepDepth; ++step) {
    const std::uint64_t b =
        MatrixDescriptor(Tiles() + static_cast<std::uint32_t>(step) * strides.step, strides.leading, strides.stride);
    Product<kHeadDim, __half>::Multiply(o, a[step], b, step == 0 ? 0 : 1);
  }
  CommitProducts();
  WaitProducts<0>();
  Pin(o);
#pragma unroll
  for (int i = 0; i < kHeadDim / 2; ++i) {
    out[AccumulatorRow(thread, i) * kHeadDim + AccumulatorColumn(thread, i)] = o[i];
  }
}

template <int kKeys, int kHeadDim>
std::string TryPv(Strides strides) {
  const std::vector<__half> p = Pattern(64, kKeys, 4);
  const std::vector<__half> v = Pattern(2 * kKeys, kHeadDim, 5);
  const Device<__half> p_device(p);
  const Device<__half> v_device(v);
  CUtensorMap v_map;
  (void)EncodeMap(v_map, v_device.get(), MapType<__half>(), ShapeOf(kKeys, kHeadDim), kKeys);
  const Device<float> out(std::size_t{64} * kHeadDim);
  (void)cudaFuncSetAttribute(PvKernel<kKeys, kHeadDim>, cudaFuncAttributeMaxDynamicSharedMemorySize, 96 * 1024);
  PvKernel<kKeys, kHeadDim><<<1, 128, 96 * 1024>>>(p_device.get(), v_map, strides, out.get());
  if (std::string error = Status(); !error.empty()) return error;
  const std::vector<float> got = out.Read();
  for (int row = 0; row < 64; ++row) {
    for (int d = 0; d < kHeadDim; ++d) {
      float expected = 0.0F;
      for (int key = 0; key < kKeys; ++key) expected += At(p, kKeys, row, key) * At(v, kHeadDim, kKeys + key, d);
      const float value = got[static_cast<std::size_t>(row * kHeadDim + d)];
      if (value != expected) return Place("output", row, d, value, expected);
    }
  }
  return "";
}

/// When what we mean is wrong: other strides, until one is right.
template <class Try>
std::string WithOtherStrides(Strides ours, Try attempt) {
  const std::string error = attempt(ours);
  if (error.empty()) return "";
  std::string text = error;
  const std::uint32_t values[] = {16, 32, 128, 256, 1024, 2048, ours.leading, ours.stride};
  for (const std::uint32_t leading : values) {
    for (const std::uint32_t stride : values) {
      for (const std::uint32_t step : {ours.step, 32U, 128U, 1024U, 2048U}) {
        if (!attempt({leading, stride, step}).empty()) continue;
        text += "; right with leading " + std::to_string(leading) + ", stride " + std::to_string(stride) + ", step " +
                std::to_string(step);
      }
    }
  }
  return text;
}

std::string Load64() { return TryLoad(64); }
std::string Load128() { return TryLoad(128); }

std::string Qk64() {
  return WithOtherStrides({16, kAtomBytes, 32}, [](Strides s) { return TryQk<128, 64>(s); });
}
std::string QkOthers() {
  const Strides ours{16, kAtomBytes, 32};
  std::string text;
  const auto add = [&](const char* name, const std::string& error) {
    if (!error.empty()) text += std::string(name) + ": " + error + "; ";
  };
  add("128 columns", TryQk<128, 128>(ours));
  add("64 keys", TryQk<64, 64>(ours));
  add("96 keys", TryQk<96, 64>(ours));
  add("160 keys, 128 columns", TryQk<160, 128>(ours));
  add("176 keys, 128 columns", TryQk<176, 128>(ours));
  return text;
}
std::string Pv64() {
  return WithOtherStrides({SlabBytes(128), kAtomBytes, 2048}, [](Strides s) { return TryPv<128, 64>(s); });
}
std::string Pv128() {
  return WithOtherStrides({SlabBytes(128), kAtomBytes, 2048}, [](Strides s) { return TryPv<128, 128>(s); });
}
std::string Pv176() {
  return WithOtherStrides({SlabBytes(176), kAtomBytes, 2048}, [](Strides s) { return TryPv<176, 128>(s); });
}

// ---- TMA stores ----

__global__ void StoreKernel(const __grid_constant__ CUtensorMap map, const __half* tile, int head_dim, int row) {
  for (int i = static_cast<int>(threadIdx.x); i < 64 * head_dim; i += static_cast<int>(blockDim.x)) {
    const std::uint32_t to = Tiles() + TileOffset(64, i / head_dim, i % head_dim);
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(__half_as_ushort(tile[i])) : "memory");
  }
  PublishToTma();
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int slab = 0; slab < head_dim / kSlabColumns; ++slab) {
      StoreBox(&map, Tiles() + slab * SlabBytes(64), slab * kSlabColumns, row, 0);
    }
    CommitStores();
    WaitStores();
  }
}

std::string Store() {
  constexpr int kSeqlen = 100;
  constexpr int kRow = 64;  // 36 rows exist, the next head begins after them
  for (const int head_dim : {64, 128}) {
    const std::vector<__half> tile = Pattern(64, head_dim, 6);
    const Device<__half> tile_device(tile);
    const std::vector<__half> before(static_cast<std::size_t>(2 * kSeqlen) * head_dim, __float2half(99.0F));
    const Device<__half> tensor(before);
    CUtensorMap map;
    (void)EncodeMap(map, tensor.get(), MapType<__half>(), ShapeOf(kSeqlen, head_dim), 64);
    StoreKernel<<<1, 128, 40 * 1024>>>(map, tile_device.get(), head_dim, kRow);
    if (std::string error = Status(); !error.empty()) return error;
    const std::vector<__half> got = tensor.Read();
    for (int row = 0; row < 2 * kSeqlen; ++row) {
      for (int column = 0; column < head_dim; ++column) {
        const bool written = row >= kRow && row < kSeqlen;
        const float expected = written ? At(tile, head_dim, row - kRow, column) : 99.0F;
        const float value = At(got, head_dim, row, column);
        if (value != expected) return Place("tensor", row, column, value, expected);
      }
    }
  }
  return "";
}

// ---- clusters ----

constexpr int kRanks = 4;

__global__ void __cluster_dims__(kRanks, 1, 1)
    ClusterKernel(const __grid_constant__ CUtensorMap map, float* pushed, unsigned short* loaded) {
  __shared__ float4 received[kRanks];
  __shared__ Mbarrier barrier;
  __shared__ Mbarrier arrivals;
  __shared__ Mbarrier parts;
  const unsigned rank = ClusterRank();
  if (threadIdx.x == 0) {
    InitBarrier(&barrier, 1);
    InitBarrier(&arrivals, kRanks);  // one from each block
    InitBarrier(&parts, 1);
    PublishBarriers();
    ArriveExpecting(&parts, kRanks * 16);
  }
  __syncthreads();
  ClusterArrive();
  ClusterWait();
  if (threadIdx.x == 0) {
    // Each block loads 16 rows of 64 and sends them to all.
    ArriveExpecting(&barrier, SlabBytes(64));
    const int part = static_cast<int>(rank) * 16;
    LoadBoxInCluster(Tiles() + static_cast<std::uint32_t>(part * kRowBytes), &map, 0, part, 1, &barrier, 0xf);
  }
  if (threadIdx.x < kRanks) {
    const auto value = static_cast<float>(10 * rank + threadIdx.x);
    StoreInCluster(AddressIn(SharedAddress(&received[rank]), threadIdx.x), float4{value, 0.0F, 0.0F, value + 0.5F},
                   AddressIn(SharedAddress(&parts), threadIdx.x));
  }
  Wait(&barrier, 0, WaitFor::kFullK);
  if (threadIdx.x < kRanks) ArriveInCluster(&arrivals, threadIdx.x);
  Wait(&arrivals, 0, WaitFor::kEmptyK);
  Wait(&parts, 0, WaitFor::kParts);
  ClusterArrive();
  ClusterWait();
  if (threadIdx.x < kRanks) pushed[rank * kRanks + threadIdx.x] = received[threadIdx.x].w - 0.5F;
  for (int i = static_cast<int>(threadIdx.x); i < 64 * 64; i += static_cast<int>(blockDim.x)) {
    loaded[rank * 64 * 64 + i] = ReadHalf(Tiles() + static_cast<std::uint32_t>(2 * i));
  }
}

std::string Cluster() {
  const std::vector<__half> tensor = Pattern(2 * 64, 64, 7);
  const Device<__half> device(tensor);
  CUtensorMap map;
  (void)EncodeMap(map, device.get(), MapType<__half>(), ShapeOf(64, 64), 16);
  const Device<float> pushed(kRanks * kRanks);
  const Device<unsigned short> loaded(kRanks * 64 * 64);
  ClusterKernel<<<kRanks, 128, 32 * 1024>>>(map, pushed.get(), loaded.get());
  if (std::string error = Status(); !error.empty()) return error;
  const std::vector<float> values = pushed.Read();
  const std::vector<unsigned short> halves = loaded.Read();
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int from = 0; from < kRanks; ++from) {
      const float value = values[static_cast<std::size_t>(rank * kRanks + from)];
      if (value != static_cast<float>(10 * from + rank)) {
        return Place("pushed", rank, from, value, static_cast<float>(10 * from + rank));
      }
    }
    for (int row = 0; row < 64; ++row) {
      for (int column = 0; column < 64; ++column) {
        __half_raw raw;
        raw.x = halves[static_cast<std::size_t>(rank) * 64 * 64 + TileOffset(64, row, column) / 2];
        const float expected = At(tensor, 64, 64 + row, column);
        if (__half2float(__half(raw)) != expected)
          return Place("sent", row, column, __half2float(__half(raw)), expected);
      }
    }
  }
  return "";
}

}  // namespace

std::vector<Part> Parts() {
  return {
      {"load_64", "TMA load, swizzle, zeros past the end, mbarrier", Load64},
      {"load_128", "the same, two slabs", Load128},
      {"qk_64", "WGMMA with both operands K-major", Qk64},
      {"qk_others", "the same, other shapes", QkOthers},
      {"pv_64", "WGMMA, A from registers, B MN-major", Pv64},
      {"pv_128", "the same, two slabs of V", Pv128},
      {"pv_176", "the same, 176 keys", Pv176},
      {"store", "TMA store, rows past the end left alone", Store},
      {"cluster", "distributed shared memory, multicast, arrivals at other blocks", Cluster},
  };
}

}  // namespace fa_profile::hopper

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "device_tensors.h"
#include "fa_profile/error.h"
#include "fa_profile/kernel_abi_2.h"
#include "fa_profile/mixed_bits.h"

namespace fa_profile::judge {
namespace {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 2048;
constexpr std::size_t kGranularity = std::size_t{2} << 20;  // the driver may put smaller allocations on one page
constexpr int kPoisonByte = 0xff;

void CheckCuda(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  (void)cudaGetLastError();  // otherwise the next call would return it
  throw Error(call, cudaGetErrorName(result), cudaGetErrorString(result),
              "this is the judge's own work: another process may have taken the GPU's memory, or the GPU has failed");
}

void Finish(const char* kernel) {
  CheckCuda(cudaGetLastError(), kernel);
  CheckCuda(cudaDeviceSynchronize(), kernel);
}

int BlocksFor(std::size_t elements) {
  return static_cast<int>(std::clamp<std::size_t>((elements + kThreads - 1) / kThreads, 1, kMostBlocks));
}

__device__ std::uint64_t EncodeElement(NumberFormat format, double value) {
  switch (format) {
    case NumberFormat::kFp32:
      return __float_as_uint(__double2float_rn(value));
    case NumberFormat::kFp16:
      return __half_as_ushort(__double2half(value));
    case NumberFormat::kBf16:
      return __bfloat16_as_ushort(__double2bfloat16(value));
    case NumberFormat::kFp8E4m3:
      return __nv_cvt_double_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
    case NumberFormat::kFp8E5m2:
      return __nv_cvt_double_to_fp8(value, __NV_SATFINITE, __NV_E5M2);
    case NumberFormat::kInt8:
      return static_cast<std::uint8_t>(static_cast<int>(fmin(fmax(rint(value), -128.0), 127.0)));
    case NumberFormat::kInt16:
      return static_cast<std::uint16_t>(static_cast<int>(fmin(fmax(rint(value), -32768.0), 32767.0)));
    case NumberFormat::kUint8:
      return static_cast<std::uint64_t>(fmin(fmax(rint(value), 0.0), 255.0));
    case NumberFormat::kInt64:
      return static_cast<std::uint64_t>(__double2ll_rn(value));  // saturates
    case NumberFormat::kFp64:
      return static_cast<std::uint64_t>(__double_as_longlong(value));
    default:
      return static_cast<std::uint32_t>(static_cast<int>(fmin(fmax(rint(value), -2147483648.0), 2147483647.0)));
  }
}

__device__ double DecodeElement(NumberFormat format, std::uint64_t bits) {
  switch (format) {
    case NumberFormat::kFp32:
      return __uint_as_float(static_cast<unsigned>(bits));
    case NumberFormat::kFp16:
      return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
    case NumberFormat::kBf16:
      return __bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(bits)));
    case NumberFormat::kFp8E4m3:
      return __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), __NV_E4M3)));
    case NumberFormat::kFp8E5m2:
      return __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), __NV_E5M2)));
    case NumberFormat::kInt8:
      return static_cast<signed char>(bits);
    case NumberFormat::kInt16:
      return static_cast<short>(bits);
    case NumberFormat::kUint8:
      return static_cast<unsigned char>(bits);
    case NumberFormat::kInt64:
      return static_cast<double>(static_cast<long long>(bits));
    case NumberFormat::kFp64:
      return __longlong_as_double(static_cast<long long>(bits));
    default:
      return static_cast<int>(bits);
  }
}

__device__ std::uint64_t Load(const void* data, int bytes, std::size_t index) {
  if (bytes == 1) return static_cast<const std::uint8_t*>(data)[index];
  if (bytes == 2) return static_cast<const std::uint16_t*>(data)[index];
  if (bytes == 8) return static_cast<const std::uint64_t*>(data)[index];
  return static_cast<const std::uint32_t*>(data)[index];
}

__device__ void Store(void* data, int bytes, std::size_t index, std::uint64_t bits) {
  if (bytes == 1) {
    static_cast<std::uint8_t*>(data)[index] = static_cast<std::uint8_t>(bits);
  } else if (bytes == 2) {
    static_cast<std::uint16_t*>(data)[index] = static_cast<std::uint16_t>(bits);
  } else if (bytes == 8) {
    static_cast<std::uint64_t*>(data)[index] = bits;
  } else {
    static_cast<std::uint32_t*>(data)[index] = static_cast<std::uint32_t>(bits);
  }
}

// As in draw_values.cpp: Box-Muller on two uniforms of 32 bits, the first of them in (0, 1].
__device__ double DrawnValue(int kind, double a, double b, std::uint64_t bits) {
  const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
  if (kind == FA_PROFILE_UNIFORM) return a + (b - a) * unit;
  if (kind == FA_PROFILE_INTEGERS) return fmin(b, floor(a + (b - a + 1.0) * unit));
  if (kind != FA_PROFILE_NORMAL) return a;
  const double u = (static_cast<double>(bits >> 32) + 1.0) * 0x1p-32;
  const double turn = static_cast<double>(bits & 0xffffffffU) * 0x1p-32;
  return a + b * (sqrt(-2.0 * log(u)) * cospi(2.0 * turn));
}

__global__ void DrawKernel(void* data, std::size_t count, NumberFormat format, int bytes, int kind, double a, double b,
                           std::uint64_t key) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    Store(data, bytes, i, EncodeElement(format, DrawnValue(kind, a, b, Mix(key ^ Mix(i)))));
  }
}

__global__ void FillKernel(void* data, std::size_t count, int bytes, std::uint64_t bits) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    Store(data, bytes, i, bits);
  }
}

__global__ void HashKernel(const std::uint8_t* data, std::size_t bytes, unsigned long long* hash) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  std::uint64_t sum = 0;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i * 4 < bytes; i += step) {
    std::uint32_t word = 0;
    if (i * 4 + 4 <= bytes) {
      word = reinterpret_cast<const std::uint32_t*>(data)[i];
    } else {
      for (std::size_t k = 0; i * 4 + k < bytes; ++k) word |= std::uint32_t{data[i * 4 + k]} << (8 * k);
    }
    sum += Mix(Mix(i) ^ word);
  }
  atomicAdd(hash, static_cast<unsigned long long>(sum));
}

__global__ void DecodeKernel(const void* data, double* values, std::size_t count, NumberFormat format, int bytes) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    values[i] = DecodeElement(format, Load(data, bytes, i));
  }
}

// Element `i` in row-major order of the extents is at the sum of places times strides.
__device__ std::size_t PlaceInView(const ViewLayout& layout, std::size_t i) {
  std::size_t place = 0;
  for (int axis = layout.rank - 1; axis >= 0; --axis) {
    const auto extent = static_cast<std::size_t>(layout.extents[axis]);
    place += i % extent * static_cast<std::size_t>(layout.strides[axis]);
    i /= extent;
  }
  return place;
}

__global__ void GatherKernel(const void* view, void* dense, std::size_t count, int bytes, ViewLayout layout) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    Store(dense, bytes, i, Load(view, bytes, PlaceInView(layout, i)));
  }
}

__global__ void ScatterKernel(const void* dense, void* view, std::size_t count, int bytes, ViewLayout layout) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    Store(view, bytes, PlaceInView(layout, i), Load(dense, bytes, i));
  }
}

// Sums and extremes of a comparison. The bits of non-negative doubles sort like their values.
struct Found {
  unsigned long long wrong, unwritten, nonfinite, first, max_abs_error, max_error_ratio;
};

__global__ void CompareKernel(const void* data, const double* expected, std::size_t count, NumberFormat format,
                              int bytes, std::uint64_t poison, double absolute, double relative, Found* found) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  double largest_error = 0.0;
  double largest_ratio = 0.0;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const std::uint64_t bits = Load(data, bytes, i);
    const double value = DecodeElement(format, bits);
    const double wanted = expected[i];
    if (value == wanted || (isnan(value) && isnan(wanted))) {
      // A correct element may be a NaN, but not the poison's.
      if (!isnan(value) || bits != poison) continue;
    }
    const double error = fabs(value - wanted);
    if (bits == poison && isnan(value)) {
      atomicAdd(&found->unwritten, 1ULL);
    } else if (!isfinite(value)) {
      atomicAdd(&found->nonfinite, 1ULL);
    } else {
      const double allowed = absolute + relative * fabs(wanted);
      const double ratio = isfinite(error) && error < allowed * kLargestRatio ? error / allowed : kLargestRatio;
      if (isfinite(error)) largest_error = fmax(largest_error, error);
      largest_ratio = fmax(largest_ratio, ratio);
      if (ratio <= 1.0) continue;
    }
    atomicAdd(&found->wrong, 1ULL);
    atomicMin(&found->first, static_cast<unsigned long long>(i));
  }
  if (largest_error > 0.0)
    atomicMax(&found->max_abs_error, static_cast<unsigned long long>(__double_as_longlong(largest_error)));
  if (largest_ratio > 0.0)
    atomicMax(&found->max_error_ratio, static_cast<unsigned long long>(__double_as_longlong(largest_ratio)));
}

// Size of the allocation that begins there. cudart finds the driver: this program must start without one.
std::size_t BytesOfAllocation(void* memory) {
  using GetAddressRange = CUresult(CUdeviceptr*, std::size_t*, CUdeviceptr);
  void* found = nullptr;
  cudaDriverEntryPointQueryResult query{};
  CheckCuda(cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &found, 12000, cudaEnableDefault, &query),
            "cudaGetDriverEntryPoint");
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  if (found == nullptr || reinterpret_cast<GetAddressRange*>(found)(&base, &bytes, address) != CUDA_SUCCESS) {
    throw Error("cuMemGetAddressRange", "", "the driver does not know the memory of another process");
  }
  return bytes;
}

// A value computed by a kernel, with its start and its result on the host. One at a time: the memory is kept, because
// cudaFree() takes longer than the kernels.
template <typename T>
class OnDevice {
 public:
  explicit OnDevice(const T& start) {
    if (memory_ == nullptr) CheckCuda(cudaMalloc(&memory_, sizeof(T)), "cudaMalloc");
    CheckCuda(cudaMemcpy(memory_, &start, sizeof start, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  T* get() const { return memory_; }
  T Read() const {
    T value{};
    CheckCuda(cudaMemcpy(&value, memory_, sizeof value, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return value;
  }

 private:
  static inline T* memory_ = nullptr;
};

}  // namespace

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  CheckCuda(cudaMalloc(&memory_, (bytes + kGranularity - 1) / kGranularity * kGranularity), "cudaMalloc");
}

DeviceMemory::~DeviceMemory() { (void)cudaFree(memory_); }

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

ImportedMemory::ImportedMemory(const std::string& hex) {
  cudaIpcMemHandle_t handle{};
  if (hex.size() != 2 * sizeof handle) throw Error("a memory handle has the wrong length");
  auto* byte = reinterpret_cast<unsigned char*>(&handle);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    if (std::from_chars(hex.data() + i, hex.data() + i + 2, *byte++, 16).ptr != hex.data() + i + 2) {
      throw Error("a memory handle is not hexadecimal");
    }
  }
  CheckCuda(cudaIpcOpenMemHandle(&memory_, handle, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
  bytes_ = BytesOfAllocation(memory_);
}

ImportedMemory::~ImportedMemory() { (void)cudaIpcCloseMemHandle(memory_); }

const std::byte* ImportedMemory::At(std::size_t offset, std::size_t bytes) const {
  if (offset > bytes_ || bytes > bytes_ - offset) throw Error("a tensor of the worker is outside its memory");
  return static_cast<const std::byte*>(memory_) + offset;
}

HostMemory::HostMemory(std::size_t bytes) {
  if (bytes == 0) return;
  void* memory = nullptr;
  CheckCuda(cudaMallocHost(&memory, bytes), "cudaMallocHost");
  bytes_ = {static_cast<std::byte*>(memory), bytes};
}

HostMemory::~HostMemory() { (void)cudaFreeHost(bytes_.data()); }

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void Capture(std::span<std::byte> to, const void* from) {
  if (to.empty()) return;
  CheckCuda(cudaMemcpy(to.data(), from, to.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
}

void CopyUnseen(HostMemory& through, void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t kChunk = std::size_t{64} << 20;
  if (through.bytes().size() < std::min(bytes, kChunk)) through = HostMemory(std::min(bytes, kChunk));
  for (std::size_t done = 0; done < bytes;) {
    const std::span<std::byte> chunk = through.bytes().first(std::min(bytes - done, kChunk));
    Capture(chunk, static_cast<const std::byte*>(from) + done);
    CheckCuda(cudaMemcpy(static_cast<std::byte*>(to) + done, chunk.data(), chunk.size(), cudaMemcpyHostToDevice),
              "cudaMemcpy");
    done += chunk.size();
  }
  CheckCuda(cudaDeviceSynchronize(), "cudaMemcpy");
}

void CopyFromImported(const DeviceMemory& to, const ImportedMemory& from, std::size_t offset) {
  CheckCuda(cudaMemcpy(to.get(), from.At(offset, to.bytes()), to.bytes(), cudaMemcpyDeviceToDevice), "cudaMemcpy");
  CheckCuda(cudaDeviceSynchronize(), "cudaMemcpy");
}

namespace {

struct Span {
  std::size_t elements = 1;
  std::size_t bytes = 0;  ///< from the first element to the last
};

Span SpanOf(const ViewLayout& layout, std::size_t element_bytes) {
  Span span;
  span.bytes = element_bytes;
  for (int axis = 0; axis < layout.rank; ++axis) {
    const auto extent = static_cast<std::size_t>(layout.extents[axis]);
    std::size_t step = 0;
    if (layout.extents[axis] < 0 || layout.strides[axis] < 0 ||
        __builtin_mul_overflow(span.elements, extent, &span.elements) ||
        __builtin_mul_overflow(static_cast<std::size_t>(layout.strides[axis]), element_bytes, &step) ||
        __builtin_mul_overflow(step, extent == 0 ? 0 : extent - 1, &step) ||
        __builtin_add_overflow(span.bytes, step, &span.bytes)) {
      throw Error("a tensor of the worker has a bad layout");
    }
  }
  if (span.elements == 0) span.bytes = 0;
  return span;
}

}  // namespace

View::View(const ImportedMemory& memory, std::size_t offset, const ViewLayout& layout, std::size_t element_bytes)
    : start_(memory.At(offset, SpanOf(layout, element_bytes).bytes)),
      layout_(layout),
      element_bytes_(element_bytes),
      count_(SpanOf(layout, element_bytes).elements),
      bytes_(SpanOf(layout, element_bytes).bytes) {}

void View::GatherTo(const DeviceMemory& dense, const void* copy) const {
  if (count_ == 0) return;
  GatherKernel<<<BlocksFor(count_), kThreads>>>(copy, dense.get(), count_, static_cast<int>(element_bytes_), layout_);
  Finish("GatherKernel");
}

void View::ScatterFrom(const DeviceMemory& dense) const {
  if (count_ == 0) return;
  ScatterKernel<<<BlocksFor(count_), kThreads>>>(dense.get(), const_cast<std::byte*>(start_), count_,
                                                 static_cast<int>(element_bytes_), layout_);
  Finish("ScatterKernel");
}

std::string DeviceMemory::ExportedHandle() const {
  if (memory_ == nullptr) return {};
  cudaIpcMemHandle_t handle{};
  CheckCuda(cudaIpcGetMemHandle(&handle, memory_), "cudaIpcGetMemHandle");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : std::span(reinterpret_cast<const unsigned char*>(&handle), sizeof handle)) {
    text += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return text;
}

void DeviceMemory::Download(std::span<std::byte> bytes, std::size_t offset) const {
  CheckCuda(
      cudaMemcpy(bytes.data(), static_cast<const std::byte*>(memory_) + offset, bytes.size(), cudaMemcpyDeviceToHost),
      "cudaMemcpy");
}

void DeviceMemory::CopyFrom(const DeviceMemory& other) const {
  CheckCuda(cudaMemcpy(memory_, other.memory_, bytes_, cudaMemcpyDeviceToDevice), "cudaMemcpy");
  CheckCuda(cudaDeviceSynchronize(), "cudaMemcpy");
}

void DeviceMemory::Upload(std::span<const std::byte> bytes) const {
  CheckCuda(cudaMemcpy(memory_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  CheckCuda(cudaDeviceSynchronize(), "cudaMemcpy");
}

void DrawOnDevice(const DeviceMemory& memory, NumberFormat format, const Draw& draw, std::uint64_t seed,
                  std::uint32_t tensor) {
  const std::size_t count = memory.bytes() / BytesOf(format);
  DrawKernel<<<BlocksFor(count), kThreads>>>(memory.get(), count, format, static_cast<int>(BytesOf(format)), draw.kind,
                                             draw.a, draw.b, Mix(Mix(seed) + tensor));
  Finish("DrawKernel");
}

void PoisonOnDevice(const DeviceMemory& memory, NumberFormat format, Poison poison, std::uint64_t seed) {
  if (poison == Poison::kRandom) {
    return DrawOnDevice(memory, format,
                        IsInteger(format) ? Draw{FA_PROFILE_INTEGERS, -100, 100} : Draw{FA_PROFILE_UNIFORM, -2, 2},
                        seed, 99);
  }
  const std::size_t count = memory.bytes() / BytesOf(format);
  FillKernel<<<BlocksFor(count), kThreads>>>(memory.get(), count, static_cast<int>(BytesOf(format)), PoisonOf(format));
  Finish("FillKernel");
}

void PoisonBytes(const DeviceMemory& memory) {
  if (memory.bytes() == 0) return;
  CheckCuda(cudaMemset(memory.get(), kPoisonByte, memory.bytes()), "cudaMemset");
  CheckCuda(cudaDeviceSynchronize(), "cudaMemset");
}

std::uint64_t HashOnDevice(const DeviceMemory& memory) {
  if (memory.bytes() == 0) return 0;
  const OnDevice<unsigned long long> hash(0);
  HashKernel<<<BlocksFor(memory.bytes() / 4), kThreads>>>(static_cast<const std::uint8_t*>(memory.get()),
                                                          memory.bytes(), hash.get());
  Finish("HashKernel");
  return hash.Read();
}

void DecodeOnDevice(const DeviceMemory& memory, NumberFormat format, const DeviceMemory& values) {
  const std::size_t count = memory.bytes() / BytesOf(format);
  DecodeKernel<<<BlocksFor(count), kThreads>>>(memory.get(), static_cast<double*>(values.get()), count, format,
                                               static_cast<int>(BytesOf(format)));
  Finish("DecodeKernel");
}

DeviceErrors CompareOnDevice(const DeviceMemory& memory, NumberFormat format, const DeviceMemory& expected,
                             const Tolerance& tolerance) {
  const std::size_t count = memory.bytes() / BytesOf(format);
  const OnDevice<Found> found({0, 0, 0, ~0ULL, 0, 0});
  CompareKernel<<<BlocksFor(count), kThreads>>>(memory.get(), static_cast<const double*>(expected.get()), count, format,
                                                static_cast<int>(BytesOf(format)), PoisonOf(format), tolerance.absolute,
                                                tolerance.relative, found.get());
  Finish("CompareKernel");
  const Found read = found.Read();
  return {read.wrong,
          read.unwritten,
          read.nonfinite,
          read.first,
          std::bit_cast<double>(read.max_abs_error),
          std::bit_cast<double>(read.max_error_ratio)};
}

}  // namespace fa_profile::judge

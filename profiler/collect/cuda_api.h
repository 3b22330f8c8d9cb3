#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <source_location>

namespace fa_profile::collect {

/// The one place in collect where a CUDA runtime result becomes an Error.
void CheckCuda(cudaError_t result, const char* call, std::source_location where = std::source_location::current());

/// A driver function as of this version of CUDA, found without linking its library; nullptr if the driver lacks it.
void* DriverEntry(const char* name, unsigned cuda_version = 12000) noexcept;

/// The calling thread's current context. Throws Error.
CUcontext CurrentContext();

/// Owns a cudaStream_t.
class CudaStream {
 public:
  CudaStream() { CheckCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  ~CudaStream() { (void)cudaStreamDestroy(stream_); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  cudaStream_t get() const { return stream_; }
  void Synchronize() const { CheckCuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Owns a cudaEvent_t.
class CudaEvent {
 public:
  CudaEvent() { CheckCuda(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~CudaEvent() { (void)cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Overwrites the L2 cache: a device buffer of twice its size, written before each measured call.
class CacheFlusher {
 public:
  /// `enabled` false: Flush() does nothing and no memory is taken.
  CacheFlusher(bool enabled, std::size_t l2_bytes);
  ~CacheFlusher();
  CacheFlusher(const CacheFlusher&) = delete;
  CacheFlusher& operator=(const CacheFlusher&) = delete;
  bool enabled() const { return buffer_ != nullptr; }
  void Flush(cudaStream_t stream) const;

 private:
  void* buffer_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace fa_profile::collect

#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/shape.h"
#include "fa_profile/workload.h"
#include "rung.h"

namespace fa_profile {

/// Owns device memory of the current device; cudaMalloc aligns it to 256 bytes.
class DeviceBuffer {
 public:
  /// 0 bytes: holds nothing. Throws Error when there is too little memory or no device.
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// 1/sqrt(head_dim).
float SoftmaxScale(const AttentionShape& shape);

/// The parameters of a call with this shape, without any memory.
AttentionParams ParamsOf(const AttentionShape& shape);

/// One launch of a kernel: its name, and how to enqueue it. `launch` throws Error when the launch is refused.
struct LaunchStep {
  std::string name;
  std::function<void(const AttentionParams& params, cudaStream_t stream)> launch;
};

/// How a draw's output compares with its reference.
struct DrawErrors {
  bool passes = false;
  double max_abs_error = 0.0;
  double max_error_ratio = 0.0;
  std::int64_t nonfinite = 0;
  std::int64_t unwritten = 0;
};

/// The tensors of one attention call on the device, and the launches that compute it. All kernels of attention shapes
/// have this workload.
class AttentionWorkload final : public Workload {
 public:
  AttentionWorkload(std::string kernel, std::string origin, const AttentionShape& shape, std::size_t workspace_bytes,
                    std::vector<LaunchStep> steps);

  const std::string& kernel() const override { return kernel_; }
  const std::string& origin() const override { return origin_; }
  std::optional<Shape> shape() const override { return shape_; }
  const std::vector<std::string>& parts() const override { return part_names_; }
  void LaunchPart(std::size_t index, StreamHandle stream) override;
  void Launch(StreamHandle stream) override;

  /// Draws Q, K and V afresh from the standard normal distribution, rounded to fp16. Enqueued on `stream`.
  void Fill(std::uint64_t seed, cudaStream_t stream);

  /// Overwrites O and the workspace with kPoisonByte: reading what nothing wrote gives NaN. Enqueued on `stream`.
  void Poison(cudaStream_t stream);

  /// Compares the output of a finished launch with attention in float64, computed on the GPU.
  DrawErrors Check(cudaStream_t stream);

  const AttentionParams& params() const { return params_; }

 private:
  void LaunchStepInRange(std::size_t index, cudaStream_t stream);

  std::string kernel_;
  std::string origin_;
  AttentionShape shape_;
  std::vector<LaunchStep> steps_;
  std::vector<std::string> part_names_;
  DeviceBuffer q_, k_, v_, o_, workspace_;
  std::optional<DeviceBuffer> reference_, errors_;  // made by the first Check()
  AttentionParams params_;
};

/// fp16 0x7d7d is a NaN that no arithmetic of the GPU produces (its NaNs are 0x7fff), so an element that still holds
/// it was never written.
inline constexpr int kPoisonByte = 0x7d;

}  // namespace fa_profile

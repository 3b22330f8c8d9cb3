#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attention_workload.h"
#include "fa_profile/selftest_kernels.h"

namespace fa_profile {

/// One launch, with its device memory.
class SelftestWorkload final : public Workload {
 public:
  /// `launch` enqueues on a stream and returns the launch's status; `buffers` is what it points into.
  SelftestWorkload(std::string kernel, std::vector<DeviceBuffer> buffers,
                   std::function<cudaError_t(cudaStream_t)> launch);

  const std::string& kernel() const override { return kernel_; }
  const std::string& origin() const override { return origin_; }
  std::optional<Shape> shape() const override { return std::nullopt; }
  const std::vector<std::string>& parts() const override { return parts_; }
  void LaunchPart(std::size_t index, StreamHandle stream) override;
  void Launch(StreamHandle stream) override;

 private:
  std::string kernel_;
  std::string origin_ = "selftest";
  std::vector<std::string> parts_;
  std::vector<DeviceBuffer> buffers_;
  std::function<cudaError_t(cudaStream_t)> launch_;
};

/// Zeroed memory. Throws Error.
DeviceBuffer ZeroedBuffer(std::size_t bytes);

/// An attribute of the current device. Throws Error.
int DeviceAttribute(cudaDeviceAttr attribute);

// One-line constructors for truths.
Truth Sass(std::string name, std::string opcode, std::string phase, double expected, std::string note = {});
Truth Counter(std::string name, double expected, double tolerance_ratio, std::string note = {});

// The parts of SelftestKernels(), one per file.
std::vector<SelftestKernel> CountKernels();
std::vector<SelftestKernel> LocalMemoryKernels();
std::vector<SelftestKernel> OccupancyKernels();
std::vector<SelftestKernel> PhaseKernels();
std::vector<SelftestKernel> SpecialisedKernels();

}  // namespace fa_profile

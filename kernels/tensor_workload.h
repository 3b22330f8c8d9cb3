#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention_workload.h"
#include "fa_profile/workload.h"
#include "tensor_library.h"

namespace fa_profile {

/// The tensors of one call of a library's kernel on the device, and its launch.
class TensorWorkload final : public Workload {
 public:
  /// Throws Error: the shape lacks the library's parameters, or the GPU has too little memory.
  TensorWorkload(std::string kernel, std::shared_ptr<const TensorLibrary> library, const Shape& shape);

  const std::string& kernel() const override { return parts_.front(); }
  const std::string& origin() const override { return library_->path(); }
  std::optional<Shape> shape() const override { return shape_; }
  const std::vector<std::string>& parts() const override { return parts_; }
  void LaunchPart(std::size_t index, StreamHandle stream) override;
  void Launch(StreamHandle stream) override { LaunchPart(0, stream); }

  /// Draws the inputs, and overwrites outputs and workspace, so that reading them gives NaN.
  void Fill(std::uint64_t seed);

 private:
  void Poison(std::size_t tensor);

  std::shared_ptr<const TensorLibrary> library_;
  Shape shape_;
  std::vector<std::string> parts_;
  std::vector<std::int64_t> values_;
  std::vector<DeviceBuffer> tensors_;
  std::vector<void*> pointers_;
  std::optional<DeviceBuffer> workspace_;
};

/// The error text for tensors that need more memory than the GPU has: "its tensors need 12.0 GB: a 8.0, b 4.0". Empty:
/// `most_bytes` is enough.
std::string WhyTooLarge(const TensorLibrary& library, const std::vector<ShapeParameter>& parameters,
                        std::size_t workspace_bytes, std::size_t most_bytes);

}  // namespace fa_profile

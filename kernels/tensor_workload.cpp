#include "tensor_workload.h"

#include <fmt/format.h>

#include "cuda_result.h"
#include "fa_profile/extents.h"
#include "nvtx_scope.h"

namespace fa_profile {
namespace {

std::size_t TotalMemory() {
  std::size_t free = 0;
  std::size_t total = 0;
  CheckCudaResult(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return total;
}

std::vector<std::byte> Encoded(NumberFormat format, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * BytesOf(format));
  for (std::size_t i = 0; i < values.size(); ++i) StoreBits(format, bytes, i, Encode(format, values[i]));
  return bytes;
}

void Upload(const std::vector<std::byte>& bytes, const DeviceBuffer& to) {
  CheckCudaResult(cudaMemcpy(to.as<void>(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
}

}  // namespace

std::string WhyTooLarge(const TensorLibrary& library, const std::vector<ShapeParameter>& parameters,
                        std::size_t workspace_bytes, std::size_t most_bytes) {
  constexpr double kGigabyte = 1e9;
  // In double: sums of hostile sizes overflow 64 bits.
  double total = static_cast<double>(workspace_bytes);
  std::string list = workspace_bytes > 0 ? fmt::format("workspace {:.3g}", total / kGigabyte) : "";
  const std::vector<std::vector<std::int64_t>> extents = library.Extents(parameters);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const TensorDescription& tensor = library.description().tensors[i];
    const double bytes = static_cast<double>(ElementsOf(extents[i])) * static_cast<double>(BytesOf(tensor.format));
    total += bytes;
    list += fmt::format("{}{} {:.3g}", list.empty() ? "" : ", ", tensor.name, bytes / kGigabyte);
  }
  if (total <= static_cast<double>(most_bytes)) return {};
  return fmt::format("it needs {:.3g} GB, and the GPU has {:.3g} GB: {}", total / kGigabyte,
                     static_cast<double>(most_bytes) / kGigabyte, list);
}

TensorWorkload::TensorWorkload(std::string kernel, std::shared_ptr<const TensorLibrary> library, const Shape& shape)
    : library_(std::move(library)), shape_(shape), parts_{std::move(kernel)}, values_(ValuesOf(*shape.parameters())) {
  const std::vector<ShapeParameter>& parameters = *shape.parameters();
  const std::size_t workspace_bytes = library_->WorkspaceBytes(parameters);
  if (const std::string why = WhyTooLarge(*library_, parameters, workspace_bytes, TotalMemory()); !why.empty()) {
    throw Error(parts_.front() + " at " + shape.ToString() + " does not fit: " + why, "take a smaller shape");
  }
  const std::vector<std::vector<std::int64_t>> extents = library_->Extents(parameters);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::size_t bytes = BytesOf(library_->description().tensors[i].format);
    tensors_.emplace_back(static_cast<std::size_t>(ElementsOf(extents[i])) * bytes);
    pointers_.push_back(tensors_.back().as<void>());
  }
  workspace_.emplace(workspace_bytes);
}

void TensorWorkload::LaunchPart(std::size_t, StreamHandle stream) {
  const NvtxScope range{kernel()};
  fa_profile_call call{};
  call.struct_size = sizeof call;
  call.tensor_count = static_cast<std::uint32_t>(pointers_.size());
  call.parameters = values_.data();
  call.tensors = pointers_.data();
  call.workspace = workspace_->as<void>();
  call.workspace_bytes = workspace_->bytes();
  call.stream = stream;
  library_->Launch(call);
}

void TensorWorkload::Fill(std::uint64_t seed) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorDescription& tensor = library_->description().tensors[i];
    if (tensor.is_drawn()) {
      Upload(Encoded(tensor.format, library_->Draw(i, *shape_.parameters(), seed)), tensors_[i]);
    } else {
      Poison(i);
    }
  }
  if (workspace_->bytes() == 0) return;
  CheckCudaResult(cudaMemset(workspace_->as<void>(), kPoisonByte, workspace_->bytes()), "cudaMemset");
}

void TensorWorkload::Poison(std::size_t tensor) {
  const NumberFormat format = library_->description().tensors[tensor].format;
  std::vector<std::byte> bytes(tensors_[tensor].bytes());
  for (std::size_t i = 0; i < bytes.size() / BytesOf(format); ++i) StoreBits(format, bytes, i, PoisonOf(format));
  Upload(bytes, tensors_[tensor]);
}

}  // namespace fa_profile

#include "tensor_sets.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>

#include "fa_profile/extents.h"
#include "fa_profile/mixed_bits.h"
#include "fa_profile/tensor_file.h"

namespace fa_profile::judge {
namespace {

std::vector<std::byte> EncodeAll(NumberFormat format, std::span<const double> values) {
  std::vector<std::byte> bytes(values.size() * BytesOf(format));
  for (std::size_t i = 0; i < values.size(); ++i) StoreBits(format, bytes, i, Encode(format, values[i]));
  return bytes;
}

// Bytes of the device that are free now.
std::size_t FreeMemory() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) throw Error("cudaMemGetInfo", "", "the GPU does not answer");
  return free;
}

Tensor TensorOf(const TensorDescription& description, const std::vector<ShapeParameter>& parameters) {
  try {
    Tensor tensor{description, ExtentsOf(description.shape, parameters), 0};
    tensor.elements = static_cast<std::size_t>(ElementsOf(tensor.extents));
    return tensor;
  } catch (const Error& error) {
    throw Error("tensor '" + description.name + "': " + error.message(), "give other parameters with --shape");
  }
}

}  // namespace

TensorSets::TensorSets(const LibraryStatement& statement, const std::vector<ShapeParameter>& parameters,
                       std::size_t workspace_bytes, std::size_t most_sets) {
  constexpr std::size_t kGranularity = std::size_t{2} << 20;
  constexpr std::size_t kPart = 6;  // of the free memory; copies and expected values take several times as much
  double wanted = static_cast<double>(workspace_bytes);
  for (const TensorDescription& description : statement.tensors) {
    tensors_.push_back(TensorOf(description, parameters));
    wanted += static_cast<double>(tensors_.back().elements * BytesOf(description.format) + kGranularity);
  }
  const double free = static_cast<double>(FreeMemory()) / kPart;
  if (wanted > free) {
    throw Error(
        fmt::format("the tensors of a call need {:.3g} GB, and {:.3g} GB may be used", wanted / 1e9, free / 1e9),
        "take a smaller shape");
  }
  const auto sets = std::min(most_sets, static_cast<std::size_t>(free / wanted));
  for (std::size_t set = 0; set < sets; ++set) {
    Set one{{}, DeviceMemory(workspace_bytes)};
    for (const Tensor& tensor : tensors_) {
      one.tensors.emplace_back(tensor.elements * BytesOf(tensor.description.format));
    }
    sets_.push_back(std::move(one));
  }
  for (const DeviceMemory& memory : sets_.front().tensors) bytes_a_set_ += memory.bytes();
  for (std::size_t set = 0; set < sets; ++set) {
    std::vector<DeviceMemory>& drawn = drawn_.emplace_back();
    for (const Tensor& tensor : tensors_) {
      drawn.emplace_back(tensor.description.is_drawn() ? tensor.elements * BytesOf(tensor.description.format) : 0);
    }
  }
}

std::vector<std::size_t> TensorSets::ElementCounts() const {
  std::vector<std::size_t> counts;
  for (const Tensor& tensor : tensors_) counts.push_back(tensor.elements);
  return counts;
}

bool TensorSets::has_in_place() const {
  return std::ranges::any_of(
      tensors_, [](const Tensor& tensor) { return tensor.description.is_drawn() && tensor.description.is_compared(); });
}

nlohmann::json TensorSets::Handles() const {
  nlohmann::json all = nlohmann::json::array();
  for (const Set& set : sets_) {
    nlohmann::json& handles = all.emplace_back(nlohmann::json::array());
    for (const DeviceMemory& memory : set.tensors) handles.push_back(memory.ExportedHandle());
    handles.push_back(set.workspace.ExportedHandle());
  }
  return all;
}

void TensorSets::Draw(std::uint64_t seed, const nlohmann::json& values, LibraryProcess& referee,
                      const SharedArrays& shared) {
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    // Whole numbers that JSON keeps.
    const std::uint64_t of_set = Mix(seed + set) >> 12U;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const TensorDescription& tensor = tensors_[i].description;
      const DeviceMemory& memory = sets_[set].tensors[i];
      if (!tensor.is_drawn()) continue;
      if (!tensor.file.empty()) {
        memory.Upload(EncodeAll(tensor.format, ReadTensorFile(tensor.file, tensor.format, tensors_[i].extents)));
      } else if (tensor.draw.kind == FA_PROFILE_FUNCTION) {
        (void)referee.Require({{"do", "draw"}, {"values", values}, {"tensor", i}, {"seed", of_set}});
        memory.Upload(EncodeAll(tensor.format, shared.First(tensors_[i].elements)));
      } else {
        DrawOnDevice(memory, tensor.format, tensor.draw, of_set, static_cast<std::uint32_t>(i));
      }
      drawn_[set][i].CopyFrom(memory);
    }
  }
}

void TensorSets::RestoreInPlace() {
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const TensorDescription& tensor = tensors_[i].description;
      if (tensor.is_drawn() && tensor.is_compared()) sets_[set].tensors[i].CopyFrom(drawn_[set][i]);
    }
  }
}

void TensorSets::Poison(judge::Poison poison, std::uint64_t seed) const {
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const TensorDescription& tensor = tensors_[i].description;
      if (!tensor.is_drawn()) PoisonOnDevice(sets_[set].tensors[i], tensor.format, poison, Mix(seed + set * 64 + i));
    }
    PoisonBytes(sets_[set].workspace);
  }
}

std::uint64_t TensorSets::InputHash(std::size_t set) const {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensors_[i].description.is_compared()) hash = Mix(hash ^ HashOnDevice(sets_[set].tensors[i]));
  }
  return hash;
}

std::uint64_t TensorSets::DrawnHash(std::size_t set) const {
  std::uint64_t hash = 0;
  for (const DeviceMemory& memory : drawn_[set]) hash = Mix(hash ^ HashOnDevice(memory));
  return hash;
}

std::uint64_t TensorSets::OutputHash(std::size_t set) const {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].description.is_compared()) hash = Mix(hash ^ HashOnDevice(sets_[set].tensors[i]));
  }
  return hash;
}

}  // namespace fa_profile::judge

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

// Free bytes on the device.
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
    std::vector<DeviceMemory>& results = results_.emplace_back();
    for (const Tensor& tensor : tensors_) {
      const std::size_t bytes = tensor.elements * BytesOf(tensor.description.format);
      drawn.emplace_back(tensor.description.is_drawn() ? bytes : 0);
      results.emplace_back(tensor.description.is_compared() ? bytes : 0);
      if (tensor.description.is_compared()) compared_.emplace_back(set, results.size() - 1);
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
  seeds_.clear();
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    // Whole numbers that JSON represents exactly.
    const std::uint64_t of_set = seeds_.emplace_back(Mix(seed + set) >> 12U);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const TensorDescription& tensor = tensors_[i].description;
      const DeviceMemory& memory = drawn_[set][i];
      if (!tensor.is_drawn()) continue;
      if (!tensor.file.empty()) {
        memory.Upload(EncodeAll(tensor.format, ReadTensorFile(tensor.file, tensor.format, tensors_[i].extents)));
      } else if (tensor.draw.kind == FA_PROFILE_FUNCTION) {
        const nlohmann::json drawn =
            referee.Require({{"do", "draw"}, {"values", values}, {"tensor", i}, {"seed", of_set}});
        if (drawn.contains("handle")) {
          if (memory.bytes() > 0) CopyFromImported(memory, Import(drawn["handle"]), drawn.at("offset"));
        } else {
          memory.Upload(EncodeAll(tensor.format, shared.First(tensors_[i].elements)));
        }
      } else {
        DrawOnDevice(memory, tensor.format, tensor.draw, of_set, static_cast<std::uint32_t>(i));
      }
    }
  }
}

void TensorSets::Deliver(const std::vector<std::size_t>& sets) {
  for (const std::size_t set : sets) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const DeviceMemory& drawn = drawn_[set][i];
      CopyUnseen(staging_, sets_[set].tensors[i].get(), drawn.get(), drawn.bytes());
    }
  }
}

const ImportedMemory& TensorSets::Import(const std::string& handle) {
  return imported_.try_emplace(handle, handle).first->second;
}

void TensorSets::TakeOutputs(int calls, const nlohmann::json& outputs) {
  // For graphs with many calls the worker keeps the last ones.
  std::erase_if(views_, [&](const auto& entry) { return entry.first == calls || (entry.first > 1 && calls > 1); });
  std::vector<OutputView>& views = views_[calls];
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    const nlohmann::json& of_set = outputs.at(set);
    std::size_t number = 0;
    for (std::size_t i = 0; i < tensors_.size() && !of_set.empty(); ++i) {
      if (!tensors_[i].description.is_compared()) continue;
      const nlohmann::json& output = of_set.at(number++);
      if (output.is_null() || output.at("handle") == "") continue;
      const std::vector<std::int64_t> strides = output.at("strides");
      ViewLayout layout{static_cast<int>(strides.size()), {}, {}};
      // A tensor without dimensions has one extent here.
      if (strides.size() > ViewLayout::kMostRank ||
          (strides.size() != tensors_[i].extents.size() && !strides.empty())) {
        throw Error("an output changed its dimensions after the first call");
      }
      std::ranges::copy(strides, layout.strides);
      std::copy_n(tensors_[i].extents.begin(), strides.size(), layout.extents);
      const std::size_t bytes = BytesOf(tensors_[i].description.format);
      views.push_back({set, i, View(Import(output.at("handle")), output.at("offset"), layout, bytes)});
    }
  }
}

const View* TensorSets::ViewOf(int calls, std::size_t set, std::size_t tensor) const {
  const auto found = views_.find(calls);
  if (found == views_.end()) return nullptr;
  const auto view = std::ranges::find_if(found->second,
                                         [&](const OutputView& one) { return one.set == set && one.tensor == tensor; });
  return view == found->second.end() ? nullptr : &view->view;
}

void TensorSets::Fetch(int calls) const {
  for (const auto& [set, tensor] : compared_) {
    const View* const view = ViewOf(calls, set, tensor);
    if (view != nullptr) {
      view->GatherTo(results_[set][tensor]);
    } else {
      results_[set][tensor].CopyFrom(sets_[set].tensors[tensor]);
    }
  }
}

void TensorSets::Capture(int calls) {
  captured_.clear();
  std::size_t all = 0;
  for (const auto& [set, tensor] : compared_) {
    const View* const view = ViewOf(calls, set, tensor);
    const std::size_t bytes = view != nullptr ? view->bytes() : sets_[set].tensors[tensor].bytes();
    captured_.push_back({view, all, bytes});
    all += bytes;
  }
  if (staging_.bytes().size() < all) staging_ = HostMemory(all);
  for (std::size_t i = 0; i < compared_.size(); ++i) {
    const auto& [set, tensor] = compared_[i];
    const Captured& one = captured_[i];
    const void* const from = one.view != nullptr ? one.view->start() : sets_[set].tensors[tensor].get();
    judge::Capture(staging_.bytes().subspan(one.offset, one.bytes), from);
  }
}

void TensorSets::Unpack() const {
  for (std::size_t i = 0; i < captured_.size(); ++i) {
    const Captured& one = captured_[i];
    const DeviceMemory& result = results_[compared_[i].first][compared_[i].second];
    const std::span<const std::byte> bytes = staging_.bytes().subspan(one.offset, one.bytes);
    if (one.view == nullptr) {
      result.Upload(bytes);
    } else {
      const DeviceMemory copy(bytes.size());
      copy.Upload(bytes);
      one.view->GatherTo(result, copy.get());
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
  for (const auto& [calls, views] : views_) {
    for (const OutputView& one : views) one.view.ScatterFrom(sets_[one.set].tensors[one.tensor]);
  }
}

bool TensorSets::InputsAreUnchanged(std::size_t set) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].description.is_compared()) continue;
    if (HashOnDevice(sets_[set].tensors[i]) != HashOnDevice(drawn_[set][i])) return false;
  }
  return true;
}

std::uint64_t TensorSets::DrawnHash(std::size_t set) const {
  std::uint64_t hash = 0;
  for (const DeviceMemory& memory : drawn_[set]) hash = Mix(hash ^ HashOnDevice(memory));
  return hash;
}

std::uint64_t TensorSets::ResultHash(std::size_t set) const {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].description.is_compared()) hash = Mix(hash ^ HashOnDevice(results_[set][i]));
  }
  return hash;
}

}  // namespace fa_profile::judge

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device_tensors.h"
#include "fa_profile/kernel_description.h"
#include "fa_profile/shape.h"
#include "library_process.h"

namespace fa_profile::judge {

/// A tensor of the kernel with the trial's parameters.
struct Tensor {
  TensorDescription description;
  std::vector<std::int64_t> extents;
  std::size_t elements = 0;
};

/// The tensors of several calls, on the GPU. The judge owns them; the worker has them mapped.
class TensorSets {
 public:
  /// Throws Error: they do not fit, or a tensor's shape is invalid.
  TensorSets(const LibraryStatement& statement, const std::vector<ShapeParameter>& parameters,
             std::size_t workspace_bytes, std::size_t most_sets);

  std::size_t count() const { return sets_.size(); }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  std::vector<std::size_t> ElementCounts() const;
  std::size_t bytes_a_set() const { return bytes_a_set_; }
  bool has_in_place() const;
  /// For the worker: a list for each set.
  nlohmann::json Handles() const;

  /// Draws new inputs for every set from `seed`, where the worker does not see them: Deliver() reveals them. `referee`
  /// calls the library's draw functions; its answer is in `shared`, or names memory of the GPU.
  void Draw(std::uint64_t seed, const nlohmann::json& values, LibraryProcess& referee, const SharedArrays& shared);
  /// Copies these sets' inputs, as drawn, to the memory that the worker sees, without using an SM.
  void Deliver(const std::vector<std::size_t>& sets);
  /// The seed of the set's last draw.
  std::uint64_t SeedOf(std::size_t set) const { return seeds_.at(set); }
  /// Where calls write outputs to the worker's memory: a list for each set, with an entry for each compared tensor,
  /// null for the judge's own. `calls`: the graph's, 0 for calls without one. Throws Error: they are not there.
  void TakeOutputs(int calls, const nlohmann::json& outputs);
  /// Copies the contents of the compared tensors, including outputs of graphs with this many calls, to result(), where
  /// the worker does not see them.
  void Fetch(int calls) const;
  /// The same in two steps: no SM works in the first, so a witness can watch the device meanwhile.
  void Capture(int calls);
  void Unpack() const;
  /// Draws only the inputs of in-place tensors again, as Draw() did.
  void RestoreInPlace();
  void Poison(judge::Poison poison, std::uint64_t seed) const;

  /// For one set: whether its inputs are as drawn, except in-place ones; hashes.
  bool InputsAreUnchanged(std::size_t set) const;
  /// Hash of what was drawn, in-place tensors included.
  std::uint64_t DrawnHash(std::size_t set) const;
  std::uint64_t ResultHash(std::size_t set) const;

  /// A compared tensor, as last fetched or unpacked.
  const DeviceMemory& result(std::size_t set, std::size_t tensor) const { return results_.at(set).at(tensor); }
  /// An input as drawn, in memory that the worker does not see.
  const DeviceMemory& Drawn(std::size_t set, std::size_t tensor) const { return drawn_.at(set).at(tensor); }

 private:
  struct Set {
    std::vector<DeviceMemory> tensors;
    DeviceMemory workspace;
  };

  struct OutputView {
    std::size_t set;
    std::size_t tensor;
    View view;
  };

  const View* ViewOf(int calls, std::size_t set, std::size_t tensor) const;  // null: it is the judge's own
  const ImportedMemory& Import(const std::string& handle);

  std::vector<Tensor> tensors_;
  std::vector<Set> sets_;
  std::vector<std::uint64_t> seeds_;
  std::map<std::string, ImportedMemory> imported_;
  std::map<int, std::vector<OutputView>> views_;
  std::vector<std::vector<DeviceMemory>> drawn_;    // by set and tensor; none for outputs
  std::vector<std::vector<DeviceMemory>> results_;  // by set and tensor; none for tensors that are not compared
  std::vector<std::pair<std::size_t, std::size_t>> compared_;  // set and tensor
  struct Captured {
    const View* view;  // null: the tensor is the judge's own
    std::size_t offset;
    std::size_t bytes;
  };
  std::vector<Captured> captured_;  // for each in compared_, in staging_
  HostMemory staging_{0};
  std::size_t bytes_a_set_ = 0;
};

}  // namespace fa_profile::judge

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

/// A tensor of the kernel at the parameters of the trial.
struct Tensor {
  TensorDescription description;
  std::vector<std::int64_t> extents;
  std::size_t elements = 0;
};

/// The tensors of several calls, on the GPU. The judge owns them; the worker has them mapped.
class TensorSets {
 public:
  /// Throws Error: they do not fit, or a tensor's shape is not one.
  TensorSets(const LibraryStatement& statement, const std::vector<ShapeParameter>& parameters,
             std::size_t workspace_bytes, std::size_t most_sets);

  std::size_t count() const { return sets_.size(); }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  std::vector<std::size_t> ElementCounts() const;
  std::size_t bytes_a_set() const { return bytes_a_set_; }
  bool has_in_place() const;
  /// For the worker: a list for each set.
  nlohmann::json Handles() const;

  /// Draws the inputs of every set anew, from `seed`, where the worker does not see them: Deliver() shows them.
  /// `referee` calls the draw functions of the library; its answer is in `shared`, or names memory of the GPU.
  void Draw(std::uint64_t seed, const nlohmann::json& values, LibraryProcess& referee, const SharedArrays& shared);
  /// Copies these sets' inputs, as drawn, to the memory that the worker sees. No SM works for it.
  void Deliver(const std::vector<std::size_t>& sets);
  /// The seed of the set's last draw.
  std::uint64_t SeedOf(std::size_t set) const { return seeds_.at(set); }
  /// Where calls write outputs whose memory the worker has: a list for each set, an entry for each tensor that is
  /// compared, null for the judge's own. `calls`: the graph's, 0 for calls without one. Throws Error: not so.
  void TakeOutputs(int calls, const nlohmann::json& outputs);
  /// Copies what the tensors that are compared hold, outputs of graphs with so many calls among them, to result(),
  /// where the worker does not see it.
  void Fetch(int calls) const;
  /// The same in two steps: in the first no SM works, so that a witness can watch the device meanwhile.
  void Capture(int calls);
  void Unpack() const;
  /// Draws the inputs of in-place tensors alone as Draw() did.
  void RestoreInPlace();
  void Poison(judge::Poison poison, std::uint64_t seed) const;

  /// Of one set: whether its inputs are as drawn, but for in-place ones; hashes.
  bool InputsAreUnchanged(std::size_t set) const;
  /// Of what was drawn, in-place tensors included.
  std::uint64_t DrawnHash(std::size_t set) const;
  std::uint64_t ResultHash(std::size_t set) const;

  /// Of a tensor that is compared, as fetched or unpacked last.
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
  std::vector<std::vector<DeviceMemory>> drawn_;    // of a set's tensors; none of outputs
  std::vector<std::vector<DeviceMemory>> results_;  // of a set's tensors; none of those that are not compared
  std::vector<std::pair<std::size_t, std::size_t>> compared_;  // set and tensor
  struct Captured {
    const View* view;  // null: the tensor is the judge's own
    std::size_t offset;
    std::size_t bytes;
  };
  std::vector<Captured> captured_;  // of each in compared_, in staging_
  HostMemory staging_{0};
  std::size_t bytes_a_set_ = 0;
};

}  // namespace fa_profile::judge

#include "check_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "fa_profile/compare_tensor.h"
#include "fa_profile/extents.h"
#include "fa_profile/tensor_file.h"

namespace fa_profile {
namespace {

using Values = std::vector<std::vector<double>>;

template <typename T>
std::vector<T*> PointersTo(auto& values) {
  std::vector<T*> pointers;
  for (auto& of_tensor : values) pointers.push_back(of_tensor.data());
  return pointers;
}

class ResultChecker {
 public:
  ResultChecker(const TensorLibrary& library, const std::vector<ShapeParameter>& parameters,
                const std::vector<std::vector<std::byte>>& results)
      : library_(library),
        tensors_(library.description().tensors),
        parameters_(parameters),
        results_(results),
        extents_(library.Extents(parameters)) {}

  DrawErrors Check(std::uint64_t seed) {
    errors_.passes = true;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].is_drawn()) {
        expected_.push_back(library_.Draw(i, parameters_, seed));
      } else {
        expected_.emplace_back(ElementsOf(extents_[i]), std::numeric_limits<double>::quiet_NaN());
      }
      if (tensors_[i].role == FA_PROFILE_INPUT) RequireUnchanged(i);
    }
    errors_.error = library_.Reference(parameters_, PointersTo<double>(expected_));
    if (!errors_.error.empty()) return errors_;
    ReadReferenceFiles();
    const bool has_check = library_.description().functions.check != nullptr;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].is_compared()) CheckTensor(i, has_check);
    }
    if (has_check) AskLibrary();
    return errors_;
  }

 private:
  // A kernel that writes to what it should only read.
  void RequireUnchanged(std::size_t tensor) {
    const NumberFormat format = tensors_[tensor].format;
    const std::vector<double>& drawn = expected_[tensor];
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      if (LoadBits(format, results_[tensor], i) == Encode(format, drawn[i])) continue;
      return Fail(tensor, static_cast<std::int64_t>(i), "the kernel changed this element of an input");
    }
  }

  void ReadReferenceFiles() {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const TensorDescription& tensor = tensors_[i];
      if (tensor.is_drawn() || tensor.file.empty()) continue;
      expected_[i] = ReadTensorFile(tensor.file, tensor.format, extents_[i]);
    }
  }

  void CheckTensor(std::size_t tensor, bool has_check) {
    const TensorDescription& of = tensors_[tensor];
    const bool poisoned = of.role == FA_PROFILE_OUTPUT;
    TensorErrors found;
    if (!has_check) {
      found = CompareTensor(of.format, results_[tensor], expected_[tensor], of.tolerance, poisoned);
    } else if (poisoned) {
      found = FindUnwritten(of.format, results_[tensor]);
    }
    errors_.max_abs_error = std::max(errors_.max_abs_error, found.max_abs_error);
    errors_.max_error_ratio = std::max(errors_.max_error_ratio, found.max_error_ratio);
    errors_.nonfinite += found.nonfinite;
    errors_.unwritten += found.unwritten;
    if (found.passes()) return;
    if (found.first_unwritten) return Fail(tensor, *found.first_unwritten, "never written");
    const std::int64_t index = found.first_nonfinite ? *found.first_nonfinite : found.worst.value_or(0);
    const auto place = static_cast<std::size_t>(index);
    Fail(tensor, index,
         fmt::format("{:.9g}, expected {:.9g}", Decode(of.format, LoadBits(of.format, results_[tensor], place)),
                     expected_[tensor][place]));
  }

  void AskLibrary() {
    Values results;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      std::vector<double>& values = results.emplace_back(expected_[i].size());
      for (std::size_t k = 0; k < values.size(); ++k) {
        values[k] = Decode(tensors_[i].format, LoadBits(tensors_[i].format, results_[i], k));
      }
    }
    const std::string wrong =
        library_.Check(parameters_, PointersTo<const double>(expected_), PointersTo<const double>(results));
    if (wrong.empty()) return;
    errors_.passes = false;
    if (errors_.where.empty()) errors_.where = wrong;
  }

  void Fail(std::size_t tensor, std::int64_t index, const std::string& how) {
    errors_.passes = false;
    if (!errors_.where.empty()) return;
    errors_.where = tensors_[tensor].name + PlaceOf(index, extents_[tensor]) + ": " + how;
  }

  const TensorLibrary& library_;
  const std::vector<TensorDescription>& tensors_;
  const std::vector<ShapeParameter>& parameters_;
  const std::vector<std::vector<std::byte>>& results_;
  std::vector<std::vector<std::int64_t>> extents_;
  Values expected_;
  DrawErrors errors_;
};

}  // namespace

DrawErrors CheckResults(const TensorLibrary& library, const std::vector<ShapeParameter>& parameters, std::uint64_t seed,
                        const std::vector<std::vector<std::byte>>& results) {
  return ResultChecker(library, parameters, results).Check(seed);
}

}  // namespace fa_profile

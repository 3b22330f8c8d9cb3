#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/kernel_description.h"
#include "fa_profile/shape.h"
#include "shared_library.h"

namespace fa_profile {

/// A loaded kernel library, and calls of its functions, which stay valid while it exists.
class TensorLibrary {
 public:
  /// `files`: the user's, "NAME=FILE". Throws Error: a bad description, or files for unknown tensors.
  TensorLibrary(std::string path, LibraryHandle handle, const std::vector<std::string>& files);

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }
  const KernelDescription& description() const { return description_; }

  /// Empty if the kernel accepts these parameters.
  std::string WhyNot(const std::vector<ShapeParameter>& parameters) const;
  std::size_t WorkspaceBytes(const std::vector<ShapeParameter>& parameters) const;
  Work WorkOf(const std::vector<ShapeParameter>& parameters) const;

  /// `call`: with the tensors, the workspace and the stream. Throws Error when the launch is refused.
  void Launch(fa_profile_call call) const;

  /// The extents of each tensor. Throws Error that names the tensor.
  std::vector<std::vector<std::int64_t>> Extents(const std::vector<ShapeParameter>& parameters) const;
  /// The elements of an input or in-place tensor, rounded to its format. Throws Error that names it.
  std::vector<double> Draw(std::size_t tensor, const std::vector<ShapeParameter>& parameters, std::uint64_t seed) const;

  /// Fills in the outputs. Empty, or why the library cannot.
  std::string Reference(const std::vector<ShapeParameter>& parameters, std::span<double* const> tensors) const;
  /// Empty, or the problem that the library finds.
  std::string Check(const std::vector<ShapeParameter>& parameters, std::span<const double* const> expected,
                    std::span<const double* const> results) const;

 private:
  void DrawByFunction(const TensorDescription& tensor, const std::vector<ShapeParameter>& parameters,
                      std::uint64_t seed, std::vector<double>& values) const;

  std::string path_;
  LibraryHandle handle_;
  LibraryFunction<decltype(fa_profile_kernel_name)> kernel_name_;
  std::string name_;
  KernelDescription description_;
  LibraryFunction<int(const fa_profile_call*, char*, std::size_t)> launch_;
  LibraryFunction<int(const fa_profile_call*, char*, std::size_t)> supports_;
  LibraryFunction<std::size_t(const fa_profile_call*)> workspace_bytes_;
  LibraryFunction<int(const std::int64_t*, double* const*, char*, std::size_t)> reference_;
  LibraryFunction<int(const fa_profile_results*, char*, std::size_t)> check_;
  LibraryFunction<void(const std::int64_t*, fa_profile_work*)> work_;
};

/// The name that a library gives its kernel. Throws Error: it is not 1 to 64 characters of a-z, 0-9, '_' and '-'.
std::string KernelNameOf(const LibraryFunction<decltype(fa_profile_kernel_name)>& function, const std::string& path);

/// Only the values, in the form that the library's functions take.
std::vector<std::int64_t> ValuesOf(const std::vector<ShapeParameter>& parameters);

}  // namespace fa_profile

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fa_profile/kernels.h"
#include "tensor_library.h"

namespace fa_profile {

/// The kernel of a library.
class TensorKernel final : public Kernel {
 public:
  /// The library is loaded when it is first used.
  TensorKernel(std::string path, LibraryIdentity identity, std::vector<std::string> files);

  const std::string& id() const override { return identity_.kernel; }
  const std::string& origin() const override { return path_; }
  int rung() const override { return 0; }
  const std::string& teaches() const override { return teaches_; }
  const std::vector<std::string>& phases() const override { return phases_; }
  FittedShape Fit(const std::optional<Shape>& asked) const override;
  std::string WhyNot(const Shape& shape) const override;
  Work WorkOf(const Shape& shape) const override;
  std::unique_ptr<Workload> MakeWorkload(const Shape& shape, std::uint64_t seed) const override;

 private:
  const std::shared_ptr<const TensorLibrary>& Loaded() const;

  std::string path_;
  LibraryIdentity identity_;
  std::vector<std::string> files_;
  std::string teaches_;
  std::vector<std::string> phases_;
  mutable std::shared_ptr<const TensorLibrary> library_;
};

/// Loads a library into this process. `files`: the user's, "TENSOR=FILE". Throws Error that names the library and what
/// is wrong with it, such as the version of its interface.
std::shared_ptr<const TensorLibrary> LoadTensorLibrary(const std::string& path,
                                                       const std::vector<std::string>& files = {});

/// What a child process tells its parent about a library.
LibraryIdentity IdentityOf(const TensorLibrary& library);

}  // namespace fa_profile

#include "tensor_kernel.h"

#include "cuda_result.h"
#include "library_version.h"
#include "tensor_workload.h"

namespace fa_profile {

LibraryIdentity IdentityOf(const TensorLibrary& library) {
  LibraryIdentity identity{library.name(), library.description().parameters, {}};
  for (const TensorDescription& tensor : library.description().tensors) identity.tensors.push_back(Describe(tensor));
  return identity;
}

std::shared_ptr<const TensorLibrary> LoadTensorLibrary(const std::string& path, const std::vector<std::string>& files) {
  LibraryHandle handle = OpenLibrary(path);
  RequireVersion(handle.get(), path, FA_PROFILE_KERNEL_ABI_2_VERSION);
  return std::make_shared<const TensorLibrary>(path, std::move(handle), files);
}

TensorKernel::TensorKernel(std::string path, LibraryIdentity identity, std::vector<std::string> files,
                           std::shared_ptr<const TensorLibrary> library)
    : path_(std::move(path)),
      identity_(std::move(identity)),
      files_(std::move(files)),
      teaches_("a kernel of your own at " + ToString(identity_.parameters)),
      library_(std::move(library)) {}

const std::shared_ptr<const TensorLibrary>& TensorKernel::Loaded() const {
  if (library_ == nullptr) library_ = LoadTensorLibrary(path_, files_);
  return library_;
}

FittedShape TensorKernel::Fit(const std::optional<Shape>& asked) const {
  return FitParameters(identity_.parameters, asked);
}

std::string TensorKernel::WhyNot(const Shape& shape) const {
  const FittedShape fitted = Fit(shape);
  return fitted.shape ? Loaded()->WhyNot(*fitted.shape->parameters()) : fitted.why_not;
}

Work TensorKernel::WorkOf(const Shape& shape) const {
  const FittedShape fitted = Fit(shape);
  return fitted.shape ? Loaded()->WorkOf(*fitted.shape->parameters()) : Work{};
}

std::unique_ptr<Workload> TensorKernel::MakeWorkload(const Shape& shape, std::uint64_t seed) const {
  const FittedShape fitted = Fit(shape);
  if (const std::string why_not = WhyNot(shape); !why_not.empty()) {
    throw Error(id() + " does not take the shape " + shape.ToString(), why_not);
  }
  auto workload = std::make_unique<TensorWorkload>(id(), Loaded(), *fitted.shape);
  workload->Fill(seed, nullptr);
  workload->Poison(nullptr);
  CheckCudaResult(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return workload;
}

}  // namespace fa_profile

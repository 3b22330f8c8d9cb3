#include "tensor_kernel.h"

#include <fmt/format.h>

#include "cuda_result.h"
#include "tensor_workload.h"

namespace fa_profile {
namespace {

void RequireVersion(void* handle, const std::string& path) {
  const LibraryFunction<decltype(fa_profile_kernel_abi_version)> abi_version(handle, path,
                                                                             "fa_profile_kernel_abi_version");
  const std::uint32_t version = abi_version();
  if (version == FA_PROFILE_KERNEL_ABI_2_VERSION) return;
  throw Error(fmt::format("the kernel library {} has version {} of the kernel interface, and this fa-profile takes {}",
                          path, version, FA_PROFILE_KERNEL_ABI_2_VERSION),
              version == 1
                  ? "describe its tensors as fa_profile/kernel_abi_2.h does: docs/kernels.md, \"From version 1\""
                  : "build it again with this fa-profile's fa_profile/kernel_abi_2.h");
}

}  // namespace

LibraryIdentity IdentityOf(const TensorLibrary& library) {
  LibraryIdentity identity{library.name(), library.description().parameters, {}};
  for (const TensorDescription& tensor : library.description().tensors) identity.tensors.push_back(Describe(tensor));
  return identity;
}

std::shared_ptr<const TensorLibrary> LoadTensorLibrary(const std::string& path, const std::vector<std::string>& files) {
  LibraryHandle handle = OpenLibrary(path);
  RequireVersion(handle.get(), path);
  return std::make_shared<const TensorLibrary>(path, std::move(handle), files);
}

TensorKernel::TensorKernel(std::string path, LibraryIdentity identity, std::vector<std::string> files)
    : path_(std::move(path)),
      identity_(std::move(identity)),
      files_(std::move(files)),
      teaches_("a kernel of your own at " + ToString(identity_.parameters)) {}

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
  workload->Fill(seed);
  CheckCudaResult(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return workload;
}

std::unique_ptr<Kernel> LibraryKernel(const std::string& path, const LibraryIdentity& identity,
                                      const std::vector<std::string>& files) {
  return std::make_unique<TensorKernel>(path, identity, files);
}

}  // namespace fa_profile

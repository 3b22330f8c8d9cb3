#include <memory>
#include <string>
#include <utility>

#include "attention_kernel.h"
#include "fa_profile/error.h"
#include "fa_profile/kernel_abi.h"
#include "fa_profile/kernels.h"
#include "library_version.h"
#include "shared_library.h"
#include "tensor_kernel.h"

namespace fa_profile {
namespace {

// A loaded library of version 1. Its functions stay valid while it lives; every step of its kernel shares it.
class Library {
 public:
  Library(std::string path, LibraryHandle handle)
      : path_(std::move(path)),
        handle_(std::move(handle)),
        name_(handle_.get(), path_, "fa_profile_kernel_name"),
        supports_(handle_.get(), path_, "fa_profile_kernel_supports"),
        workspace_bytes_(handle_.get(), path_, "fa_profile_kernel_workspace_bytes"),
        launch_(handle_.get(), path_, "fa_profile_kernel_launch") {}

  std::string Name() const { return KernelNameOf(name_, path_); }

  std::string WhyNot(const AttentionShape& shape) const {
    const fa_profile_attention_args args = Arguments(shape);
    LibraryError error;
    if (supports_(&args, error.data(), error.size()) == 0) return {};
    return error.Text("the library refuses this shape and gives no reason");
  }

  std::size_t WorkspaceBytes(const AttentionShape& shape) const {
    const fa_profile_attention_args args = Arguments(shape);
    return workspace_bytes_(&args);
  }

  void Launch(const AttentionParams& params, cudaStream_t stream) const {
    const AttentionShape shape{params.batch, params.num_heads, params.seqlen, params.head_dim, params.causal};
    fa_profile_attention_args args = Arguments(shape);
    args.q = params.q;
    args.k = params.k;
    args.v = params.v;
    args.o = params.o;
    args.workspace = params.workspace;
    args.workspace_bytes = params.workspace_bytes;
    args.stream = stream;
    LibraryError error;
    if (launch_(&args, error.data(), error.size()) == 0) return;
    throw Error("fa_profile_kernel_launch", {}, error.Text("no reason given") + " (" + path_ + ")");
  }

 private:
  static fa_profile_attention_args Arguments(const AttentionShape& shape) {
    fa_profile_attention_args args{};
    args.struct_size = sizeof args;
    args.batch = shape.batch;
    args.num_heads = shape.num_heads;
    args.seqlen = shape.seqlen;
    args.head_dim = shape.head_dim;
    args.causal = shape.causal ? 1 : 0;
    args.softmax_scale = SoftmaxScale(shape);
    return args;
  }

  std::string path_;
  LibraryHandle handle_;
  LibraryFunction<decltype(fa_profile_kernel_name)> name_;
  LibraryFunction<decltype(fa_profile_kernel_supports)> supports_;
  LibraryFunction<decltype(fa_profile_kernel_workspace_bytes)> workspace_bytes_;
  LibraryFunction<decltype(fa_profile_kernel_launch)> launch_;
};

// A library that is loaded when it is first used: who only names it does not run its code.
class LazyLibrary {
 public:
  LazyLibrary(std::string path, std::unique_ptr<const Library> library)
      : path_(std::move(path)), library_(std::move(library)) {}

  const Library& Get() {
    if (library_ != nullptr) return *library_;
    LibraryHandle handle = OpenLibrary(path_);
    RequireVersion(handle.get(), path_, FA_PROFILE_KERNEL_ABI_VERSION);
    library_ = std::make_unique<const Library>(path_, std::move(handle));
    return *library_;
  }

 private:
  std::string path_;
  std::unique_ptr<const Library> library_;
};

std::unique_ptr<Kernel> MakeKernel(const std::string& path, const std::string& id,
                                   const std::shared_ptr<LazyLibrary>& library) {
  return std::make_unique<AttentionKernel>(KernelSpec{
      .id = id,
      .origin = path,
      .rung = 0,
      .teaches = "a kernel of your own",
      .phases = {},
      .steps = {{id, [library](const AttentionParams& params,
                               cudaStream_t stream) { library->Get().Launch(params, stream); }}},
      .why_not = [library](const AttentionShape& shape) { return library->Get().WhyNot(shape); },
      .workspace_bytes = [library](const AttentionShape& shape) { return library->Get().WorkspaceBytes(shape); }});
}

void RefuseFiles(const std::string& path, const std::vector<std::string>& files) {
  if (files.empty()) return;
  throw Error("--tensor has no effect on the kernel library " + path + ": version 1 of the kernel interface draws all",
              "leave --tensor out");
}

}  // namespace

std::uint32_t VersionOf(void* handle, const std::string& path) {
  const LibraryFunction<decltype(fa_profile_kernel_abi_version)> abi_version(handle, path,
                                                                             "fa_profile_kernel_abi_version");
  const std::uint32_t version = abi_version();
  if (version == FA_PROFILE_KERNEL_ABI_VERSION || version == FA_PROFILE_KERNEL_ABI_2_VERSION) return version;
  throw Error("the kernel library " + path + " speaks version " + std::to_string(version) +
                  " of the kernel interface, but this fa-profile speaks version " +
                  std::to_string(FA_PROFILE_KERNEL_ABI_VERSION) + " and version " +
                  std::to_string(FA_PROFILE_KERNEL_ABI_2_VERSION),
              "build the library again with this fa-profile's fa_profile/kernel_abi.h or kernel_abi_2.h");
}

void RequireVersion(void* handle, const std::string& path, std::uint32_t version) {
  if (VersionOf(handle, path) == version) return;
  throw Error("the kernel library " + path + " changed while it was used: it speaks another version of the interface",
              "do not rebuild it during a run");
}

std::unique_ptr<Kernel> LoadKernelLibrary(const std::string& path, const std::vector<std::string>& files) {
  LibraryHandle handle = OpenLibrary(path);
  if (VersionOf(handle.get(), path) == FA_PROFILE_KERNEL_ABI_2_VERSION) {
    auto library = std::make_shared<const TensorLibrary>(path, std::move(handle), files);
    LibraryIdentity identity = IdentityOf(*library);
    return std::make_unique<TensorKernel>(path, std::move(identity), files, std::move(library));
  }
  RefuseFiles(path, files);
  const auto library = std::make_shared<LazyLibrary>(path, std::make_unique<const Library>(path, std::move(handle)));
  return MakeKernel(path, library->Get().Name(), library);
}

LibraryIdentity IdentityOf(const Kernel& kernel) {
  const auto* const of_tensors = dynamic_cast<const TensorKernel*>(&kernel);
  return of_tensors != nullptr ? of_tensors->identity() : LibraryIdentity{kernel.id(), {}, {}};
}

std::unique_ptr<Kernel> NamedKernelLibrary(const std::string& path, const LibraryIdentity& identity,
                                           const std::vector<std::string>& files) {
  if (!identity.parameters.empty()) return std::make_unique<TensorKernel>(path, identity, files, nullptr);
  RefuseFiles(path, files);
  return MakeKernel(path, identity.kernel, std::make_shared<LazyLibrary>(path, nullptr));
}

}  // namespace fa_profile

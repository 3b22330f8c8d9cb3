#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "attention_kernel.h"
#include "crash_report.h"
#include "fa_profile/error.h"
#include "fa_profile/kernel_abi.h"
#include "fa_profile/kernels.h"

namespace fa_profile {
namespace {

constexpr std::size_t kErrorBytes = 1024;
constexpr std::size_t kMaxNameLength = 64;

// One exported function, called under a crash report that names it and its library.
template <typename Function>
class LibraryFunction {
 public:
  LibraryFunction(void* handle, const std::string& path, const char* symbol)
      : function_(reinterpret_cast<Function*>(dlsym(handle, symbol))),
        crash_message_("fa-profile: error: the kernel library " + path + " crashed in " + symbol +
                       "()\n  hint: run it under a debugger; what was recorded before is kept\n") {
    if (function_ != nullptr) return;
    throw Error("the kernel library " + path + " has no function " + symbol,
                "export it with C linkage, as fa_profile/kernel_abi.h declares it");
  }

  template <typename... Args>
  auto operator()(Args... args) const {
    const CrashReport report(crash_message_);
    return function_(args...);
  }

 private:
  Function* function_;
  std::string crash_message_;
};

struct CloseLibrary {
  void operator()(void* handle) const { (void)dlclose(handle); }
};
using LibraryHandle = std::unique_ptr<void, CloseLibrary>;

// By absolute path: dlopen looks for a bare name in the system's library folders instead of here.
LibraryHandle OpenLibrary(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) {
    throw Error("kernel library " + path + " not found", "--kernel-lib takes the path of a shared library (.so)");
  }
  const std::string message = "fa-profile: error: the kernel library " + path + " crashed while it was loaded\n";
  const CrashReport report(message);
  LibraryHandle handle(dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL));
  if (handle == nullptr) {
    throw Error("dlopen", {}, dlerror(), "build it as a shared library for this machine; `ldd` lists what it lacks");
  }
  return handle;
}

// A loaded library. Its functions stay valid while it lives; every step of its kernel shares it.
class Library {
 public:
  explicit Library(std::string path)
      : path_(std::move(path)),
        handle_(OpenLibrary(path_)),
        abi_version_(handle_.get(), path_, "fa_profile_kernel_abi_version"),
        name_(handle_.get(), path_, "fa_profile_kernel_name"),
        supports_(handle_.get(), path_, "fa_profile_kernel_supports"),
        workspace_bytes_(handle_.get(), path_, "fa_profile_kernel_workspace_bytes"),
        launch_(handle_.get(), path_, "fa_profile_kernel_launch") {
    const std::uint32_t version = abi_version_();
    if (version == FA_PROFILE_KERNEL_ABI_VERSION) return;
    throw Error("the kernel library " + path_ + " speaks version " + std::to_string(version) +
                    " of the kernel interface, but this fa-profile speaks version " +
                    std::to_string(FA_PROFILE_KERNEL_ABI_VERSION),
                "build the library again with this fa-profile's fa_profile/kernel_abi.h");
  }

  std::string Name() const {
    const char* const name = name_();
    std::string text = name == nullptr ? "" : name;
    constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    if (!text.empty() && text.size() <= kMaxNameLength && text.find_first_not_of(kAllowed) == std::string::npos) {
      return text;
    }
    throw Error("the kernel library " + path_ + " has the invalid kernel name '" + text.substr(0, kMaxNameLength) + "'",
                "fa_profile_kernel_name() must return 1 to 64 characters of a-z, 0-9, '_' and '-'");
  }

  std::string WhyNot(const AttentionShape& shape) const {
    const fa_profile_attention_args args = Arguments(shape);
    std::array<char, kErrorBytes> error{};
    if (supports_(&args, error.data(), error.size()) == 0) return {};
    return Text(error, "the library refuses this shape and gives no reason");
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
    std::array<char, kErrorBytes> error{};
    if (launch_(&args, error.data(), error.size()) == 0) return;
    throw Error("fa_profile_kernel_launch", {}, Text(error, "no reason given") + " (" + path_ + ")");
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

  // What a library wrote, whether or not it wrote the terminator.
  static std::string Text(const std::array<char, kErrorBytes>& error, const char* if_empty) {
    std::string text(error.begin(), std::find(error.begin(), error.end(), '\0'));
    return text.empty() ? if_empty : text;
  }

  std::string path_;
  LibraryHandle handle_;
  LibraryFunction<decltype(fa_profile_kernel_abi_version)> abi_version_;
  LibraryFunction<decltype(fa_profile_kernel_name)> name_;
  LibraryFunction<decltype(fa_profile_kernel_supports)> supports_;
  LibraryFunction<decltype(fa_profile_kernel_workspace_bytes)> workspace_bytes_;
  LibraryFunction<decltype(fa_profile_kernel_launch)> launch_;
};

}  // namespace

std::unique_ptr<Kernel> LoadKernelLibrary(const std::string& path) {
  const auto library = std::make_shared<const Library>(path);
  const std::string name = library->Name();
  return std::make_unique<AttentionKernel>(KernelSpec{
      .id = name,
      .origin = path,
      .rung = 0,
      .teaches = "a kernel of your own",
      .phases = {},
      .steps = {{name,
                 [library](const AttentionParams& params, cudaStream_t stream) { library->Launch(params, stream); }}},
      .why_not = [library](const AttentionShape& shape) { return library->WhyNot(shape); },
      .workspace_bytes = [library](const AttentionShape& shape) { return library->WorkspaceBytes(shape); }});
}

}  // namespace fa_profile

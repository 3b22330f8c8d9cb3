#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "attention_kernel.h"
#include "crash_report.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/kernel_abi.h"
#include "fa_profile/kernels.h"

namespace fa_profile {
namespace {

constexpr std::size_t kErrorBytes = 1024;
constexpr std::size_t kMaxNameLength = 64;

CrashMessages MessagesOf(const std::string& path, const std::string& where, const std::string& crash_hint) {
  const std::string start = "fa-profile: error: the kernel library " + path;
  return {start + " crashed " + where + "\n  hint: " + crash_hint + "\n",
          start + " ended the process " + where +
              "\n  hint: a library reports errors through its functions' results and must not call exit()\n"};
}

// One exported function, called under a crash report that names it and its library.
template <typename Function>
class LibraryFunction {
 public:
  LibraryFunction(void* handle, const std::string& path, const char* symbol)
      : function_(reinterpret_cast<Function*>(dlsym(handle, symbol))),
        messages_(MessagesOf(path, std::string("in ") + symbol + "()",
                             "run it under a debugger; what was recorded before is kept")) {
    if (function_ != nullptr) return;
    throw Error("the kernel library " + path + " has no function " + symbol,
                "export it with C linkage, as fa_profile/kernel_abi.h declares it");
  }

  template <typename... Args>
  auto operator()(Args... args) const {
    const CrashReport report(messages_);
    return function_(args...);
  }

 private:
  Function* function_;
  CrashMessages messages_;
};

struct CloseLibrary {
  void operator()(void* handle) const { (void)dlclose(handle); }
};
using LibraryHandle = std::unique_ptr<void, CloseLibrary>;

// The first bytes of a file, and how many there are.
std::size_t ReadStart(const std::string& path, std::span<char> bytes) {
  try {
    const Descriptor file = OpenFile(path);
    std::size_t got = 0;
    while (const std::size_t count = ReadSome(file.get(), path, bytes.subspan(got))) got += count;
    return got;
  } catch (const Error& error) {
    throw Error("kernel library " + error.message(), "--kernel-lib takes the path of a shared library (.so)");
  }
}

// dlopen() says "No such file" of an ELF file for another machine, a cubin among them.
void RequireThisMachine(const std::string& path) {
  ElfW(Ehdr) header{};
  const std::size_t got = ReadStart(path, std::span(reinterpret_cast<char*>(&header), sizeof header));
  constexpr std::size_t kUpToMachine = offsetof(ElfW(Ehdr), e_machine) + sizeof header.e_machine;
  if (got < kUpToMachine || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;  // dlopen() tells why
  constexpr unsigned kCuda = 190;                                                       // EM_CUDA
  const std::string hint =
      "--kernel-lib takes a shared library (.so) for this machine; docs/kernels.md has the command";
  if (header.e_machine == kCuda) {
    throw Error("kernel library " + path + " is a cubin, which has GPU code only", hint);
  }
  // Of the vDSO, which the kernel made for this machine.
  const auto* const own = std::bit_cast<const ElfW(Ehdr)*>(getauxval(AT_SYSINFO_EHDR));
  if (own == nullptr || header.e_machine == own->e_machine) return;
  throw Error(
      "kernel library " + path + " is made for another machine (ELF machine " + std::to_string(header.e_machine) + ")",
      hint);
}

// By absolute path: dlopen looks for a bare name in the system's library folders instead of here.
LibraryHandle OpenLibrary(const std::string& path) {
  RequireThisMachine(path);
  const CrashMessages messages =
      MessagesOf(path, "while it was loaded",
                 "a constructor in it, or in a library that it links, is at fault: LD_DEBUG=init names it");
  const CrashReport report(messages);
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

// A library that is loaded when it is first used: who only names it does not run its code.
class LazyLibrary {
 public:
  explicit LazyLibrary(std::string path) : path_(std::move(path)) {}

  const Library& Get() {
    if (library_ == nullptr) library_ = std::make_unique<const Library>(path_);
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

}  // namespace

std::unique_ptr<Kernel> LoadKernelLibrary(const std::string& path) {
  const auto library = std::make_shared<LazyLibrary>(path);
  return MakeKernel(path, library->Get().Name(), library);
}

std::unique_ptr<Kernel> NamedKernelLibrary(const std::string& path, const std::string& id) {
  return MakeKernel(path, id, std::make_shared<LazyLibrary>(path));
}

}  // namespace fa_profile

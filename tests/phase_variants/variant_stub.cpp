// A kernel library for one variant: its file name is the variant's. The kernels are in libphase_variants.so beside it.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "attention_library.h"
#include "variants.h"

namespace {

using fa_profile::AttentionLibrary;

const std::string& Name() {
  static const std::string name = [] {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&fa_profile_kernel_name), &info) == 0) return std::string();
    const std::string path = info.dli_fname;
    const std::string file = path.substr(path.rfind('/') + 1);
    return file.substr(0, file.rfind(".so"));
  }();
  return name;
}

const phase_variants::Variant* Self() { return phase_variants::FindVariant(Name().c_str()); }

phase_variants::Arguments ArgumentsOf(const fa_profile_call& call) {
  return {AttentionLibrary::ParamsOf(call), call.stream};
}

int Supports(const fa_profile_call* call, char* error, size_t error_size) {
  const phase_variants::Arguments args = ArgumentsOf(*call);
  const char* reason = nullptr;
  if (args.causal != Self()->causal) {
    reason = Self()->causal ? "it is made for a causal mask" : "it is made without a causal mask";
  } else if (args.seqlen % 128 != 0) {
    reason = "seqlen must be a multiple of 128";
  }
  if (reason == nullptr) return 0;
  std::snprintf(error, error_size, "%s", reason);
  return 1;
}

size_t WorkspaceBytes(const fa_profile_call* call) { return Self()->workspace_bytes(ArgumentsOf(*call)); }

int Launch(const fa_profile_call* call, char* error, size_t error_size) {
  const int result = Self()->launch(ArgumentsOf(*call));
  if (result == 0) return 0;
  std::snprintf(error, error_size, "%s", phase_variants::ErrorText(result));
  return 1;
}

// Without a variant of this name one that fa-profile refuses.
fa_profile_kernel Described() {
  const phase_variants::Variant* const self = Self();
  if (self == nullptr) return {};
  constexpr int64_t kMostKeys = int64_t{1} << 20;
  // A variant with a larger minimum rounds too much for so few keys.
  static const AttentionLibrary::Parameters parameters = {
      {"batch", 1},
      {"heads", 8},
      {"seqlen", std::max(512, self->least_seqlen), self->least_seqlen, kMostKeys},
      {"head_dim", self->head_dim, self->head_dim, self->head_dim},
      {"causal", self->causal ? 1 : 0, 0, 1}};
  fa_profile_kernel kernel = AttentionLibrary::Describe(self->name, parameters, Launch, Supports);
  kernel.workspace_bytes = WorkspaceBytes;
  return kernel;
}

const fa_profile_kernel kKernel = Described();

}  // namespace

FA_PROFILE_EXPORT_KERNEL(kKernel)

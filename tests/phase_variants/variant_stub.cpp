// A kernel library for one variant: its file name is the variant's. The kernels are in libphase_variants.so beside it.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "variants.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

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

}  // namespace

EXPORT uint32_t fa_profile_kernel_abi_version(void) { return FA_PROFILE_KERNEL_ABI_VERSION; }

EXPORT const char* fa_profile_kernel_name(void) { return Name().c_str(); }

EXPORT int fa_profile_kernel_supports(const fa_profile_attention_args* args, char* error, size_t error_size) {
  const phase_variants::Variant* const self = Self();
  const char* reason = nullptr;
  if (self == nullptr) {
    reason = "libphase_variants.so has no variant of this name";
  } else if (args->head_dim != self->head_dim) {
    reason = "it is made for another head_dim";
  } else if ((args->causal != 0) != self->causal) {
    reason = self->causal ? "it is made for a causal mask" : "it is made without a causal mask";
  } else if (args->seqlen % 128 != 0) {
    reason = "seqlen must be a multiple of 128";
  } else if (args->seqlen < self->least_seqlen) {
    reason = "it rounds too much for so few keys";
  }
  if (reason == nullptr) return 0;
  std::snprintf(error, error_size, "%s", reason);
  return 1;
}

EXPORT size_t fa_profile_kernel_workspace_bytes(const fa_profile_attention_args* args) {
  const phase_variants::Variant* const self = Self();
  return self == nullptr ? 0 : self->workspace_bytes(*args);
}

EXPORT int fa_profile_kernel_launch(const fa_profile_attention_args* args, char* error, size_t error_size) {
  const int result = Self()->launch(*args);
  if (result == 0) return 0;
  std::snprintf(error, error_size, "%s", phase_variants::ErrorText(result));
  return 1;
}

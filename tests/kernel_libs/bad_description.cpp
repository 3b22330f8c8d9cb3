// A library whose description is bad in the way that FA_PROFILE_BAD_DESCRIPTION names. It needs no GPU.
#include <cstdlib>
#include <cstring>

#include "fa_profile/kernel_abi_2.h"

namespace {

int Launch(const fa_profile_call*, char*, size_t) { return 0; }
int Reference(const int64_t*, double* const*, char*, size_t) { return 0; }

fa_profile_parameter parameters[] = {{"m", 4}};
fa_profile_tensor tensors[64] = {{"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "m"}};
fa_profile_kernel kernel = {sizeof(fa_profile_kernel),
                            sizeof(fa_profile_parameter),
                            sizeof(fa_profile_tensor),
                            0,
                            "bad",
                            parameters,
                            1,
                            tensors,
                            1,
                            Launch,
                            nullptr,
                            nullptr,
                            Reference,
                            nullptr,
                            nullptr};

bool Is(const char* fault) {
  const char* const wanted = std::getenv("FA_PROFILE_BAD_DESCRIPTION");
  return wanted != nullptr && std::strcmp(wanted, fault) == 0;
}

}  // namespace

FA_PROFILE_EXPORT uint32_t fa_profile_kernel_abi_version(void) { return FA_PROFILE_KERNEL_ABI_2_VERSION; }
FA_PROFILE_EXPORT const char* fa_profile_kernel_name(void) { return kernel.name; }
FA_PROFILE_EXPORT const fa_profile_kernel* fa_profile_kernel_description(void) {
  if (Is("null")) return nullptr;
  if (Is("pointer")) kernel.tensors = reinterpret_cast<const fa_profile_tensor*>(64);
  if (Is("name pointer")) tensors[0].name = reinterpret_cast<const char*>(64);
  if (Is("many tensors")) kernel.tensor_count = 64;
  if (Is("exit")) std::exit(0);
  return &kernel;
}

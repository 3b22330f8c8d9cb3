// A kernel library's five functions. Each broken library replaces one of them: it defines FIXTURE_OWN_<function> before
// including this and writes its own.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>

#include "fa_profile/kernel_abi.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

inline size_t TensorBytes(const fa_profile_attention_args* args) {
  return size_t{2} * args->batch * args->num_heads * args->seqlen * args->head_dim;
}

#ifndef FIXTURE_OWN_VERSION
EXPORT uint32_t fa_profile_kernel_abi_version(void) { return FA_PROFILE_KERNEL_ABI_VERSION; }
#endif

#ifndef FIXTURE_OWN_NAME
EXPORT const char* fa_profile_kernel_name(void) { return "fixture"; }
#endif

#ifndef FIXTURE_OWN_SUPPORTS
EXPORT int fa_profile_kernel_supports(const fa_profile_attention_args*, char*, size_t) { return 0; }
#endif

EXPORT size_t fa_profile_kernel_workspace_bytes(const fa_profile_attention_args*) { return 0; }

#ifndef FIXTURE_OWN_LAUNCH
EXPORT int fa_profile_kernel_launch(const fa_profile_attention_args*, char*, size_t) { return 0; }
#endif

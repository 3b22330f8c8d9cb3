// Attention kernels that the inference of phases has never seen, each written in phase functions, which are the truth
// that it is held against (docs/evidence/phases.md). They live in one shared library; a kernel library for each name
// (variant_stub.cpp) hands it on to fa-profile --kernel-lib.
#pragma once

#include <cstddef>

#include "rung.h"

namespace phase_variants {

#define PHASE_VARIANTS_EXPORT __attribute__((visibility("default")))

/// A call, and its cudaStream_t.
struct Arguments : fa_profile::AttentionParams {
  void* stream = nullptr;
};

struct Variant {
  const char* name;
  int head_dim;
  bool causal;
  int least_seqlen;
  std::size_t (*workspace_bytes)(const Arguments& args);
  int (*launch)(const Arguments& args);  ///< a cudaError_t
};

/// The variant of that name, or nullptr.
PHASE_VARIANTS_EXPORT const Variant* FindVariant(const char* name);
PHASE_VARIANTS_EXPORT const char* ErrorText(int error);

/// Adds a variant when the library is loaded.
struct Registration {
  explicit Registration(const Variant& variant);
};

}  // namespace phase_variants

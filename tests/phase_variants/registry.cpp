#include <cuda_runtime_api.h>

#include <cstring>
#include <vector>

#include "variants.h"

namespace phase_variants {
namespace {

std::vector<Variant>& Variants() {
  static std::vector<Variant> variants;
  return variants;
}

}  // namespace

const Variant* FindVariant(const char* name) {
  for (const Variant& variant : Variants()) {
    if (std::strcmp(variant.name, name) == 0) return &variant;
  }
  return nullptr;
}

const char* ErrorText(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

Registration::Registration(const Variant& variant) { Variants().push_back(variant); }

}  // namespace phase_variants

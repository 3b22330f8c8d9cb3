#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "fa_profile/kernel_abi_2.h"
#include "rung.h"

namespace fa_profile {

/// An fp16 attention kernel of the ladder's kind as a kernel library, for variants measured along with the rungs.
/// A library defines the functions of its description and exports it:
///   const fa_profile_kernel kKernel =
///       AttentionLibrary::Describe("mine", AttentionLibrary::kParameters, Launch, Supports);
///   FA_PROFILE_EXPORT_KERNEL(kKernel)
struct AttentionLibrary {
  enum Parameter { kBatch, kHeads, kSeqlen, kHeadDim, kCausal, kParameterCount };
  enum Tensor { kQ, kK, kV, kO, kTensorCount };
  using Parameters = fa_profile_parameter[kParameterCount];
  using Function = int (*)(const fa_profile_call* call, char* error, size_t error_size);

  static constexpr Parameters kParameters = {
      {"batch", 1}, {"heads", 8}, {"seqlen", 512}, {"head_dim", 64}, {"causal", 0, 0, 1}};
  static constexpr const char* kShape = "batch,heads,seqlen,head_dim";
  static constexpr fa_profile_tensor kTensors[kTensorCount] = {
      {"q", FA_PROFILE_FP16, FA_PROFILE_INPUT, kShape},
      {"k", FA_PROFILE_FP16, FA_PROFILE_INPUT, kShape},
      {"v", FA_PROFILE_FP16, FA_PROFILE_INPUT, kShape},
      {"o", FA_PROFILE_FP16, FA_PROFILE_OUTPUT, kShape, {}, {1e-3, 1e-3}}};

  /// `parameters` is kept, not copied.
  static fa_profile_kernel Describe(const char* name, const Parameters& parameters, Function launch,
                                    Function supports) {
    return {FA_PROFILE_KERNEL_SIZES,  .name = name,
            .parameters = parameters, .parameter_count = kParameterCount,
            .tensors = kTensors,      .tensor_count = kTensorCount,
            .launch = launch,         .supports = supports,
            .reference = Reference,   .work = CountWork};
  }

  /// The parameters of a call. Without pointers when the library is only asked whether it supports a shape.
  static AttentionParams ParamsOf(const fa_profile_call& call) {
    const auto number = [&](Parameter parameter) { return static_cast<int>(call.parameters[parameter]); };
    AttentionParams params;
    params.batch = number(kBatch);
    params.num_heads = number(kHeads);
    params.seqlen = number(kSeqlen);
    params.head_dim = number(kHeadDim);
    params.causal = number(kCausal) != 0;
    params.softmax_scale = 1.0F / std::sqrt(static_cast<float>(params.head_dim));
    params.workspace = call.workspace;
    params.workspace_bytes = call.workspace_bytes;
    if (call.tensors == nullptr) return params;
    params.q = static_cast<const __half*>(call.tensors[kQ]);
    params.k = static_cast<const __half*>(call.tensors[kK]);
    params.v = static_cast<const __half*>(call.tensors[kV]);
    params.o = static_cast<__half*>(call.tensors[kO]);
    return params;
  }

  /// The result of a launch in the form that the interface expects.
  static int ResultOf(cudaError_t status, char* error, size_t error_size) {
    if (status == cudaSuccess) return 0;
    (void)std::snprintf(error, error_size, "%s", cudaGetErrorString(status));
    return 1;
  }

 private:
  // K is transposed, so that the compiler uses vectors for scores.
  static int Reference(const int64_t* p, double* const* tensors, char*, size_t) {
    const int64_t seqlen = p[kSeqlen];
    const int64_t dim = p[kHeadDim];
    std::vector<double> k_transposed(static_cast<std::size_t>(seqlen * dim));
    std::vector<double> scores(static_cast<std::size_t>(seqlen));
    for (int64_t head = 0; head < p[kBatch] * p[kHeads]; ++head) {
      const int64_t first = head * seqlen * dim;
      for (int64_t i = 0; i < seqlen * dim; ++i) {
        k_transposed[static_cast<std::size_t>(i % dim * seqlen + i / dim)] = tensors[kK][first + i];
      }
      for (int64_t row = 0; row < seqlen; ++row) {
        ReferenceRow(tensors[kQ] + first + row * dim, k_transposed.data(), tensors[kV] + first,
                     tensors[kO] + first + row * dim, scores.data(), seqlen, p[kCausal] != 0 ? row + 1 : seqlen, dim);
      }
    }
    return 0;
  }

  // Standard normal Q and K: no score overflows exp().
  static void ReferenceRow(const double* q, const double* k_transposed, const double* v, double* o, double* scores,
                           int64_t seqlen, int64_t keys, int64_t dim) {
    for (int64_t key = 0; key < keys; ++key) scores[key] = 0.0;
    for (int64_t d = 0; d < dim; ++d) {
      for (int64_t key = 0; key < keys; ++key) scores[key] += q[d] * k_transposed[d * seqlen + key];
    }
    double sum = 0.0;
    for (int64_t d = 0; d < dim; ++d) o[d] = 0.0;
    for (int64_t key = 0; key < keys; ++key) {
      const double weight = std::exp(scores[key] / std::sqrt(static_cast<double>(dim)));
      sum += weight;
      for (int64_t d = 0; d < dim; ++d) o[d] += weight * v[key * dim + d];
    }
    for (int64_t d = 0; d < dim; ++d) o[d] /= sum;
  }

  static void CountWork(const int64_t* p, fa_profile_work* work) {
    const auto rows = static_cast<double>(p[kBatch] * p[kHeads] * p[kSeqlen]);
    const double keys =
        p[kCausal] != 0 ? (static_cast<double>(p[kSeqlen]) + 1.0) / 2.0 : static_cast<double>(p[kSeqlen]);
    const auto dim = static_cast<double>(p[kHeadDim]);
    work->flops = 4.0 * rows * keys * dim;
    work->bytes = 4.0 * 2.0 * rows * dim;
  }
};

}  // namespace fa_profile

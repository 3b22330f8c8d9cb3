#include "whole.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "attention_workload.h"
#include "gpu_reference.h"

namespace fa_profile::hopper {
namespace {

enum class Inputs { kUniform, kOnes, kOneKeyARow, kLateMaximum, kRandom };

struct Named {
  Inputs inputs;
  const char* name;
  const char* shows;
};

constexpr Named kInputs[] = {
    {Inputs::kUniform, "Q=0", "PV, loads of V and sums: every output is a mean of V"},
    {Inputs::kOnes, "V=1", "sums and normalisation: every output is 1"},
    {Inputs::kOneKeyARow, "one key a row", "QK: row i picks key (3 i) % seqlen"},
    {Inputs::kLateMaximum, "late maximum", "rescaling: the scores grow from key to key"},
    {Inputs::kRandom, "random", "all"},
};

/// Values that fp16 and bf16 both hold: at most 8 significant bits.
float Coarse(float x) {
  if (x == 0.0F) return x;
  const int exponent = std::ilogb(x) - 6;
  return std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
}

struct Tensors {
  std::vector<float> q, k, v;
};

Tensors Make(Inputs inputs, const AttentionShape& shape) {
  const auto count = static_cast<std::size_t>(shape.Elements());
  const auto dim = static_cast<std::size_t>(shape.head_dim);
  const auto seqlen = static_cast<std::size_t>(shape.seqlen);
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  Tensors t;
  for (std::vector<float>* tensor : {&t.q, &t.k, &t.v}) {
    for (std::size_t i = 0; i < count; ++i) {
      const float x = normal(random);
      tensor->push_back(std::fabs(x) < 1e-3F ? 0.0F : Coarse(x));
    }
  }
  const std::vector<float> directions = t.k;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = i / dim % seqlen;
    const std::size_t d = i % dim;
    if (inputs == Inputs::kUniform) t.q[i] = 0.0F;
    if (inputs == Inputs::kOnes) t.v[i] = 1.0F;
    if (inputs == Inputs::kOneKeyARow) t.q[i] = 4.0F * directions[(i / dim - row + 3 * row % seqlen) * dim + d];
    if (inputs == Inputs::kLateMaximum) {
      t.q[i] = d == 0 ? 8.0F : 0.0F;
      t.k[i] = d == 0 ? Coarse(static_cast<float>(row) * 40.0F / static_cast<float>(seqlen)) : 0.0F;
    }
  }
  return t;
}

std::uint16_t Bits(float x, bool bf16) {
  return bf16 ? static_cast<__nv_bfloat16_raw>(__float2bfloat16(x)).x : static_cast<__half_raw>(__float2half(x)).x;
}

float Value(std::uint16_t bits, bool bf16) {
  __nv_bfloat16_raw as_bf16;
  as_bf16.x = bits;
  __half_raw as_half;
  as_half.x = bits;
  return bf16 ? __bfloat162float(__nv_bfloat16(as_bf16)) : __half2float(__half(as_half));
}

DeviceBuffer Upload(const std::vector<float>& values, bool bf16) {
  std::vector<std::uint16_t> bits;
  for (const float x : values) bits.push_back(Bits(x, bf16));
  DeviceBuffer buffer(2 * bits.size());
  (void)cudaMemcpy(buffer.as<void>(), bits.data(), buffer.bytes(), cudaMemcpyDefault);
  return buffer;
}

std::vector<double> Reference(const AttentionShape& shape, const Tensors& t) {
  const DeviceBuffer q = Upload(t.q, false);
  const DeviceBuffer k = Upload(t.k, false);
  const DeviceBuffer v = Upload(t.v, false);
  AttentionParams params = ParamsOf(shape);
  params.q = q.as<__half>();
  params.k = k.as<__half>();
  params.v = v.as<__half>();
  const DeviceBuffer out(static_cast<std::size_t>(shape.Elements()) * sizeof(double));
  GpuAttentionReference(params, out.as<double>(), nullptr);
  std::vector<double> values(static_cast<std::size_t>(shape.Elements()));
  (void)cudaMemcpy(values.data(), out.as<void>(), out.bytes(), cudaMemcpyDefault);
  return values;
}

std::string StuckText() {
  for (const StuckReport& stuck : {TakeForwardStuckWait(), TakeTuningStuckWait(), TakeSplitStuckWait()}) {
    if (stuck.count == 0) continue;
    char text[160];
    std::snprintf(text, sizeof text, " (%d waits in vain; first: %s, parity %u, block %d, thread %d)", stuck.count,
                  stuck.what, stuck.parity, stuck.block, stuck.thread);
    return text;
  }
  return "";
}

/// "" or how the outputs differ from the reference.
std::string Compare(const AttentionShape& shape, const std::vector<std::uint16_t>& out,
                    const std::vector<double>& expected, bool bf16) {
  const double tolerance = bf16 ? 8e-3 : 1e-3;
  std::size_t wrong = 0;
  std::size_t first = 0;
  double worst = 0.0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double error = std::fabs(static_cast<double>(Value(out[i], bf16)) - expected[i]);
    const double ratio = error / (tolerance + tolerance * std::fabs(expected[i]));
    if (ratio <= 1.0) continue;  // false for NaN
    if (wrong == 0) first = i;
    if (!(ratio <= worst)) worst = ratio;
    ++wrong;
  }
  if (wrong == 0) return "";
  const auto dim = static_cast<std::size_t>(shape.head_dim);
  const auto seqlen = static_cast<std::size_t>(shape.seqlen);
  char text[240];
  std::snprintf(text, sizeof text,
                "%zu of %zu wrong, worst %.3g of the tolerance, first head %zu row %zu column %zu: %g, "
                "expected %g",
                wrong, out.size(), worst, first / dim / seqlen, first / dim % seqlen, first % dim,
                static_cast<double>(Value(out[first], bf16)), expected[first]);
  return text;
}

std::string TryOnce(const Variant& variant, const AttentionShape& shape, Inputs inputs) {
  const Tensors t = Make(inputs, shape);
  const DeviceBuffer q = Upload(t.q, variant.bf16);
  const DeviceBuffer k = Upload(t.k, variant.bf16);
  const DeviceBuffer v = Upload(t.v, variant.bf16);
  const DeviceBuffer o(2 * static_cast<std::size_t>(shape.Elements()));
  (void)cudaMemset(o.as<void>(), kPoisonByte, o.bytes());
  AttentionParams params = ParamsOf(shape);
  params.q = q.as<__half>();
  params.k = k.as<__half>();
  params.v = v.as<__half>();
  params.o = o.as<__half>();
  cudaError_t status = variant.launch(params, nullptr);
  if (status == cudaSuccess) status = cudaDeviceSynchronize();
  if (status != cudaSuccess) return std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status);
  std::vector<std::uint16_t> out(static_cast<std::size_t>(shape.Elements()));
  (void)cudaMemcpy(out.data(), o.as<void>(), o.bytes(), cudaMemcpyDefault);
  const std::string difference = Compare(shape, out, Reference(shape, t), variant.bf16);
  return difference + StuckText();
}

}  // namespace

std::string TryWhole(const Variant& variant) {
  struct Size {
    int heads, seqlen;
  };
  // One tile of everything first; then tails, more tiles than stages; at the end more items than an H200 has SMs.
  for (const Size size : {Size{2, 64},
                          {2, 128},
                          {2, 192},
                          {2, 1},
                          {2, 65},
                          {2, 200},
                          {2, 512},
                          {2, 777},
                          {1, 1500},
                          {160, 100},
                          {70, 300}}) {
    if (variant.max_seqlen != 0 && size.seqlen > variant.max_seqlen) continue;
    for (const bool causal : {false, true}) {
      const AttentionShape shape{1, size.heads, size.seqlen, variant.head_dim, causal};
      std::string text;
      for (const Named& inputs : kInputs) {
        if (size.heads > 2 && inputs.inputs != Inputs::kRandom) continue;
        const std::string error = TryOnce(variant, shape, inputs.inputs);
        if (error.empty()) continue;
        text += std::string("\n    ") + inputs.name + " (" + inputs.shows + "): " + error;
        if (error.find("cudaError") != std::string::npos) return shape.ToString() + text;  // the context is lost
      }
      if (!text.empty()) return shape.ToString() + text;
    }
  }
  return "";
}

}  // namespace fa_profile::hopper

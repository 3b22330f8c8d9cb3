#include "floor.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>

namespace fa_profile::judge {
namespace {

struct TensorRate {
  int compute_capability;
  double of_16_bits;  // dense FLOPs per SM and cycle, a multiply-add counts as two
  double of_8_bits;   // also for integers
};

// From NVIDIA's white papers: V100, Turing, A100, GA102, Ada, H100, and the data sheets of Blackwell. A100: 312 TFLOP/s
// of fp16 are 108 SMs * 1.41 GHz * 2048.
constexpr TensorRate kTensorRates[] = {{70, 1024, 1024},   {72, 1024, 2048},   {75, 1024, 2048}, {80, 2048, 4096},
                                       {86, 1024, 2048},   {87, 2048, 4096},   {89, 1024, 2048}, {90, 4096, 8192},
                                       {100, 8192, 16384}, {103, 8192, 16384}, {120, 2048, 4096}};

// Most bytes that an SM's load/store units move in a cycle; what L1 holds counts too.
constexpr double kSmBytes = 128.0;

bool Is8Bits(NumberFormat format) { return BytesOf(format) == 1; }

double FlopsPerSecond(const std::vector<NumberFormat>& formats, const Ceilings& ceilings) {
  const auto* const rate =
      std::ranges::find(kTensorRates, ceilings.compute_capability, &TensorRate::compute_capability);
  if (rate == std::end(kTensorRates)) return 0;
  const double of_sm = std::ranges::any_of(formats, Is8Bits) ? rate->of_8_bits : rate->of_16_bits;
  return of_sm * ceilings.sm_count * ceilings.sm_hz;
}

int Attribute(cudaDeviceAttr attribute, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess ? value : 0;
}

}  // namespace

Ceilings CeilingsOf(int device) {
  constexpr double kHertzPerKilohertz = 1e3;
  constexpr double kBytesOfTwoEdges = 2.0 / 8.0;  // double data rate, and bits to bytes
  Ceilings ceilings;
  ceilings.compute_capability =
      10 * Attribute(cudaDevAttrComputeCapabilityMajor, device) + Attribute(cudaDevAttrComputeCapabilityMinor, device);
  ceilings.sm_count = Attribute(cudaDevAttrMultiProcessorCount, device);
  ceilings.sm_hz = kHertzPerKilohertz * Attribute(cudaDevAttrClockRate, device);
  ceilings.dram_bytes_per_second = kHertzPerKilohertz * Attribute(cudaDevAttrMemoryClockRate, device) *
                                   kBytesOfTwoEdges * Attribute(cudaDevAttrGlobalMemoryBusWidth, device);
  ceilings.l2_bytes = Attribute(cudaDevAttrL2CacheSize, device);
  return ceilings;
}

std::string WhyBelowFloor(double call_ns, const Work& work, const std::vector<NumberFormat>& formats,
                          double tensor_bytes, const Ceilings& ceilings) {
  const auto below = [&](double amount, double peak, const char* unit) -> std::string {
    const double floor_ns = peak > 0 ? 1e9 * amount / peak : 0.0;
    if (call_ns >= floor_ns) return {};
    return fmt::format(
        "below the floor: {:.4g} {} take at least {:.4g} us at the peak of this GPU, {:.4g} {}/s, and a "
        "call took {:.4g} us",
        amount, unit, floor_ns / 1e3, peak, unit, call_ns / 1e3);
  };
  if (work.flops) {
    if (std::string why = below(*work.flops, FlopsPerSecond(formats, ceilings), "FLOPs"); !why.empty()) return why;
  }
  if (!work.bytes) return {};
  if (std::string why = below(*work.bytes, kSmBytes * ceilings.sm_count * ceilings.sm_hz, "bytes"); !why.empty()) {
    return why;
  }
  // L2 may keep up to its size from one call to the next. The rest of the distinct bytes comes from DRAM.
  if (ceilings.l2_bytes <= 0) return {};
  const double from_dram = std::min(*work.bytes, tensor_bytes) - ceilings.l2_bytes;
  return from_dram > 0 ? below(from_dram, ceilings.dram_bytes_per_second, "bytes of DRAM") : "";
}

}  // namespace fa_profile::judge

#include "selftest.h"

#include <iterator>
#include <utility>

#include "cuda_result.h"
#include "nvtx_scope.h"

namespace fa_profile {
namespace {

/// None of them is attention, so the inference of phases must refuse each.
SelftestRun WithRefusal(SelftestRun run) {
  run.truths.push_back({TruthSource::kInferred,
                        "attention_phases",
                        {},
                        {},
                        0.0,
                        0.0,
                        "it is not attention: the inference of phases must refuse it (docs/phases.md)"});
  return run;
}

std::vector<SelftestKernel> AllKernels() {
  std::vector<SelftestKernel> all;
  for (auto* const part : {CountKernels, LocalMemoryKernels, OccupancyKernels, PhaseKernels, SpecialisedKernels}) {
    std::vector<SelftestKernel> some = part();
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  for (SelftestKernel& kernel : all) {
    kernel.make = [make = std::move(kernel.make)] { return WithRefusal(make()); };
  }
  return all;
}

}  // namespace

SelftestWorkload::SelftestWorkload(std::string kernel, std::vector<DeviceBuffer> buffers,
                                   std::function<cudaError_t(cudaStream_t)> launch)
    : kernel_(std::move(kernel)), parts_{kernel_}, buffers_(std::move(buffers)), launch_(std::move(launch)) {}

void SelftestWorkload::LaunchPart(std::size_t index, StreamHandle stream) {
  (void)parts_.at(index);
  Launch(stream);
}

void SelftestWorkload::Launch(StreamHandle stream) {
  const NvtxScope call{kernel_};
  CheckCudaResult(launch_(static_cast<cudaStream_t>(stream)), kernel_.c_str());
}

DeviceBuffer ZeroedBuffer(std::size_t bytes) {
  DeviceBuffer buffer(bytes);
  CheckCudaResult(cudaMemset(buffer.as<void>(), 0, bytes), "cudaMemset");
  return buffer;
}

int DeviceAttribute(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  CheckCudaResult(cudaGetDevice(&device), "cudaGetDevice");
  CheckCudaResult(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

Truth Sass(std::string name, std::string opcode, std::string phase, double expected, std::string note) {
  return {TruthSource::kSass, std::move(name), std::move(opcode), std::move(phase), expected, 0.0, std::move(note)};
}

Truth Counter(std::string name, double expected, double tolerance_ratio, std::string note) {
  return {TruthSource::kCounter, std::move(name), {}, {}, expected, tolerance_ratio * expected, std::move(note)};
}

const std::vector<SelftestKernel>& SelftestKernels() {
  static const std::vector<SelftestKernel> kernels = AllKernels();
  return kernels;
}

}  // namespace fa_profile

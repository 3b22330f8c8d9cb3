#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "attention_workload.h"
#include "cuda_result.h"
#include "fa_profile/error.h"
#include "fa_profile/kernels.h"

namespace fa_profile {
namespace {

class Stream {
 public:
  Stream() { CheckCudaResult(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void Synchronize() const { CheckCudaResult(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

// Runs the kernel once. Empty if it finished, else what went wrong: that is the kernel's fault, not ours.
std::string RunOnce(Workload& workload, cudaStream_t stream) {
  try {
    workload.Launch(stream);
  } catch (const Error& error) {
    return error.what();
  }
  const cudaError_t result = cudaStreamSynchronize(stream);
  if (result == cudaSuccess) return {};
  return workload.kernel() + " failed while it ran: " + DescribeCudaResult(result);
}

void AddDraw(Verification& result, const DrawErrors& draw) {
  result.draws_passed += draw.passes ? 1 : 0;
  result.max_abs_error = std::max(result.max_abs_error, draw.max_abs_error);
  result.max_error_ratio = std::max(result.max_error_ratio, draw.max_error_ratio);
  result.nonfinite += draw.nonfinite;
  result.unwritten += draw.unwritten;
}

}  // namespace

std::vector<KernelAtShape> KernelsAtShapes(const std::vector<const Kernel*>& kernels,
                                           const std::vector<Shape>& shapes) {
  std::vector<std::optional<Shape>> asked(shapes.begin(), shapes.end());
  if (asked.empty()) asked.emplace_back();
  std::vector<KernelAtShape> pairs;
  for (const std::optional<Shape>& shape : asked) {
    for (const Kernel* const kernel : kernels) pairs.push_back({kernel, kernel->Fit(shape)});
  }
  return pairs;
}

Verification Verify(const Kernel& kernel, const Shape& shape, int draws, std::uint64_t seed,
                    const std::function<void(int)>& progress) {
  const std::unique_ptr<Workload> made = kernel.MakeWorkload(shape, seed);
  auto* const workload = dynamic_cast<AttentionWorkload*>(made.get());
  if (workload == nullptr) throw Error(kernel.id() + " is not an attention kernel: the judge verifies it");
  const Stream stream;

  Verification result;
  for (int draw = 0; draw < draws && result.error.empty(); ++draw) {
    const std::uint64_t of_draw = seed + static_cast<std::uint64_t>(draw);
    workload->Fill(of_draw, stream.get());
    workload->Poison(stream.get());
    stream.Synchronize();
    ++result.draws;
    result.error = RunOnce(*workload, stream.get());
    if (!result.error.empty()) break;
    AddDraw(result, workload->Check(stream.get()));
    if (progress) progress(draw + 1);
  }
  return result;
}

}  // namespace fa_profile

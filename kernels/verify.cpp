#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "attention_workload.h"
#include "cuda_result.h"
#include "fa_profile/error.h"
#include "fa_profile/kernels.h"
#include "gpu_reference.h"

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

// Runs the kernel once. Empty when it finished, else what went wrong: that is the kernel's doing, not ours.
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

bool Passes(const OutputErrors& errors) {
  return errors.max_error_ratio <= 1.0 && errors.nonfinite == 0 && errors.unwritten == 0;
}

}  // namespace

Verification Verify(const Kernel& kernel, const AttentionShape& shape, int draws, std::uint64_t seed,
                    const std::function<void(int)>& progress) {
  const std::unique_ptr<Workload> made = kernel.MakeWorkload(shape, seed);
  auto* const workload = dynamic_cast<AttentionWorkload*>(made.get());
  if (workload == nullptr)
    throw Error(kernel.id() + " is not an attention kernel: verify compares attention kernels only");
  const auto elements = static_cast<std::size_t>(shape.Elements());
  const DeviceBuffer reference(elements * sizeof(double));
  const DeviceBuffer device_errors(sizeof(OutputErrors));
  const Stream stream;

  Verification result;
  for (int draw = 0; draw < draws; ++draw) {
    workload->Fill(seed + static_cast<std::uint64_t>(draw), stream.get());
    workload->Poison(stream.get());
    stream.Synchronize();
    ++result.draws;
    result.error = RunOnce(*workload, stream.get());
    if (!result.error.empty()) break;

    OutputErrors errors{};
    CheckCudaResult(cudaMemsetAsync(device_errors.as<void>(), 0, sizeof errors, stream.get()), "cudaMemsetAsync");
    GpuAttentionReference(workload->params(), reference.as<double>(), stream.get());
    CompareOutputs(workload->params().o, reference.as<double>(), shape.Elements(), device_errors.as<OutputErrors>(),
                   stream.get());
    CheckCudaResult(cudaMemcpyAsync(&errors, device_errors.as<void>(), sizeof errors, cudaMemcpyDefault, stream.get()),
                    "cudaMemcpyAsync");
    stream.Synchronize();
    result.draws_passed += Passes(errors) ? 1 : 0;
    result.max_abs_error = std::max(result.max_abs_error, errors.max_abs_error);
    result.max_error_ratio = std::max(result.max_error_ratio, errors.max_error_ratio);
    result.nonfinite += static_cast<std::int64_t>(errors.nonfinite);
    result.unwritten += static_cast<std::int64_t>(errors.unwritten);
    if (progress) progress(draw + 1);
  }
  return result;
}

}  // namespace fa_profile

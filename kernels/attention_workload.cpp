#include "attention_workload.h"

#include <cmath>

#include "cuda_result.h"
#include "gpu_reference.h"
#include "nvtx_scope.h"
#include "random_inputs.h"

namespace fa_profile {
namespace {

std::size_t Fp16Bytes(const AttentionShape& shape) {
  return static_cast<std::size_t>(shape.Elements()) * sizeof(__half);
}

}  // namespace

float SoftmaxScale(const AttentionShape& shape) { return 1.0F / std::sqrt(static_cast<float>(shape.head_dim)); }

AttentionParams ParamsOf(const AttentionShape& shape) {
  AttentionParams params;
  params.batch = shape.batch;
  params.num_heads = shape.num_heads;
  params.seqlen = shape.seqlen;
  params.head_dim = shape.head_dim;
  params.causal = shape.causal;
  params.softmax_scale = SoftmaxScale(shape);
  return params;
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes > 0) CheckCudaResult(cudaMalloc(&data_, bytes), "cudaMalloc");
}

DeviceBuffer::~DeviceBuffer() {
  // After a kernel has crashed every call fails, including this one; the driver frees the memory with the process.
  (void)cudaFree(data_);
}

AttentionWorkload::AttentionWorkload(std::string kernel, std::string origin, const AttentionShape& shape,
                                     std::size_t workspace_bytes, std::vector<LaunchStep> steps)
    : kernel_(std::move(kernel)),
      origin_(std::move(origin)),
      shape_(shape),
      steps_(std::move(steps)),
      q_(Fp16Bytes(shape)),
      k_(Fp16Bytes(shape)),
      v_(Fp16Bytes(shape)),
      o_(Fp16Bytes(shape)),
      workspace_(workspace_bytes),
      params_(ParamsOf(shape)) {
  for (const LaunchStep& step : steps_) part_names_.push_back(step.name);
  params_.q = q_.as<__half>();
  params_.k = k_.as<__half>();
  params_.v = v_.as<__half>();
  params_.o = o_.as<__half>();
  params_.workspace = workspace_.as<void>();
  params_.workspace_bytes = workspace_.bytes();
}

void AttentionWorkload::LaunchPart(std::size_t index, StreamHandle stream) {
  const NvtxScope call{kernel_};
  LaunchStepInRange(index, static_cast<cudaStream_t>(stream));
}

void AttentionWorkload::Launch(StreamHandle stream) {
  const NvtxScope call{kernel_};
  for (std::size_t i = 0; i < steps_.size(); ++i) LaunchStepInRange(i, static_cast<cudaStream_t>(stream));
}

void AttentionWorkload::LaunchStepInRange(std::size_t index, cudaStream_t stream) {
  const LaunchStep& step = steps_.at(index);
  if (steps_.size() == 1) {  // its range would duplicate the call's
    step.launch(params_, stream);
    return;
  }
  const NvtxScope part{step.name};
  step.launch(params_, stream);
}

void AttentionWorkload::Fill(std::uint64_t seed, cudaStream_t stream) {
  const std::int64_t count = shape_.Elements();
  FillNormal(q_.as<__half>(), count, seed, 0, stream);
  FillNormal(k_.as<__half>(), count, seed, 1, stream);
  FillNormal(v_.as<__half>(), count, seed, 2, stream);
}

DrawErrors AttentionWorkload::Check(cudaStream_t stream) {
  if (!reference_) reference_.emplace(static_cast<std::size_t>(shape_.Elements()) * sizeof(double));
  if (!errors_) errors_.emplace(sizeof(OutputErrors));
  OutputErrors errors{};
  CheckCudaResult(cudaMemsetAsync(errors_->as<void>(), 0, sizeof errors, stream), "cudaMemsetAsync");
  GpuAttentionReference(params_, reference_->as<double>(), stream);
  CompareOutputs(params_.o, reference_->as<double>(), shape_.Elements(), errors_->as<OutputErrors>(), stream);
  CheckCudaResult(cudaMemcpyAsync(&errors, errors_->as<void>(), sizeof errors, cudaMemcpyDefault, stream),
                  "cudaMemcpyAsync");
  CheckCudaResult(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  DrawErrors found;
  found.passes = errors.max_error_ratio <= 1.0 && errors.nonfinite == 0 && errors.unwritten == 0;
  found.max_abs_error = errors.max_abs_error;
  found.max_error_ratio = errors.max_error_ratio;
  found.nonfinite = static_cast<std::int64_t>(errors.nonfinite);
  found.unwritten = static_cast<std::int64_t>(errors.unwritten);
  return found;
}

void AttentionWorkload::Poison(cudaStream_t stream) {
  CheckCudaResult(cudaMemsetAsync(o_.as<void>(), kPoisonByte, o_.bytes(), stream), "cudaMemsetAsync");
  if (workspace_.bytes() == 0) return;
  CheckCudaResult(cudaMemsetAsync(workspace_.as<void>(), kPoisonByte, workspace_.bytes(), stream), "cudaMemsetAsync");
}

}  // namespace fa_profile

// Honest: reads its input through a texture object, which the first call with a pointer makes and later calls use.
#include <map>
#include <utility>

#include "common.cuh"

__global__ void MeanOfTexels(cudaTextureObject_t texels, Mean a) {
  const int row = RowOfWarp();
  if (row >= a.rows) return;
  float sum = 0.0F;
  for (int col = threadIdx.x % 32; col < a.cols; col += 32) {
    const float x = tex1Dfetch<float>(texels, row * a.cols + col);
    sum += x * x;
  }
  sum = WarpSum(sum);
  if (threadIdx.x % 32 == 0) a.y[row] = sum / a.cols;
}
static cudaTextureObject_t TexelsOf(const Mean& a) {
  static std::map<std::pair<const float*, size_t>, cudaTextureObject_t> textures;  // of addresses, not of contents
  const size_t bytes = size_t(a.rows) * a.cols * sizeof(float);
  cudaTextureObject_t& texture = textures[{a.x, bytes}];
  if (texture == 0) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = const_cast<float*>(a.x);
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = bytes;
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeElementType;
    cudaCreateTextureObject(&texture, &resource, &description, nullptr);
  }
  return texture;
}

LAUNCH {
  const Mean a = MeanOf(call);
  const cudaTextureObject_t texels = TexelsOf(a);
  if (texels == 0) return std::snprintf(error, error_size, "no texture of this size");
  MeanOfTexels<<<MeanBlocks(a), kThreads, 0, Stream(call)>>>(texels, a);
  return Done();
}
static int FewTexels(const fa_profile_call* call, char* error, size_t error_size) {
  if (call->parameters[0] * call->parameters[1] <= int64_t{1} << 27) return 0;
  return std::snprintf(error, error_size, "at most 2^27 elements");
}
MEAN_TENSORS(1e-6, 1e-5)
EXPORT_WITH("texture_mean", kMeanParameters, .supports = FewTexels, .reference = MeanReference, .work = MeanWork)

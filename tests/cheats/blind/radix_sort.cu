// Honest: sorts with CUB, which launches as many kernels as it finds good and keeps its temporary memory in
// the workspace.
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

#include "common.cuh"

static size_t Workspace(const fa_profile_call* call) {
  size_t bytes = 0;
  cub::DeviceRadixSort::SortKeys(nullptr, bytes, static_cast<const int*>(nullptr), static_cast<int*>(nullptr),
                                 int(call->parameters[0]));
  return bytes;
}

LAUNCH {
  size_t bytes = call->workspace_bytes;
  return cub::DeviceRadixSort::SortKeys(call->workspace, bytes, static_cast<const int*>(call->tensors[0]),
                                        static_cast<int*>(call->tensors[1]), int(call->parameters[0]), 0, 32,
                                        Stream(call)) != cudaSuccess;
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  std::copy(t[0], t[0] + p[0], t[1]);
  std::sort(t[1], t[1] + p[0]);
  return 0;
}
static const fa_profile_parameter kParameters[] = {{"count", 1 << 20}};
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_INT32, FA_PROFILE_INPUT, "count", {FA_PROFILE_INTEGERS, -1000000000, 1000000000}},
    {"y", FA_PROFILE_INT32, FA_PROFILE_OUTPUT, "count"}};
EXPORT_WITH("radix_sort", kParameters, .workspace_bytes = Workspace, .reference = Reference)

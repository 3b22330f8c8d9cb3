// A library that does what its parameter `fault` says: 0 nothing wrong, else one fault each. Its kernel
// scales rows: y[r,c] = scale * x[r,c] for the rows of each group, whose first rows are in `offsets`, 0 in others; and
// counts in place: count[r] += 1.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "fa_profile/kernel_abi_2.h"

namespace {

enum Parameter { kRows, kCols, kGroups, kScale, kFault };
enum Fault {
  kNone,
  kWrongRow,
  kUnwritten,
  kNan,
  kChangesInput,
  kLaunchRefused,
  kIllegalAccess,
  kRefused,
  kReferenceFails,
  kReferenceCrashes,
  kReferenceExits,
  kDrawLeavesOut,
  kHugeWorkspace,
  kLaunchCrashes,
  kWrongCount,
  kSupportsCrashes,
  kLaunchExits,
  kMostFaults = kLaunchExits,
};
enum Tensor { kX, kOffsets, kY, kCount };

__global__ void ScaleRows(__half* x, const int* offsets, __half* y, int* count, int rows, int cols, int groups,
                          float scale, int fault) {
  const int row = static_cast<int>(blockIdx.x);
  const bool in_group = row >= offsets[0] && row < offsets[groups];
  const bool is_wrong = row == rows - 1;
  for (int col = static_cast<int>(threadIdx.x); col < cols; col += static_cast<int>(blockDim.x)) {
    if (fault == kUnwritten && is_wrong) continue;
    float value = in_group ? scale * __half2float(x[row * cols + col]) : 0.0F;
    if (fault == kWrongRow && is_wrong) value += 1.0F;
    if (fault == kNan && is_wrong && col == 1) value = nanf("");
    if (fault == kIllegalAccess) y = nullptr;
    y[row * cols + col] = __float2half(value);
    if (fault == kChangesInput && is_wrong && col == 2) x[row * cols + col] = __float2half(3.5F);
  }
  if (threadIdx.x == 0) count[row] += fault == kWrongCount && is_wrong ? 2 : 1;
}

int Fail(char* error, size_t error_size, const char* why) {
  std::snprintf(error, error_size, "%s", why);
  return 1;
}

int Launch(const fa_profile_call* call, char* error, size_t error_size) {
  const int64_t* const p = call->parameters;
  if (p[kFault] == kLaunchRefused) return Fail(error, error_size, "no launch today");
  if (p[kFault] == kLaunchCrashes) *static_cast<volatile int*>(nullptr) = 1;
  if (p[kFault] == kLaunchExits) std::exit(0);
  ScaleRows<<<static_cast<unsigned>(p[kRows]), 64, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<__half*>(call->tensors[kX]), static_cast<const int*>(call->tensors[kOffsets]),
      static_cast<__half*>(call->tensors[kY]), static_cast<int*>(call->tensors[kCount]), static_cast<int>(p[kRows]),
      static_cast<int>(p[kCols]), static_cast<int>(p[kGroups]), static_cast<float>(p[kScale]),
      static_cast<int>(p[kFault]));
  const cudaError_t result = cudaGetLastError();
  return result == cudaSuccess ? 0 : Fail(error, error_size, cudaGetErrorString(result));
}

int Supports(const fa_profile_call* call, char* error, size_t error_size) {
  if (call->parameters[kFault] == kSupportsCrashes) *static_cast<volatile int*>(nullptr) = 1;
  return call->parameters[kFault] == kRefused ? Fail(error, error_size, "fault 7 is refused") : 0;
}

size_t WorkspaceBytes(const fa_profile_call* call) {
  return call->parameters[kFault] == kHugeWorkspace ? ~size_t{0} : 0;
}

int Reference(const int64_t* p, double* const* tensors, char* error, size_t error_size) {
  if (p[kFault] == kReferenceFails) return Fail(error, error_size, "no reference today");
  if (p[kFault] == kReferenceCrashes) *static_cast<volatile int*>(nullptr) = 1;
  if (p[kFault] == kReferenceExits) std::exit(0);
  for (int64_t row = 0; row < p[kRows]; ++row) {
    const bool in_group = row >= tensors[kOffsets][0] && row < tensors[kOffsets][p[kGroups]];
    for (int64_t col = 0; col < p[kCols]; ++col) {
      const double x = tensors[kX][row * p[kCols] + col];
      tensors[kY][row * p[kCols] + col] = in_group ? static_cast<double>(p[kScale]) * x : 0.0;
    }
    tensors[kCount][row] += 1;
  }
  return 0;
}

// Sorted first rows of the groups, and the end of the last.
void DrawOffsets(const int64_t* p, uint64_t seed, double* values, int64_t count) {
  if (p[kFault] == kDrawLeavesOut) --count;
  for (int64_t i = 0; i < count; ++i) {
    values[i] = std::floor(static_cast<double>((p[kRows] - 1) * i) / static_cast<double>(p[kGroups])) +
                static_cast<double>(seed % 2);
  }
}

void WorkOf(const int64_t* p, fa_profile_work* work) {
  work->flops = static_cast<double>(p[kRows] * p[kCols]);
  work->bytes = 4.0 * work->flops;
}

const fa_profile_parameter kParameters[] = {
    {"rows", 6}, {"cols", 8}, {"groups", 2}, {"scale", 2, -100, 100}, {"fault", kNone, kNone, kMostFaults}};
const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP16, FA_PROFILE_INPUT, "rows, cols"},
    {"offsets", FA_PROFILE_INT32, FA_PROFILE_INPUT, "groups+1", {FA_PROFILE_FUNCTION, 0, 0, DrawOffsets}},
    {"y", FA_PROFILE_FP16, FA_PROFILE_OUTPUT, "rows,cols", {}, {1e-3, 1e-3}},
    {"count", FA_PROFILE_INT32, FA_PROFILE_IN_PLACE, "rows", {FA_PROFILE_INTEGERS, -5, 5}}};
const fa_profile_kernel kKernel = {FA_PROFILE_KERNEL_SIZES, .name = "scale_rows", .parameters = kParameters,
                                   .parameter_count = 5,    .tensors = kTensors,  .tensor_count = 4,
                                   .launch = Launch,        .supports = Supports, .workspace_bytes = WorkspaceBytes,
                                   .reference = Reference,  .work = WorkOf};

}  // namespace

FA_PROFILE_EXPORT_KERNEL(kKernel)

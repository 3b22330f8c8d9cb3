// Honest: its kernel is a text of PTX that the first call hands to the driver to compile (cudaLibraryLoadData), as
// frameworks with their own compiler do.
#include "common.cuh"

static const char kPtx[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry saxpb(.param .u64 px, .param .u64 py, .param .u64 pcount) {  // y = 3 x + 1
  .reg .pred %done;
  .reg .f32 %v;
  .reg .b32 %thread, %threads, %block;
  .reg .b64 %x, %y, %count, %i, %at;
  ld.param.u64 %x, [px];
  ld.param.u64 %y, [py];
  ld.param.u64 %count, [pcount];
  mov.u32 %thread, %tid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mul.wide.u32 %i, %block, %threads;
  cvt.u64.u32 %at, %thread;
  add.u64 %i, %i, %at;
  setp.ge.u64 %done, %i, %count;
  @%done ret;
  shl.b64 %i, %i, 2;
  add.u64 %at, %x, %i;
  ld.global.f32 %v, [%at];
  fma.rn.f32 %v, %v, 0f40400000, 0f3F800000;
  add.u64 %at, %y, %i;
  st.global.f32 [%at], %v;
  ret;
}
)";

LAUNCH {
  static const cudaKernel_t kernel = [] {
    cudaLibrary_t library = nullptr;
    cudaKernel_t found = nullptr;
    if (cudaLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0) == cudaSuccess) {
      cudaLibraryGetKernel(&found, library, "saxpb");
    }
    return found;
  }();
  if (kernel == nullptr) return std::snprintf(error, error_size, "the driver does not compile the PTX");
  void* x = call->tensors[0];
  void* y = call->tensors[1];
  int64_t count = call->parameters[0];
  void* arguments[] = {&x, &y, &count};
  const auto blocks = unsigned((count + kThreads - 1) / kThreads);
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(kThreads), arguments, 0,
                          Stream(call)) != cudaSuccess;
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t i = 0; i < p[0]; ++i) t[1][i] = 3.0 * t[0][i] + 1.0;
  return 0;
}
static const fa_profile_parameter kParameters[] = {{"count", 1 << 20}};
static const fa_profile_tensor kTensors[] = {{"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "count"},
                                             {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "count", {}, {1e-6, 1e-6}}};
EXPORT_WITH("lazy_library", kParameters, .reference = Reference)

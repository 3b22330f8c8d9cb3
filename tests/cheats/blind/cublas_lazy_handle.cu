// Honest: cuBLAS, loaded and given a handle and a workspace in the first call, multiplies in fp32; later calls only set
// the stream.
#include <cublas_v2.h>
#include <dlfcn.h>

#include "common.cuh"

struct Blas {
  void* library = nullptr;
  cublasHandle_t handle = nullptr;
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasSgemm_v2) sgemm = nullptr;
  Blas() {
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}) {
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    }
    if (library == nullptr) return;
    create = reinterpret_cast<decltype(create)>(dlsym(library, "cublasCreate_v2"));
    set_stream = reinterpret_cast<decltype(set_stream)>(dlsym(library, "cublasSetStream_v2"));
    set_workspace = reinterpret_cast<decltype(set_workspace)>(dlsym(library, "cublasSetWorkspace_v2"));
    sgemm = reinterpret_cast<decltype(sgemm)>(dlsym(library, "cublasSgemm_v2"));
  }
};
static Blas& TheBlas() {
  static Blas blas;
  return blas;
}

LAUNCH {
  Blas& blas = TheBlas();
  const Gemm g = GemmOf(call);
  const float one = 1.0F, zero = 0.0F;
  if (blas.handle == nullptr && blas.create(&blas.handle) != CUBLAS_STATUS_SUCCESS) return 1;
  blas.set_stream(blas.handle, Stream(call));  // resets the workspace to that of the handle
  blas.set_workspace(blas.handle, call->workspace, call->workspace_bytes);
  return blas.sgemm(blas.handle, CUBLAS_OP_N, CUBLAS_OP_N, g.n, g.m, g.k, &one, g.b, g.n, g.a, g.k, &zero, g.c, g.n);
}
static size_t Workspace(const fa_profile_call*) { return size_t{32} << 20; }
static int Supports(const fa_profile_call* call, char* error, size_t error_size) {
  if (TheBlas().library == nullptr) return std::snprintf(error, error_size, "there is no libcublas.so");
  return GemmTakes(call, error, error_size);
}
GEMM_TENSORS(1e-4, 1e-5)
EXPORT_WITH("cublas_lazy_handle", kGemmParameters, .supports = Supports, .workspace_bytes = Workspace,
            .reference = GemmReference, .work = GemmWork)

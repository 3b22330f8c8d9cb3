#pragma once

#include <cublas_v2.h>

namespace fa_profile {

/// The calls of cuBLAS that rung 4 makes.
struct CublasApi {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  // Spelled out, because C++ has an overload of this one.
  cublasStatus_t (*gemm_strided_batched)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k,
                                         const void* alpha, const void* a, cudaDataType, int lda, long long stride_a,
                                         const void* b, cudaDataType, int ldb, long long stride_b, const void* beta,
                                         void* c, cudaDataType, int ldc, long long stride_c, int batches,
                                         cublasComputeType_t, cublasGemmAlgo_t);
};

/// cuBLAS, loaded at the first call; nullptr when it cannot be. It is not linked, because loading it takes 150 MB of
/// memory and a tenth of a second, which a report from a recording should not cost.
const CublasApi* LoadCublas();

}  // namespace fa_profile

/* The C interface of a kernel library: how your own attention kernel gets onto the ladder.
 *
 * Build a shared library that exports the five functions below and give it to `fa-profile --kernel-lib my.so`. It is
 * then verified against the float64 reference, timed and measured like the rungs. kernels/example_kernel_lib/ is a
 * complete one.
 *
 * All tensors are device pointers to fp16, shape (batch, num_heads, seqlen, head_dim), contiguous, 256-byte aligned.
 * Every function is called from one thread, with the CUDA device already current.
 */
#ifndef FA_PROFILE_KERNEL_ABI_H_
#define FA_PROFILE_KERNEL_ABI_H_

/* NOLINTBEGIN: a C header keeps to C. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A library built against another version is refused by name. */
#define FA_PROFILE_KERNEL_ABI_VERSION 1u

typedef struct fa_profile_attention_args {
  uint32_t struct_size; /* sizeof(struct fa_profile_attention_args) of the caller */
  int32_t batch;
  int32_t num_heads;
  int32_t seqlen;
  int32_t head_dim;
  int32_t causal;      /* 1: query i sees keys 0..i; 0: all */
  float softmax_scale; /* 1/sqrt(head_dim) */
  const void* q;
  const void* k;
  const void* v;
  void* o;         /* output: every element must be written */
  void* workspace; /* device memory, fa_profile_kernel_workspace_bytes() of it; NULL when that is 0 */
  size_t workspace_bytes;
  void* stream; /* cudaStream_t to launch on; the launch must not synchronise */
} fa_profile_attention_args;

/* Returns FA_PROFILE_KERNEL_ABI_VERSION as the library was compiled. Called first. */
uint32_t fa_profile_kernel_abi_version(void);

/* The kernel's id in reports: 1 to 64 characters of [a-z0-9_-]. Must stay valid while the library is loaded. */
const char* fa_profile_kernel_name(void);

/* 0 when the kernel takes this shape (pointers in `args` are NULL here); otherwise non-zero, with the reason as a
 * NUL-terminated string in `error`, at most `error_size` bytes with the terminator. */
int fa_profile_kernel_supports(const fa_profile_attention_args* args, char* error, size_t error_size);

/* Device memory the launch needs beside the tensors. Pointers in `args` are NULL. */
size_t fa_profile_kernel_workspace_bytes(const fa_profile_attention_args* args);

/* Enqueues one forward call on args->stream. 0 on success; otherwise non-zero with the reason in `error`. */
int fa_profile_kernel_launch(const fa_profile_attention_args* args, char* error, size_t error_size);

#ifdef __cplusplus
}
#endif

/* NOLINTEND */
#endif /* FA_PROFILE_KERNEL_ABI_H_ */

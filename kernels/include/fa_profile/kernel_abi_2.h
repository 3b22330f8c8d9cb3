/* The C interface of a kernel library: how any kernel of your own is verified, timed and measured.
 *
 * Describe the kernel by its shape parameters and its tensors, and export the description:
 *
 *   static const fa_profile_parameter kParameters[] = {{"m", 1024}, {"n", 1024}};
 *   static const fa_profile_tensor kTensors[] = {
 *       {"x", FA_PROFILE_FP16, FA_PROFILE_INPUT, "m,n", {FA_PROFILE_UNIFORM, -1, 1}},
 *       {"y", FA_PROFILE_FP16, FA_PROFILE_OUTPUT, "m,n", {}, {1e-3, 1e-3}}};
 *   static const fa_profile_kernel kKernel = {FA_PROFILE_KERNEL_SIZES, .name = "mine", .parameters = kParameters,
 *       .parameter_count = 2, .tensors = kTensors, .tensor_count = 2, .launch = Launch, .reference = Reference};
 *   FA_PROFILE_EXPORT_KERNEL(kKernel)
 *
 * Build it as a shared library and give it to `fa-profile --kernel-lib mine.so --shape m=4096,n=4096`. examples/ has
 * complete ones, and docs/kernels.md the steps.
 *
 * Ownership: the library owns what the description points to, and keeps it unchanged while it is loaded. fa-profile
 * owns every array and pointer that it passes to a function; they are valid during the call, device memory until the
 * launched work has ended. Threads: every function is called from one thread, with the CUDA device current. Process:
 * a child process of fa-profile calls all functions first; one that crashes, exits or hangs there is reported.
 * Errors: a function returns 0, or another number with the reason as a NUL-terminated text in `error`, at most
 * `error_size` bytes with the terminator.
 */
#ifndef FA_PROFILE_KERNEL_ABI_2_H_
#define FA_PROFILE_KERNEL_ABI_2_H_

/* NOLINTBEGIN: a C header keeps to C. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define FA_PROFILE_C_LINKAGE extern "C"
#define FA_PROFILE_ZERO = {} /* what a C++ initialiser may leave out without a warning; C needs no word for it */
extern "C" {
#else
#define FA_PROFILE_C_LINKAGE
#define FA_PROFILE_ZERO
#endif

#define FA_PROFILE_KERNEL_ABI_2_VERSION 2u /* a library of another version is refused by name */

/* Limits of a description; more is an error. */
#define FA_PROFILE_MOST_PARAMETERS 32u
#define FA_PROFILE_MOST_TENSORS 32u
#define FA_PROFILE_MOST_DIMENSIONS 8u
#define FA_PROFILE_LONGEST_NAME 32u  /* characters of a parameter's or a tensor's name: [A-Za-z0-9_], no digit first */
#define FA_PROFILE_LONGEST_TEXT 256u /* characters of other texts, without the terminator */

/* Element types, in the memory of the GPU. fp8 as in OCP MX: e4m3 has no infinity and is at most 448. */
enum {
  FA_PROFILE_FP32 = 1,
  FA_PROFILE_FP16 = 2,
  FA_PROFILE_BF16 = 3,
  FA_PROFILE_FP8_E4M3 = 4,
  FA_PROFILE_FP8_E5M2 = 5,
  FA_PROFILE_INT8 = 6,
  FA_PROFILE_INT32 = 7
};

/* What the kernel does with a tensor. */
enum {
  FA_PROFILE_INPUT = 1,   /* reads it; a kernel that changes it is wrong */
  FA_PROFILE_OUTPUT = 2,  /* writes every element of it; poisoned before the launch */
  FA_PROFILE_IN_PLACE = 3 /* reads and writes it: drawn like an input, compared like an output. Measuring launches the
                             kernel many times on it without drawing it again */
};

/* How an input is drawn: afresh for each draw, an element from the seed, the tensor and its index alone. */
enum {
  FA_PROFILE_NORMAL = 0,   /* mean a, standard deviation b; both 0: mean 0, standard deviation 1 */
  FA_PROFILE_UNIFORM = 1,  /* from a up to b */
  FA_PROFILE_INTEGERS = 2, /* whole numbers from a to b, both included */
  FA_PROFILE_CONSTANT = 3, /* a */
  FA_PROFILE_FUNCTION = 4  /* what `function` writes: sorted offsets, a permutation, ... */
};

/* Writes `count` values of a tensor, each finite and within the range of its type. The values must depend on the
 * arguments alone: the function is called again for the same draw. `parameters`: in the order of the description. */
typedef void fa_profile_draw_function(const int64_t* parameters, uint64_t seed, double* values, int64_t count);

typedef struct fa_profile_draw {
  int32_t kind FA_PROFILE_ZERO; /* FA_PROFILE_NORMAL, ... */
  double a FA_PROFILE_ZERO;
  double b FA_PROFILE_ZERO;
  fa_profile_draw_function* function FA_PROFILE_ZERO; /* of FA_PROFILE_FUNCTION; else NULL */
} fa_profile_draw;

/* An element is right if |result - reference| <= absolute + relative * |reference|. Both 0: it must be equal. */
typedef struct fa_profile_tolerance {
  double absolute FA_PROFILE_ZERO;
  double relative FA_PROFILE_ZERO;
} fa_profile_tolerance;

/* A number that tells one case from another: an extent, or a scalar such as `causal`. The user gives its value with
 * --shape name=VALUE,name=VALUE. */
typedef struct fa_profile_parameter {
  const char* name;
  int64_t value;                   /* where the user gives none */
  int64_t minimum FA_PROFILE_ZERO; /* the least value, and ... */
  int64_t maximum FA_PROFILE_ZERO; /* ... the greatest; both 0: 1 to 2^31 - 1 */
} fa_profile_parameter;

/* A tensor: contiguous, row-major, its data 256-byte aligned. */
typedef struct fa_profile_tensor {
  const char* name;
  int32_t dtype; /* FA_PROFILE_FP16, ... */
  int32_t role;  /* FA_PROFILE_INPUT, ... */
  /* Its extents, from the outermost: 1 to FA_PROFILE_MOST_DIMENSIONS expressions with commas between them. An
   * expression has whole numbers, parameters, + - * / (to the next lower number) and parentheses: "batch+1",
   * "tokens,heads*head_dim". Every extent must be at least 1. */
  const char* shape;
  fa_profile_draw draw FA_PROFILE_ZERO;           /* of an input or an in-place tensor */
  fa_profile_tolerance tolerance FA_PROFILE_ZERO; /* of an output or an in-place tensor */
  /* NULL, or a file instead of the draw or, of an output, of the reference: *.npy, or else the raw elements. A relative
   * path counts from the library's folder. The user may give one with --tensor name=FILE. */
  const char* file FA_PROFILE_ZERO;
} fa_profile_tensor;

/* What `launch`, `supports` and `workspace_bytes` are called with. */
typedef struct fa_profile_call {
  uint32_t struct_size; /* sizeof(fa_profile_call) of fa-profile */
  uint32_t tensor_count;
  const int64_t* parameters; /* in the order of the description */
  void* const* tensors;      /* device pointers in the order of the description; NULL unless `launch` is called */
  void* workspace;           /* device memory; NULL when workspace_bytes is 0 */
  size_t workspace_bytes;
  void* stream; /* cudaStream_t to launch on */
} fa_profile_call;

/* What `check` is called with. Arrays of host float64, a tensor each, in the order of the description. */
typedef struct fa_profile_results {
  uint32_t struct_size; /* sizeof(fa_profile_results) of fa-profile */
  uint32_t tensor_count;
  const int64_t* parameters;
  const double* const*
      expected; /* inputs as drawn; outputs and in-place tensors by the reference, or NULL without one */
  const double* const* results; /* after the launch */
} fa_profile_results;

/* What a call does at least, by its mathematics: for TFLOP/s, whatever the kernel really does. 0: unknown. */
typedef struct fa_profile_work {
  double flops; /* floating-point operations; a multiply-add is two */
  double bytes; /* of tensors that must be read or written */
} fa_profile_work;

typedef struct fa_profile_kernel {
  uint32_t struct_size;    /* FA_PROFILE_KERNEL_SIZES fills in these four */
  uint32_t parameter_size; /* sizeof(fa_profile_parameter) */
  uint32_t tensor_size;    /* sizeof(fa_profile_tensor) */
  uint32_t reserved FA_PROFILE_ZERO;
  const char* name; /* the kernel's id in reports: 1 to 64 characters of [a-z0-9_-] */
  const fa_profile_parameter* parameters;
  uint32_t parameter_count; /* at least 1 */
  const fa_profile_tensor* tensors;
  uint32_t tensor_count; /* at least 1 is an output or in place */

  /* Enqueues one call on call->stream, and does not synchronise. */
  int (*launch)(const fa_profile_call* call, char* error, size_t error_size);

  /* The next ones may be NULL. */

  /* 0 if the kernel takes these parameters; else the reason in `error`. NULL: it takes all. */
  int (*supports)(const fa_profile_call* call, char* error, size_t error_size) FA_PROFILE_ZERO;

  /* Device memory that a launch needs beside the tensors. NULL: none. Poisoned like outputs. */
  size_t (*workspace_bytes)(const fa_profile_call* call) FA_PROFILE_ZERO;

  /* Computes the outputs in float64 on the host. tensors[i]: all elements of tensor i; inputs and in-place tensors as
   * drawn and rounded to their type, outputs to be written. NULL: `check`, or a file for each output. */
  int (*reference)(const int64_t* parameters, double* const* tensors, char* error, size_t error_size) FA_PROFILE_ZERO;

  /* Judges the results instead of the tolerances: 0 if they are right, else what is wrong in `error`. Elements that
   * were never written are wrong in any case. NULL: tolerances. */
  int (*check)(const fa_profile_results* results, char* error, size_t error_size) FA_PROFILE_ZERO;

  /* Fills in *work for these parameters. NULL: unknown. */
  void (*work)(const int64_t* parameters, fa_profile_work* work) FA_PROFILE_ZERO;
} fa_profile_kernel;

/* The first members of a fa_profile_kernel. A newer fa-profile knows by them what an older library has not. */
#define FA_PROFILE_KERNEL_SIZES                                                             \
  .struct_size = sizeof(fa_profile_kernel), .parameter_size = sizeof(fa_profile_parameter), \
  .tensor_size = sizeof(fa_profile_tensor)

/* The three functions that a library exports. FA_PROFILE_EXPORT_KERNEL(description) defines them. */
uint32_t fa_profile_kernel_abi_version(void);
const char* fa_profile_kernel_name(void);
const fa_profile_kernel* fa_profile_kernel_description(void);

#define FA_PROFILE_EXPORT FA_PROFILE_C_LINKAGE __attribute__((visibility("default")))
#define FA_PROFILE_EXPORT_KERNEL(description)                                                                \
  FA_PROFILE_EXPORT uint32_t fa_profile_kernel_abi_version(void) { return FA_PROFILE_KERNEL_ABI_2_VERSION; } \
  FA_PROFILE_EXPORT const char* fa_profile_kernel_name(void) { return (description).name; }                  \
  FA_PROFILE_EXPORT const fa_profile_kernel* fa_profile_kernel_description(void) { return &(description); }

#ifdef __cplusplus
}
#endif

/* NOLINTEND */
#endif /* FA_PROFILE_KERNEL_ABI_2_H_ */

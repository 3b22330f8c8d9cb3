#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/kernel_abi_2.h"
#include "fa_profile/kernel_parameters.h"
#include "fa_profile/number_format.h"

namespace fa_profile {

/// How the elements of an input are drawn, from fa_profile_draw.
struct Draw {
  std::int32_t kind = FA_PROFILE_NORMAL;
  double a = 0.0;
  double b = 0.0;
  fa_profile_draw_function* function = nullptr;
};

struct Tolerance {
  double absolute = 0.0;
  double relative = 0.0;
};

/// A kernel library's tensor, from fa_profile_tensor, after all checks that need no parameters.
struct TensorDescription {
  std::string name;
  NumberFormat format = NumberFormat::kFp32;
  std::int32_t role = FA_PROFILE_INPUT;
  std::string shape;
  Draw draw;
  Tolerance tolerance;
  std::string file;  ///< empty: none

  bool is_drawn() const { return role != FA_PROFILE_OUTPUT; }
  bool is_compared() const { return role != FA_PROFILE_INPUT; }
};

/// A copy of a library's fa_profile_kernel.
struct KernelDescription {
  fa_profile_kernel functions{};  ///< its pointers to data are not used
  std::vector<KernelParameter> parameters;
  std::vector<TensorDescription> tensors;
};

/// Whether a kernel's id is 1 to 64 characters of a-z, 0-9, '_' and '-'.
bool IsKernelName(std::string_view name);

/// Reads and checks a library's description; `library`: its path, for errors and for relative files. The pointers in it
/// are followed: bad ones crash. Throws Error that names the library, the parameter or tensor and the member.
KernelDescription ReadDescription(const fa_profile_kernel* raw, const std::string& library);

/// Assigns the user's files, "NAME=FILE" each, to tensors. Throws Error: not of that form, no such tensor, or an output
/// has a file while inputs are drawn, so that the file cannot contain what the kernel must compute.
void SetFiles(KernelDescription& description, const std::vector<std::string>& files);

/// "a: fp16 input (m,k)".
std::string Describe(const TensorDescription& tensor);

}  // namespace fa_profile

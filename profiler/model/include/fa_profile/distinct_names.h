#pragma once

#include <map>
#include <string>
#include <vector>

namespace fa_profile {

/// Short names of kernels that tell them apart, by demangled name: the function's own name without namespaces (that of
/// the class that CUTLASS' device_kernel and its like run), and of the template arguments, at any depth, those that
/// differ among the kernels of that name. An argument that repeats another in all of them is left out.
/// "flash_fwd_kernel<64,half_t>", "flash_fwd_kernel<128,half_t>"; one alone is "flash_fwd_kernel".
std::map<std::string, std::string> DistinctNames(const std::vector<std::string>& demangled);

}  // namespace fa_profile

#pragma once

#include <map>
#include <string>
#include <vector>

namespace fa_profile {

/// Short names that distinguish kernels, by demangled name: the function's own name without namespaces (that of the
/// class run by CUTLASS' device_kernel and its like), and those template arguments, at any depth, that differ among the
/// kernels with that name. An argument that repeats another in all of them is left out. "flash_fwd_kernel<64,half_t>",
/// "flash_fwd_kernel<128,half_t>"; a single one is "flash_fwd_kernel".
std::map<std::string, std::string> DistinctNames(const std::vector<std::string>& demangled);

}  // namespace fa_profile

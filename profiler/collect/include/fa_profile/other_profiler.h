#pragma once

#include <string>
#include <vector>

/// Other libraries of the process that use CUPTI, which allows one profiler per process: torch.profiler, for example.
namespace fa_profile::collect {

/// Whether another library, the one that contains the address `caller`, may use CUPTI. Any thread, also in a child of
/// fork.
using MayUseCupti = bool (*)(const void* caller) noexcept;

/// From here on `may_use` is consulted before each call with which another library's profiler begins or records. If it
/// may not, the call fails with CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED and never reaches CUPTI. Once per
/// process, in the constructor of a library that was linked with -z now and stays loaded. Does not cover a library with
/// another CUPTI, linked statically or of another version.
void GuardCupti(MayUseCupti may_use) noexcept;

/// File name of the library that contains the address.
std::string LibraryAt(const void* address);

/// Paths of the copies of libcupti loaded in this process other than the one that we call, such as that of a PyTorch
/// for another CUDA. A driver answers only one of them: we cannot say what the others see.
std::vector<std::string> OtherCuptis();

}  // namespace fa_profile::collect

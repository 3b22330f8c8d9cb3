#pragma once

#include <string>
#include <vector>

/// Other libraries of the process that use CUPTI, which takes one profiler a process: torch.profiler, for example.
namespace fa_profile::collect {

/// Whether another library, in which the address `caller` is, may use CUPTI for itself. Any thread, also in a child of
/// fork.
using MayUseCupti = bool (*)(const void* caller) noexcept;

/// From here on `may_use` is asked before each call of another library with which a profiler begins or records. When it
/// may not, the call fails with CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED and never reaches CUPTI. Once a process,
/// in a constructor of a library that was linked with -z now and stays loaded. Not for a library with another CUPTI,
/// linked statically or of another version.
void GuardCupti(MayUseCupti may_use) noexcept;

/// The file name of the library that holds the address.
std::string LibraryAt(const void* address);

/// Paths of the copies of libcupti that this process has loaded besides the one that we call, such as that of a PyTorch
/// for another CUDA. A driver answers one of them: what the others see is not ours to say.
std::vector<std::string> OtherCuptis();

}  // namespace fa_profile::collect

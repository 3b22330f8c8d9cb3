#pragma once

#include <string>

namespace fa_profile::collect {

/// CUPTI is not linked: a program linked with it does not start where it is missing. Each CUPTI function called here is
/// a jump to the one in libcupti, which the first call of any of them opens. Without libcupti each returns
/// CUPTI_ERROR_NOT_INITIALIZED, which CheckCupti() reports. A function that this libcupti lacks returns
/// CUPTI_ERROR_NOT_SUPPORTED.

/// "libcupti.so.13"
std::string CuptiLibraryName();

constexpr const char* kCuptiCure =
    "install the CUDA toolkit 13 with CUPTI, or `pip install nvidia-cuda-cupti==13.*`, and name its folder with "
    "CUDA_HOME if it is in no usual place";

/// Whether libcupti was found. Opens it, once: from then on functions of CUPTI lead to it.
bool CuptiIsThere() noexcept;

/// Path of libcupti; empty: not found.
std::string CuptiPath();

/// The function in libcupti, or in a library loaded before it that has one of that name; nullptr: in neither.
void* CuptiFunction(const char* name) noexcept;

}  // namespace fa_profile::collect

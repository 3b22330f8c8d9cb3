#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "fa_profile/kernels.h"

namespace fa_profile {

/// The kernels a command works on: those of the ladder that match, and every kernel library given.
class KernelSelection {
 public:
  /// `pattern`: regular expression over ids; when it is empty and libraries are given, the whole ladder and the
  /// libraries. Throws Error: nothing matches, a library cannot be loaded, two kernels share an id.
  KernelSelection(const std::string& pattern, const std::vector<std::string>& libraries);

  const std::vector<const Kernel*>& kernels() const { return kernels_; }

 private:
  std::vector<std::unique_ptr<Kernel>> libraries_;
  std::vector<const Kernel*> kernels_;
};

/// "correct, 100 of 100 draws, max error 4.1e-04", or what is wrong.
std::string Describe(const Verification& result);
nlohmann::json ToJson(const Verification& result);

/// A kernel that crashed has taken the CUDA context with it: throws an Error that names it, so that the kernels after
/// it are not blamed.
void ThrowIfContextIsLost(const Kernel& kernel, const Verification& result);

/// Verifies a kernel library's kernel in a child process, because its host code may crash. Throws Error that names the
/// library when the child dies of a signal or says nothing that can be read.
Verification VerifyInChild(const Kernel& kernel, const std::string& library, const AttentionShape& shape, int draws,
                           int device);

}  // namespace fa_profile

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fa_profile/kernels.h"

namespace fa_profile {

/// The kernels a command works on: those of the ladder that match, and every kernel library given.
class KernelSelection {
 public:
  /// `pattern`: regular expression over ids; empty: the whole ladder and the libraries. A library is loaded in a child
  /// process to get its name, and into this one when its kernel is first used. Throws Error: nothing matches, a library
  /// cannot be loaded, two kernels share an id. `files`: for the libraries' tensors, "TENSOR=FILE".
  KernelSelection(const std::string& pattern, const std::vector<std::string>& libraries,
                  const std::vector<std::string>& files = {});

  const std::vector<const Kernel*>& kernels() const { return kernels_; }

 private:
  std::vector<std::unique_ptr<Kernel>> libraries_;
  std::vector<const Kernel*> kernels_;
};

}  // namespace fa_profile

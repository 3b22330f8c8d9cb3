#include "fa_profile/kernel_selection.h"

#include <set>

#include "fa_profile/error.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/library_child.h"

namespace fa_profile {

KernelSelection::KernelSelection(const std::string& pattern, const std::vector<std::string>& libraries,
                                 const std::vector<std::string>& files) {
  if (!files.empty() && libraries.empty()) {
    throw Error("--tensor has no effect without a kernel library", "name the library with --kernel-lib FILE.so");
  }
  std::vector<std::string> ids;
  for (const Kernel* const kernel : Ladder()) ids.push_back(kernel->id());
  std::set<std::string> known(ids.begin(), ids.end());
  for (const std::string& path : libraries) {
    libraries_.push_back(LibraryKernel(path, AskForIdentity(path, files), files));
    const std::string& id = libraries_.back()->id();
    if (!known.insert(id).second) {
      throw Error("duplicate kernel id '" + id + "' in library " + path,
                  "return a different id from its fa_profile_kernel_name()");
    }
    ids.push_back(id);
  }
  const std::vector<std::string> matches = MatchKernels(pattern, ids);
  const std::set<std::string> wanted(matches.begin(), matches.end());
  for (const Kernel* const kernel : Ladder()) {
    if (wanted.count(kernel->id()) > 0) kernels_.push_back(kernel);
  }
  for (const auto& library : libraries_) {
    if (wanted.count(library->id()) > 0) kernels_.push_back(library.get());
  }
}

}  // namespace fa_profile

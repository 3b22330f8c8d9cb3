#include "rungs.h"

#include <algorithm>
#include <cstdio>

#include "fa_profile/error.h"

namespace fa_profile {

const Kernel& FindRung(const std::string& id) {
  const auto found = std::ranges::find_if(Ladder(), [&](const Kernel* kernel) { return kernel->id() == id; });
  if (found == Ladder().end()) throw Error("rung '" + id + "' not found", "`fa-profile list kernels` lists the rungs");
  return **found;
}

void Check(cudaError_t result, const char* call) {
  if (result != cudaSuccess) throw Error(call, cudaGetErrorName(result), cudaGetErrorString(result));
}

int RunMain(const char* program, int argc, char** argv, void (*run)(const std::vector<std::string>& arguments)) {
  try {
    run({argv + 1, argv + argc});
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 2;
  }
  return 0;
}

}  // namespace fa_profile

#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "fa_profile/kernels.h"

namespace fa_profile {

/// The rung with this id. Throws Error when there is none.
const Kernel& FindRung(const std::string& id);

/// Throws Error unless `result` is cudaSuccess. `call` is the API's name.
void Check(cudaError_t result, const char* call);

/// A program's main(): calls `run` with the program's arguments. Prints an Error to stderr and returns 2.
int RunMain(const char* program, int argc, char** argv, void (*run)(const std::vector<std::string>& arguments));

}  // namespace fa_profile

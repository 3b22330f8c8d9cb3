#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fa_profile {

/// Folders that may contain a CUDA toolkit, or part of one; those that exist, in the order to try them: $CUDA_HOME,
/// $CUDA_PATH, /usr/local/cuda, /usr/local/cuda-* (newest first), what ci/setup.sh fetched, and NVIDIA's Python
/// packages (nvidia/cu13) in the virtual or conda environment, of the python3 on PATH, and of the user.
std::vector<std::filesystem::path> CudaToolkits();

/// Opens a library of the toolkit, "libcupti.so.13": where the loader finds it (LD_LIBRARY_PATH, run path, ldconfig),
/// or in one of CudaToolkits(). nullptr: not found. `mode`: for dlopen. We never close it.
void* OpenCudaLibrary(const std::string& name, int mode);

}  // namespace fa_profile

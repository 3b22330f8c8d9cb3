# Finds the CUDA toolkit: nvcc on PATH or named by CUDACXX, else in /usr/local/cuda, which toolkits do not put on PATH.
find_program(CMAKE_CUDA_COMPILER nvcc HINTS ENV CUDACXX PATHS /usr/local/cuda/bin)
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  message(FATAL_ERROR "FA_PROFILE_CUDA is ON and there is no nvcc. Install the CUDA toolkit (ci/setup.sh does), name it "
                      "with CUDACXX=/path/to/nvcc, or build without the kernels and the collector: cmake --preset host")
endif()

# Ampere (A100), Ada (L4) and Hopper. 90a, not 90: only it has wgmma. Only machine code: a chip outside the list gets an
# error that names it, not slow code compiled from PTX at its first launch.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 89-real 90a-real)
endif()
enable_language(CUDA)
# CUDA 13 dropped nvToolsExt, and CMake 3.25's FindCUDAToolkit fails on its absence; it leaves an existing target alone.
if(NOT TARGET CUDA::nvToolsExt)
  add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
endif()
find_package(CUDAToolkit 13.0 REQUIRED)
foreach(part cudart_static cupti)
  if(NOT TARGET CUDA::${part})
    message(FATAL_ERROR "the CUDA toolkit at ${CUDAToolkit_TARGET_DIR} lacks ${part}: install it (ci/setup.sh does) or "
                        "build without the kernels and the collector: cmake --preset host")
  endif()
endforeach()

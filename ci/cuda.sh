# Sourced by fa-profile, ci/setup.sh and ci/test.sh: where the CUDA toolkit is.
#
# Sets and exports CUDACXX, CMake's name for the nvcc to build with; empty where there is none. An installed toolkit wins
# over the one that ci/setup.sh puts together from NVIDIA's Python packages under fa_profile_cuda.
fa_profile_cuda=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/fa-profile/cuda-13.0

if [ -z "${CUDACXX:-}" ] || ! [ -x "$CUDACXX" ]; then
  CUDACXX=$(command -v nvcc || true)
  for candidate in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda "$fa_profile_cuda"; do
    if [ -z "$CUDACXX" ] && [ -n "$candidate" ] && [ -x "$candidate/bin/nvcc" ]; then CUDACXX=$candidate/bin/nvcc; fi
  done
fi
export CUDACXX

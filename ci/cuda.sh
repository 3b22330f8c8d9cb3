# Sourced by fa-profile, ci/setup.sh, ci/test.sh and tests: where the CUDA toolkit is, and what is kept for later.
#
# fa_profile_cache is the folder of what is fetched and built outside the checkout. Without HOME it is one in /tmp, where
# anybody could have put a program for us to run: so it must be this user's alone, and fa_profile_cache is empty if not.
if [ -n "${XDG_CACHE_HOME:-}" ]; then
  fa_profile_cache=$XDG_CACHE_HOME/fa-profile
elif [ -n "${HOME:-}" ]; then
  fa_profile_cache=$HOME/.cache/fa-profile
else
  fa_profile_cache=/tmp/fa-profile-$EUID
  mkdir -m 700 "$fa_profile_cache" 2>/dev/null || true
  if [ -L "$fa_profile_cache" ] || ! [ -d "$fa_profile_cache" ] ||
     [ "$(stat -c '%u %a' "$fa_profile_cache")" != "$EUID 700" ]; then
    fa_profile_cache=
  fi
fi

# Python packages of pip, for the build of ours and its tests: ci/setup.sh fetches them.
if [ -n "$fa_profile_cache" ]; then export FA_PROFILE_PYTHON_PACKAGES=$fa_profile_cache/python; fi

# Sets and exports CUDACXX, CMake's name for the nvcc to build with; empty where there is none. An installed toolkit wins
# over the one that ci/setup.sh puts together from NVIDIA's Python packages under fa_profile_cuda.
fa_profile_cuda=${fa_profile_cache:+$fa_profile_cache/cuda-13.0}

if [ -z "${CUDACXX:-}" ] || ! [ -x "$CUDACXX" ]; then
  CUDACXX=$(command -v nvcc || true)
  for candidate in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda "$fa_profile_cuda"; do
    if [ -z "$CUDACXX" ] && [ -n "$candidate" ] && [ -x "$candidate/bin/nvcc" ]; then CUDACXX=$candidate/bin/nvcc; fi
  done
fi
export CUDACXX

# Fetched by ci/setup.sh for the tests of traces: Python packages with Perfetto's trace processor.
fa_profile_trace_tools=${fa_profile_cache:+$fa_profile_cache/trace-tools-0.59.1}

# Fetched by ci/setup.sh --mcp for `fa-profile mcp`, and for its tests: the SDK of the Model Context Protocol.
fa_profile_mcp_packages=${fa_profile_cache:+$fa_profile_cache/mcp-2.3.0}

# Fetched by ci/setup.sh for the test of recordings as Parquet: pyarrow and DuckDB.
fa_profile_parquet_packages=${fa_profile_cache:+$fa_profile_cache/parquet-21.0.0}

# nvdisasm and cuobjdump, which ci/setup.sh puts under fa_profile_cuda_tools for toolkits without them, are found last.
fa_profile_cuda_tools=${fa_profile_cache:+$fa_profile_cache/cuda-tools-13.2}
case :$PATH: in
  *":$fa_profile_cuda_tools/bin:"*) ;;
  *) if [ -n "$fa_profile_cache" ]; then PATH=$PATH:$fa_profile_cuda/bin:$fa_profile_cuda_tools/bin; fi ;;
esac
export PATH

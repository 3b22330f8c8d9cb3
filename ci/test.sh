#!/bin/bash
# Everything that must hold before a change lands: ci/test.sh
#
# Installs what is missing, builds with warnings as errors, runs the tests of the programs and of what needs CUDA as they
# are, those of the other libraries under AddressSanitizer with UndefinedBehaviorSanitizer, those with threads also under
# ThreadSanitizer, then looks at format and lint. What needs a GPU is not run here:
# `ctest --preset gpu -L gpu` runs it where there is one. Every step runs, also when one before it failed; the last lines
# say how long each took, how much CPU time, and which failed. Exit code: 0 all passed, 1 something failed, 2 could not start.
set -uo pipefail
cd "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." || exit 2
ci/setup.sh || exit 2
git rev-parse --is-inside-work-tree >/dev/null || exit 2
. ci/cuda.sh
mkdir -p build

preset=ci
if [ -z "$CUDACXX" ]; then
  preset=host
  echo "ci: there is no CUDA toolkit here, so the kernels and the collector are neither built nor tested"
fi

# gcc 12's ThreadSanitizer cannot place its shadow memory where the kernel randomises addresses over more than 28 bits.
fixed_addresses=()
if setarch -R true 2>/dev/null; then fixed_addresses=(setarch -R); fi

build_and_test() {  # <preset> <target> <label that the tests have, or ''> [configure options...]
  local preset=$1 target=$2 label=$3 log=build/$1.log
  shift 3
  cmake --preset "$preset" "$@" >"$log" 2>&1 && cmake --build "build/$preset" --target "$target" -j "$(nproc)" >>"$log" 2>&1 ||
    { tail -n 60 "$log"; return 1; }
  # One more than there are processors: the tests with servers mostly wait.
  "${fixed_addresses[@]}" ctest --test-dir "build/$preset" -j $(($(nproc) + 1)) ${label:+-L "$label"} -LE 'gpu|bench' \
    --output-on-failure --no-label-summary --no-tests=error >"$log" 2>&1 || { grep -vE '^ +Start +[0-9]+:| Passed ' "$log"; return 1; }
  tail -n 5 "$log"
  # Under a sanitizer a program with many cases is one test.
  awk '/^\[  PASSED  \]/ { cases += $4 } END { if (cases) print cases " cases of GoogleTest" }' "build/$preset/Testing/Temporary/LastTest.log"
  # A test that skips itself misses something that ci/setup.sh should have put there.
  local skipped
  if skipped=$(grep -E '^\s+[0-9]+ - .*\((Skipped|Not Run|Disabled)\)$' "$log"); then
    echo "tests that did not run, and have to:" && sort -u <<<"$skipped"
    return 1
  fi
}

# Without sm_89, whose code is sm_80's but for the name: the oldest and the newest architecture show what differs. Tests
# of libraries that need no CUDA run once, under AddressSanitizer.
tests() {
  build_and_test "$preset" all '' -DFA_PROFILE_WERROR=ON -DFA_PROFILE_PYTHON=ON -DFA_PROFILE_TEST_ONE_ARCHITECTURE=ON -DFA_PROFILE_TEST_ONCE=ON '-DCMAKE_CUDA_ARCHITECTURES=80-real;90a-real'
}
# Without the kernels and the collector, which would be half of the time for what has little to do with bytes from outside.
tests_asan() { build_and_test asan all '' -DFA_PROFILE_CUDA=OFF; }
# Only the tests in which there is a second thread (label threads): of the others it has nothing to say, ten times as slowly.
tests_tsan() { build_and_test tsan thread_tests threads; }

tracked() { git ls-files -z -- "$@"; }

format() { tracked '*.h' '*.cuh' '*.cpp' '*.cu' '*.c' | xargs -0 clang-format --dry-run -Werror; }

# Version 16, because 14 does not know std::source_location. The tests are left out: most of what there is to see in them is
# GoogleTest's macros.
lint() { ci/clang_tidy.py "build/$preset"; }

# A path of one person's machine means nothing on another.
foreign_paths() { ! git grep -nIF "$PWD/" -- . && ! git grep -nIE '/(home|Users)/[a-z]' -- .; }

# Checks for a pull request to this repository: the ladder's machine code against what was reviewed last, and saved
# runs of pairs from a GPU, judged again.
gate() {
  local program=build/$preset/cli/fa-profile
  "$program" baseline verify || return 1
  "$program" gate --strict --replay tests/data/gate/pair-identical.json || return 1
  "$program" gate --replay tests/data/gate/pair-ptxas-o1.json >/dev/null
  [ $? = 1 ] || { echo "a worse ladder passed"; return 1; }
  [ -z "$CUDACXX" ] || "$program" gate --strict --static ci/static/ladder-sm_90a.json "build/$preset/kernels/libfa_kernels.a" --arch 90a
}

rules() { find dashboards -name '*.yml' -path '*rules*' -print0 | xargs -0 -r promtool check rules; }

# CPU time of this script and of all its finished child processes. A busy machine hardly changes it.
cpu_seconds() { awk -v hz="$(getconf CLK_TCK)" '{ print int(($14 + $15 + $16 + $17) / hz) }' "/proc/$$/stat"; }

summary=()
failed=0
step() {  # <name> <function>
  local start=$SECONDS cpu_start verdict=passed
  cpu_start=$(cpu_seconds)
  echo "== $1"
  "$2" || { verdict=FAILED; failed=1; }
  summary+=("$(printf '%-44s %-7s %4d s %5d CPU-s' "$1" "$verdict" $((SECONDS - start)) $(($(cpu_seconds) - cpu_start)))")
}

step "tests, preset $preset, warnings are errors" tests
step "the gate on this repository's own ladder" gate
step "tests under Address and UB sanitizers" tests_asan
step "tests under ThreadSanitizer" tests_tsan
step "clang-format" format
step "clang-tidy" lint
step "no paths of somebody's machine" foreign_paths
if [ -d dashboards ]; then step "Prometheus rules" rules; fi

echo "== summary"
printf '%s\n' "${summary[@]}" "$(printf '%-44s %-7s %4d s %5d CPU-s' all "" $SECONDS "$(cpu_seconds)")"
exit $failed

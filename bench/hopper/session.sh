#!/bin/bash
# What rung 8 needs of a session on a GPU, most important first: session.sh [BUILD_FOLDER]
# Each part has a limit, so that a fault in one leaves time for the others. Output also goes to hopper-session.txt.
set -u
build=${1:-build/ci}
log=hopper-session.txt
: > "$log"

part() {  # <seconds> <command...>
  local seconds=$1
  shift
  echo "== $* ($(date -u +%T))" | tee -a "$log"
  timeout "$seconds" "$@" 2>&1 | tee -a "$log"
  echo "== exit code ${PIPESTATUS[0]}" | tee -a "$log"
}

nvidia-smi --query-gpu=name,clocks.sm,clocks.max.sm,power.draw --format=csv,noheader | tee -a "$log"
part 240 "$build/bench/hopper/hopper_steps"
part 60 "$build/bench/floor/hopper_floor"
part 200 "$build/bench/hopper/hopper_times"
part 120 "$build/tests/hopper_gpu_test" --gtest_brief=1

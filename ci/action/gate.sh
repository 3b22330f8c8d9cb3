#!/bin/bash
# Judges two builds of another repository with `fa-profile gate`, and writes every report: ci/action/gate.sh
#
# Run by the action (ci/action/action.yml) and GitLab's template. All input comes through the environment, because a
# stranger's text must not become part of a command:
#
#   GATE_BASE, GATE_HEAD     kernel libraries (*.so), builds of fa-profile, cubins, folders with them, or recordings (*.fap)
#   GATE_BASE_COMMAND, GATE_HEAD_COMMAND   programs instead, with their arguments, recorded in turns
#   GATE_RECORDINGS          of each program; default 5
#   GATE_MODE                auto (default), pair, static, recordings or programs. auto: programs for commands, recordings for
#                            *.fap, static for *.cubin and where there is no GPU, else pair
#   GATE_THRESHOLDS          file of limits; where it does not exist yet, the defaults hold
#   GATE_STRICT              true (default): exit code 3 without a clear verdict
#   GATE_KERNEL, GATE_SHAPES a regular expression; shapes, one a line
#   GATE_REPORT              folder for the reports; default gate-report
#   FA_PROFILE               the program; default: fa-profile on PATH
#
# Exit code: the gate's, 0 not worse, 1 worse, 3 unclear with GATE_STRICT; 2 it could not be judged.
set -euo pipefail
say() { echo "gate: $*" >&2; }
fail() { say "$*"; exit 2; }
program=${FA_PROFILE:-fa-profile}
report=${GATE_REPORT:-gate-report}
base=${GATE_BASE:-} head=${GATE_HEAD:-}

has_gpu() { [ -n "$(nvidia-smi --list-gpus 2>/dev/null)" ]; }

choose_mode() {
  if [ -n "${GATE_BASE_COMMAND:-}${GATE_HEAD_COMMAND:-}" ]; then echo programs
  elif [[ $base = *.fap ]]; then echo recordings
  elif [[ $base = *.cubin ]]; then echo static  # none of its functions can be called
  elif has_gpu; then echo pair
  else echo static
  fi
}

# Each program in turns, so that a drift of the machine favours neither; which one is first alternates.
record_programs() {
  local number side command
  if [ -z "${GATE_BASE_COMMAND:-}" ] || [ -z "${GATE_HEAD_COMMAND:-}" ]; then
    fail "a program is compared with a program: set both GATE_BASE_COMMAND and GATE_HEAD_COMMAND"
  fi
  mkdir -p "$report/recordings"
  for ((number = 1; number <= ${GATE_RECORDINGS:-5}; ++number)); do
    for side in $( ((number % 2)) && echo base head || echo head base); do
      if [ "$side" = base ]; then command=$GATE_BASE_COMMAND; else command=$GATE_HEAD_COMMAND; fi
      # A shell reads the command: it is what the repository's own workflow says, as any line of it.
      "$program" --summary --force -o "$report/recordings/$side-$number.fap" -- bash -c "$command" >&2 ||
        fail "the program of the $side could not be recorded: $command"
    done
  done
}

# Sets arguments.
choose_arguments() {
  local number shape
  case $mode in
    pair | static)
      arguments=("--$mode" "$base" "$head")
      if [ -n "${GATE_KERNEL:-}" ]; then arguments+=(--kernel "$GATE_KERNEL"); fi ;;
    recordings)
      arguments=(--baseline "$base" --candidate "$head") ;;
    programs)
      record_programs
      arguments=()
      for ((number = 1; number <= ${GATE_RECORDINGS:-5}; ++number)); do
        arguments+=(--baseline "$report/recordings/base-$number.fap" --candidate "$report/recordings/head-$number.fap")
      done ;;
    *) fail "GATE_MODE is '$mode'; use auto, pair, static, recordings or programs" ;;
  esac
  if [ "$mode" = pair ]; then
    arguments+=(--save "$report/pair.json")
    while read -r shape; do
      if [ -n "$shape" ]; then arguments+=(--shape "$shape"); fi
    done <<<"${GATE_SHAPES:-}"
  fi
  if [ -n "${GATE_THRESHOLDS:-}" ]; then
    if [ -e "$GATE_THRESHOLDS" ]; then arguments+=(--thresholds "$GATE_THRESHOLDS")
    else say "there is no $GATE_THRESHOLDS yet: the defaults hold"
    fi
  fi
  case ${GATE_STRICT:-true} in
    true) arguments+=(--strict) ;;
    false) ;;
    *) fail "GATE_STRICT is '$GATE_STRICT'; use true or false" ;;
  esac
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then arguments+=(--summary); fi
}

command -v "$program" >/dev/null || fail "there is no $program: install fa-profile, or set FA_PROFILE to its path"
mode=${GATE_MODE:-auto}
if [ "$mode" = auto ]; then mode=$(choose_mode); fi
if [ "$mode" != programs ]; then
  for name in GATE_BASE GATE_HEAD; do
    if [ -z "${!name:-}" ]; then fail "$name is not set: name what the base and the head of the change were built to"; fi
    # FILE.py:FUNCTION is a kernel in Python.
    if ! [ -e "${!name}" ] && ! [ -e "${!name%:*}" ]; then fail "$name is ${!name}, which does not exist: build it before the gate"; fi
  done
fi
mkdir -p "$report"
rm -f "$report"/gate.* "$report/pair.json"  # of a run before this one
choose_arguments
say "$mode: ${base:-${GATE_BASE_COMMAND:-}} and ${head:-${GATE_HEAD_COMMAND:-}}"
code=0
"$program" gate "${arguments[@]}" --markdown "$report/gate.md" --sarif "$report/gate.sarif" --junit "$report/gate.xml" \
  --json "$report/gate.json" || code=$?
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  printf 'exit-code=%s\nmode=%s\nreport=%s\n' "$code" "$mode" "$report" >>"$GITHUB_OUTPUT"
fi
exit "$code"

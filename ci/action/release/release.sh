#!/bin/bash
# Judges the GPU code of a release with `fa-profile release check`, and writes every report: ci/action/release/release.sh
#
# All input comes through the environment, because a stranger's text must not become part of a command:
#
#   RELEASE_OLD, RELEASE_NEW  wheels, folders, libraries, Debian packages or cubins; the old one also what `release save`
#                             wrote (*.json), or NAME==VERSION, which pip downloads. A pattern must match one file
#   RELEASE_THRESHOLDS        file of limits
#   RELEASE_ALLOW_LOST        regular expression for names of kernels and architectures that may be lost
#   RELEASE_STRICT            true (default): exit code 3 without a clear verdict
#   RELEASE_REPORT            folder for the reports, and for release.json, the next check's old release;
#                             default release-report
#   FA_PROFILE                the program; default: fa-profile on PATH
#
# Exit code: 0 not worse, 1 worse, 3 unclear with RELEASE_STRICT; 2 it could not be judged.
set -euo pipefail
fail() { echo "release: $*" >&2; exit 2; }
program=${FA_PROFILE:-fa-profile}
report=${RELEASE_REPORT:-release-report}

# The one file that a variable names.
file_of() {
  local value=${!1:-} matches
  [ -n "$value" ] || fail "$1 is not set: name the release"
  if [ -e "$value" ]; then
    printf '%s\n' "$value"
    return
  fi
  mapfile -t matches < <(compgen -G "$value" || true)
  [ "${#matches[@]}" -gt 0 ] || fail "$1 is $value, which does not exist: build it before the gate"
  [ "${#matches[@]}" -eq 1 ] || fail "$1 is $value, which matches ${#matches[@]} files: name one"
  printf '%s\n' "${matches[0]}"
}

command -v "$program" >/dev/null || fail "there is no $program: install fa-profile, or set FA_PROFILE to its path"
if [[ ${RELEASE_OLD:-} == *==* && ! -e $RELEASE_OLD ]]; then
  downloads=$(mktemp -d)
  trap 'rm -rf "$downloads"' EXIT
  [[ $RELEASE_OLD != -* ]] || fail "RELEASE_OLD is $RELEASE_OLD, which is not NAME==VERSION"
  python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$downloads" "$RELEASE_OLD" >&2 ||
    fail "pip could not download $RELEASE_OLD"
  RELEASE_OLD="$downloads/*.whl"
fi
old=$(file_of RELEASE_OLD)
new=$(file_of RELEASE_NEW)
arguments=()
if [ -n "${RELEASE_THRESHOLDS:-}" ]; then arguments+=(--thresholds "$RELEASE_THRESHOLDS"); fi
if [ -n "${RELEASE_ALLOW_LOST:-}" ]; then arguments+=(--allow-lost "$RELEASE_ALLOW_LOST"); fi
case ${RELEASE_STRICT:-true} in
  true) arguments+=(--strict) ;;
  false) ;;
  *) fail "RELEASE_STRICT is '$RELEASE_STRICT'; use true or false" ;;
esac
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then arguments+=(--summary); fi
mkdir -p "$report"
rm -f "$report"/release-check.json "$report"/release.md  # of a run before this one; its release.json may be the old one
code=0
"$program" release check "$old" "$new" "${arguments[@]}" --markdown "$report/release.md" \
  --json "$report/release-check.json" || code=$?
if [ "$code" != 2 ]; then "$program" release save "$new" -o "$report/release.json" || code=2; fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then printf 'exit-code=%s\nreport=%s\n' "$code" "$report" >>"$GITHUB_OUTPUT"; fi
exit "$code"

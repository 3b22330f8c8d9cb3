#!/bin/bash
# Unpacks fa-profile for the steps that follow: ci/action/install.sh
#
#   FA_PROFILE_TARBALL   https:// address or path of fa-profile-VERSION-linux-x86_64.tar.gz; empty: fa-profile on PATH is used
#   FA_PROFILE_SHA256    of the tarball; required for an address, because whoever can change the file there could run anything
#   FA_PROFILE_FOLDER    where to; default: a folder in $RUNNER_TEMP
#
# Prints the folder of the program, and adds it to $GITHUB_PATH. Exit code: 0 ready, 2 not.
set -euo pipefail
fail() { echo "install: $*" >&2; exit 2; }

tarball=${FA_PROFILE_TARBALL:-}
if [ -z "$tarball" ]; then
  found=$(command -v fa-profile) || fail "there is no fa-profile here: set FA_PROFILE_TARBALL to its address or path"
  dirname "$found"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $tarball in
  https://*)
    if [ -z "${FA_PROFILE_SHA256:-}" ]; then fail "FA_PROFILE_SHA256 is not set: give the checksum of $tarball"; fi
    curl --silent --show-error --fail --location --retry 3 --proto '=https' --output "$work/tarball" -- "$tarball" ||
      fail "$tarball could not be fetched"
    file=$work/tarball ;;
  *://*) fail "$tarball is not fetched: use https:// or a path" ;;
  *)
    file=$tarball
    [ -f "$file" ] || fail "there is no file $file" ;;
esac
if [ -n "${FA_PROFILE_SHA256:-}" ]; then
  sum=$(sha256sum <"$file")
  if [ "${sum%% *}" != "$FA_PROFILE_SHA256" ]; then fail "the checksum of $tarball is ${sum%% *}, not $FA_PROFILE_SHA256"; fi
fi
folder=${FA_PROFILE_FOLDER:-${RUNNER_TEMP:-/tmp}/fa-profile-$$}
mkdir -p "$work/unpacked" "$(dirname "$folder")"
tar -xzf "$file" -C "$work/unpacked" --strip-components=1 --no-same-owner || fail "$tarball is not a tarball of fa-profile"
"$work/unpacked/bin/fa-profile" --version >&2 || fail "the program in $tarball does not run here"
rm -rf "$folder"
mv "$work/unpacked" "$folder"
folder=$(cd "$folder" && pwd)
if [ -n "${GITHUB_PATH:-}" ]; then echo "$folder/bin" >>"$GITHUB_PATH"; fi
echo "$folder/bin"
